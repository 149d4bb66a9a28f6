//! `POST /v1/files`, `DELETE /v1/files/{id}`, and the contents of files that a message names.

use std::collections::BTreeMap;

use axum::{
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::{HeaderMap, Uri},
    response::Response,
};
use contracts::request::UserMessage;
use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};
use openai_api::{
    delivery::refused,
    error::ApiError,
    files::{FILE_PREFIX, FileContent, FileId, FileUpload, MAX_FILES, unix_seconds},
    http::json,
    request::{self, uploads},
};
use protocol::Caller;
use runtime::AuthenticatedCaller;
use serde_json::json;
use service::app::App;
use turns::ports::Unavailable;

use super::without_query;

/// Files that are read concurrently.
const CONCURRENT_READS: usize = 4;

/// Stores a file.
pub(super) async fn create(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let upload = FileUpload::read(&headers, body?).await?;
    let now = unix_seconds();
    make_room(&app, &caller, now).await?;
    let id = upload.id(now, uuid::Uuid::new_v4().simple().to_string());
    let object = id.object(u64::try_from(upload.bytes.len()).unwrap_or(u64::MAX));
    let (org, user) = (&caller.org, &caller.user.id);
    let stored = app.uploads.put(org, user, &id.to_string(), &upload.media_type, upload.bytes).await;
    match stored.map_err(unavailable)? {
        true => Ok(json(200, &object)),
        false => Err(ApiError::value("file", "has a name that is too long for this user")),
    }
}

/// Deletes a file. Turns that it was the input of have copies of it.
pub(super) async fn delete(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let file = FileId::parse(&id).filter(|file| !file.is_expired(unix_seconds()));
    let (org, user) = (&caller.org, &caller.user.id);
    let exists = file.is_some() && app.uploads.size(org, user, &id).await.map_err(unavailable)?.is_some();
    if !exists {
        return Err(ApiError::file_not_found(&id));
    }
    app.uploads.remove(org, user, &id).await.map_err(unavailable)?;
    Ok(json(200, &json!({"id": id, "object": "file", "deleted": true})))
}

/// Removes expired files of a user, and refuses another one if there are too many.
async fn make_room(app: &App, caller: &Caller, now: u64) -> Result<(), ApiError> {
    let (org, user) = (&caller.org, &caller.user.id);
    let files = app.uploads.list_under(org, user, FILE_PREFIX).await.map_err(unavailable)?;
    let is_live = |id: &str| FileId::parse(id).is_some_and(|file| !file.is_expired(now));
    let (live, expired): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_live(&file.id));
    let removed = expired.iter().map(|file| app.uploads.remove(org, user, &file.id));
    try_join_all(removed).await.map_err(unavailable)?;
    if live.len() >= MAX_FILES {
        let message = format!("A user may have {MAX_FILES} files. Delete one: DELETE /v1/files/{{id}}.");
        return Err(ApiError::invalid("file", "too_many_files", message));
    }
    Ok(())
}

/// Returns a message with the contents of the files that it names.
pub(super) async fn with_contents(
    app: &App,
    caller: &Caller,
    now: u64,
    message: &UserMessage,
) -> Result<UserMessage, ApiError> {
    let reads = uploads(message, now)?.into_iter().map(|id| read(app, caller, id));
    let reads = stream::iter(reads).buffer_unordered(CONCURRENT_READS);
    let contents: BTreeMap<FileId, FileContent> = reads.try_collect().await?;
    request::with_contents(message, &contents)
}

async fn read(app: &App, caller: &Caller, id: FileId) -> Result<(FileId, FileContent), ApiError> {
    let read = app.uploads.read(&caller.org, &caller.user.id, &id.to_string()).await.map_err(unavailable)?;
    let read = read.ok_or_else(|| ApiError::unknown_file("input", &id.to_string()))?;
    Ok((id, FileContent { media_type: read.media_type, bytes: read.bytes }))
}

fn unavailable(error: Unavailable) -> ApiError {
    refused(&error.into())
}
