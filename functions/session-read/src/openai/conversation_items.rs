//! Lists a conversation's items: the items of its turns, in order.

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
    input_items, snapshot,
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
    let from = match paging.after {
        None => None,
        Some(after) => {
            let of = ResponseId::of_item(after).filter(|response| response.session == session);
            Some(of.ok_or_else(names_no_item)?.turn)
        }
    };
    let order = if paging.newest_first { Order::NewestFirst } else { Order::OldestFirst };
    // Every turn has an item, the first turn's items may precede the page, and one more item shows whether the page is the last.
    let limit = paging.limit.saturating_add(2);
    let turns = app.reader.turn_ids(&caller, session.clone(), order, from, limit).await;
    let turns = turns.map_err(|refusal| match refused(&refusal) {
        error if error.status == 404 => not_found(&id),
        error => error,
    })?;
    let reads = turns.into_iter().map(|turn| load(&app, &caller, session.clone(), turn));
    let mut reads = std::pin::pin!(stream::iter(reads).buffered(CONCURRENT_READS));
    let mut page = paging.page();
    while let Some(mut items) = reads.try_next().await? {
        if paging.newest_first {
            items.reverse();
        }
        if !page.extend(items) {
            break;
        }
    }
    page.finish().map(|page| json(200, &page)).ok_or_else(names_no_item)
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
