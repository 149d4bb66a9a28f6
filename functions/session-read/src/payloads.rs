//! `GET …/turns/{TurnId}/payloads/…`: a short-lived link, as a redirect or, where JSON is asked for,
//! as a body.

use axum::extract::{Path, State};
use contracts::read::PayloadLink;
use http::{HeaderMap, header::ACCEPT};
use runtime::{Identified, Reply, path::OfTurn};
use serde::Deserialize;
use turns::{flow::PayloadName, refusal::Refusal};

use crate::app::{App, refused};

pub(crate) async fn instruction(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    headers: HeaderMap,
) -> Result<Reply, Reply> {
    link(state, caller, turn, &headers, PayloadName::Instruction).await
}

pub(crate) async fn answer(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    headers: HeaderMap,
) -> Result<Reply, Reply> {
    link(state, caller, turn, &headers, PayloadName::Answer).await
}

pub(crate) async fn model_request(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    headers: HeaderMap,
) -> Result<Reply, Reply> {
    link(state, caller, turn, &headers, PayloadName::ModelRequest).await
}

pub(crate) async fn model_response(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    headers: HeaderMap,
) -> Result<Reply, Reply> {
    link(state, caller, turn, &headers, PayloadName::ModelResponse).await
}

#[derive(Deserialize)]
pub(crate) struct FilePath {
    #[serde(rename = "Hash")]
    hash: String,
    #[serde(rename = "Name")]
    name: String,
}

pub(crate) async fn file(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    Path(FilePath { hash, name }): Path<FilePath>,
    headers: HeaderMap,
) -> Result<Reply, Reply> {
    let address = hash.parse().map_err(|_| Reply::error(Refusal::PayloadNotFound.error()))?;
    link(state, caller, turn, &headers, PayloadName::File { address, name }).await
}

async fn link(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    headers: &HeaderMap,
    name: PayloadName,
) -> Result<Reply, Reply> {
    let link = app.reader.payload(&caller, session, turn, name).await.map_err(refused)?;
    if wants_json(headers) {
        return Ok(Reply::ok(PayloadLink { url: link.url, expires_at: link.expires }));
    }
    Ok(Reply::redirect(link.url))
}

/// A client that follows redirects with its own Authorization header is refused by S3, so it can ask
/// for the link as JSON.
fn wants_json(headers: &HeaderMap) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/json"))
}
