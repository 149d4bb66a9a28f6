//! Stored turns as responses.

use agent::outcome;
use contracts::{
    AgentExecuteResponse, InvokeResult, NonEmpty, Timestamp,
    read::StatusReason,
    response::{ClientToolContinuation, Metadata},
};
use serde_json::Value;
use turns::flow::{Suspension, TurnSnapshot};

use crate::{
    id::ResponseId,
    response::{Frame, Outcome},
};

/// Returns the frame of a stored response.
#[must_use]
pub fn frame(id: ResponseId, snapshot: &TurnSnapshot) -> Frame {
    let seconds = |time: Timestamp| time.as_millis().div_euclid(1_000);
    let repeated = snapshot.request.options.as_ref().map_or(&Value::Null, |options| &options.repeated);
    let mut frame = Frame::new(id, seconds(snapshot.created), repeated, &snapshot.model);
    frame.completed_at = snapshot.settled.map(seconds);
    frame
}

/// Returns the text that a stored turn searched for.
#[must_use]
pub fn query(snapshot: &TurnSnapshot) -> &str {
    snapshot.request.instruction.as_deref().unwrap_or_default()
}

/// Returns the outcome of a stored response, or `None` while its turn runs.
///
/// The outer option is `None` if the turn has no such response.
#[must_use]
pub fn outcome(round: u32, snapshot: &TurnSnapshot) -> Option<Option<Outcome>> {
    let waits = snapshot.head.status == StatusReason::WaitingForTools;
    // A turn that waits for an approval goes on without its client, under the same response.
    let round = match round < snapshot.head.round && snapshot.suspension(round).is_none() {
        true => snapshot.head.round,
        false => round,
    };
    match round.cmp(&snapshot.head.round) {
        std::cmp::Ordering::Greater => None,
        std::cmp::Ordering::Equal if snapshot.head.status == StatusReason::WaitingForApproval => Some(None),
        std::cmp::Ordering::Equal if !waits => {
            let outcome = snapshot.response.as_ref().map(|response| Outcome::from_body(&response.to_bytes()));
            Some(outcome.map(|outcome| with_partial_answer(outcome, snapshot)))
        }
        _ => {
            let Suspension { text, calls, .. } = snapshot.suspension(round)?.clone();
            Some(Some(Outcome::Calls { text, calls }))
        }
    }
}

/// Returns the response with which a turn was suspended, as its first request got it. `None` if the turn has no such
/// suspension.
#[must_use]
pub fn suspended_response(id: &ResponseId, snapshot: &TurnSnapshot) -> Option<outcome::Response> {
    let Suspension { text, calls, .. } = snapshot.suspension(id.round)?.clone();
    let continuation = ClientToolContinuation {
        metadata: Metadata {
            session_id: id.session.clone(),
            turn_id: id.turn.clone(),
            mode_display_name: String::new(),
        },
        tool_calls: NonEmpty::new(calls).ok()?,
        tool_continuation_message: Some(text).filter(|text| !text.is_empty()),
    };
    let body = InvokeResult::ok(AgentExecuteResponse::ClientToolContinuation(continuation));
    let body = serde_json::value::to_raw_value(&body).ok()?;
    Some(outcome::Response { body, error_code: None, retry_after_seconds: None, segment: None })
}

fn with_partial_answer(outcome: Outcome, snapshot: &TurnSnapshot) -> Outcome {
    match outcome {
        Outcome::Failed { error, .. } => {
            Outcome::Failed { error, text: snapshot.partial_answer.clone().unwrap_or_default() }
        }
        other => other,
    }
}
