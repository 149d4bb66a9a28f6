//! `GET …/sessions/{SessionId}/export` and `GET /api/ai/agent/export`: sessions as documents.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use contracts::read::{ExportEnd, ExportEndFormat};
use runtime::{Identified, Reply, api::TimeLeft, document::Document, path::OfSession};
use turns::{
    flow::export::{for_operators, written},
    system::System,
};

use crate::{
    app::{App, refused},
    parameters::{ExportQuery, ExportsQuery},
};

pub(crate) async fn session(
    State(app): State<App>,
    Identified(caller): Identified,
    OfSession(session): OfSession,
    ExportQuery(values): ExportQuery,
) -> Result<Response, Reply> {
    let name = format!("{session}.json");
    let shown = app.reader.exporting(&caller, session).await.map_err(refused)?;
    let pieces = written(async move |mut out| app.reader.export(&caller, &shown, values, &mut out).await);
    Ok(Document { pieces, media_type: "application/json", name }.into_response())
}

pub(crate) async fn all(
    State(app): State<App>,
    Identified(caller): Identified,
    TimeLeft(budget): TimeLeft,
    ExportsQuery(values, wanted, page): ExportsQuery,
) -> Result<Response, Reply> {
    for_operators(&caller).map_err(refused)?;
    let place = app.place(&caller, &page)?;
    let pieces = written(async move |mut out| {
        let (timer, place) = (System::new(), place.as_deref());
        // A session that is begun is written to its end.
        let time = (&timer, budget / 2);
        let done = app.reader.export_all(&caller, &wanted, values, place, time, &mut out).await?;
        let mut token = done.place;
        app.seal(&caller, &page.list, &mut token);
        let format = ExportEndFormat::End;
        out.line(&ExportEnd { format, session_count: done.sessions, continuation_token: token }).await
    });
    Ok(Document { pieces, media_type: "application/jsonl", name: "sessions.jsonl".to_owned() }
        .into_response())
}
