//! The `tool-continuation` function: resumes turns with the results of their client tools.
//!
//! A resumed turn runs exactly like a new one: the `service` crate does the wiring, and this function has a single route.

mod submit_results;

use std::process::ExitCode;

use axum::Router;
use contracts::operations::SUBMIT_TOOL_RESULTS;
use runtime::OperationRoutes;
use service::app::App;

/// Serves invocations until the Lambda service stops the process. Logs a failure to start.
pub fn run() -> ExitCode {
    runtime::run("tool-continuation", serve)
}

async fn serve() -> Result<(), lambda_http::Error> {
    let app = App::start().await?;
    let response_mode = app.response_mode;
    let routes = Router::new().serve(&SUBMIT_TOOL_RESULTS, submit_results::submit_results);
    runtime::api::serve(routes.with_state(app), response_mode).await
}
