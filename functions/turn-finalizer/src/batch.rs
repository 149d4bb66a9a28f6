//! Handles an SQS batch. Each message succeeds or fails on its own.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use contracts::{
    error::{JsonError, causes},
    id::OrgId,
};
use futures::{
    StreamExt,
    future::{join, join_all, join3},
    stream,
};
use lambda_runtime::LambdaEvent;
use protocol::{
    id::{SessionKey, TurnKey},
    queue_message::{FinalizeMessage, REDRIVE_REASON},
    webhook::LaneKey,
};
use runtime::{
    Invocation,
    sqs::{SqsBatchResponse, SqsEvent, SqsMessage},
    telemetry::traces,
};
use tokio::time::timeout;
use tracing::{Instrument, Span, field::Empty};
use turns::{
    flow::{
        Finalized, Lanes, deliver_lane, finalize_turn, has_titles, purge_session, sweep_lanes, sweep_purges,
        sweep_turns, write_title,
    },
    ports::{Unavailable, WebhookQueue},
};

use crate::{app::App, index};

/// The number of messages that are handled concurrently.
const CONCURRENCY: usize = 4;
/// The number of lanes that are delivered concurrently: a whole batch, so that a slow receiver delays no other.
const LANE_CONCURRENCY: usize = 10;
/// The longest time for a lane. One with more events is announced again, behind the others.
const LANE_BUDGET: Duration = Duration::from_secs(25);
/// The longest delay of a message.
const MAX_DELAY: Duration = Duration::from_mins(15);
/// The time that is reserved for other messages of a batch with a sweep.
const RESERVE: Duration = Duration::from_secs(10);

/// The failure of a message, which returns to the queue and, after enough attempts, moves to the dead-letter queue.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The message can't be parsed.
    #[error("the message is not a finalize message")]
    Unreadable(#[source] JsonError),
    /// A store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

pub(crate) async fn handle(app: &App, event: LambdaEvent<SqsEvent>) -> SqsBatchResponse {
    let LambdaEvent { payload, context } = event;
    let began = Instant::now();
    let budget = time_left(context.deadline).saturating_sub(RESERVE);
    let invocation = Invocation::new(&context);
    acknowledge_sweeps(app, &payload.records).await;
    let is_lane = |message: &SqsMessage| {
        let parsed = serde_json::from_str(message.body.as_deref().unwrap_or_default());
        matches!(parsed, Ok(FinalizeMessage::WebhookLane { .. }))
    };
    let concurrency = if payload.records.iter().all(is_lane) { LANE_CONCURRENCY } else { CONCURRENCY };
    let handled = stream::iter(payload.records).map(|message| {
        let span = message_span(&message, &context.request_id);
        invocation.record(&span);
        handle_one(app, message, budget).instrument(span)
    });
    let handled: Vec<MessageResult> = handled.buffer_unordered(concurrency).collect().await;
    let lanes = handled.iter().flat_map(|one| one.follow_up.lanes.iter());
    announce_lanes(app, lanes).await;
    // Last, so that no turn waits for a title or for the index. Titles first, since the index includes them.
    let titles = handled.iter().flat_map(|one| one.follow_up.titles.iter().cloned()).collect();
    write_titles(app, titles, budget.saturating_sub(began.elapsed())).await;
    let sessions = handled.iter().flat_map(|one| one.follow_up.sessions.iter().cloned()).collect();
    let backfill = handled.iter().flat_map(|one| one.follow_up.backfill.iter().cloned()).collect();
    let missing = index::update(app, sessions, backfill, budget.saturating_sub(began.elapsed())).await;
    let needs_retry = |one: &MessageResult| one.failed || !one.follow_up.sessions.is_disjoint(&missing);
    handled.into_iter().filter(needs_retry).map(|one| one.message).collect()
}

/// Deletes the sweep messages of a batch before any work. The timer sends the next sweep a minute later, so one that is
/// killed needs no redelivery: it would be killed again, and end in the dead-letter queue.
async fn acknowledge_sweeps(app: &App, messages: &[SqsMessage]) {
    let is_sweep = |message: &&SqsMessage| {
        let parsed = serde_json::from_str(message.body.as_deref().unwrap_or_default());
        matches!(parsed, Ok(FinalizeMessage::Sweep))
    };
    let receipts = messages.iter().filter(is_sweep).filter_map(|message| message.receipt_handle.as_deref());
    for deleted in join_all(receipts.map(|receipt| app.queue.delete(receipt))).await {
        if let Err(error) = deleted {
            // The sweep itself matters more. The message is deleted with its batch.
            tracing::warn!(error = %causes(&error), "{}", contracts::log::SWEEP_NOT_ACKNOWLEDGED);
        }
    }
}

/// Announces lanes of webhooks. The sweep finds one whose message is lost.
async fn announce_lanes(app: &App, lanes: impl Iterator<Item = &(LaneKey, Duration)>) {
    let announced = lanes.map(|(lane, delay)| app.webhook_queue.announce(lane, *delay));
    for announced in join_all(announced).await {
        if let Err(error) = announced {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::WEBHOOK_NOTICE_FAILED);
        }
    }
}

/// The result of a message.
struct MessageResult {
    /// The message id.
    message: String,
    /// Set if the message must be retried.
    failed: bool,
    follow_up: FollowUp,
}

/// Work that follows a message, once the turns of the whole batch are final.
#[derive(Default)]
struct FollowUp {
    /// The turns whose sessions may get a title.
    titles: Vec<TurnKey>,
    /// The sessions to index again.
    sessions: BTreeSet<SessionKey>,
    /// The orgs to backfill.
    backfill: BTreeSet<OrgId>,
    /// The lanes of webhooks to announce, each after a time.
    lanes: Vec<(LaneKey, Duration)>,
}

impl FollowUp {
    fn from_session(session: SessionKey) -> Self {
        Self { sessions: BTreeSet::from([session]), ..Self::default() }
    }
}

/// Creates the span of a message, whose fields every log line has. The correlation id is the message id until the message
/// names one. The span continues the sender's trace. It has level ERROR, so that no log level filters it out.
fn message_span(message: &SqsMessage, request_id: &str) -> Span {
    let message_id = message.message_id.as_deref().unwrap_or_default();
    let span = tracing::error_span!(
        "message",
        otel.name = "process a finalize message",
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

async fn handle_one(app: &App, message: SqsMessage, budget: Duration) -> MessageResult {
    let result = dispatch(app, message.body.as_deref().unwrap_or_default(), budget).await;
    // The span has the org, the session and the turn by now.
    if let Some(reason) = message.attribute(REDRIVE_REASON) {
        tracing::info!(action = "redrive", operator = true, reason, "{}", contracts::log::AUDIT);
    }
    let (failed, message) = (result.is_err(), message.message_id.unwrap_or_default());
    let follow_up = result.unwrap_or_else(|failure| {
        tracing::error!(error = %causes(&failure), "{}", contracts::log::QUEUE_MESSAGE_FAILED);
        FollowUp::default()
    });
    MessageResult { message, failed, follow_up }
}

async fn dispatch(app: &App, body: &str, budget: Duration) -> Result<FollowUp, Failure> {
    let message = serde_json::from_str(body).map_err(|error| Failure::Unreadable(JsonError::from(&error)))?;
    let (span, App { adapters, external, .. }) = (Span::current(), app);
    match message {
        FinalizeMessage::TurnSettled { org, session, turn, correlation } => {
            span.record("kind", "turn_settled").record("org", org.as_str());
            span.record("session", session.as_str()).record("turn", turn.as_str());
            if let Some(correlation) = correlation {
                span.record("correlation", correlation.as_str());
            }
            let session = SessionKey { org, session };
            let turn = session.turn(turn);
            let (finalized, gets_title) = join(
                finalize_turn(adapters, &external.providers, &turn),
                has_titles(adapters, &app.titles, &session.org),
            )
            .await;
            let finalized = finalized?;
            let is_done = finalized.is_done();
            tracing::info!(finalized = is_done, "{}", contracts::log::TURN_MESSAGE_HANDLED);
            if matches!(finalized, Finalized::Purging) {
                let done = purge_session(adapters, external, &session, budget).await?;
                tracing::info!(done, "{}", contracts::log::PURGE);
                return Ok(FollowUp::default());
            }
            let titles = gets_title.then_some(turn).into_iter().collect();
            let lanes = match finalized {
                Finalized::Yes(lanes) => lanes.into_iter().map(|lane| (lane, Duration::ZERO)).collect(),
                Finalized::No | Finalized::Purging => Vec::new(),
            };
            Ok(FollowUp { titles, lanes, ..FollowUp::from_session(session) })
        }
        FinalizeMessage::SessionPurge { org, session } => {
            span.record("kind", "session_purge").record("org", org.as_str());
            span.record("session", session.as_str());
            let done = purge_session(adapters, external, &SessionKey { org, session }, budget).await?;
            tracing::info!(done, "{}", contracts::log::PURGE);
            Ok(FollowUp::default())
        }
        FinalizeMessage::SessionIndex { org, session } => {
            span.record("kind", "session_index").record("org", org.as_str());
            Ok(match session {
                Some(session) => {
                    span.record("session", session.as_str());
                    FollowUp::from_session(SessionKey { org, session })
                }
                None => FollowUp { backfill: BTreeSet::from([org]), ..FollowUp::default() },
            })
        }
        FinalizeMessage::WebhookLane { org, session, webhook } => {
            span.record("kind", "webhook_lane").record("org", org.as_str());
            span.record("session", session.as_str());
            let lane = LaneKey::new(SessionKey { org, session }, webhook);
            let App { receivers, webhook_secrets, .. } = app;
            let limit = budget.min(LANE_BUDGET);
            let lanes = match deliver_lane(adapters, receivers, webhook_secrets, &lane, limit).await? {
                Lanes::Done => Vec::new(),
                // A longer pause ends with a sweep.
                Lanes::Again(pause) if pause > MAX_DELAY => Vec::new(),
                Lanes::Again(pause) => vec![(lane, pause)],
            };
            Ok(FollowUp { lanes, ..FollowUp::default() })
        }
        FinalizeMessage::Sweep => {
            span.record("kind", "sweep");
            // At once, so that neither waits for the other's trouble.
            let (swept, purged, lanes) = join3(
                sweep_turns(adapters, &external.providers, &app.turn_queue, budget),
                sweep_purges(adapters, external, budget),
                sweep_lanes(adapters, &app.webhook_queue, budget),
            )
            .await;
            if let Err(error) = lanes {
                tracing::error!(error = %causes(&error), "{}", contracts::log::SWEEP_FAILED);
            }
            if let Err(error) = purged {
                tracing::error!(error = %causes(&error), "{}", contracts::log::SWEEP_FAILED);
            }
            // A failed sweep needs no retry: the next one follows a minute later.
            let swept = match swept {
                Ok(swept) => swept,
                Err(error) => {
                    tracing::error!(error = %causes(&error), "{}", contracts::log::SWEEP_FAILED);
                    return Ok(FollowUp::default());
                }
            };
            tracing::info!(
                examined = swept.examined,
                finalized = swept.finalized,
                salvaged = swept.salvaged,
                ended = swept.ended,
                continued = swept.continued,
                alive = swept.alive,
                failed = swept.failed,
                cut_short = swept.timed_out,
                "{}",
                contracts::log::SWEEP
            );
            let lanes = swept.lanes.into_iter().map(|lane| (lane, Duration::ZERO)).collect();
            Ok(FollowUp { sessions: swept.sessions, lanes, ..FollowUp::default() })
        }
    }
}

/// Writes the titles of sessions, all at once. Titles that take longer than `limit` are dropped.
async fn write_titles(app: &App, turns: Vec<TurnKey>, limit: Duration) {
    let written = turns.iter().map(|turn| write_title(&app.adapters, &app.titles, turn));
    // A dropped title isn't an error: the session has a name.
    let _ = timeout(limit, join_all(written)).await;
}

fn time_left(deadline_ms: u64) -> Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(deadline_ms).saturating_sub(now)
}
