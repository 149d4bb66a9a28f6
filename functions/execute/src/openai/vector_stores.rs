//! `/v1/vector_stores`, as far as it changes something, and the search in one. Files are copied from `/v1/files`.

use std::time::Duration;

use agent::retrieval::{Retrieval, Search};
use axum::{
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::Uri,
    response::Response,
};
use contracts::{knowledge::KnowledgeDocument, request::KnowledgeAttribute};
use knowledge::{
    VectorStoreId,
    requests::Upload,
    vector_store::{MAX_STORE_FILES, MAX_VECTOR_STORES, condition},
    vector_stores::{self, Error, Listed, searchable},
};
use openai_api::{
    delivery::refused,
    error::ApiError,
    files::{FileId, unix_seconds},
    http::json,
    request::{AddFile, CreateStore, SearchStore, UpdateStore},
    vector_stores::{StoreObject, document_name, file_object, file_of_document, search_page},
};
use protocol::Caller;
use runtime::AuthenticatedCaller;
use serde_json::{Value, json};
use service::app::App;
use turns::ports::{Deps, Host};

use super::without_query;

/// The time for a search, embedding and database together.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(10);
/// The most tokens of the results of a search.
const MAX_RESULT_TOKENS: u32 = 32_000;

/// Creates a vector store with files.
pub(super) async fn create(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let CreateStore { name, metadata, files } = CreateStore::parse(&body?)?;
    let mut uploads = Vec::new();
    for file in &files {
        uploads.push((file, content(&app, &caller, "file_ids", file).await?));
    }
    let (stores, now) = (app.knowledge_stores(), app.adapters.host().now());
    let created = vector_stores::create(stores, &caller, (name, metadata), now).await;
    let mut listed = created.map_err(|error| error_of(error, "", ""))?;
    for (file, content) in uploads {
        let added = add(&app, &caller, &listed.id, file, content, Vec::new()).await?;
        listed.documents.push(added);
    }
    Ok(json(200, &object(&listed)))
}

/// Changes the name or the metadata of a vector store.
pub(super) async fn update(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let UpdateStore { name, metadata } = UpdateStore::parse(&body?)?;
    let (table, now) = (app.adapters.store(), app.adapters.host().now());
    let updated = vector_stores::update(table, &caller, &id, (name, metadata), now).await;
    updated.map(|listed| json(200, &object(&listed))).map_err(|error| error_of(error, &id, ""))
}

/// Deletes a vector store with its documents. The files at `/v1/files` stay.
pub(super) async fn delete(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let (stores, now) = (app.knowledge_stores(), app.adapters.host().now());
    let deleted = vector_stores::delete(stores, &caller, &id, now).await;
    deleted.map_err(|error| error_of(error, &id, ""))?;
    Ok(json(200, &json!({"id": id, "object": "vector_store.deleted", "deleted": true})))
}

/// Adds a file to a vector store.
pub(super) async fn add_file(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let AddFile { file, attributes } = AddFile::parse(&body?)?;
    let store: VectorStoreId =
        id.parse().map_err(|_| ApiError::vector_store_not_found("vector_store_id", &id))?;
    let content = content(&app, &caller, "file_id", &file).await?;
    let document = add(&app, &caller, &store, &file, content, attributes).await?;
    Ok(json(200, &file_object(&id, &document).unwrap_or_default()))
}

/// Removes a file from a vector store. The file at `/v1/files` stays.
pub(super) async fn remove_file(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path((id, file)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let (stores, now) = (app.knowledge_stores(), app.adapters.host().now());
    let is_it = |name: &str| file_of_document(name).is_some_and(|(_, of)| of.to_string() == file);
    let removed = vector_stores::remove(stores, &caller, &id, is_it, now).await;
    removed.map_err(|error| error_of(error, &id, &file))?;
    Ok(json(200, &json!({"id": file, "object": "vector_store.file.deleted", "deleted": true})))
}

/// Searches a vector store, as every user of the org may.
pub(super) async fn search(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    Path(id): Path<String>,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    without_query(&uri)?;
    let request = SearchStore::parse(&body?)?;
    let stores = searchable(app.adapters.store(), &caller, std::slice::from_ref(&id)).await;
    let stores = stores.map_err(|error| refused(&error.into()))?;
    let stores = stores.map_err(|_| ApiError::vector_store_not_found("vector_store_id", &id))?;
    let sources = app.adapters.config.retrieval.as_ref().ok_or_else(unavailable)?;
    let scope: Vec<_> = condition(&stores).into_iter().chain(request.filters).collect();
    let question = request.queries.join("\n");
    let retrieval = &app.adapters.retrieval;
    let vector = retrieval.embed(&sources.embedding, &question, SEARCH_TIMEOUT).await;
    let search = Search {
        org: &caller.org,
        agent: None,
        collection: &sources.collection,
        question: &question,
        scope: &scope,
        hints: &[],
        chunks: request.results,
        tokens: MAX_RESULT_TOKENS,
    };
    let found = match vector {
        Ok(vector) => retrieval.search(&search, &vector, SEARCH_TIMEOUT).await,
        Err(error) => Err(error),
    };
    let found = found.map_err(|error| {
        tracing::warn!(%error, "{}", contracts::log::RETRIEVAL_SKIPPED);
        unavailable()
    })?;
    Ok(json(200, &search_page(&request.queries, &found.chunks, request.min_score)))
}

/// Adds a file's content to a vector store.
async fn add(
    app: &App,
    caller: &Caller,
    store: &VectorStoreId,
    file: &FileId,
    content: Bytes,
    attributes: Vec<KnowledgeAttribute>,
) -> Result<KnowledgeDocument, ApiError> {
    let name = document_name(store.as_str(), file)
        .ok_or_else(|| ApiError::value("file_id", "names a file whose name is too long"))?;
    let upload = Upload { name, content, attributes, agents: Vec::new() };
    let (stores, now) = (app.knowledge_stores(), app.adapters.host().now());
    let added = vector_stores::add(stores, caller, store, upload, now).await;
    added.map_err(|error| error_of(error, store.as_str(), &file.to_string()))
}

/// Returns the content of a file of the caller.
async fn content(app: &App, caller: &Caller, param: &str, file: &FileId) -> Result<Bytes, ApiError> {
    let id = file.to_string();
    let unknown = || ApiError::unknown_file(param, &id);
    if file.is_expired(unix_seconds()) {
        return Err(unknown());
    }
    let read = app.uploads.read(&caller.org, &caller.user.id, &id).await;
    read.map_err(|error| refused(&error.into()))?.map(|read| read.bytes).ok_or_else(unknown)
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

/// Returns the error of a request about a vector store and a file.
fn error_of(error: Error, store: &str, file: &str) -> ApiError {
    let full = |message: &str| ApiError::invalid("", "too_many_files", message);
    match error {
        Error::NoSuchStore => ApiError::vector_store_not_found("vector_store_id", store),
        Error::NoSuchFile => ApiError::file_not_found(file),
        Error::TooManyStores => {
            full(&format!("Your org has {MAX_VECTOR_STORES} vector stores. Delete one first."))
        }
        Error::TooManyFiles => {
            full(&format!("The vector store has {MAX_STORE_FILES} files. Delete one first."))
        }
        Error::Refused(refusal) => refused(&refusal),
    }
}

fn unavailable() -> ApiError {
    let message = "The vector database can't be searched just now. Try again later.";
    ApiError { status: 503, retry: Some(true), ..ApiError::invalid("", "server_error", message) }
}
