//! Changes of a turn's entries in meters.

use std::ops::ControlFlow;

use protocol::{
    budget::{Ceiling, Entry, Meter, MeterChange, MeterKey, MeterRef},
    id::TurnKey,
    turn::Turn,
};

use crate::flow::write::{self, Tried};
use crate::ports::{Deps, Meter as _, MeterReads, Unavailable};

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

/// Changes the entry of a turn as `change` decides on the stored one, or ends with its result. An entry that is gone has
/// expired with its window, or the turn is counted: then there is nothing to change.
///
/// # Errors
/// If the table can't be reached.
pub(crate) async fn change_entry<T: Default>(
    deps: &impl Deps,
    meter: &MeterRef,
    turn: &Turn,
    change: impl Fn(&MeterKey, &Meter, Entry) -> ControlFlow<T, MeterChange>,
) -> Result<T, Unavailable> {
    let key = meter.key(&turn.key, &turn.requested_by);
    write::decide(deps.host(), || async {
        let stored = deps.store().meter(&key, &turn.key).await?;
        let Some(entry) = stored.entry else { return Ok(Tried::Done(T::default())) };
        Ok(match change(&key, &stored, entry) {
            ControlFlow::Break(done) => Tried::Done(done),
            ControlFlow::Continue(change) => {
                deps.store().write_meter(&change).await.map(|_| T::default()).into()
            }
        })
    })
    .await
}
