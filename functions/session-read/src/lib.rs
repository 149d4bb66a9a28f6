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
use contracts::paths;

/// Serves invocations until the Lambda service ends the process.
///
/// # Errors
/// When the function's settings are wrong, or the Runtime API is gone.
pub async fn run() -> Result<(), lambda_http::Error> {
    runtime::telemetry::start("session-read");
    let app = app::App::start().await?;
    runtime::api::serve(routes().with_state(app)).await
}

fn routes() -> Router<app::App> {
    Router::new()
        .route(paths::SESSIONS, get(sessions::list))
        .route(paths::SESSION.template(), get(sessions::session))
        .route(paths::MODE_HISTORY.template(), get(sessions::mode_history))
        .route(paths::LAST_TURN.template(), get(turns::last))
        .route(paths::TURN.template(), get(turns::turn))
        .route(paths::SUMMARY.template(), get(turns::summary))
        .route(paths::STREAM.template(), get(stream::stream))
        .route(paths::INSTRUCTION.template(), get(payloads::instruction))
        .route(paths::ANSWER.template(), get(payloads::answer))
        .route(paths::MODEL_REQUEST.template(), get(payloads::model_request))
        .route(paths::MODEL_RESPONSE.template(), get(payloads::model_response))
        .route(paths::FILE.template(), get(payloads::file))
}
