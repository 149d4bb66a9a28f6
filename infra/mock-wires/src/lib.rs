//! The wires of the mock model that only tests need: the Chat Completions API, Anthropic's Messages API, Amazon Bedrock's
//! Converse API, and AWS signatures. The program's own mock model offers the Responses API alone.

mod chat;
mod converse;
mod messages;
mod signature;
mod thinking;

use std::io;
use std::sync::Arc;

use axum::{Router, middleware};
use mock_model::{Provider, Recorder, Wire, wire::RESPONSES};

pub use converse::converse_frame;
pub use signature::SignatureCheck;
pub use thinking::sign;

/// Every API.
pub const WIRES: &[&Wire] = &[&RESPONSES, &chat::CHAT, &messages::MESSAGES, &converse::CONVERSE];

/// Returns the routes of a mock model that offers every API.
pub fn router(provider: Provider, recorder: Recorder) -> Router {
    mock_model::router(provider, recorder, WIRES)
}

/// Returns the routes of a mock model that accepts requests with a valid AWS signature alone, as a provider in AWS does.
pub fn signed_router(provider: Provider, recorder: Recorder, check: SignatureCheck) -> Router {
    verified(router(provider, recorder), check)
}

/// Adds the verification of signatures to routes.
pub fn verified(routes: Router, check: SignatureCheck) -> Router {
    routes.layer(middleware::from_fn_with_state(Arc::new(check), signature::verify))
}

/// Serves the routes until the future is dropped.
///
/// # Errors
/// Fails as the listener does.
pub async fn serve(
    listener: tokio::net::TcpListener,
    provider: Provider,
    recorder: Recorder,
) -> io::Result<()> {
    mock_model::serve(listener, provider, recorder, WIRES).await
}
