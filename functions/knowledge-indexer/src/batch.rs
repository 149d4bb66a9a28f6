//! Handles an SQS batch. Each message succeeds or fails on its own.

use std::{
    pin::pin,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use contracts::{
    error::{JsonError, causes},
    id::OrgId,
};
use knowledge::{
    DocumentId,
    ports::{Contents, Message, Records},
    record::{Claim, Outcome, Record, State},
    work::{Attempt, Ended},
};
use lambda_runtime::LambdaEvent;
use protocol::queue_message::REDRIVE_REASON;
use runtime::{
    Invocation,
    sqs::{SqsBatchResponse, SqsEvent, SqsMessage},
    telemetry::traces,
};
use storage::Table;
use tokio::time::{sleep, timeout};
use tracing::{Instrument, Span, field::Empty};
use turns::{
    ports::{Host, Unavailable},
    system::System,
};

use crate::{app::App, index};

/// The deliveries of a message before it becomes a dead letter, as `template.yaml` sets them.
const MAX_DELIVERIES: u32 = 5;
/// The time that is reserved to write the outcome of a document that takes too long.
const RESERVE: Duration = Duration::from_secs(20);
/// The pauses before the work is tried again. The queue's own pause is a quarter of an hour, and a database that is busy or
/// has just started needs seconds.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(3)];
/// The reason of a document that takes too long.
const TOO_SLOW: &str = "It takes too long to index. Split it into smaller documents.";

/// The failure of a message, which returns to the queue and, after enough deliveries, moves to the dead-letter queue.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The message can't be parsed.
    #[error("the message is not a knowledge message")]
    Unreadable(#[source] JsonError),
    /// A store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Another attempt works on the document. If it dies, this message takes over.
    #[error("another attempt works on the document")]
    Busy,
    /// The work is to be tried again.
    #[error("the document could not be indexed: {0}")]
    Retry(String),
}

pub(crate) async fn handle(app: &App, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let LambdaEvent { payload, context } = event;
    let invocation = Invocation::new(&context);
    let mut failed = Vec::new();
    // One after the other, since a document may need all of the memory.
    for message in payload.records {
        let span = message_span(&message, &context.request_id);
        invocation.record(&span);
        let limit = time_left(context.deadline).saturating_sub(RESERVE);
        let handled = handle_one(app, &message, limit).instrument(span.clone()).await;
        let _entered = span.enter();
        // The span has the org and the document by now.
        if let Some(reason) = message.attribute(REDRIVE_REASON) {
            tracing::info!(action = "redrive", operator = true, reason, "{}", contracts::log::AUDIT);
        }
        if let Err(failure) = handled {
            match failure {
                Failure::Busy => tracing::info!("{}", contracts::log::KNOWLEDGE_BUSY),
                failure => {
                    tracing::error!(error = %causes(&failure), "{}", contracts::log::QUEUE_MESSAGE_FAILED);
                }
            }
            failed.extend(message.message_id);
        }
    }
    failed.into_iter().collect()
}

/// Creates the span of a message, whose fields every log line has. It continues the sender's trace, and has level ERROR, so
/// that no log level filters it out.
fn message_span(message: &SqsMessage, request_id: &str) -> Span {
    let message_id = message.message_id.as_deref().unwrap_or_default();
    let span = tracing::error_span!(
        "message",
        otel.name = "process a knowledge message",
        otel.kind = "consumer",
        trace_id = Empty,
        correlation = message_id,
        request_id,
        cold_start = Empty,
        function_version = Empty,
        xray_trace_id = Empty,
        message_id,
        org = Empty,
        document = Empty,
    );
    traces::join(&span, traces::message_context(message.attribute("traceparent")));
    span
}

async fn handle_one(app: &App, message: &SqsMessage, limit: Duration) -> Result<(), Failure> {
    let body = message.body.as_deref().unwrap_or_default();
    let Message { org, document } =
        serde_json::from_str(body).map_err(|error| Failure::Unreadable(JsonError::from(&error)))?;
    Span::current().record("org", org.as_str()).record("document", document.as_str());
    let host = System::new();
    let attempt = Attempt {
        records: &app.table,
        org: &org,
        id: &document,
        attempt: host.attempt_id().to_string(),
        lease: app.lease,
    };
    let is_last = message.deliveries() >= MAX_DELIVERIES;
    loop {
        let record = match attempt.claim(host.now()).await? {
            Claim::Nothing => {
                // The content of an upload that lost against another request.
                let uploads = app.objects.uploads(&org, &document).await?;
                return Ok(remove_others(app, &org, &document, &uploads).await?);
            }
            Claim::Busy => return Err(Failure::Busy),
            Claim::Work(record) => *record,
        };
        // The time covers all tries, and each ends with a record.
        let work = timeout(limit, work(app, &attempt, &record));
        let outcome = while_leased(&attempt, &host, work).await?;
        let outcome = match outcome.ok_or(Failure::Busy)? {
            Ok(outcome) => outcome?,
            // Without the part that is indexed already. If that fails too, it stays until the next upload.
            Err(_) => {
                let _ = timeout(RESERVE / 2, index::remove(app, &org, &record)).await;
                Outcome::Failed(TOO_SLOW.to_owned())
            }
        };
        let outcome = match outcome {
            Outcome::Retry(reason) if is_last && record.state != State::Deleting => Outcome::Failed(reason),
            outcome => outcome,
        };
        let ended = attempt.end(&record, &outcome, host.now()).await?;
        match (ended, outcome) {
            (Ended::Again, _) => {}
            (Ended::Lost, _) => return Err(Failure::Busy),
            (Ended::Written, Outcome::Retry(reason)) => return Err(Failure::Retry(reason)),
            (Ended::Written, outcome) => {
                log(&outcome);
                return Ok(());
            }
        }
    }
}

/// Does what a record asks for, and removes the contents of uploads that it doesn't name any more.
async fn work(app: &App, attempt: &Attempt<'_, Table>, record: &Record) -> Result<Outcome, Unavailable> {
    let (org, id) = (attempt.org, attempt.id);
    // Listed before the record is read again: a later upload writes its record before its content.
    let uploads = app.objects.uploads(org, id).await?;
    let mut pauses = PAUSES.into_iter();
    let outcome = loop {
        let outcome = match record.state {
            State::Deleting => index::remove(app, org, record).await,
            State::Pending { .. } | State::Ready { .. } | State::Failed { .. } => {
                index::index(app, org, id, record).await?
            }
        };
        match pauses.next().filter(|_| matches!(outcome, Outcome::Retry(_))) {
            Some(pause) => sleep(pause).await,
            None => break outcome,
        }
    };
    if !matches!(outcome, Outcome::Retry(_)) {
        remove_others(app, org, id, &uploads).await?;
    }
    Ok(outcome)
}

/// Removes the contents of these uploads, except for the one that the record names.
async fn remove_others(
    app: &App,
    org: &OrgId,
    id: &DocumentId,
    uploads: &[String],
) -> Result<(), Unavailable> {
    let current = app.table.record(org, id).await?.map(|stored| stored.record);
    let current = current.filter(|record| record.state != State::Deleting).map(|record| record.upload);
    for upload in uploads.iter().filter(|upload| Some(*upload) != current.as_ref()) {
        app.objects.remove_content(org, id, upload).await?;
    }
    Ok(())
}

/// Runs `work` while the attempt extends its lease. `None` if it lost the lease, and the work was dropped.
async fn while_leased<T>(
    attempt: &Attempt<'_, Table>,
    host: &System,
    work: impl Future<Output = T>,
) -> Result<Option<T>, Unavailable> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok(Some(done)),
            () = sleep(attempt.lease / 3) => {
                if !attempt.renew(host.now()).await? {
                    return Ok(None);
                }
            }
        }
    }
}

fn log(outcome: &Outcome) {
    let (status, chunks) = match outcome {
        Outcome::Indexed { chunks } => ("ready", *chunks),
        Outcome::Failed(_) => ("failed", 0),
        Outcome::Deleted => ("deleted", 0),
        Outcome::Retry(_) => ("pending", 0),
    };
    tracing::info!(status, chunks, "{}", contracts::log::KNOWLEDGE_INDEXED);
}

fn time_left(deadline_ms: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(deadline_ms).saturating_sub(now)
}
