//! The `execute` function: all write operations of clients.
//!
//! Each route has its own file. The `service` crate does the wiring.

mod cancel_turn;
mod change_session;
mod contexts;
mod delete_session;
mod end_turn;
mod fork_session;
mod give_feedback;
mod import_sessions;
mod openai;
mod quarantine_session;
mod rerun_turn;
mod restore_session;
mod run_turn;
mod set_budgets;
mod set_org_settings;

use std::process::ExitCode;

use agent::context::ContextKind;
use axum::{
    Router,
    middleware::from_fn,
    routing::{patch, post, put},
};
use contracts::paths;
use runtime::refuse_conditions;
use service::app::App;

/// Serves invocations until the Lambda service stops the process. Logs a failure to start.
pub fn run() -> ExitCode {
    runtime::run("execute", serve)
}

async fn serve() -> Result<(), lambda_http::Error> {
    let app = App::start().await?;
    let response_mode = app.response_mode;
    let routes = unconditional_routes().merge(conditional_routes());
    let routes = if app.serves_openai_api { routes.merge(openai::routes()) } else { routes };
    runtime::api::serve(routes.with_state(app), response_mode).await
}

/// Returns the routes without a precondition, which they refuse.
fn unconditional_routes() -> Router<App> {
    Router::new()
        .route(paths::EXECUTE, post(run_turn::run_turn))
        .route(paths::IMPORT, post(import_sessions::import_sessions))
        .route(paths::CANCEL.template(), post(cancel_turn::cancel_turn))
        .route(paths::ABANDON.template(), post(end_turn::abandon))
        .route(paths::SETTLE.template(), post(end_turn::settle))
        .route(paths::RERUN.template(), post(rerun_turn::rerun_turn))
        .route(paths::FEEDBACK.template(), put(give_feedback::give_feedback))
        .route(paths::FORK.template(), post(fork_session::fork_session))
        .route_layer(from_fn(refuse_conditions))
}

/// Returns the routes that change a resource with an entity tag, which a precondition may name.
fn conditional_routes() -> Router<App> {
    Router::new()
        .route(paths::BUDGETS, put(set_budgets::set_budgets))
        .route(paths::ORG_SETTINGS, put(set_org_settings::set_org_settings))
        .route(
            paths::SESSION.template(),
            patch(change_session::change_session).delete(delete_session::delete_session),
        )
        .route(paths::RESTORE.template(), post(restore_session::restore_session))
        .route(paths::QUARANTINE.template(), post(quarantine_session::quarantine))
        .route(paths::RELEASE.template(), post(quarantine_session::release))
        .merge(contexts::routes(paths::AGENTS, ContextKind::Agent))
        .merge(contexts::routes(paths::CONVERSATION_CONTEXTS, ContextKind::Conversation))
        .merge(contexts::routes(paths::MODES, ContextKind::Mode))
}
