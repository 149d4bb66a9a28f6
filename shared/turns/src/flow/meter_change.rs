//! Changes of entries in meters: how they are tried again.

use std::time::Duration;

use protocol::{
    budget::{Ceiling, Entry, MeterChange, MeterKey},
    id::TurnKey,
};

use crate::ports::{Deps, Random, Source, Timer, Unavailable};

/// The most tries of a change while other turns change the same meter.
pub(crate) const MAX_TRIES: u32 = 8;
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// The replacement of an entry, whatever the sums are.
pub(crate) fn replacement(
    meter: MeterKey,
    turn: &TurnKey,
    before: Entry,
    after: Option<Entry>,
) -> MeterChange {
    let keeps_entry = after.is_some();
    let (turn, before, ceiling) = (turn.clone(), Some(before), Ceiling::default());
    MeterChange { meter, turn, before, after, keeps_entry, ceiling }
}

/// Pauses before another try.
pub(crate) async fn pause(deps: &impl Deps, tries: u32) {
    let longest = (MAX_PAUSE / MAX_TRIES).saturating_mul(tries.saturating_add(1));
    deps.host().sleep(deps.host().jitter(longest)).await;
}

/// Returns the error of a table that can't be reached.
pub(crate) fn unavailable(source: Source) -> Unavailable {
    Unavailable { what: "the table", source }
}
