//! A turn's request, worked on and answered: whole, late, or as events.

use std::{panic::resume_unwind, sync::Arc, time::Duration};

use agent::outcome;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contracts::{
    AgentExecuteRequest,
    id::{SessionId, TurnId},
    request::RerunRequest,
    stream::EventId,
};
use futures::FutureExt;
use protocol::{Caller, correlation::CorrelationId};
use runtime::{Reply, late::Late, stream::Streamed};
use tracing::{Instrument, Span};
use turns::{
    flow::Invocation,
    refusal::Refusal,
    stream::{self, Opened, Patience},
};

use crate::app::{App, refused};

/// What a client asks to have done about a turn.
#[derive(Debug)]
pub enum Work {
    /// A request of either scenario.
    Asked(AgentExecuteRequest),
    /// A turn that is run again.
    Rerun {
        /// Its session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
        /// The new turn, and what is to be other than it was.
        asked: RerunRequest,
    },
}

impl Work {
    /// Whether the client asks for a stream.
    fn streaming(&self) -> bool {
        match self {
            Self::Asked(AgentExecuteRequest::UserTurn(turn)) => turn.streaming,
            Self::Asked(AgentExecuteRequest::ToolContinuation(_)) => false,
            Self::Rerun { asked, .. } => asked.streaming,
        }
    }
}

/// Works on a request for at most `budget`, and answers with what that comes to. The work goes on whether
/// or not anybody waits for it: a client that goes away ends no turn.
///
/// # Errors
/// The refusal of a request, as long as its client was told nothing.
pub async fn answer(
    app: &App,
    caller: Caller,
    correlation: CorrelationId,
    work: Work,
    seen: Option<EventId>,
    budget: Duration,
) -> Result<Response, Reply> {
    let (writer, feed) = stream::open(work.streaming(), seen);
    let (turns, pace) = (Arc::clone(&app.turns), app.pace);
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let work = async move {
        match work {
            Work::Asked(AgentExecuteRequest::UserTurn(turn)) => {
                turns.execute(&caller, &turn, &invocation, &writer).await
            }
            Work::Asked(AgentExecuteRequest::ToolContinuation(results)) => {
                turns.resume(&caller, &results, &invocation, &writer).await
            }
            Work::Rerun { session, turn, asked } => {
                turns.rerun(&caller, session, turn, &asked, &invocation, &writer).await
            }
        }
    };
    // In the request's span: a task of its own would log without it.
    let work = tokio::spawn(work.instrument(Span::current()));
    // A panic goes on where the answer is waited for, and is handled there as any other.
    let work = work.map(|ended| ended.unwrap_or_else(|panicked| resume_unwind(panicked.into_panic())));
    let patience = Patience { streamed: pace.heartbeat, buffered: pace.patience };
    match feed.answer(work, patience).await {
        // Who asks again for a stream that was seen to its end is told how it ended: no request goes unanswered.
        Opened::Answered(response) | Opened::Seen(response) => Ok(whole(Ok(response)).into_response()),
        Opened::Refused(refusal) => Err(refused(refusal)),
        Opened::Late(work) => Ok(Late::new(work.map(late), pace).into_response()),
        Opened::Streaming(events) => Ok(Streamed::new(events, pace).into_response()),
    }
}

fn whole(answered: Result<outcome::Response, Refusal>) -> Reply {
    answered.map_or_else(refused, |response| {
        Reply::stored(response.to_bytes(), response.error_code, response.retry_after_seconds)
    })
}

/// The status was said before.
fn late(answered: Result<outcome::Response, Refusal>) -> Bytes {
    whole(answered).into_body()
}
