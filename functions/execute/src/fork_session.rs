//! `POST …/sessions/{SessionId}/fork`: creates a session that continues from a turn of this one.

use axum::extract::State;
use contracts::request::ForkRequest;
use protocol::session::IdOrigin;
use runtime::{AuthenticatedCaller, Reply, path::SessionPath, request_body::JsonBody};
use service::app::{App, error_reply, fork_session};
use turns::{flow::fork_warning, ports::Deps};

pub(crate) async fn fork(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    JsonBody(request): JsonBody<ForkRequest>,
) -> Result<Reply, Reply> {
    let (adapters, source) = (&app.adapters, session.clone());
    let forked = fork_session(adapters, app.session_policy, &caller, session, &request, IdOrigin::Client);
    forked.await.map_err(error_reply)?;
    let warning = fork_warning(adapters.store(), &caller, source, &request).await.map_err(error_reply)?;
    let fork = app.reader.session_with_first_turns(&caller, request.session_id).await.map_err(error_reply)?;
    Ok(Reply::ok_with_warnings(fork.result, fork.warnings.into_iter().chain(warning)))
}
