//! The `session-read` function: read access to sessions, turns and payloads, as far as the caller may see them.
//!
//! Changes nothing. Its role may only write the object of an answer, which is created on demand.

mod ag_ui;
mod app;
mod approvals;
mod documents;
mod effects;
mod exports;
mod knowledge;
mod openai;
mod parameters;
mod payloads;
mod sessions;
mod stream;
mod turns;
mod usage;
mod webhooks;

use std::process::ExitCode;

use anthropic_api::http::reshape;
use axum::{Router, middleware, routing::any};
use contracts::operations;
use mcp_api::error::method_not_allowed;
use runtime::OperationRoutes;

/// Serves invocations until the Lambda service stops the process. Logs a failure to start.
pub fn run() -> ExitCode {
    runtime::run("session-read", serve)
}

async fn serve() -> Result<(), lambda_http::Error> {
    let app = app::App::start().await?;
    let response_mode = app.response_mode;
    let mcp = || Router::new().route(mcp_api::PATH, any(method_not_allowed));
    let openai = || openai::routes().layer(middleware::from_fn(reshape));
    let fronts = || openai().merge(ag_ui::routes()).merge(mcp());
    let routes = if app.serves_openai_api { routes().merge(fronts()) } else { routes() };
    runtime::api::serve(routes.with_state(app), response_mode).await
}

fn routes() -> Router<app::App> {
    Router::new()
        .serve(&operations::LIST_SESSIONS, sessions::list)
        .serve(&operations::SEARCH_SESSIONS, sessions::search)
        .serve(&operations::READ_SESSION, sessions::session)
        .serve(&operations::LIST_UNKNOWN_EFFECTS, effects::list)
        .serve(&operations::LIST_APPROVALS, approvals::list)
        .serve(&operations::READ_APPROVAL, approvals::read)
        .serve(&operations::READ_BUDGET_USE, usage::budget_use)
        .serve(&operations::READ_USAGE, usage::report)
        .serve(&operations::EXPORT_SESSIONS, exports::all)
        .serve(&operations::EXPORT_SESSION, exports::session)
        .serve(&operations::READ_PURGE, sessions::purge)
        .serve(&operations::READ_MODE_HISTORY, sessions::mode_history)
        .serve(&operations::LIST_TURNS, turns::list)
        .serve(&operations::READ_LAST_TURN, turns::last)
        .serve(&operations::READ_TURN, turns::turn)
        .serve(&operations::READ_TURN_SUMMARY, turns::summary)
        .serve(&operations::READ_TURN_STEPS, turns::steps)
        .serve(&operations::READ_TURN_RECORDS, turns::records)
        .serve(&operations::READ_FEEDBACK, turns::feedback)
        .serve(&operations::STREAM_TURN, stream::stream)
        .serve(&operations::READ_INSTRUCTION, payloads::instruction)
        .serve(&operations::READ_ANSWER, payloads::answer)
        .serve(&operations::READ_MODEL_REQUEST, payloads::model_request)
        .serve(&operations::READ_MODEL_RESPONSE, payloads::model_response)
        .serve(&operations::READ_FILE, payloads::file)
        .serve(&operations::LIST_KNOWLEDGE, knowledge::list)
        .serve(&operations::READ_KNOWLEDGE, knowledge::document)
        .merge(documents::routes())
        .merge(webhooks::routes())
}
