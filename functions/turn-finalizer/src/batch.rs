//! One batch from SQS: each message on its own, failures reported one by one.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use contracts::{
    error::{Misread, causes},
    id::OrgId,
};
use futures::{StreamExt, stream};
use lambda_runtime::LambdaEvent;
use protocol::{announcement::FinalizeMessage, id::SessionKey};
use tracing::{Instrument, Span, field::Empty};
use turns::ports::Unavailable;

use crate::{app::App, index};

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

pub(crate) async fn handle(app: &App, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let LambdaEvent { payload, context } = event;
    let began = Instant::now();
    let budget = time_left(context.deadline).saturating_sub(RESERVE);
    let handled = stream::iter(payload.records).map(|message| {
        let span = span_of(&message, &context.request_id);
        handle_one(app, message, budget).instrument(span)
    });
    let handled: Vec<Handled> = handled.buffer_unordered(AT_A_TIME).collect().await;
    // Behind all of them: no turn waits for the index.
    let changed = handled.iter().flat_map(|one| one.changes.sessions.iter().cloned()).collect();
    let fill = handled.iter().flat_map(|one| one.changes.orgs.iter().cloned()).collect();
    let missing = index::indexed(app, changed, fill, budget.saturating_sub(began.elapsed())).await;
    let comes_again = |one: &Handled| one.failed || !one.changes.sessions.is_disjoint(&missing);
    let failed = handled.into_iter().filter(comes_again).map(|one| one.message);
    let mut response = SqsBatchResponse::default();
    response.set_failures(failed);
    response
}

/// What became of a message.
struct Handled {
    /// Its identifier.
    message: String,
    /// Whether it has to come again.
    failed: bool,
    changes: Changes,
}

/// What the index of sessions has to be told.
#[derive(Default)]
struct Changes {
    /// These sessions are found by something else now.
    sessions: BTreeSet<SessionKey>,
    /// Those of these orgs are to be filled in.
    orgs: BTreeSet<OrgId>,
}

impl Changes {
    fn of(session: SessionKey) -> Self {
        Self { sessions: BTreeSet::from([session]), ..Self::default() }
    }
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

async fn handle_one(app: &App, message: SqsMessage, budget: Duration) -> Handled {
    let done = dispatch(app, message.body.as_deref().unwrap_or_default(), budget).await;
    let (failed, message) = (done.is_err(), message.message_id.unwrap_or_default());
    let changes = done.unwrap_or_else(|failure| {
        tracing::error!(error = %causes(&failure), "a message could not be handled");
        Changes::default()
    });
    Handled { message, failed, changes }
}

async fn dispatch(app: &App, body: &str, budget: Duration) -> Result<Changes, Failure> {
    let message = serde_json::from_str(body).map_err(|error| Failure::Poison(Misread::from(&error)))?;
    let span = Span::current();
    match message {
        FinalizeMessage::TurnSettled { org, session, turn, correlation } => {
            span.record("kind", "turn_settled").record("org", org.as_str());
            span.record("session", session.as_str()).record("turn", turn.as_str());
            if let Some(correlation) = correlation {
                span.record("correlation", correlation.as_str());
            }
            let session = SessionKey { org, session };
            let finalized = app.finalizer.finalize(&session.turn(turn)).await?;
            tracing::info!(finalized, "turn announced");
            Ok(Changes::of(session))
        }
        FinalizeMessage::SessionPurge { org, session } => {
            span.record("kind", "session_purge").record("org", org.as_str());
            span.record("session", session.as_str());
            let done = app.purger.purge(&SessionKey { org, session }, budget).await?;
            tracing::info!(done, "purge");
            Ok(Changes::default())
        }
        FinalizeMessage::SessionIndex { org, session } => {
            span.record("kind", "session_index").record("org", org.as_str());
            Ok(match session {
                Some(session) => {
                    span.record("session", session.as_str());
                    Changes::of(SessionKey { org, session })
                }
                None => Changes { orgs: BTreeSet::from([org]), ..Changes::default() },
            })
        }
        FinalizeMessage::Sweep => {
            span.record("kind", "sweep");
            let began = Instant::now();
            // A sweep that fails is made up for by the next one, a minute later: it is no dead letter.
            let swept = match app.finalizer.sweep(budget).await {
                Ok(swept) => swept,
                Err(error) => {
                    tracing::error!(error = %causes(&error), "a sweep failed");
                    return Ok(Changes::default());
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
            // What is left of the time is for sessions whose retention is over.
            let left = budget.saturating_sub(began.elapsed());
            if let Err(error) = app.purger.sweep(left).await {
                tracing::error!(error = %causes(&error), "a sweep failed");
            }
            Ok(Changes { sessions: swept.sessions, ..Changes::default() })
        }
    }
}

fn time_left(deadline_ms: u64) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(deadline_ms).saturating_sub(now)
}
