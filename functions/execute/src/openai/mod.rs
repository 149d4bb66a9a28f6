//! The OpenAI-compatible API under `/v1`, as far as it changes something.

mod chat;
mod compact;
pub(crate) mod context;
mod conversations;
mod create;
mod file_search;
mod files;
mod manage;
mod vector_stores;

use axum::{
    Router,
    extract::Request,
    http::Uri,
    middleware,
    routing::{delete, post},
};
use openai_api::{
    error::ApiError,
    http::{Parameters, translate_errors},
};
use runtime::refuse_conditions;
use service::app::App;

/// Returns the routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/responses", post(create::create))
        .route("/v1/responses/compact", post(compact::compact))
        .route("/v1/responses/input_tokens", post(compact::count))
        .route("/v1/responses/{id}", delete(manage::delete))
        .route("/v1/responses/{id}/cancel", post(manage::cancel))
        .route("/v1/files", post(files::create))
        .route("/v1/files/{id}", delete(files::delete))
        .route("/v1/vector_stores", post(vector_stores::create))
        .route("/v1/vector_stores/{id}", post(vector_stores::update).delete(vector_stores::delete))
        .route("/v1/vector_stores/{id}/files", post(vector_stores::add_file))
        .route("/v1/vector_stores/{id}/files/{file}", delete(vector_stores::remove_file))
        .route("/v1/vector_stores/{id}/search", post(vector_stores::search))
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/conversations", post(conversations::create))
        .route("/v1/conversations/{id}", post(conversations::update).delete(conversations::delete))
        .route("/v1/conversations/{id}/items", post(conversations::add_items))
        .route("/v1/conversations/{id}/items/{item}", delete(conversations::delete_item))
        .route("/v1/{*path}", axum::routing::any(unknown))
        .route_layer(middleware::from_fn(refuse_conditions))
        .layer(middleware::from_fn(translate_errors))
}

async fn unknown(request: Request) -> ApiError {
    ApiError::path_not_found(request.method().as_str(), request.uri().path())
}

/// Refuses a query, since these requests take none.
fn without_query(uri: &Uri) -> Result<(), ApiError> {
    Parameters::read(uri, &[]).map(|_| ())
}
