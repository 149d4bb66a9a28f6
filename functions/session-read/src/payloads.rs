//! `GET …/turns/{TurnId}/payloads/…`: a short-lived link, as a redirect or, where JSON is asked for, as a body; with
//! `inline` the payload itself.

use axum::extract::{Path, State};
use contracts::read::PayloadLink;
use http::{HeaderMap, header::ACCEPT};
use runtime::{Identified, Keep, Reply, path::OfTurn};
use serde::Deserialize;
use turns::{flow::PayloadName, refusal::Refusal};

use crate::{
    app::{App, refused},
    parameters::How,
};

pub(crate) async fn instruction(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    how: How,
) -> Result<Reply, Reply> {
    read(state, caller, turn, how, PayloadName::Instruction).await
}

pub(crate) async fn answer(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    how: How,
) -> Result<Reply, Reply> {
    read(state, caller, turn, how, PayloadName::Answer).await
}

pub(crate) async fn model_request(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    how: How,
) -> Result<Reply, Reply> {
    let round = how.round;
    read(state, caller, turn, how, PayloadName::ModelRequest { round }).await
}

pub(crate) async fn model_response(
    state: State<App>,
    caller: Identified,
    turn: OfTurn,
    how: How,
) -> Result<Reply, Reply> {
    let round = how.round;
    read(state, caller, turn, how, PayloadName::ModelResponse { round }).await
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
    how: How,
) -> Result<Reply, Reply> {
    let address = hash.parse().map_err(|_| Reply::error(Refusal::PayloadNotFound.error()))?;
    read(state, caller, turn, how, PayloadName::File { address, name }).await
}

async fn read(
    State(app): State<App>,
    Identified(caller): Identified,
    OfTurn(session, turn): OfTurn,
    How { inline, headers, had, .. }: How,
    name: PayloadName,
) -> Result<Reply, Reply> {
    if inline {
        let value = app.reader.inline(&caller, session, turn, name).await.map_err(refused)?;
        // Objects are written once.
        return Ok(Reply::ok(value).kept(Keep::ForEver, &had));
    }
    let link = app.reader.payload(&caller, session, turn, name).await.map_err(refused)?;
    if wants_json(&headers) {
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
