//! Messages of clients: one JSON-RPC request or notification per POST.

#[cfg(test)]
mod tests;

use http::{
    HeaderMap,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde_json::{Map, Value};

use crate::{
    era::{Era, LEGACY_VERSIONS, PER_REQUEST_VERSION, VERSIONS},
    error::RpcError,
    header,
    repetition::RequestName,
};

/// The member of `_meta` with the version of a request.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The member of `_meta` with the client's capabilities.
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The member of `_meta` that names a call, so that a repetition finds its turn. It is this server's own.
pub const META_KEY: &str = "aptix/idempotencyKey";
/// The longest name of a request, and the longest session id, in characters.
const MAX_NAME_CHARS: usize = 255;

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
/// The header with the id that a client of the older era got with `initialize`.
pub const SESSION: &str = "mcp-session-id";

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A request, which gets a response.
    Request(Request),
    /// A notification, which gets none.
    Notification(Notification),
}

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The id: a string or an integer.
    pub id: Value,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Map<String, Value>,
    /// The era.
    pub era: Era,
    /// The session of the older era, if the client sends one.
    session: Option<String>,
}

/// A notification.
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Map<String, Value>,
    /// The session of the older era, if the client sends one.
    session: Option<String>,
}

impl Message {
    /// Parses the body of a POST, and checks it against its headers.
    ///
    /// # Errors
    /// If it isn't one message of a supported version. The error has the id of the request as far as that is known.
    pub fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Self, RpcError> {
        check_media_type(headers)?;
        let mut message = match serde_json::from_slice(body).map_err(|_| RpcError::not_json())? {
            Value::Object(message) => message,
            Value::Array(_) => return Err(invalid("Send one message per request, and no batch.")),
            _ => return Err(invalid("The body must be an object.")),
        };
        let id = message.remove("id");
        let parsed = Self::from_members(headers, id.clone(), message);
        // An error names the request, if the request has a name.
        parsed.map_err(|error| match id {
            Some(id) if is_id(&id) => error.with_id(&id),
            _ => error,
        })
    }

    fn from_members(
        headers: &HeaderMap,
        id: Option<Value>,
        mut message: Map<String, Value>,
    ) -> Result<Self, RpcError> {
        if message.get("jsonrpc") != Some(&Value::from("2.0")) {
            return Err(invalid("jsonrpc must be \"2.0\"."));
        }
        if id.as_ref().is_some_and(|id| !is_id(id)) {
            return Err(invalid("id must be a string or an integer."));
        }
        let Some(Value::String(method)) = message.remove("method") else {
            return Err(invalid(
                "method must be a string. The server sends no requests, so it takes no responses.",
            ));
        };
        let params = match message.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(invalid("params must be an object.")),
        };
        let session = session(headers)?;
        let Some(id) = id else {
            check_version_of_notification(headers)?;
            return Ok(Self::Notification(Notification { method, params, session }));
        };
        let era = era(headers, &params)?;
        let request = Request { id, method, params, era, session };
        if era == Era::PerRequest {
            request.check_headers(headers)?;
        }
        Ok(Self::Request(request))
    }
}

/// The operation of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Begins a session of the older era.
    Initialize,
    /// Tells that the server is there.
    Ping,
    /// Tells what the server has.
    Discover,
    /// Lists tools.
    ListTools,
    /// Calls a tool.
    CallTool,
    /// Lists resources.
    ListResources,
    /// Lists templates of resources.
    ListTemplates,
    /// Reads a resource.
    ReadResource,
}

impl Request {
    /// Returns the operation.
    ///
    /// # Errors
    /// If the era has no such method, or the server doesn't have it.
    pub fn operation(&self) -> Result<Operation, RpcError> {
        Ok(match (self.era, self.method.as_str()) {
            (Era::Handshake, "initialize") => Operation::Initialize,
            (Era::Handshake, "ping") => Operation::Ping,
            (Era::PerRequest, "server/discover") => Operation::Discover,
            (_, "tools/list") => Operation::ListTools,
            (_, "tools/call") => Operation::CallTool,
            (_, "resources/list") => Operation::ListResources,
            (_, "resources/templates/list") => Operation::ListTemplates,
            (_, "resources/read") => Operation::ReadResource,
            _ => return Err(RpcError::method_not_found(self.era, &self.method)),
        })
    }

    /// Checks the headers that repeat members of the body.
    fn check_headers(&self, headers: &HeaderMap) -> Result<(), RpcError> {
        header::check(headers, METHOD, &self.method)?;
        let member = match self.method.as_str() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return Ok(()),
        };
        match self.params.get(member).and_then(Value::as_str) {
            Some(name) => header::check(headers, NAME, name),
            None => Ok(()),
        }
    }

    /// Returns a member of `_meta`.
    #[must_use]
    pub fn meta(&self, name: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(name)
    }

    /// Returns a parameter that is a string.
    ///
    /// # Errors
    /// If it is missing or another value.
    pub fn text(&self, name: &str) -> Result<&str, RpcError> {
        let text = self.params.get(name).and_then(Value::as_str);
        text.ok_or_else(|| RpcError::invalid_params(format!("params.{name} must be a string.")))
    }

    /// Returns the cursor of a list's page. `None` for the first page.
    ///
    /// # Errors
    /// If it isn't a string.
    pub fn cursor(&self) -> Result<Option<&str>, RpcError> {
        if self.params.get("cursor").is_none_or(Value::is_null) {
            Ok(None)
        } else {
            self.text("cursor").map(Some)
        }
    }

    /// Returns the token under which the client wants to hear of the progress.
    ///
    /// # Errors
    /// If it is neither a string nor an integer.
    pub fn progress_token(&self) -> Result<Option<Value>, RpcError> {
        let token = self.meta("progressToken").filter(|token| !token.is_null());
        if token.is_some_and(|token| !is_id(token)) {
            return Err(RpcError::invalid_params(
                "params._meta.progressToken must be a string or an integer.",
            ));
        }
        Ok(token.cloned())
    }

    /// Returns the name of the request, if it has one that is unique among the requests of its user.
    ///
    /// # Errors
    /// If the key isn't a string of 1 to 255 characters.
    pub fn name(&self) -> Result<Option<RequestName>, RpcError> {
        if let Some(key) = self.meta(META_KEY) {
            let rule = "must be a string of 1 to 255 characters.";
            let key = key.as_str().filter(|key| (1..=MAX_NAME_CHARS).contains(&key.chars().count()));
            let key =
                key.ok_or_else(|| RpcError::invalid_params(format!("params._meta.{META_KEY} {rule}")))?;
            return Ok(Some(RequestName::key(key)));
        }
        let session = self.session.as_ref().filter(|_| self.era == Era::Handshake);
        Ok(session.map(|session| RequestName::in_session(session, &self.id)))
    }
}

impl Notification {
    /// Returns the name of the request that a client cancels. Since revision 2026-07-28 requests have no such names.
    #[must_use]
    pub fn cancelled(&self) -> Option<RequestName> {
        let id = self.params.get("requestId").filter(|id| is_id(id));
        let (session, id) = (self.session.as_ref()?, id?);
        (self.method == "notifications/cancelled").then(|| RequestName::in_session(session, id))
    }
}

/// Returns the era of a request, by the version that it names.
fn era(headers: &HeaderMap, params: &Map<String, Value>) -> Result<Era, RpcError> {
    let sent = header::single(headers, VERSION)?;
    let meta = params.get("_meta");
    let named = match meta.and_then(|meta| meta.get(META_VERSION)) {
        None if sent == Some(PER_REQUEST_VERSION) => {
            return Err(RpcError::invalid_meta(format!("params._meta.{META_VERSION} is missing.")));
        }
        None => None,
        Some(named) => match named.as_str() {
            Some(named) => Some(named),
            None => {
                return Err(RpcError::invalid_meta(format!("params._meta.{META_VERSION} must be a string.")));
            }
        },
    };
    if let Some(named) = named {
        header::check(headers, VERSION, named)?;
    }
    match named.or(sent) {
        Some(PER_REQUEST_VERSION) => {}
        None => return Ok(Era::Handshake),
        Some(version) if LEGACY_VERSIONS.contains(&version) => return Ok(Era::Handshake),
        Some(version) => return Err(RpcError::unsupported_version(version)),
    }
    if !meta.and_then(|meta| meta.get(META_CAPABILITIES)).is_some_and(Value::is_object) {
        return Err(RpcError::invalid_meta(format!("params._meta.{META_CAPABILITIES} must be an object.")));
    }
    Ok(Era::PerRequest)
}

/// Checks the version of a notification, which names it in the header alone.
fn check_version_of_notification(headers: &HeaderMap) -> Result<(), RpcError> {
    match header::single(headers, VERSION)? {
        Some(version) if !VERSIONS.contains(&version) => Err(RpcError::unsupported_version(version)),
        _ => Ok(()),
    }
}

/// Reads the session of the older era. It is the client's own text: no session is stored.
fn session(headers: &HeaderMap) -> Result<Option<String>, RpcError> {
    let session = header::single(headers, SESSION)?.filter(|session| !session.is_empty());
    if session.is_some_and(|session| session.len() > MAX_NAME_CHARS) {
        return Err(invalid("Mcp-Session-Id must have at most 255 characters."));
    }
    Ok(session.map(str::to_owned))
}

/// True if the client accepts an event stream.
///
/// # Errors
/// If it doesn't accept JSON.
pub fn accepts_stream(headers: &HeaderMap) -> Result<bool, RpcError> {
    let accepted: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accepted = accepted.join(",").to_ascii_lowercase();
    let accepts = |media_type: &str| {
        let ranges = accepted.split(',').map(|range| range.split(';').next().unwrap_or_default().trim());
        ranges.into_iter().any(|range| range == "*/*" || range == media_type)
    };
    if accepted.trim().is_empty() || accepts("application/json") {
        return Ok(accepts("text/event-stream"));
    }
    Err(RpcError::invalid_request(406, "Accept must list application/json and text/event-stream."))
}

fn check_media_type(headers: &HeaderMap) -> Result<(), RpcError> {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(RpcError::invalid_request(415, "Content-Type must be application/json."))
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

fn invalid(message: &str) -> RpcError {
    RpcError::invalid_request(400, message)
}
