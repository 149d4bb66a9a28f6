//! The `execute` function: everything that writes on a client's behalf.
//!
//! Each route is a file that reads as a paragraph; the wiring is `service`'s.

mod cancel_turn;
mod run_turn;

use axum::{Router, routing::post};
use contracts::paths;
use service::app::App;

/// Serves invocations until the Lambda service ends the process.
///
/// # Errors
/// When the function's settings are wrong, or the Runtime API is gone.
pub async fn run() -> Result<(), lambda_http::Error> {
    runtime::telemetry::start("execute");
    let app = App::start().await?;
    let routes = Router::new()
        .route(paths::EXECUTE, post(run_turn::run_turn))
        .route(paths::CANCEL.template(), post(cancel_turn::cancel_turn));
    runtime::api::serve(routes.with_state(app)).await
}
