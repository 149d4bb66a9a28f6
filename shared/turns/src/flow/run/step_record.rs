//! The record of a step, from which a takeover continues.

use agent::attempt::{AttemptState, RecoveryPoint, TurnSpec};
use bytes::Bytes;
use contracts::error::causes;
use protocol::{
    payload::{Kind, Payload},
    turn::StepRef,
};

use crate::flow::owned_turn::OwnedTurn;
use crate::ports::{Deps, Payloads};

/// Records the turn's progress, if it is further than at the start of the attempt. This runs concurrently with
/// the model call and adds no latency. If it fails, a takeover repeats the step.
pub(super) async fn store(
    deps: &impl Deps,
    owned: &OwnedTurn,
    spec: &TurnSpec,
    state: &AttemptState,
    already_recorded: u32,
) {
    let (turn, number) = (&owned.turn, state.recovery_points());
    if number == already_recorded {
        return;
    }
    let recovery_point = RecoveryPoint { spec: spec.clone(), state: state.clone() };
    let kind = Kind::Step(turn.attempt.clone(), number);
    let body = Bytes::from(serde_json::to_vec(&recovery_point).unwrap_or_default());
    let payload = Payload { turn: turn.key.clone(), kind };
    match deps.payloads().put(&payload, body).await {
        Ok(()) => owned.set_recorded(Some(StepRef { attempt: turn.attempt.clone(), step: number })),
        Err(error) => tracing::warn!(error = %causes(&error), "{}", contracts::log::STEP_NOT_STORED),
    }
}
