//! The queues of the console's deployment, with the credentials of whoever started the console: their AWS credentials, or
//! those of the machine of a local cloud.
//!
//! The queues hold messages of all orgs, so the API has no route for them, and a token of an operator gives no access
//! (decision 33).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use contracts::id::{OrgId, SessionId, TurnId};
use contracts::{Error as WireError, ErrorCode, InvokeResult, Timestamp};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::Console;
use super::response::{error_response, respond};
use crate::dead_letters::{DeadLetter, RedriveReason, Selection};
use crate::queues::{Depth, Error, QueueReport, Queues};

/// The most dead letters of a response.
const MAX_LETTERS: usize = 100;

/// A function that connects to the queues of a deployment, or returns the reason that it can't.
pub type QueueSource = Arc<dyn Fn() -> BoxFuture<'static, Result<Queues, String>> + Send + Sync>;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct QueueState {
    queue: QueueDepth,
    dead_letters: QueueDepth,
    overdue_turns: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct QueueDepth {
    waiting: u64,
    delayed: u64,
    in_flight: u64,
}

impl From<Depth> for QueueDepth {
    fn from(Depth { visible, delayed, in_flight }: Depth) -> Self {
        Self { waiting: visible, delayed, in_flight }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Letters {
    /// The oldest dead letters.
    items: Vec<Letter>,
    /// Number of the others.
    omitted: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Letter {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_date: Option<Timestamp>,
    receives: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    org: Option<OrgId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnId>,
    /// The reason with its remedy.
    reason: String,
}

impl From<&DeadLetter> for Letter {
    fn from(letter: &DeadLetter) -> Self {
        let (org, session, turn) = letter.subject();
        Self {
            id: letter.id().to_owned(),
            sent_date: letter.sent,
            receives: letter.receives,
            org: org.cloned(),
            session: session.cloned(),
            turn: turn.cloned(),
            reason: letter.reason.text(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct RedriveRequest {
    /// The id of the message.
    message: String,
    /// A sentence for the audit log.
    reason: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Redriven {
    count: usize,
}

/// Returns the depths of the queues.
pub(super) async fn state(State(console): State<Arc<Console>>) -> Response {
    let report = match open(&console).await {
        Ok(queues) => queues.report().await,
        Err(reason) => return no_access(&reason),
    };
    let state = |QueueReport { queue, dead_letters, overdue_turns, .. }| QueueState {
        queue: queue.into(),
        dead_letters: dead_letters.into(),
        overdue_turns,
    };
    respond(&InvokeResult::from(report.map(state).map_err(unavailable)))
}

/// Returns the oldest dead letters with their reasons.
pub(super) async fn dead_letters(State(console): State<Arc<Console>>) -> Response {
    let letters = match open(&console).await {
        Ok(queues) => queues.dead_letters(&Selection::default()).await,
        Err(reason) => return no_access(&reason),
    };
    let letters = letters.map(|letters| Letters {
        items: letters.iter().take(MAX_LETTERS).map(Letter::from).collect(),
        omitted: letters.len().saturating_sub(MAX_LETTERS),
    });
    respond(&InvokeResult::from(letters.map_err(unavailable)))
}

/// Moves a dead letter back to its queue. The function that handles it writes the audit line, with the reason.
pub(super) async fn redrive(State(console): State<Arc<Console>>, body: Bytes) -> Response {
    let queues = match open(&console).await {
        Ok(queues) => queues,
        Err(reason) => return no_access(&reason),
    };
    let Ok(RedriveRequest { message, reason }) = serde_json::from_slice(&body) else {
        return error_response(ErrorCode::MemberInvalid, "Send Message and Reason as strings.");
    };
    let reason: RedriveReason = match reason.parse() {
        Ok(reason) => reason,
        Err(error) => return error_response(ErrorCode::MemberInvalid, &format!("Reason {error}.")),
    };
    let selection = Selection { message: Some(message), ..Selection::default() };
    let moved = queues.redrive(&selection, Some(&reason)).await;
    respond(&InvokeResult::from(moved.map(|count| Redriven { count }).map_err(unavailable)))
}

/// Connects to the queues, or returns the reason that it can't.
async fn open(console: &Console) -> Result<Queues, String> {
    match (&console.machine, &console.queues) {
        (Some(machine), _) => Queues::of_local_cloud(&machine.data).map_err(|error| error.to_string()),
        (None, Some(source)) => source().await,
        (None, None) => Err("This console has no access to the queues of the deployment.".to_owned()),
    }
}

/// Responds as if there were no such route, so that the page shows no queues.
fn no_access(reason: &str) -> Response {
    error_response(ErrorCode::RouteNotFound, reason)
}

fn unavailable(error: Error) -> WireError {
    WireError::new(ErrorCode::StorageUnavailable, error.to_string())
}
