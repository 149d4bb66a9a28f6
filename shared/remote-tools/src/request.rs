//! The request of an HTTP tool's call.

use agent::{
    connection::{ConnectionTarget, HttpMethod, PathTemplate, Segment},
    tool::{
        Definition,
        remote::{EffectClass, RemoteCall},
    },
};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// The characters of a path or a query that are encoded: all but the unreserved characters of RFC 3986.
pub(crate) const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The header with the key of a call, unless the tool names another.
const KEY_HEADER: &str = "Idempotency-Key";
/// The most bytes of a URL.
const MAX_URL_BYTES: usize = 8_000;

/// Arguments that can't be sent. The texts are for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsendable {
    #[error("The argument {0} must be a string, a number or true or false, because it is a part of the URL.")]
    NotPlain(String),
    #[error("An argument that is a segment of the URL's path must not be empty, `.` or `..`.")]
    NotSegment,
    #[error("The arguments are too long for a URL.")]
    TooLong,
    #[error("The tool is not usable. Continue without it.")]
    Unusable,
}

/// Returns the URL and the request of a call, without authentication.
pub(crate) fn build(
    target: &ConnectionTarget,
    call: RemoteCall<'_>,
) -> Result<(String, Request<Bytes>), Unsendable> {
    let (method, path) = target.method.zip(target.path.as_deref()).ok_or(Unsendable::Unusable)?;
    let template = PathTemplate::parse(path).map_err(|_| Unsendable::Unusable)?;
    let arguments = declared(&call.tool.definition, call.arguments);
    let mut url = format!("{}{}", base(&target.url), filled(&template, &arguments)?);
    let in_path: Vec<&str> = template.arguments().collect();
    let rest = arguments.iter().filter(|(name, _)| !in_path.contains(&name.as_str()));
    let (in_query, in_body): (Vec<_>, Vec<_>) =
        rest.partition(|(name, _)| !method.has_body() || target.query.contains(*name));
    for (n, (name, value)) in in_query.into_iter().filter(|(_, value)| !value.is_null()).enumerate() {
        let value = plain(value).ok_or_else(|| Unsendable::NotPlain((*name).clone()))?;
        let (name, value) = (utf8_percent_encode(name, ENCODED), utf8_percent_encode(&value, ENCODED));
        url.push_str(&format!("{}{name}={value}", if n == 0 { '?' } else { '&' }));
    }
    if url.len() > MAX_URL_BYTES {
        return Err(Unsendable::TooLong);
    }
    let body: Map<String, Value> =
        in_body.into_iter().map(|(name, value)| ((*name).clone(), (*value).clone())).collect();
    Ok((url, request(target, method, &body, call)?))
}

fn request(
    target: &ConnectionTarget,
    method: HttpMethod,
    body: &Map<String, Value>,
    call: RemoteCall<'_>,
) -> Result<Request<Bytes>, Unsendable> {
    let mut request = Request::builder()
        .method(method.as_str())
        .header(header::ACCEPT, "application/json, text/*;q=0.9, */*;q=0.1")
        .header(header::USER_AGENT, "aptix");
    if method.has_body() {
        request = request.header(header::CONTENT_TYPE, "application/json");
    }
    if call.tool.class == EffectClass::Keyed || target.lookup_path.is_some() {
        let name = HeaderName::try_from(target.key_header.as_deref().unwrap_or(KEY_HEADER));
        let value = HeaderValue::try_from(call.key).map_err(|_| Unsendable::Unusable)?;
        request = request.header(name.map_err(|_| Unsendable::Unusable)?, value);
    }
    let body =
        if method.has_body() { Bytes::from(Value::from(body.clone()).to_string()) } else { Bytes::new() };
    request.body(body).map_err(|_| Unsendable::Unusable)
}

/// Returns the arguments that the schema declares. A model may add others, which nobody has decided to send.
pub(crate) fn declared(definition: &Definition, arguments: &Value) -> Map<String, Value> {
    let properties = definition.parameters.get("properties");
    let is_declared = |name: &str| properties.is_some_and(|properties| properties.get(name).is_some());
    let arguments = arguments.as_object().into_iter().flatten();
    arguments
        .filter(|(name, _)| is_declared(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns a connection's URL without its query and without the slash at its end.
fn base(url: &str) -> String {
    url.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned()
}

/// Returns the path with its arguments. No argument adds, removes or empties a segment.
fn filled(template: &PathTemplate, arguments: &Map<String, Value>) -> Result<String, Unsendable> {
    let mut path = String::new();
    for part in template.segments() {
        match part {
            Segment::Literal(text) => path.push_str(text),
            Segment::Argument(name) => {
                let value = arguments.get(name).ok_or(Unsendable::Unusable)?;
                let value = plain(value).ok_or_else(|| Unsendable::NotPlain(name.clone()))?;
                path.extend(utf8_percent_encode(&value, ENCODED));
            }
        }
    }
    // Dots are unreserved, so they aren't encoded, and as a whole segment they name another folder.
    let is_segment = |segment: &str| !segment.chars().all(|c| c == '.');
    let ends_in_slash =
        matches!(template.segments().last(), Some(Segment::Literal(text)) if text.ends_with('/'));
    let segments = path.strip_suffix('/').filter(|_| ends_in_slash).unwrap_or(&path);
    let has_arguments = template.arguments().next().is_some();
    match !has_arguments || segments.split('/').skip(1).all(is_segment) {
        true => Ok(path),
        false => Err(Unsendable::NotSegment),
    }
}

/// Returns a value as the text of a URL's part. `None` for a list, an object and null.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use agent::{
        connection::Connection,
        tool::remote::{CancelSignal, ProgressSink, RemoteTool},
    };
    use contracts::id::{OrgId, UserId};
    use serde_json::json;

    use super::*;

    fn tool(class: &str, method: &str, path: &str, query: &[&str]) -> RemoteTool {
        let connection: Connection = serde_json::from_value(json!({
            "Id": "tickets", "Name": "Tickets", "Protocol": "http", "Url": "https://api.example.com/v1/?x=y",
            "Tools": [{
                "Name": "t", "Description": "d", "Class": class, "Method": method, "Path": path, "Query": query,
                "Parameters": { "type": "object", "required": ["id"], "properties": {
                    "id": {}, "title": {}, "notify": {}, "tags": {},
                } },
            }],
        }))
        .unwrap();
        connection.remote_tool(connection.tool("t").unwrap(), 3)
    }

    fn built(tool: &RemoteTool, arguments: Value) -> Result<(String, Request<Bytes>), Unsendable> {
        let org = OrgId::new("acme").unwrap();
        let target = serde_json::from_value(tool.target.clone()).unwrap();
        let timeout = std::time::Duration::from_secs(1);
        build(
            &target,
            RemoteCall {
                org: &org,
                user: &UserId::new("ada").unwrap(),
                token: None,
                tool,
                arguments: &arguments,
                key: "k1",
                timeout,
                progress: ProgressSink::default(),
                cancel: CancelSignal::default(),
            },
        )
    }

    #[test]
    fn arguments_go_to_path_query_and_body() {
        let tool = tool("keyed", "POST", "/tickets/{id}/notes", &["notify"]);
        let arguments =
            json!({ "id": "a/b?c#d%é", "title": "Hi", "notify": true, "tags": [1], "undeclared": 1 });
        let (url, request) = built(&tool, arguments).unwrap();
        assert_eq!(url, "https://api.example.com/v1/tickets/a%2Fb%3Fc%23d%25%C3%A9/notes?notify=true");
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        assert_eq!(body, json!({ "title": "Hi", "tags": [1] }));
        assert_eq!(
            (request.method().as_str(), &request.headers()["idempotency-key"]),
            ("POST", &"k1".parse().unwrap())
        );
    }

    #[test]
    fn read_sends_everything_in_the_query_and_no_key() {
        let (url, request) = built(
            &tool("read", "GET", "/tickets/{id}", &[]),
            json!({
                "id": 7, "title": "a b&c=d", "notify": null,
            }),
        )
        .unwrap();
        assert_eq!(url, "https://api.example.com/v1/tickets/7?title=a%20b%26c%3Dd");
        assert!(request.body().is_empty() && !request.headers().contains_key("idempotency-key"));
    }

    #[test]
    fn argument_can_not_leave_its_segment() {
        let tool = |path| tool("effect", "GET", path, &[]);
        for id in ["..", ".", "", "..."] {
            assert_eq!(
                built(&tool("/a/{id}/b"), json!({ "id": id })).unwrap_err(),
                Unsendable::NotSegment,
                "{id:?}"
            );
        }
        assert_eq!(built(&tool("/a/.{id}"), json!({ "id": "." })).unwrap_err(), Unsendable::NotSegment);
        assert_eq!(built(&tool("/a/{id}/"), json!({ "id": "" })).unwrap_err(), Unsendable::NotSegment);
        assert!(built(&tool("/a/{id}/"), json!({ "id": "b" })).unwrap().0.ends_with("/v1/a/b/"));
        for id in [
            "../b",
            r"..\b",
            "%2e%2e",
            "//evil.example",
            "@evil.example",
            "a?b",
            "a#b",
            "a\r\nX: y",
            "。。/b",
        ] {
            let (url, _) = built(&tool("/a/{id}"), json!({ "id": id })).unwrap();
            let rest = url.strip_prefix("https://api.example.com/v1/a/").unwrap();
            let is_inert = |c: char| c.is_ascii_alphanumeric() || "%-._~".contains(c);
            assert!(rest.chars().all(is_inert), "{url}");
            let parsed = url::Url::parse(&url).unwrap();
            assert_eq!(
                (parsed.as_str(), parsed.host_str()),
                (url.as_str(), Some("api.example.com")),
                "{id:?}"
            );
        }
        for id in [json!(["a"]), json!({ "a": 1 }), json!(null)] {
            assert!(matches!(built(&tool("/a/{id}"), json!({ "id": id })), Err(Unsendable::NotPlain(_))));
        }
    }

    #[test]
    fn long_url_is_not_sent() {
        let result = built(&tool("read", "GET", "/a/{id}", &[]), json!({ "id": "x".repeat(9_000) }));
        assert_eq!(result.unwrap_err(), Unsendable::TooLong);
    }
}
