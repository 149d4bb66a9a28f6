//! `GET …/turns/{TurnId}/payloads/…`: returns a short-lived link, as a redirect or as JSON if the client accepts it. With
//! `inline`, returns the payload itself.

use axum::extract::{Path, State};
use contracts::read::PayloadLink;
use http::{HeaderMap, header::ACCEPT};
use runtime::{AuthenticatedCaller, CachePolicy, Reply, path::TurnPath};
use serde::Deserialize;
use turns::{flow::PayloadName, refusal::Refusal};

use crate::{
    app::{App, error_reply},
    parameters::PayloadQuery,
};

pub(crate) async fn instruction(
    state: State<App>,
    caller: AuthenticatedCaller,
    turn: TurnPath,
    query: PayloadQuery,
) -> Result<Reply, Reply> {
    read(state, caller, turn, query, PayloadName::Instruction).await
}

pub(crate) async fn answer(
    state: State<App>,
    caller: AuthenticatedCaller,
    turn: TurnPath,
    query: PayloadQuery,
) -> Result<Reply, Reply> {
    read(state, caller, turn, query, PayloadName::Answer).await
}

pub(crate) async fn model_request(
    state: State<App>,
    caller: AuthenticatedCaller,
    turn: TurnPath,
    query: PayloadQuery,
) -> Result<Reply, Reply> {
    let round = query.round;
    read(state, caller, turn, query, PayloadName::ModelRequest { round }).await
}

pub(crate) async fn model_response(
    state: State<App>,
    caller: AuthenticatedCaller,
    turn: TurnPath,
    query: PayloadQuery,
) -> Result<Reply, Reply> {
    let round = query.round;
    read(state, caller, turn, query, PayloadName::ModelResponse { round }).await
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
    caller: AuthenticatedCaller,
    turn: TurnPath,
    Path(FilePath { hash, name }): Path<FilePath>,
    query: PayloadQuery,
) -> Result<Reply, Reply> {
    let address = hash.parse().map_err(|_| Reply::error(Refusal::PayloadNotFound.error()))?;
    read(state, caller, turn, query, PayloadName::File { address, name }).await
}

async fn read(
    State(app): State<App>,
    AuthenticatedCaller(caller): AuthenticatedCaller,
    TurnPath(session, turn): TurnPath,
    PayloadQuery { inline, headers, if_none_match, .. }: PayloadQuery,
    name: PayloadName,
) -> Result<Reply, Reply> {
    if inline {
        let value = app.reader.inline_payload(&caller, session, turn, name).await.map_err(error_reply)?;
        // Objects never change.
        return Ok(Reply::ok(value).with_cache_headers(CachePolicy::Immutable, &if_none_match));
    }
    let link = app.reader.payload_link(&caller, session, turn, name).await.map_err(error_reply)?;
    if wants_json(&headers) {
        return Ok(Reply::ok(PayloadLink { url: link.url, expires_at: link.expires }));
    }
    Ok(Reply::redirect(link.url))
}

/// True if the client accepts JSON. S3 rejects a redirected request with the client's Authorization header, so such
/// clients ask for the link as JSON.
fn wants_json(headers: &HeaderMap) -> bool {
    headers
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/json"))
}
