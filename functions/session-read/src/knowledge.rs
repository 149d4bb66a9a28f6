//! `GET /api/ai/agent/knowledge` and `GET /api/ai/agent/knowledge/{KnowledgeId}`.

use axum::extract::State;
use knowledge::requests;
use runtime::{
    AuthenticatedCaller, Reply,
    path::KnowledgePath,
    query::{ListScope, Query},
};
use turns::{ports::Host, system::System};

use crate::{
    app::{App, error_reply},
    parameters::Page,
};

pub(crate) async fn list(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    list: ListScope,
    Query(page): Query<Page>,
) -> Result<Reply, Reply> {
    let position = app.open_page_token(&caller, &list, &page)?;
    let (token, now) = (position.as_deref(), System::new().now());
    let documents = requests::list(&app.documents, &caller, page.size(), token, now).await;
    let mut documents = documents.map_err(error_reply)?;
    app.seal_page_token(&caller, &list, &mut documents.continuation_token);
    Ok(Reply::ok(documents))
}

pub(crate) async fn document(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: KnowledgePath,
) -> Result<Reply, Reply> {
    let document = requests::read(&app.documents, &caller, &path.id, System::new().now()).await;
    document.map(Reply::ok).map_err(error_reply)
}
