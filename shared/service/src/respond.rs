//! Runs a turn request and responds: buffered, after a keep-alive, or as an event stream.

use std::{panic::resume_unwind, sync::Arc, time::Duration};

use agent::outcome;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contracts::{
    AgentExecuteRequest, UserTurn,
    id::{SessionId, TurnId},
    request::RerunRequest,
    stream::EventId,
};
use futures::{FutureExt, future::BoxFuture};
use protocol::{Caller, correlation::CorrelationId};
use runtime::{Reply, keep_alive::KeepAliveJson, stream::EventStream, tasks};
use tracing::{Instrument, Span};
use turns::{
    flow::{Invocation, StartConditions},
    refusal::Refusal,
    stream::{self, ResponseStart, StartTimeouts},
};

use crate::app::{App, error_reply};

/// A request to run a turn.
#[derive(Debug)]
pub enum TurnRequest {
    /// A user turn or a tool continuation.
    Execute(AgentExecuteRequest),
    /// A user turn with conditions on its start.
    Conditional(Box<UserTurn>, StartConditions),
    /// A rerun of a turn.
    Rerun {
        /// The session of the turn.
        session: SessionId,
        /// The turn to run again.
        turn: TurnId,
        /// The new turn and its changes.
        request: RerunRequest,
    },
}

impl TurnRequest {
    /// True if the client requests a stream.
    fn is_streaming(&self) -> bool {
        match self {
            Self::Execute(AgentExecuteRequest::UserTurn(turn)) => turn.streaming,
            Self::Conditional(turn, _) => turn.streaming,
            Self::Execute(AgentExecuteRequest::ToolContinuation(_)) => false,
            Self::Rerun { request, .. } => request.input.streaming,
        }
    }
}

/// Runs a request for at most `budget` and responds with its result. A client that disconnects doesn't cancel the turn.
///
/// # Errors
/// The error reply, if the request is refused before the response started.
pub async fn respond(
    app: &App,
    caller: Caller,
    correlation: CorrelationId,
    request: TurnRequest,
    last_event_id: Option<EventId>,
    budget: Duration,
) -> Result<Response, Reply> {
    let keep_alive = app.keep_alive;
    match start(app, caller, correlation, request, last_event_id, budget).await {
        // A client that reconnects after the last event gets the result again.
        ResponseStart::Complete(response) | ResponseStart::AlreadyDelivered(response) => {
            Ok(buffered(Ok(response)).into_response())
        }
        ResponseStart::Refused(refusal) => Err(error_reply(refusal)),
        ResponseStart::Pending(work) => {
            Ok(KeepAliveJson::new(work.map(late_body), keep_alive).into_response())
        }
        ResponseStart::Streaming(events) => Ok(EventStream::new(events, keep_alive).into_response()),
    }
}

/// The rest of the work on a turn, which continues after the response.
pub type Work = BoxFuture<'static, Result<outcome::Response, Refusal>>;

/// Runs a request for at most `budget`, and returns the start of its response.
pub async fn start(
    app: &App,
    caller: Caller,
    correlation: CorrelationId,
    request: TurnRequest,
    last_event_id: Option<EventId>,
    budget: Duration,
) -> ResponseStart<Work> {
    let (writer, feed) = stream::open(request.is_streaming(), last_event_id);
    let (turns, keep_alive) = (Arc::clone(&app.turns), app.keep_alive);
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let work = async move {
        match request {
            TurnRequest::Execute(AgentExecuteRequest::UserTurn(turn)) => {
                turns.execute(&caller, &turn, &invocation, &writer).await
            }
            TurnRequest::Execute(AgentExecuteRequest::ToolContinuation(results)) => {
                turns.resume(&caller, &results, &invocation, &writer).await
            }
            TurnRequest::Conditional(turn, conditions) => {
                turns.execute_if(&caller, &turn, &conditions, &invocation, &writer).await
            }
            TurnRequest::Rerun { session, turn, request } => {
                turns.rerun(&caller, session, turn, &request, &invocation, &writer).await
            }
        }
    };
    // A spawned task doesn't inherit the span of the request. It ends with the deadline of the invocation, as it would
    // with a process of its own.
    let work = tasks::spawn(work.instrument(Span::current()));
    // Resumes a panic of the task here, where panics are handled.
    let work = work.map(|ended| ended.unwrap_or_else(|panicked| resume_unwind(panicked.into_panic())));
    let timeouts = StartTimeouts { streamed: keep_alive.heartbeat, buffered: keep_alive.whitespace_after };
    feed.start(work.boxed(), timeouts).await
}

fn buffered(result: Result<outcome::Response, Refusal>) -> Reply {
    result.map_or_else(error_reply, |response| {
        Reply::from_stored(response.to_bytes(), response.error_code, response.retry_after_seconds)
    })
}

/// Returns the body alone, since the status was sent before.
fn late_body(result: Result<outcome::Response, Refusal>) -> Bytes {
    buffered(result).into_body()
}
