//! The `session-read` function: read access to sessions, turns and payloads, as far as the caller may see them.
//!
//! Changes nothing. Its role may only write the object of an answer, which is created on demand.

mod app;
mod contexts;
mod exports;
mod openai;
mod org_settings;
mod parameters;
mod payloads;
mod sessions;
mod stream;
mod turns;
mod usage;

use std::process::ExitCode;

use agent::context::ContextKind;
use axum::{Router, routing::get};
use contracts::paths;

/// Serves invocations until the Lambda service stops the process. Logs a failure to start.
pub fn run() -> ExitCode {
    runtime::run("session-read", serve)
}

async fn serve() -> Result<(), lambda_http::Error> {
    let app = app::App::start().await?;
    let response_mode = app.response_mode;
    let routes = if app.serves_openai_api { routes().merge(openai::routes()) } else { routes() };
    runtime::api::serve(routes.with_state(app), response_mode).await
}

fn routes() -> Router<app::App> {
    Router::new()
        .route(paths::SESSIONS, get(sessions::list))
        .route(paths::SEARCH, get(sessions::search))
        .route(paths::SESSION.template(), get(sessions::session))
        .route(paths::BUDGETS, get(usage::budgets))
        .route(paths::BUDGET_USE, get(usage::budget_use))
        .route(paths::ORG_SETTINGS, get(org_settings::org_settings))
        .route(paths::USAGE, get(usage::report))
        .route(paths::EXPORT, get(exports::all))
        .route(paths::SESSION_EXPORT.template(), get(exports::session))
        .route(paths::PURGE.template(), get(sessions::purge))
        .route(paths::MODE_HISTORY.template(), get(sessions::mode_history))
        .route(paths::TURNS.template(), get(turns::list))
        .route(paths::LAST_TURN.template(), get(turns::last))
        .route(paths::TURN.template(), get(turns::turn))
        .route(paths::SUMMARY.template(), get(turns::summary))
        .route(paths::STEPS.template(), get(turns::steps))
        .route(paths::RECORDS.template(), get(turns::records))
        .route(paths::FEEDBACK.template(), get(turns::feedback))
        .route(paths::STREAM.template(), get(stream::stream))
        .route(paths::INSTRUCTION.template(), get(payloads::instruction))
        .route(paths::ANSWER.template(), get(payloads::answer))
        .route(paths::MODEL_REQUEST.template(), get(payloads::model_request))
        .route(paths::MODEL_RESPONSE.template(), get(payloads::model_response))
        .route(paths::FILE.template(), get(payloads::file))
        .merge(contexts::routes(paths::AGENTS, ContextKind::Agent))
        .merge(contexts::routes(paths::CONVERSATION_CONTEXTS, ContextKind::Conversation))
        .merge(contexts::routes(paths::MODES, ContextKind::Mode))
}
