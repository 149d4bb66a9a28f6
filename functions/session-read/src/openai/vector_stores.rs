//! `GET /v1/vector_stores`: the vector stores of the org, one of them, and its files.

use axum::{
    extract::{Path, State},
    http::Uri,
    response::Response,
};
use knowledge::vector_stores::{self, Error, Listed};
use openai_api::{
    delivery::refused,
    error::ApiError,
    http::{Parameters, json},
    vector_stores::{StoreObject, file_object, page},
};
use runtime::AuthenticatedCaller;
use serde_json::Value;
use turns::{ports::Host, system::System};

use super::paging;
use crate::app::App;

/// The statuses of a file, by which a list may be filtered.
const STATUSES: [&str; 4] = ["in_progress", "completed", "failed", "cancelled"];

/// Lists the vector stores of the org, newest first unless asked otherwise.
pub(super) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    uri: Uri,
) -> Result<Response, ApiError> {
    let parameters = Parameters::read(&uri, &["limit", "order", "after"])?;
    let paging = paging(&parameters)?;
    let listed = vector_stores::list(&app.documents, &caller, System::new().now()).await;
    let listed = listed.map_err(|error| error_of(error, ""))?;
    Ok(json(200, &page(listed.iter().map(object).collect(), paging)?))
}

/// Returns a vector store.
pub(super) async fn store(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &[])?;
    let listed = vector_stores::read(&app.documents, &caller, &id, System::new().now()).await;
    listed.map(|listed| json(200, &object(&listed))).map_err(|error| error_of(error, &id))
}

/// Lists the files of a vector store, newest first unless asked otherwise.
pub(super) async fn files(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let parameters = Parameters::read(&uri, &["limit", "order", "after", "filter"])?;
    let (paging, filter) = (paging(&parameters)?, parameters.text("filter").filter(|text| !text.is_empty()));
    if filter.is_some_and(|filter| !STATUSES.contains(&filter)) {
        return Err(ApiError::value("filter", "must be in_progress, completed, failed or cancelled"));
    }
    let listed = vector_stores::read(&app.documents, &caller, &id, System::new().now()).await;
    let Listed { documents, .. } = listed.map_err(|error| error_of(error, &id))?;
    let objects = documents.iter().filter_map(|document| file_object(&id, document));
    let is_wanted =
        |object: &Value| filter.is_none_or(|filter| object.get("status").is_some_and(|is| is == filter));
    Ok(json(200, &page(objects.filter(is_wanted).collect(), paging)?))
}

/// Returns a file of a vector store.
pub(super) async fn file(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path((id, file)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, ApiError> {
    Parameters::read(&uri, &[])?;
    let listed = vector_stores::read(&app.documents, &caller, &id, System::new().now()).await;
    let Listed { documents, .. } = listed.map_err(|error| error_of(error, &id))?;
    let mut objects = documents.iter().filter_map(|document| file_object(&id, document));
    let found = objects.find(|object| object.get("id").is_some_and(|id| *id == file));
    found.map(|object| json(200, &object)).ok_or_else(|| ApiError::file_not_found(&file))
}

fn object(listed: &Listed) -> Value {
    let Listed { id, store, documents } = listed;
    StoreObject {
        id: id.as_str(),
        name: &store.name,
        metadata: &store.metadata,
        created: store.created,
        documents,
    }
    .to_value()
}

fn error_of(error: Error, store: &str) -> ApiError {
    match error {
        Error::Refused(refusal) => refused(&refusal),
        _ => ApiError::vector_store_not_found("vector_store_id", store),
    }
}
