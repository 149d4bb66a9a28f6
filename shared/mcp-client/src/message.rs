//! Messages of JSON-RPC as this client writes and reads them.

use serde_json::{Map, Value, json};

use crate::revision::Revision;

/// The longest text of a server's error that is shown, in bytes.
pub(crate) const MAX_ERROR_TEXT: usize = 1024;

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Code of a request whose revision the server doesn't have.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
/// Code of a method that the receiver doesn't have.
pub(crate) const UNKNOWN_METHOD: i64 = -32601;

/// A message from a server.
#[derive(Debug)]
pub(crate) enum Message {
    /// The response to a request of this client.
    Response { id: Value, outcome: Result<Value, RpcError> },
    /// A request to this client.
    Request { id: Value, method: String },
    /// A notification.
    Notification { method: String, params: Value },
}

/// An error that a server answers with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

/// Returns the message in a JSON value, or nothing if it is none.
pub(crate) fn parse(value: Value) -> Option<Message> {
    let Value::Object(mut object) = value else { return None };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return None;
    }
    let id = object.remove("id");
    if let Some(Value::String(method)) = object.remove("method") {
        return Some(match id {
            Some(id @ (Value::String(_) | Value::Number(_))) => Message::Request { id, method },
            Some(_) => return None,
            None => Message::Notification { method, params: object.remove("params").unwrap_or_default() },
        });
    }
    let outcome = match (object.remove("result"), object.remove("error")) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(parse_error(error)?),
        _ => return None,
    };
    Some(Message::Response { id: id.unwrap_or_default(), outcome })
}

fn parse_error(error: Value) -> Option<RpcError> {
    let Value::Object(mut error) = error else { return None };
    Some(RpcError {
        code: error.get("code")?.as_i64()?,
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: error.remove("data").unwrap_or_default(),
    })
}

/// Returns a request. In the stateless revision it carries everything that a session would know.
pub(crate) fn request(
    revision: Revision,
    id: u64,
    method: &str,
    mut params: Map<String, Value>,
    mut meta: Map<String, Value>,
) -> Value {
    if revision.is_stateless() {
        meta.insert(PROTOCOL_VERSION.to_owned(), revision.as_str().into());
        meta.insert(CLIENT_INFO.to_owned(), client_info());
        meta.insert(CLIENT_CAPABILITIES.to_owned(), json!({}));
    }
    if !meta.is_empty() {
        params.insert("_meta".to_owned(), meta.into());
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Returns a notification.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    match params {
        Value::Null => json!({ "jsonrpc": "2.0", "method": method }),
        params => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    }
}

/// Returns the name and version of this client.
pub(crate) fn client_info() -> Value {
    json!({ "name": "aptix", "version": env!("CARGO_PKG_VERSION") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let parsed = |value| parse(value);
        assert!(matches!(
            parsed(json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
            Some(Message::Response { outcome: Ok(_), .. })
        ));
        assert!(matches!(
            parsed(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}})),
            Some(Message::Response { outcome: Err(RpcError { code: -32603, .. }), .. })
        ));
        assert!(matches!(
            parsed(json!({"jsonrpc": "2.0", "id": "a", "method": "ping"})),
            Some(Message::Request { .. })
        ));
        assert!(matches!(
            parsed(json!({"jsonrpc": "2.0", "method": "notifications/message"})),
            Some(Message::Notification { .. })
        ));
        let none = [
            json!([]),
            json!({"id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "1"}}),
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
        ];
        for value in none {
            assert!(parse(value.clone()).is_none(), "{value}");
        }
    }
}
