//! The server as clients see it: its versions, its capabilities, and the form of its results.

use axum::response::{IntoResponse, Response};
use fronts::json;
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use crate::{
    era::{Era, LEGACY_VERSIONS, VERSIONS},
    message::{Request, SESSION},
};

/// The milliseconds for which a client may keep a list of tools. Turns see a changed agent within a minute.
const TOOLS_TTL_MS: u64 = 60_000;

const INSTRUCTIONS: &str = "Each tool is an agent that answers a message. A result names the session: pass it as `session` to \
     continue the conversation. Resources are the sessions that you may read, their turns, and a search of them.";

/// The time for which a client may keep a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// The result isn't cacheable.
    Never,
    /// The result is a list of tools, or tells about the server.
    Tools,
    /// The result may be out of date at once, for example a session.
    Stale,
}

/// Returns the result of a request.
#[must_use]
pub fn result(request: &Request, members: Value, caching: Caching) -> Value {
    json!({"jsonrpc": "2.0", "id": request.id, "result": in_era(request.era, members, caching)})
}

/// Returns the response to a request with this result.
#[must_use]
pub fn respond(request: &Request, members: Value, caching: Caching) -> Response {
    json(200, &result(request, members, caching))
}

/// Adds to a result what its era demands.
pub(crate) fn in_era(era: Era, members: Value, caching: Caching) -> Value {
    let mut result = match members {
        Value::Object(result) => result,
        _ => Map::new(),
    };
    if era == Era::PerRequest {
        result.insert("resultType".to_owned(), json!("complete"));
        result.insert("_meta".to_owned(), json!({"io.modelcontextprotocol/serverInfo": server_info()}));
        let ttl = match caching {
            Caching::Never => None,
            Caching::Tools => Some(TOOLS_TTL_MS),
            Caching::Stale => Some(0),
        };
        if let Some(ttl) = ttl {
            result.insert("ttlMs".to_owned(), ttl.into());
            result.insert("cacheScope".to_owned(), json!("private"));
        }
    }
    Value::Object(result)
}

/// Returns the response to `initialize`. Its session is a name under which the client's request ids are unique, and nothing
/// is stored for it.
#[must_use]
pub fn initialized(request: &Request, session: &str) -> Response {
    let wanted = request.params.get("protocolVersion").and_then(Value::as_str);
    let version = LEGACY_VERSIONS.into_iter().find(|version| Some(*version) == wanted);
    let members = json!({
        "protocolVersion": version.unwrap_or(LEGACY_VERSIONS[0]),
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    });
    let mut response = respond(request, members, Caching::Never);
    if let Ok(session) = HeaderValue::try_from(session) {
        response.headers_mut().insert(SESSION, session);
    }
    response
}

/// Returns the response to `server/discover`.
#[must_use]
pub fn discovered(request: &Request) -> Response {
    let members = json!({
        "supportedVersions": VERSIONS, "capabilities": capabilities(), "instructions": INSTRUCTIONS,
    });
    respond(request, members, Caching::Tools)
}

/// Returns the response to an accepted notification.
#[must_use]
pub fn accepted() -> Response {
    StatusCode::ACCEPTED.into_response()
}

/// Lists don't tell of changes, since no function outlives its requests.
fn capabilities() -> Value {
    json!({"tools": {}, "resources": {}})
}

fn server_info() -> Value {
    json!({"name": "aptix", "title": "Aptix", "version": env!("CARGO_PKG_VERSION")})
}
