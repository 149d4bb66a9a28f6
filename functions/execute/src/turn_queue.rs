//! Messages of the turn queue: continues turns that no client waits for.

use std::time::Duration;

use contracts::error::{JsonError, causes};
use futures::future::join_all;
use lambda_http::LambdaEvent;
use protocol::{
    id::SessionKey,
    queue_message::{REDRIVE_REASON, TurnMessage},
};
use runtime::{
    Invocation,
    api::RemainingTime,
    sqs::{SqsBatchResponse, SqsEvent, SqsMessage},
    telemetry::traces,
};
use service::app::App;
use tracing::{Instrument, Span, field::Empty};
use turns::{flow, refusal::Refusal};

/// The failure of a message, which returns to the queue and, after enough attempts, moves to the dead-letter queue.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The message can't be parsed.
    #[error("the message is not a turn message")]
    Unreadable(#[source] JsonError),
    /// The turn was not continued, or not to its end.
    #[error("the turn was not continued")]
    NotContinued(#[source] Refusal),
}

/// Handles a batch. Each message succeeds or fails on its own, and the turns don't wait for each other.
pub(crate) async fn handle(app: App, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let LambdaEvent { payload, context } = event;
    let RemainingTime(budget) = RemainingTime::until(Some(context.deadline));
    let invocation = Invocation::new(&context);
    let handled = payload.records.into_iter().map(|message| {
        let span = message_span(&message, &context.request_id);
        invocation.record(&span);
        handle_one(&app, message, budget).instrument(span)
    });
    let failed = join_all(handled).await.into_iter().flatten().collect();
    traces::flush().await;
    failed
}

/// Creates the span of a message, whose fields every log line has. It continues the sender's trace, and has level ERROR, so
/// that no log level filters it out.
fn message_span(message: &SqsMessage, request_id: &str) -> Span {
    let message_id = message.message_id.as_deref().unwrap_or_default();
    let span = tracing::error_span!(
        "message",
        otel.name = "process a turn message",
        otel.kind = "consumer",
        trace_id = Empty,
        correlation = message_id,
        request_id,
        cold_start = Empty,
        function_version = Empty,
        xray_trace_id = Empty,
        message_id,
        kind = Empty,
        org = Empty,
        session = Empty,
        turn = Empty,
    );
    traces::join(&span, traces::message_context(message.attribute("traceparent")));
    span
}

/// Handles a message. Returns its id if it failed.
async fn handle_one(app: &App, message: SqsMessage, budget: Duration) -> Option<String> {
    let handled = dispatch(app, message.body.as_deref().unwrap_or_default(), budget).await;
    // The span has the org, the session and the turn by now.
    if let Some(reason) = message.attribute(REDRIVE_REASON) {
        tracing::info!(action = "redrive", operator = true, reason, "{}", contracts::log::AUDIT);
    }
    match handled {
        Ok(continued) => {
            tracing::info!(continued, "{}", contracts::log::TURN_MESSAGE_HANDLED);
            None
        }
        Err(failure) => {
            tracing::error!(error = %causes(&failure), "{}", contracts::log::QUEUE_MESSAGE_FAILED);
            Some(message.message_id.unwrap_or_default())
        }
    }
}

async fn dispatch(app: &App, body: &str, budget: Duration) -> Result<bool, Failure> {
    let message = serde_json::from_str(body).map_err(|error| Failure::Unreadable(JsonError::from(&error)))?;
    let TurnMessage::ContinueTurn { org, session, turn } = message;
    let span = Span::current();
    span.record("kind", "continue_turn").record("org", org.as_str());
    span.record("session", session.as_str()).record("turn", turn.as_str());
    let key = SessionKey { org, session }.turn(turn);
    match app.turns.continue_turn(&key, &flow::Invocation::with_budget(budget)).await {
        Ok(continued) => Ok(continued),
        // Another attempt has it, and answers whoever asks.
        Err(Refusal::TurnInProgress { .. }) => Ok(false),
        Err(refusal) => Err(Failure::NotContinued(refusal)),
    }
}
