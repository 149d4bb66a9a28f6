//! A server of the Model Context Protocol: runs turns of agents as tools, and reads sessions as resources.

mod resources;
mod tools;

use axum::{
    Router,
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, Uri},
    middleware,
    response::Response,
    routing::post,
};
use histories::Turns;
use mcp_api::{
    PATH,
    error::{RpcError, method_not_allowed},
    message::{Message, Operation, Request, accepts_stream},
    resource,
    server::{Caching, accepted, discovered, initialized, respond},
};
use runtime::{query::ListScope, refuse_conditions};
use serde_json::json;
use service::app::App;

use crate::openai::context::Context;

/// Returns the routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(PATH, post(serve).fallback(method_not_allowed))
        .route_layer(middleware::from_fn(refuse_conditions))
}

async fn serve(
    context: Context,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, RpcError> {
    if uri.query().is_some_and(|query| !query.is_empty()) {
        return Err(RpcError::invalid_request(400, "This path takes no query."));
    }
    let streams = accepts_stream(&headers)?;
    match Message::parse(&headers, &body?)? {
        Message::Request(request) => {
            let response = answer(&context, &request, streams).await;
            response.map_err(|error| error.with_id(&request.id))
        }
        Message::Notification(notification) => {
            if let Some(name) = notification.cancelled() {
                tools::cancel(&context, &name).await?;
            }
            Ok(accepted())
        }
    }
}

async fn answer(context: &Context, request: &Request, streams: bool) -> Result<Response, RpcError> {
    match request.operation()? {
        Operation::Initialize => Ok(initialized(request, &context.random())),
        Operation::Ping => Ok(respond(request, json!({}), Caching::Never)),
        Operation::Discover => Ok(discovered(request)),
        Operation::ListTools => tools::list(context, request).await,
        Operation::CallTool => tools::call(context, request, streams).await,
        Operation::ListResources => resources::list(context, request).await,
        Operation::ListTemplates => Ok(respond(request, resource::templates(), Caching::Tools)),
        Operation::ReadResource => resources::read(context, request).await,
    }
}

/// Decrypts the token of a page.
fn open_page(context: &Context, list: &ListScope, token: Option<&str>) -> Result<Option<String>, RpcError> {
    let open = |token| context.app.page_tokens.open(&context.caller, list, token);
    let invalid = |_| {
        RpcError::invalid_params(
            "The cursor must come from the previous page of the same list. Omit it to begin.",
        )
    };
    token.map(open).transpose().map_err(invalid)
}

/// Encrypts the position at which a page ends.
fn seal_page(context: &Context, list: &ListScope, position: Option<&str>) -> Option<String> {
    position.map(|position| context.app.page_tokens.seal(&context.caller, list, position))
}
