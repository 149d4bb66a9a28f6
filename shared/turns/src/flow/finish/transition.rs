//! The transition that an outcome object calls for.

use std::time::Duration;

use agent::outcome::{Ending, Outcome};
use protocol::{
    change::TurnChange,
    id::AttemptId,
    transition::{IllegalTransition, settle::settle, suspend::suspend},
    turn::Turn,
};

use crate::ports::{Clock, Deps};

/// Returns the transition that an outcome object calls for: settle or suspend.
pub(crate) fn of_outcome(
    deps: &impl Deps,
    turn: &Turn,
    writer: AttemptId,
    outcome: &Outcome,
) -> Result<TurnChange, IllegalTransition> {
    let (now, timing) = (deps.host().now(), deps.timing());
    let seconds = match &outcome.ending {
        Ending::Suspended { recovery_point } => recovery_point.spec.tools.deadline_seconds,
        Ending::Completed { .. } | Ending::Failed { .. } => 0,
    };
    match outcome.verdict(writer.clone()) {
        Some(verdict) => settle(turn, verdict, outcome.report.received_at.unwrap_or(now), now, timing),
        None => {
            let wait = Duration::from_secs(seconds).min(timing.max_tool_wait);
            suspend(turn, writer, now.after(wait))
        }
    }
}
