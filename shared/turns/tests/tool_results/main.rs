//! Tool results: exact or nothing, and one winner (I6; AGN-033 §3.3, AGN-034 §5).
//!
//! The real flows over in-memory ports, with a model that calls tools and refuses a request that leaves a
//! call unanswered.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

mod late;
mod mutations;
mod races;

use std::time::Duration;

use contracts::{AgentExecuteResponse, ErrorCode, InvokeResult, ToolContinuation};
use testkit::{
    client::Calls,
    deployment::{Deployment, Done, Sent},
    schedule::Faults,
};
use turns::refusal::Refusal;

/// What a function has of its own time.
const BUDGET: Duration = Duration::from_secs(840);

/// What came of a request.
type Came = Result<Vec<u8>, Refusal>;

fn execute(deployment: &mut Deployment, sent: &Sent) -> Came {
    let process = deployment.execute(sent, BUDGET, Faults::None);
    came(deployment.finish(&process))
}

fn resume(deployment: &mut Deployment, sent: &Sent, results: &ToolContinuation) -> Came {
    let process = deployment.resume(&sent.caller, results, BUDGET, Faults::None);
    came(deployment.finish(&process))
}

fn came(done: Option<Done>) -> Came {
    match done {
        Some(Done::Executed(came)) => came,
        other => panic!("no answer: {other:?}"),
    }
}

/// The calls that an answer asks for.
fn calls(came: Came) -> Calls {
    Calls::read(&came.unwrap()).expect("a continuation")
}

/// The error that a body reports; none when it holds a final answer.
fn error(body: &[u8]) -> Option<ErrorCode> {
    let result: InvokeResult<AgentExecuteResponse> = serde_json::from_slice(body).unwrap();
    match result.into_outcome() {
        Ok(AgentExecuteResponse::Final(_)) => None,
        Ok(AgentExecuteResponse::ClientToolContinuation(_)) => panic!("tools are called again"),
        Err(errors) => Some(errors.first().unwrap().error_code),
    }
}
