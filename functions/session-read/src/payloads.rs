//! `GET …/turns/{TurnId}/payloads/…`: returns a short-lived link, as a redirect or as JSON if the client accepts it. With
//! `inline`, returns the payload itself.

use axum::extract::{Path, State};
use contracts::{ErrorCode, read::PayloadLink};
use http::HeaderMap;
use runtime::{
    AuthenticatedCaller, CachePolicy, IfNoneMatch, Reply, negotiation::first_accepted, path::TurnPath,
    query::Query,
};
use serde::Deserialize;
use turns::flow::PayloadName;

use crate::{
    app::{App, error_reply},
    parameters::PayloadQuery,
};

/// A request for a payload of a turn.
type Request = (State<App>, AuthenticatedCaller, TurnPath, Query<PayloadQuery>, HeaderMap, IfNoneMatch);

pub(crate) async fn instruction(request: Request) -> Result<Reply, Reply> {
    read(request, |_| PayloadName::Instruction).await
}

pub(crate) async fn answer(request: Request) -> Result<Reply, Reply> {
    read(request, |_| PayloadName::Answer).await
}

pub(crate) async fn model_request(request: Request) -> Result<Reply, Reply> {
    read(request, |round| PayloadName::ModelRequest { round }).await
}

pub(crate) async fn model_response(request: Request) -> Result<Reply, Reply> {
    read(request, |round| PayloadName::ModelResponse { round }).await
}

#[derive(Deserialize)]
pub(crate) struct FilePath {
    #[serde(rename = "Hash")]
    hash: String,
    #[serde(rename = "Name")]
    name: String,
}

pub(crate) async fn file(
    request: Request,
    Path(FilePath { hash, name }): Path<FilePath>,
) -> Result<Reply, Reply> {
    let address = hash.parse().map_err(|_| Reply::error(ErrorCode::PayloadNotFound.into()))?;
    read(request, |_| PayloadName::File { address, name }).await
}

/// Reads a payload. Its name may depend on the round.
async fn read(request: Request, name: impl FnOnce(Option<u32>) -> PayloadName) -> Result<Reply, Reply> {
    let (
        State(app),
        AuthenticatedCaller(caller),
        TurnPath(session, turn),
        Query(PayloadQuery { inline, round }),
        headers,
        if_none_match,
    ) = request;
    let name = name(round);
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
    first_accepted(headers, &["application/json"]).is_some()
}
