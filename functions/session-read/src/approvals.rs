//! `GET /api/ai/agent/approvals` and `GET …/approvals/{ApprovalId}`: the approvals that wait, and one of them.

use axum::extract::State;
use runtime::{
    AuthenticatedCaller, Reply,
    path::ApprovalPath,
    query::{ListScope, Query},
};
use turns::{
    flow::{list_approvals, read_approval},
    ports::Host,
    system::System,
};

use crate::{
    app::{App, error_reply},
    parameters::{ApprovalScope, ApprovalsQuery},
};

pub(crate) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    list: ListScope,
    Query(ApprovalsQuery { scope, page }): Query<ApprovalsQuery>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let (all, page) = (scope == ApprovalScope::All, (page.size(), position));
    let approvals = list_approvals(&app.documents, &caller, all, page, System::default().now()).await;
    let mut approvals = approvals.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut approvals.continuation_token);
    Ok(Reply::ok(approvals))
}

pub(crate) async fn read(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    ApprovalPath { id }: ApprovalPath,
) -> Result<Reply, Reply> {
    let approval = read_approval(&app.documents, &caller, &id, System::default().now()).await;
    approval.map(Reply::ok).map_err(error_reply)
}
