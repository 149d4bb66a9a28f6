//! `GET …/sessions/{SessionId}/export` and `GET /api/ai/agent/export`: export sessions.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use contracts::read::{ExportEnd, ExportEndFormat};
use runtime::{
    AuthenticatedCaller, Reply,
    api::RemainingTime,
    download::Download,
    path::SessionPath,
    query::{ListScope, Query},
};
use turns::{
    flow::{export_stream, require_operator},
    system::System,
};

use crate::{
    app::{App, error_reply},
    parameters::{ExportQuery, ExportsQuery},
};

pub(crate) async fn session(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    SessionPath(session): SessionPath,
    Query(ExportQuery { payloads }): Query<ExportQuery>,
) -> Result<Response, Reply> {
    let name = format!("{session}.json");
    let shown = app.reader.begin_export(&caller, session).await.map_err(error_reply)?;
    let pieces =
        export_stream(async move |mut out| app.reader.export(&caller, &shown, payloads, &mut out).await);
    Ok(Download { pieces, media_type: "application/json", name }.into_response())
}

pub(crate) async fn all(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    RemainingTime(budget): RemainingTime,
    list: ListScope,
    Query(ExportsQuery { payloads, filter, page }): Query<ExportsQuery>,
) -> Result<Response, Reply> {
    require_operator(&caller).map_err(error_reply)?;
    let position = app.open_page_token(&caller, &list, &page)?;
    let pieces = export_stream(async move |mut out| {
        let (timer, position) = (System::new(), position.as_deref());
        let time = (&timer, budget);
        let summary = app.reader.export_all(&caller, &filter, payloads, position, time, &mut out).await?;
        let mut token = summary.next_token;
        app.seal_page_token(&caller, &list, &mut token);
        let format = ExportEndFormat::End;
        out.line(&ExportEnd { format, session_count: summary.sessions, continuation_token: token }).await
    });
    Ok(Download { pieces, media_type: "application/jsonl", name: "sessions.jsonl".to_owned() }
        .into_response())
}
