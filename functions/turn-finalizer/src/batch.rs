//! One batch from SQS: each message on its own, failures reported one by one.

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use contracts::error::{Misread, causes};
use futures::{StreamExt, stream};
use lambda_runtime::LambdaEvent;
use protocol::{announcement::FinalizeMessage, id::SessionKey};
use tracing::{Instrument, Span, field::Empty};
use turns::ports::Unavailable;

use crate::app::TurnFinalizer;

/// How many messages of a batch are handled at a time.
const AT_A_TIME: usize = 4;
/// What is kept of the function's time for the messages beside a sweep.
const RESERVE: Duration = Duration::from_secs(10);

/// Why a message goes back to the queue, and after enough tries to the dead-letter queue.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// It is none of ours.
    #[error("the message is none of ours")]
    Poison(#[source] Misread),
    /// Try again later.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

pub(crate) async fn handle(finalizer: &TurnFinalizer, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let LambdaEvent { payload, context } = event;
    let budget = time_left(context.deadline).saturating_sub(RESERVE);
    let handled = stream::iter(payload.records).map(|message| {
        let span = span_of(&message, &context.request_id);
        handle_one(finalizer, message, budget).instrument(span)
    });
    let handled: Vec<Option<String>> = handled.buffer_unordered(AT_A_TIME).collect().await;
    let mut response = SqsBatchResponse::default();
    response.set_failures(handled.into_iter().flatten());
    response
}

/// What every log line of a message says of it. Until the message says otherwise, it is correlated with nothing
/// but itself. As severe as can be, so that it is there around every line that is logged, whatever the level.
fn span_of(message: &SqsMessage, request_id: &str) -> Span {
    let message_id = message.message_id.as_deref().unwrap_or_default();
    tracing::error_span!(
        "message",
        otel.name = "process a finalize message",
        otel.kind = "consumer",
        correlation = message_id,
        request_id,
        message_id,
        kind = Empty,
        org = Empty,
        session = Empty,
        turn = Empty,
    )
}

/// Handles a message; returns its identifier when it has to come again.
async fn handle_one(finalizer: &TurnFinalizer, message: SqsMessage, budget: Duration) -> Option<String> {
    let failure = dispatch(finalizer, message.body.as_deref().unwrap_or_default(), budget).await.err()?;
    tracing::error!(error = %causes(&failure), "a message could not be handled");
    Some(message.message_id.unwrap_or_default())
}

async fn dispatch(finalizer: &TurnFinalizer, body: &str, budget: Duration) -> Result<(), Failure> {
    let message = serde_json::from_str(body).map_err(|error| Failure::Poison(Misread::from(&error)))?;
    let span = Span::current();
    match message {
        FinalizeMessage::TurnSettled { org, session, turn, correlation } => {
            span.record("kind", "turn_settled").record("org", org.as_str());
            span.record("session", session.as_str()).record("turn", turn.as_str());
            if let Some(correlation) = correlation {
                span.record("correlation", correlation.as_str());
            }
            let finalized = finalizer.finalize(&SessionKey { org, session }.turn(turn)).await?;
            tracing::info!(finalized, "turn announced");
        }
        FinalizeMessage::Sweep => {
            span.record("kind", "sweep");
            // A sweep that fails is made up for by the next one, a minute later: it is no dead letter.
            let swept = match finalizer.sweep(budget).await {
                Ok(swept) => swept,
                Err(error) => {
                    tracing::error!(error = %causes(&error), "a sweep failed");
                    return Ok(());
                }
            };
            tracing::info!(
                looked_at = swept.looked_at,
                finalized = swept.finalized,
                salvaged = swept.salvaged,
                ended = swept.ended,
                alive = swept.alive,
                failed = swept.failed,
                cut_short = swept.cut_short,
                "sweep"
            );
        }
    }
    Ok(())
}

fn time_left(deadline_ms: u64) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(deadline_ms).saturating_sub(now)
}
