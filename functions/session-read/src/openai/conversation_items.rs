//! Lists a conversation's items: the items of its turns, in order, then those that no response has brought.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use contracts::id::{SessionId, TurnId};
use futures::{StreamExt, TryStreamExt, stream};
use openai_api::{
    delivery::refused,
    error::ApiError,
    http::{Parameters, json},
    id::{ResponseId, parse_conversation},
    input_items::{self, Page, Paging},
    request::StoredConversation,
    snapshot,
};
use protocol::Caller;
use runtime::AuthenticatedCaller;
use serde_json::Value;
use turns::{flow::TurnSnapshot, ports::Order};

use super::paging;
use crate::app::App;

/// Turns that are read concurrently.
const CONCURRENT_READS: usize = 4;

/// Lists items, newest first unless asked otherwise.
pub(super) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let parameters = Parameters::read(&uri, &["limit", "order", "after", "include"])?;
    let paging = paging(&parameters)?;
    let session = parse_conversation(&id).ok_or_else(|| not_found(&id))?;
    let names_no_item = || ApiError::value("after", "names no item of the list");
    let stored = stored(&app, &caller, &session).await?;
    let of_stored = |after: &&str| stored.items.iter().any(|item| item.id == **after);
    let starts_in_stored = paging.after.as_ref().is_some_and(of_stored);
    let from = match paging.after.filter(|_| !starts_in_stored) {
        None => None,
        Some(after) => {
            let of = ResponseId::of_item(after).filter(|response| response.session == session);
            Some(of.ok_or_else(names_no_item)?.turn)
        }
    };
    let mut page = paging.page();
    let mut has_room = true;
    let pending = Pending { app: &app, caller: &caller, stored: &stored, newest_first: paging.newest_first };
    if paging.newest_first && from.is_none() {
        has_room = pending.fill(&mut page).await?;
    }
    // A page that begins among the stored items is past the turns in ascending order.
    if has_room && (paging.newest_first || !starts_in_stored) {
        has_room = fill_with_turns(&app, &caller, (&id, &session), paging, from, &stored, &mut page).await?;
    }
    if has_room && !paging.newest_first {
        pending.fill(&mut page).await?;
    }
    page.finish().map(|page| json(200, &page)).ok_or_else(names_no_item)
}

/// Adds the items of turns. Returns false once the page is full.
async fn fill_with_turns(
    app: &App,
    caller: &Caller,
    (id, session): (&str, &SessionId),
    paging: Paging<'_>,
    from: Option<TurnId>,
    stored: &StoredConversation,
    page: &mut Page<'_>,
) -> Result<bool, ApiError> {
    let order = if paging.newest_first { Order::NewestFirst } else { Order::OldestFirst };
    // Every turn has an item, the first turn's items may precede the page, and one more item shows whether the page is the last.
    let limit = paging.limit.saturating_add(2);
    let turns = match app.reader.turn_ids(caller, session.clone(), order, from, limit).await {
        Ok(turns) => turns,
        Err(refusal) => {
            return match refused(&refusal) {
                // No response has created the session.
                error if error.status == 404 && !stored.is_empty() => Ok(true),
                error if error.status == 404 => Err(not_found(id)),
                error => Err(error),
            };
        }
    };
    let reads = turns.into_iter().map(|turn| load(app, caller, session.clone(), turn));
    let mut reads = std::pin::pin!(stream::iter(reads).buffered(CONCURRENT_READS));
    while let Some(mut items) = reads.try_next().await? {
        if paging.newest_first {
            items.reverse();
        }
        if !page.extend(items) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The items that no response has brought.
struct Pending<'a> {
    app: &'a App,
    caller: &'a Caller,
    stored: &'a StoredConversation,
    newest_first: bool,
}

impl Pending<'_> {
    /// Adds them. Returns false once the page is full.
    async fn fill(&self, page: &mut Page<'_>) -> Result<bool, ApiError> {
        let mut names: Vec<String> = self.stored.items.iter().map(|item| item.name.clone()).collect();
        if self.newest_first {
            names.reverse();
        }
        let reads = names.into_iter().map(|name| async move { read(self.app, self.caller, &name).await });
        let mut reads = std::pin::pin!(stream::iter(reads).buffered(CONCURRENT_READS));
        while let Some(item) = reads.try_next().await? {
            if !page.extend(item.into_iter().collect()) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the names of what is stored of a conversation besides its session.
pub(super) async fn stored(
    app: &App,
    caller: &Caller,
    session: &SessionId,
) -> Result<StoredConversation, ApiError> {
    let prefix = StoredConversation::prefix(session);
    let uploads = app.uploads.list_under(&caller.org, &caller.user.id, &prefix).await;
    let uploads = uploads.map_err(|error| refused(&error.into()))?;
    Ok(StoredConversation::read(session, uploads.into_iter().map(|upload| upload.id)))
}

/// Reads a part of a conversation by its name.
pub(super) async fn read(app: &App, caller: &Caller, name: &str) -> Result<Option<Value>, ApiError> {
    let read = app.uploads.read(&caller.org, &caller.user.id, name).await;
    let read = read.map_err(|error| refused(&error.into()))?;
    Ok(read.and_then(|content| serde_json::from_slice(&content.bytes).ok()))
}

/// Returns one item.
pub(super) async fn item(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path((conversation, id)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &["include"])?;
    let session = parse_conversation(&conversation).ok_or_else(|| not_found(&conversation))?;
    let unknown = || {
        let message = format!("Item with id '{id}' not found in conversation '{conversation}'.");
        ApiError { status: 404, ..ApiError::invalid("item_id", "not_found", message) }
    };
    let stored = stored(&app, &caller, &session).await?;
    if let Some(found) = stored.items.iter().rev().find(|item| item.id == id)
        && let Some(item) = read(&app, &caller, &found.name).await?
    {
        return Ok(json(200, &item));
    }
    let response =
        ResponseId::of_item(&id).filter(|response| response.session == session).ok_or_else(unknown)?;
    let items = load(&app, &caller, session, response.turn).await;
    let items = items.map_err(|error| if error.status == 404 { unknown() } else { error })?;
    let found = items
        .into_iter()
        .find(|item| item.get("id").is_some_and(|found| *found == id))
        .ok_or_else(unknown)?;
    Ok(json(200, &found))
}

fn not_found(id: &str) -> ApiError {
    ApiError::conversation_not_found("id", id)
}

/// Loads the items of a turn, oldest first.
async fn load(app: &App, caller: &Caller, session: SessionId, turn: TurnId) -> Result<Vec<Value>, ApiError> {
    let snapshot = app.reader.turn_snapshot(caller, session.clone(), turn.clone()).await;
    let snapshot = snapshot.map_err(|refusal| refused(&refusal))?;
    if snapshot.head.is_deleted {
        return Err(not_found(session.as_str()));
    }
    Ok(items(&ResponseId::first(session, turn), &snapshot))
}

/// Returns the items of a turn: the input and the output of each of its responses.
fn items(first: &ResponseId, snapshot: &TurnSnapshot) -> Vec<Value> {
    let mut items = Vec::new();
    let mut response = first.clone();
    while let Some(outcome) = snapshot::outcome(response.round, snapshot) {
        items.extend(input_items::of_snapshot(&response, snapshot));
        if let Some(outcome) = outcome {
            let mut object = snapshot::frame(response.clone(), snapshot).with_outcome(&outcome);
            if let Some(Value::Array(output)) = object.get_mut("output").map(Value::take) {
                items.extend(output);
            }
        }
        response = response.next();
    }
    items
}
