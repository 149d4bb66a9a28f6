//! The `execute` function: all write operations of clients, and the turns that the turn queue has continued.
//!
//! Each route has its own file. The `service` crate does the wiring.

mod ag_ui;
mod anthropic;
mod approvals;
mod cancel_turn;
mod change_session;
mod delete_session;
mod documents;
mod end_turn;
mod fork_session;
mod give_feedback;
mod import_sessions;
mod knowledge;
mod mcp;
mod openai;
mod quarantine_session;
mod rerun_turn;
mod resolve_effect;
mod restore_session;
mod run_turn;
mod turn_queue;
mod webhooks;

use std::process::ExitCode;

use anthropic_api::http::reshape;
use axum::{Router, middleware};
use contracts::operations;
use futures::FutureExt;
use runtime::{OperationRoutes, sqs::handler};
use service::app::App;

/// Serves invocations until the Lambda service stops the process. Logs a failure to start.
pub fn run() -> ExitCode {
    runtime::run("execute", serve)
}

async fn serve() -> Result<(), lambda_http::Error> {
    let app = App::start().await?;
    let response_mode = app.response_mode;
    let routes = if app.serves_openai_api { routes().merge(front_routes()) } else { routes() };
    let routes = routes.with_state(app.clone());
    let messages = handler(move |event| turn_queue::handle(app.clone(), event).boxed());
    runtime::api::serve_with_messages(routes, messages, response_mode).await
}

/// Returns the routes of the APIs of others.
fn front_routes() -> Router<App> {
    let openai = openai::routes().layer(middleware::from_fn(reshape));
    openai.merge(anthropic::routes()).merge(ag_ui::routes()).merge(mcp::routes())
}

fn routes() -> Router<App> {
    Router::new()
        .serve(&operations::EXECUTE_TURN, run_turn::run_turn)
        .serve(&operations::IMPORT_SESSIONS, import_sessions::import)
        .serve(&operations::CANCEL_TURN, cancel_turn::cancel_turn)
        .serve(&operations::ABANDON_TURN, end_turn::abandon)
        .serve(&operations::SETTLE_TURN, end_turn::settle)
        .serve(&operations::RESOLVE_EFFECT, resolve_effect::resolve)
        .serve(&operations::APPROVE_CALL, approvals::approve)
        .serve(&operations::DENY_CALL, approvals::deny)
        .serve(&operations::RERUN_TURN, rerun_turn::rerun_turn)
        .serve(&operations::GIVE_FEEDBACK, give_feedback::give_feedback)
        .serve(&operations::FORK_SESSION, fork_session::fork)
        .serve(&operations::CHANGE_SESSION, change_session::change_session)
        .serve(&operations::DELETE_SESSION, delete_session::delete_session)
        .serve(&operations::RESTORE_SESSION, restore_session::restore_session)
        .serve(&operations::QUARANTINE_SESSION, quarantine_session::quarantine)
        .serve(&operations::RELEASE_SESSION, quarantine_session::release)
        .serve(&operations::UPLOAD_KNOWLEDGE, knowledge::upload)
        .serve(&operations::DELETE_KNOWLEDGE, knowledge::delete)
        .merge(documents::routes())
        .merge(webhooks::routes())
}
