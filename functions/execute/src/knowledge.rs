//! `POST /api/ai/agent/knowledge` and `DELETE /api/ai/agent/knowledge/{KnowledgeId}`.

use axum::{body::Bytes, extract::State};
use contracts::{
    Error, ErrorCode,
    request::{KnowledgeContent, KnowledgeUpload, limits::MAX_KNOWLEDGE_BYTES},
};
use knowledge::requests::{self, Upload};
use openai_api::files::{FileId, unix_seconds};
use protocol::Caller;
use runtime::{AuthenticatedCaller, Reply, path::KnowledgePath, request_body::JsonBody};
use service::app::{App, error_reply};
use turns::{
    flow::require_context_editor,
    ports::{Deps, Host},
};

/// Stores a document, which is then indexed.
pub(crate) async fn upload(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    JsonBody(request): JsonBody<KnowledgeUpload>,
) -> Result<Reply, Reply> {
    require_context_editor(&caller).map_err(error_reply)?;
    let KnowledgeUpload { name, content, attributes, agents, .. } = request;
    let content = match content {
        KnowledgeContent::Bytes(bytes) => bytes.into(),
        KnowledgeContent::File(id) => file(&app, &caller, &id).await?,
    };
    let upload = Upload { name, content, attributes, agents };
    let now = app.adapters.host().now();
    requests::upload(app.knowledge_stores(), &caller, upload, now).await.map(Reply::ok).map_err(error_reply)
}

/// Starts the deletion of a document.
pub(crate) async fn delete(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    path: KnowledgePath,
) -> Result<Reply, Reply> {
    let now = app.adapters.host().now();
    requests::delete(app.knowledge_stores(), &caller, &path.id, now).await.map(Reply::ok).map_err(error_reply)
}

/// Returns the content of a file that the caller uploaded to `/v1/files`.
async fn file(app: &App, caller: &Caller, id: &str) -> Result<Bytes, Reply> {
    let is_live = FileId::parse(id).is_some_and(|file| !file.is_expired(unix_seconds()));
    let read = match is_live {
        true => app.uploads.read(&caller.org, &caller.user.id, id).await,
        false => Ok(None),
    };
    let read = read.map_err(|error| error_reply(error.into()))?;
    let invalid = |message: &str| {
        Reply::error(Error::new(ErrorCode::MemberInvalid, message.to_owned()).with_details("FileId"))
    };
    let bytes =
        read.ok_or_else(|| invalid("FileId names no file of yours. Upload it to /v1/files again."))?.bytes;
    match bytes.len() {
        1..=MAX_KNOWLEDGE_BYTES => Ok(bytes),
        _ => Err(invalid("FileId names a file that is empty or too large.")),
    }
}
