//! `GET /v1/files`: the caller's files, one of them, and its content.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use openai_api::{
    delivery::refused,
    error::ApiError,
    files::{FILE_PREFIX, FileId, FileQuery, unix_seconds},
    http::{Parameters, attachment, json},
};
use runtime::AuthenticatedCaller;
use turns::ports::Unavailable;

use crate::app::App;

/// Lists the caller's files, newest first unless asked otherwise.
pub(super) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    uri: Uri,
) -> Result<Response, ApiError> {
    let query = FileQuery::read(&uri)?;
    let now = unix_seconds();
    let files =
        app.uploads.list_under(&caller.org, &caller.user.id, FILE_PREFIX).await.map_err(unavailable)?;
    let files = files.into_iter().filter_map(|file| Some((FileId::parse(&file.id)?, file.bytes)));
    let page = query.page(files.filter(|(id, _)| !id.is_expired(now)).collect())?;
    Ok(json(200, &page))
}

/// Returns a file without its content.
pub(super) async fn file(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &[])?;
    let file = live(&id)?;
    let size = app.uploads.size(&caller.org, &caller.user.id, &id).await.map_err(unavailable)?;
    let size = size.ok_or_else(|| ApiError::file_not_found(&id))?;
    Ok(json(200, &file.object(size)))
}

/// Returns the content of a file.
pub(super) async fn content(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &[])?;
    live(&id)?;
    let content = app.uploads.read(&caller.org, &caller.user.id, &id).await.map_err(unavailable)?;
    content.map(|content| attachment(content.bytes)).ok_or_else(|| ApiError::file_not_found(&id))
}

/// Parses the id of a file that hasn't expired.
fn live(id: &str) -> Result<FileId, ApiError> {
    let file = FileId::parse(id).filter(|file| !file.is_expired(unix_seconds()));
    file.ok_or_else(|| ApiError::file_not_found(id))
}

fn unavailable(error: Unavailable) -> ApiError {
    refused(&error.into())
}
