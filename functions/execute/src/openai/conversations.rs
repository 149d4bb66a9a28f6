//! `/v1/conversations`, as far as it changes something. A conversation is a session, with metadata and items that no
//! response has brought yet.

use axum::{
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::Uri,
    response::Response,
};
use contracts::{ErrorCode, id::SessionId};
use futures::future::try_join_all;
use openai_api::{
    delivery::refused,
    error::ApiError,
    files::unix_seconds,
    http::json,
    id::{self, parse_conversation},
    request::{
        ConversationBody, MAX_CONVERSATION_ITEMS, StoredConversation, as_input, conversation_object, with_id,
    },
};
use protocol::Caller;
use runtime::{AuthenticatedCaller, Correlation, api::RemainingTime};
use serde_json::{Value, json};
use service::app::{App, Invocation};
use turns::{
    flow::{SessionOperation, change_session},
    ports::Unavailable,
    refusal::Refusal,
};

use super::without_query;

const JSON: &str = "application/json";

/// A conversation of a caller.
struct Conversation<'a> {
    app: &'a App,
    caller: &'a Caller,
    session: SessionId,
}

/// Creates a conversation with its metadata and items. The first response creates the session.
pub(super) async fn create(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let ConversationBody { items, metadata } = ConversationBody::parse(&body?, &["items", "metadata"])?;
    let session = SessionId::new(uuid::Uuid::new_v4().simple().to_string());
    let session = session.map_err(|_| contracts::Error::from(ErrorCode::Internal))?;
    let conversation = Conversation { app: &app, caller: &caller, session };
    conversation.add(&items, 0).await?;
    let object = conversation.describe(unix_seconds(), metadata.unwrap_or_else(|| json!({}))).await?;
    Ok(json(200, &object))
}

/// Replaces the metadata of a conversation.
pub(super) async fn update(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let body = ConversationBody::parse(&body?, &["metadata"])?;
    let metadata = body.metadata.ok_or_else(|| ApiError::value("metadata", "is required"))?;
    let conversation = Conversation::named(&app, &caller, &id)?;
    let stored = conversation.existing().await?;
    let created = conversation.created(&stored).await?;
    let object = conversation.describe(created, metadata).await?;
    let old = stored.metadata.iter().chain(&stored.stale).map(String::as_str);
    conversation.remove(old).await?;
    Ok(json(200, &object))
}

/// Deletes a conversation with its items and its responses.
pub(super) async fn delete(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Correlation(correlation): Correlation,
    RemainingTime(budget): RemainingTime,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let conversation = Conversation::named(&app, &caller, &id)?;
    let stored = conversation.stored().await?;
    let invocation = Invocation { budget, correlation: Some(correlation) };
    let operation = SessionOperation::Delete(&invocation);
    let session = &conversation.session;
    let deleted = change_session(&app.adapters, app.session_policy, &caller, session, &operation).await;
    match deleted {
        // No response has created the session.
        Err(Refusal::SessionNotFound) if !stored.is_empty() => {}
        other => other.map_err(|refusal| refused(&refusal))?,
    }
    conversation.remove(stored.names().map(String::as_str)).await?;
    Ok(json(200, &json!({"id": id, "object": "conversation.deleted", "deleted": true})))
}

/// Adds items, which the next response of the conversation takes over.
pub(super) async fn add_items(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    openai_api::http::Parameters::read(&uri, &["include"])?;
    let ConversationBody { items, .. } = ConversationBody::parse(&body?, &["items"])?;
    if items.is_empty() {
        return Err(ApiError::value("items", "must hold an item"));
    }
    let conversation = Conversation::named(&app, &caller, &id)?;
    let stored = conversation.existing().await?;
    let added = conversation.add(&items, stored.items.len()).await?;
    let id_of = |item: Option<&Value>| item.and_then(|item| item.get("id")).cloned();
    let list = json!({
        "object": "list", "first_id": id_of(added.first()), "last_id": id_of(added.last()), "has_more": false,
        "data": added,
    });
    Ok(json(200, &list))
}

/// Deletes an item that no response has brought.
pub(super) async fn delete_item(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path((id, item)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let conversation = Conversation::named(&app, &caller, &id)?;
    let stored = conversation.existing().await?;
    let Some(found) = stored.items.iter().rev().find(|stored| stored.id == item) else {
        let message =
            format!("Item with id '{item}' not found among the items that no response has brought.");
        return Err(ApiError { status: 404, ..ApiError::invalid("item_id", "not_found", message) });
    };
    conversation.remove(std::iter::once(found.name.as_str())).await?;
    let (created, metadata) = (conversation.created(&stored).await?, conversation.metadata(&stored).await?);
    Ok(json(200, &conversation_object(&conversation.session, created, &metadata)))
}

/// The items that a response takes over.
pub(super) struct PendingItems {
    /// The start of its input.
    pub(super) input: Vec<Value>,
    names: Vec<String>,
}

/// Reads the items that the next response of a conversation takes over.
pub(super) async fn pending(
    app: &App,
    caller: &Caller,
    session: SessionId,
) -> Result<PendingItems, ApiError> {
    let conversation = Conversation { app, caller, session };
    let stored = conversation.stored().await?;
    let reads = stored.items.iter().map(|item| conversation.read(&item.name));
    let items = try_join_all(reads).await?.into_iter().flatten().collect();
    let names = stored.items.into_iter().map(|item| item.name).collect();
    Ok(PendingItems { input: as_input(items), names })
}

impl PendingItems {
    /// Removes the items, once the turn that took them over has started.
    pub(super) async fn remove(self, app: &App, caller: &Caller, session: SessionId) -> Result<(), ApiError> {
        let conversation = Conversation { app, caller, session };
        conversation.remove(self.names.iter().map(String::as_str)).await
    }
}

impl<'a> Conversation<'a> {
    fn named(app: &'a App, caller: &'a Caller, id: &str) -> Result<Self, ApiError> {
        let session = parse_conversation(id).ok_or_else(|| ApiError::conversation_not_found("id", id))?;
        Ok(Self { app, caller, session })
    }

    async fn stored(&self) -> Result<StoredConversation, ApiError> {
        let prefix = StoredConversation::prefix(&self.session);
        let (org, user) = (&self.caller.org, &self.caller.user.id);
        let uploads = self.app.uploads.list_under(org, user, &prefix).await.map_err(unavailable)?;
        Ok(StoredConversation::read(&self.session, uploads.into_iter().map(|upload| upload.id)))
    }

    /// Returns what is stored of a conversation that exists.
    async fn existing(&self) -> Result<StoredConversation, ApiError> {
        let stored = self.stored().await?;
        if stored.is_empty() {
            let last = self.app.reader.last_turn_id(self.caller, self.session.clone()).await;
            let id = id::conversation(&self.session);
            last.map_err(|refusal| refused(&refusal))?
                .ok_or_else(|| ApiError::conversation_not_found("id", &id))?;
        }
        Ok(stored)
    }

    /// Stores items, besides those that are there.
    async fn add(&self, items: &[Value], existing: usize) -> Result<Vec<Value>, ApiError> {
        if existing.saturating_add(items.len()) > MAX_CONVERSATION_ITEMS {
            let rule = "may be 900 in a conversation until a response takes them over";
            return Err(ApiError::value("items", rule));
        }
        let (order, nonce) = (micros(), uuid::Uuid::new_v4().simple().to_string());
        let mut added = Vec::new();
        for (item, n) in items.iter().zip(0_u64..) {
            let (id, item) = with_id(item, &format!("{nonce}{n:02}"));
            self.put(&StoredConversation::item(&self.session, order.saturating_add(n), &id), &item).await?;
            added.push(item);
        }
        Ok(added)
    }

    /// Stores the metadata. Returns the conversation.
    async fn describe(&self, created: u64, metadata: Value) -> Result<Value, ApiError> {
        let content = json!({"created_at": created, "metadata": metadata});
        self.put(&StoredConversation::metadata(&self.session, micros()), &content).await?;
        Ok(conversation_object(&self.session, created, &metadata))
    }

    async fn created(&self, stored: &StoredConversation) -> Result<u64, ApiError> {
        let content = self.content(stored).await?;
        Ok(content.get("created_at").and_then(Value::as_u64).unwrap_or_else(unix_seconds))
    }

    async fn metadata(&self, stored: &StoredConversation) -> Result<Value, ApiError> {
        let content = self.content(stored).await?;
        Ok(content.get("metadata").cloned().unwrap_or_else(|| json!({})))
    }

    async fn content(&self, stored: &StoredConversation) -> Result<Value, ApiError> {
        match &stored.metadata {
            Some(name) => Ok(self.read(name).await?.unwrap_or_default()),
            None => Ok(Value::Null),
        }
    }

    async fn put(&self, name: &str, content: &Value) -> Result<(), ApiError> {
        let (org, user) = (&self.caller.org, &self.caller.user.id);
        let body = Bytes::from(content.to_string());
        match self.app.uploads.put(org, user, name, JSON, body).await.map_err(unavailable)? {
            true => Ok(()),
            false => Err(ApiError::value("id", "is too long for this user")),
        }
    }

    async fn read(&self, name: &str) -> Result<Option<Value>, ApiError> {
        let (org, user) = (&self.caller.org, &self.caller.user.id);
        let read = self.app.uploads.read(org, user, name).await.map_err(unavailable)?;
        Ok(read.and_then(|content| serde_json::from_slice(&content.bytes).ok()))
    }

    async fn remove(&self, names: impl Iterator<Item = &str>) -> Result<(), ApiError> {
        let (org, user) = (&self.caller.org, &self.caller.user.id);
        let removals = names.map(|name| self.app.uploads.remove(org, user, name));
        try_join_all(removals).await.map(|_| ()).map_err(unavailable)
    }
}

/// Returns the time in microseconds, by which items are ordered.
fn micros() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn unavailable(error: Unavailable) -> ApiError {
    refused(&error.into())
}
