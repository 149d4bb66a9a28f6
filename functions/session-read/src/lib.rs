//! The `session-read` function: sessions, turns and payloads as the caller may see them.
//!
//! It never writes: its role has no permission to.

mod app;
mod parameters;
mod payloads;
mod sessions;
mod stream;
mod turns;

use axum::{Router, routing::get};

/// Serves invocations until the Lambda service ends the process.
///
/// # Errors
/// When the function's settings are wrong, or the Runtime API is gone.
pub async fn run() -> Result<(), lambda_http::Error> {
    runtime::telemetry::start();
    let app = app::App::start().await?;
    runtime::api::serve(routes().with_state(app)).await
}

fn routes() -> Router<app::App> {
    let session = Router::new()
        .route("/", get(sessions::session))
        .route("/turns/last", get(turns::last))
        .route("/turns/{TurnId}", get(turns::turn))
        .route("/turns/{TurnId}/summary", get(turns::summary))
        .route("/turns/{TurnId}/stream", get(stream::stream))
        .route("/turns/{TurnId}/payloads/instruction", get(payloads::instruction))
        .route("/turns/{TurnId}/payloads/answer", get(payloads::answer))
        .route("/turns/{TurnId}/payloads/llm-request", get(payloads::model_request))
        .route("/turns/{TurnId}/payloads/llm-response", get(payloads::model_response))
        .route("/turns/{TurnId}/payloads/files/{Hash}/{Name}", get(payloads::file));
    Router::new()
        .route("/api/ai/agent/sessions", get(sessions::list))
        .nest("/api/ai/agent/sessions/{SessionId}", session)
}
