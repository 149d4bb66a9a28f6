//! The `tool-continuation` function: the results of a turn's client tools (AGN-034 §2.2).
//!
//! A turn that goes on runs exactly as one that starts: the wiring is `service`'s, and this opens one
//! route to it.

mod submit_results;

use std::process::ExitCode;

use axum::{Router, routing::post};
use contracts::paths;
use service::app::App;

/// Serves invocations until the Lambda service ends the process. Why it could not, if it could not, is in the log.
pub fn run() -> ExitCode {
    runtime::run("tool-continuation", serve)
}

async fn serve() -> Result<(), lambda_http::Error> {
    let app = App::start().await?;
    let answers = app.answers;
    let routes =
        Router::new().route(paths::TOOL_RESULTS, post(submit_results::submit_results)).with_state(app);
    runtime::api::serve(routes, answers).await
}
