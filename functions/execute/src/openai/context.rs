//! The context of a request, and the resumption of a turn by outputs of its functions.

use std::time::Duration;

use openai_api::{
    delivery::refused,
    error::ApiError,
    files::unix_seconds,
    id::ResponseId,
    request::{FunctionOutput, Parent, tool_continuation},
};
use protocol::Caller;
use runtime::Correlation;
use service::{
    app::App,
    respond::{self, TurnRequest, Work},
};
use turns::{
    flow::{RateLimitCell, TurnSnapshot},
    stream::ResponseStart,
};

/// The context of a request.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) app: App,
    pub(super) caller: Caller,
    pub(super) correlation: Correlation,
    pub(super) budget: Duration,
    /// The time of the request, in seconds.
    pub(super) now: u64,
    /// The rate limits that the request has counted against, once its turn has started.
    pub(super) rate_limits: RateLimitCell,
}

/// A turn that was resumed.
pub(super) struct Resumed {
    /// The id of its response.
    pub(super) id: ResponseId,
    /// The turn before the outputs.
    pub(super) snapshot: TurnSnapshot,
    /// The start of its response.
    pub(super) started: ResponseStart<Work>,
}

impl Context {
    pub(super) fn new(app: App, caller: Caller, correlation: Correlation, budget: Duration) -> Self {
        Self { app, caller, correlation, budget, now: unix_seconds(), rate_limits: RateLimitCell::default() }
    }

    /// Returns the time of the request, as objects show it.
    pub(super) fn created(&self) -> i64 {
        i64::try_from(self.now).unwrap_or_default()
    }

    /// Resumes the turn that waits for these outputs. It is answered as its first request was, whatever this one asks
    /// for, so a stream may be read for a response in one piece.
    pub(super) async fn resume(
        self,
        parent: &Parent,
        outputs: &[FunctionOutput],
    ) -> Result<Resumed, ApiError> {
        let previous = self.suspended(parent, outputs).await?;
        let Self { app, caller, correlation, budget, .. } = self;
        let ResponseId { session, turn, round } = previous.clone();
        let snapshot = app.reader.turn_snapshot(&caller, session, turn).await;
        let snapshot = snapshot.map_err(|refusal| match refused(&refusal) {
            error if error.status == 404 => ApiError::previous_not_found(&previous.to_string()),
            error => error,
        })?;
        let suspension = snapshot.suspension(round).ok_or_else(|| no_calls(outputs))?;
        let results = tool_continuation(&previous, &suspension.calls, outputs)?;
        runtime::record_turn(&previous.session, &previous.turn);
        let request = TurnRequest::Execute(results.into());
        let started = respond::start(&app, caller, correlation.0, request, None, budget).await;
        Ok(Resumed { id: previous.next(), snapshot, started })
    }

    /// Returns the response whose calls the outputs are of.
    async fn suspended(&self, parent: &Parent, outputs: &[FunctionOutput]) -> Result<ResponseId, ApiError> {
        let session = match parent {
            Parent::Response(previous) => return Ok(previous.clone()),
            Parent::Conversation(session) => session.clone(),
            Parent::None => return Err(no_calls(outputs)),
        };
        let (reader, caller) = (&self.app.reader, &self.caller);
        let turn = reader.last_turn_id(caller, session.clone()).await.map_err(|refusal| refused(&refusal))?;
        let turn = turn.ok_or_else(|| no_calls(outputs))?;
        let head = reader.turn_head(caller, session.clone(), turn.clone()).await;
        let head = head.map_err(|refusal| refused(&refusal))?.ok_or_else(|| no_calls(outputs))?;
        Ok(ResponseId { session, turn, round: head.round })
    }
}

/// Returns the error of outputs that no call waits for.
pub(super) fn no_calls(outputs: &[FunctionOutput]) -> ApiError {
    let call_id = outputs.first().map(|output| output.call_id.as_str()).unwrap_or_default();
    let message = format!("No tool call found for function call output with call_id {call_id}.");
    ApiError::invalid("input", "invalid_value", message)
}
