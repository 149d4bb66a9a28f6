//! Tool results: exact or nothing, and one winner (I6; AGN-033 §3.3, AGN-034 §5).
//!
//! The real flows over in-memory ports, with a model that calls tools and rejects requests with unanswered calls.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod mutations;
mod older_version;
mod past_deadline;
mod races;

use std::time::Duration;

use contracts::{AgentExecuteResponse, ErrorCode, InvokeResult, ToolContinuation};
use testkit::{
    client::PendingCalls,
    deployment::{ClientRequest, Deployment, ProcessOutcome},
    schedule::Faults,
};
use turns::refusal::Refusal;

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);

/// The response to a request.
type TurnResult = Result<Vec<u8>, Refusal>;

fn execute(deployment: &mut Deployment, sent: &ClientRequest) -> TurnResult {
    let process = deployment.execute(sent, BUDGET, Faults::None);
    turn_result(deployment.finish(&process))
}

fn resume(deployment: &mut Deployment, sent: &ClientRequest, results: &ToolContinuation) -> TurnResult {
    let process = deployment.resume(&sent.caller, results, BUDGET, Faults::None);
    turn_result(deployment.finish(&process))
}

fn turn_result(done: Option<ProcessOutcome>) -> TurnResult {
    match done {
        Some(ProcessOutcome::Executed(turn_result)) => turn_result,
        other => panic!("no answer: {other:?}"),
    }
}

/// The calls in a continuation.
fn calls(turn_result: TurnResult) -> PendingCalls {
    PendingCalls::parse(&turn_result.unwrap()).expect("a continuation")
}

/// The error in a response, or `None` for a final answer.
fn error(body: &[u8]) -> Option<ErrorCode> {
    let result: InvokeResult<AgentExecuteResponse> = serde_json::from_slice(body).unwrap();
    match result.into_outcome() {
        Ok(AgentExecuteResponse::Final(_)) => None,
        Ok(AgentExecuteResponse::ClientToolContinuation(_)) => panic!("tools are called again"),
        Err(errors) => Some(errors.first().unwrap().error_code),
    }
}
