//! I12, I16: bounds measured from the time at which faults stop. Only the driver knows that time.

use std::time::Duration;

use protocol::{
    id::TurnKey,
    turn::{State, Turn},
};

use super::{Violation, violation};
use crate::{
    ledger::{Entry, Event},
    memory::Contents,
};

/// Checks I12: returns the turns that should be terminal. A turn that awaits tools may stay open until its own
/// deadline.
#[must_use]
pub fn open_turns(table: &Contents, awaiting_may_stay: bool) -> Vec<Violation> {
    let late = |turn: &&Turn| match turn.state {
        State::Finalized(_) => false,
        State::AwaitingTools { .. } => !awaiting_may_stay,
        State::Running { .. } | State::Settled(_) => true,
    };
    let what = |turn: &Turn| format!("{} is still {:?}", turn.key.turn, turn.state.phase());
    // An import that isn't published has no turns yet.
    let is_purged =
        |turn: &&Turn| table.sessions.get(&turn.key.session).is_some_and(|session| session.is_purged());
    table
        .heads
        .values()
        .filter(|turn| !is_purged(turn))
        .filter(late)
        .map(|turn| violation("I12", what(turn)))
        .collect()
}

/// Checks I16: the turn was started by `latest`.
#[must_use]
pub fn started_within(entries: &[Entry], turn: &TurnKey, latest: Duration) -> Option<Violation> {
    let started = entries.iter().find_map(|entry| match &entry.event {
        Event::Head { before: None, after } if after.key == *turn => Some(entry.monotonic),
        _ => None,
    });
    match started {
        Some(at) if at <= latest => None,
        Some(at) => Some(violation("I16", format!("{} was started {:?} too late", turn.turn, at - latest))),
        None => Some(violation("I16", format!("{} was never started", turn.turn))),
    }
}
