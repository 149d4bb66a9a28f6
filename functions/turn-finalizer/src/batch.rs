//! One batch from SQS: each message on its own, failures reported one by one.

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use futures::{StreamExt, stream};
use lambda_runtime::LambdaEvent;
use protocol::announcement::FinalizeMessage;
use protocol::id::SessionKey;
use turns::ports::Unavailable;

use crate::app::TurnFinalizer;

/// How many messages of a batch are handled at a time.
const AT_A_TIME: usize = 4;
/// What is kept of the function's time for the messages beside a sweep.
const RESERVE: Duration = Duration::from_secs(10);

/// Why a message goes back to the queue, and after enough tries to the dead-letter queue.
#[derive(Debug)]
enum Failure {
    /// It is none of ours.
    Poison(serde_json::Error),
    /// Try again later.
    Unavailable(Unavailable),
}

pub(crate) async fn handle(finalizer: &TurnFinalizer, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let budget = time_left(event.context.deadline).saturating_sub(RESERVE);
    let handled = stream::iter(event.payload.records).map(|message| handle_one(finalizer, message, budget));
    let handled: Vec<Option<String>> = handled.buffer_unordered(AT_A_TIME).collect().await;
    let mut response = SqsBatchResponse::default();
    response.set_failures(handled.into_iter().flatten());
    response
}

/// Handles a message; returns its identifier when it has to come again.
async fn handle_one(finalizer: &TurnFinalizer, message: SqsMessage, budget: Duration) -> Option<String> {
    let id = message.message_id.unwrap_or_default();
    let failure = dispatch(finalizer, message.body.as_deref().unwrap_or_default(), budget).await.err()?;
    match failure {
        Failure::Poison(error) => tracing::error!(
            message_id = id,
            line = error.line(),
            column = error.column(),
            "a message is none of ours"
        ),
        Failure::Unavailable(error) => {
            tracing::error!(message_id = id, %error, source = %error.source, "a message could not be handled");
        }
    }
    Some(id)
}

async fn dispatch(finalizer: &TurnFinalizer, body: &str, budget: Duration) -> Result<(), Failure> {
    match serde_json::from_str(body).map_err(Failure::Poison)? {
        FinalizeMessage::TurnSettled { org, session, turn, correlation } => {
            let key = SessionKey { org, session }.turn(turn);
            let finalized = finalizer.finalize(&key).await.map_err(Failure::Unavailable)?;
            tracing::info!(
                session = %key.session.session, turn = %key.turn, correlation, finalized, "turn announced"
            );
        }
        FinalizeMessage::Sweep => {
            let swept = finalizer.sweep(budget).await.map_err(Failure::Unavailable)?;
            tracing::info!(?swept, "sweep");
        }
    }
    Ok(())
}

fn time_left(deadline_ms: u64) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(deadline_ms).saturating_sub(now)
}
