//! The event that a REST API with the AWS_PROXY integration passes to a function.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, HeaderValue, header, request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::routes::Route;
use crate::account::{ACCOUNT, API_ID, STAGE};

/// The media type whose bodies are base64-encoded, as `template.yaml` declares.
const BINARY_MEDIA_TYPE: &str = "multipart/form-data";
/// Headers that belong to the connection and not to the request.
const HOP_BY_HOP: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

/// Parts of an event.
pub(crate) struct Parts<'a> {
    pub(crate) request: &'a request::Parts,
    pub(crate) body: &'a [u8],
    pub(crate) route: &'a Route,
    /// Authorizer context of the caller.
    pub(crate) caller: &'a Value,
    /// API key that the request counts against.
    pub(crate) usage_key: Option<&'a str>,
    pub(crate) request_id: &'a str,
    pub(crate) host: SocketAddr,
}

/// Returns the serialized event.
pub(crate) fn build(parts: &Parts<'_>) -> Vec<u8> {
    let request = parts.request;
    let path = request.uri.path();
    let method = request.method.as_str();
    let headers = headers(&request.headers, parts.host);
    let query = query(request.uri.query().unwrap_or_default());
    let (body, base64) = body(parts.body, &request.headers);
    let parameters: Map<_, _> =
        parts.route.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut identity = json!({
        "sourceIp": parts.host.ip().to_string(),
        "userAgent": request.headers.get(header::USER_AGENT).map(header_text),
    });
    if let (Some(key), Some(members)) = (parts.usage_key, identity.as_object_mut()) {
        members.insert("apiKey".to_owned(), json!(key));
    }
    json!({
        "resource": parts.route.resource,
        "path": path,
        "httpMethod": method,
        "headers": last_values(&headers),
        "multiValueHeaders": headers,
        "queryStringParameters": or_null(last_values(&query)),
        "multiValueQueryStringParameters": or_null(query.into_iter().map(|(name, values)| (name, json!(values))).collect()),
        "pathParameters": or_null(parameters),
        "stageVariables": null,
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": API_ID,
            "authorizer": parts.caller,
            "domainName": parts.host.to_string(),
            "extendedRequestId": parts.request_id,
            "httpMethod": method,
            "identity": identity,
            "path": format!("/{STAGE}{path}"),
            "protocol": "HTTP/1.1",
            "requestId": parts.request_id,
            "requestTimeEpoch": now_millis(),
            "resourceId": parts.route.function.name(),
            "resourcePath": parts.route.resource,
            "stage": STAGE,
        },
        "body": body,
        "isBase64Encoded": base64,
    })
    .to_string()
    .into_bytes()
}

type Multi = BTreeMap<String, Vec<String>>;

/// Returns the client's headers and those that the gateway adds. The host is always the gateway's own: on AWS no
/// other request reaches it.
fn headers(sent: &HeaderMap, host: SocketAddr) -> Multi {
    let mut headers = Multi::new();
    for (name, value) in sent {
        if !HOP_BY_HOP.contains(&name.as_str()) {
            headers.entry(name.to_string()).or_default().push(header_text(value));
        }
    }
    let mut add = |name: &str, value: String| headers.insert(name.to_owned(), vec![value]);
    add("host", host.to_string());
    add("x-forwarded-for", host.ip().to_string());
    add("x-forwarded-port", host.port().to_string());
    add("x-forwarded-proto", "http".to_owned());
    headers
}

/// Returns the text of a header's value: its bytes as UTF-8, or else as Latin-1. No value is dropped, since a function
/// would take the header for absent.
pub(super) fn header_text(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    str::from_utf8(bytes).map_or_else(|_| bytes.iter().copied().map(char::from).collect(), str::to_owned)
}

fn query(query: &str) -> Multi {
    let mut parameters = Multi::new();
    let Ok(mut url) = reqwest::Url::parse("http://localhost/") else {
        return parameters;
    };
    url.set_query(Some(query).filter(|query| !query.is_empty()));
    for (name, value) in url.query_pairs() {
        parameters.entry(name.into_owned()).or_default().push(value.into_owned());
    }
    parameters
}

fn last_values(multi: &Multi) -> Map<String, Value> {
    let last = |(name, values): (&String, &Vec<String>)| Some((name.clone(), json!(values.last()?)));
    multi.iter().filter_map(last).collect()
}

fn or_null(map: Map<String, Value>) -> Value {
    if map.is_empty() { Value::Null } else { Value::Object(map) }
}

fn body(bytes: &[u8], headers: &HeaderMap) -> (Value, bool) {
    if bytes.is_empty() {
        return (Value::Null, false);
    }
    let media = headers.get(header::CONTENT_TYPE).map(header_text).unwrap_or_default();
    let essence = media.split(';').next().unwrap_or_default().trim();
    let binary = essence.eq_ignore_ascii_case(BINARY_MEDIA_TYPE);
    match std::str::from_utf8(bytes) {
        Ok(text) if !binary => (text.into(), false),
        _ => (STANDARD.encode(bytes).into(), true),
    }
}

fn now_millis() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Function;
    use axum::http::Request;
    use contracts::request::limits::{MAX_EVENT_OVERHEAD_BYTES, escaped_len};

    fn event(request: Request<&[u8]>) -> Value {
        serde_json::from_slice(&written(request)).unwrap()
    }

    fn written(request: Request<&[u8]>) -> Vec<u8> {
        let (request, body) = request.into_parts();
        let route = Route {
            resource: "/sessions/{SessionId}",
            function: Function::SessionRead,
            parameters: vec![("SessionId".to_owned(), "s%201".to_owned())],
        };
        let caller = json!({"claims": {"sub": "ada"}});
        build(&Parts {
            request: &request,
            body,
            route: &route,
            caller: &caller,
            usage_key: None,
            request_id: "r1",
            host: ([127, 0, 0, 1], 9000).into(),
        })
    }

    #[test]
    fn event_exceeds_its_body_by_less_than_the_reserve() {
        // As large as a gateway takes headers, and as long as they become.
        let header = "\"".repeat(10_240);
        let body = "{\"a\":\"\\n\"}".repeat(1_000);
        let request = Request::post("/sessions/s1").header("x-quotes", header).body(body.as_bytes()).unwrap();
        let rest = written(request).len() - escaped_len(&body);
        assert!((40_000..MAX_EVENT_OVERHEAD_BYTES).contains(&rest), "{rest}");
    }

    #[test]
    fn request_becomes_rest_api_event() {
        let request = Request::post("/sessions/s%201?a=1&b=x%20y&a=2")
            .header("host", "evil host")
            .header("x-two", "one")
            .header("x-two", "two")
            .header("connection", "close")
            .body("{}".as_bytes());
        let event = event(request.unwrap());
        assert_eq!(event["httpMethod"], "POST");
        assert_eq!(event["path"], "/sessions/s%201");
        assert_eq!(event["resource"], "/sessions/{SessionId}");
        assert_eq!(event["pathParameters"]["SessionId"], "s%201");
        assert_eq!(event["queryStringParameters"], json!({"a": "2", "b": "x y"}));
        assert_eq!(event["multiValueQueryStringParameters"]["a"], json!(["1", "2"]));
        assert_eq!(event["headers"]["x-two"], "two");
        assert_eq!(event["headers"]["host"], "127.0.0.1:9000");
        assert_eq!(event["headers"].get("connection"), None);
        assert_eq!(event["multiValueHeaders"]["x-two"], json!(["one", "two"]));
        assert_eq!(event["requestContext"]["authorizer"]["claims"]["sub"], "ada");
        assert_eq!(event["body"], "{}");
        assert_eq!(event["isBase64Encoded"], false);
    }

    #[test]
    fn header_of_any_bytes_reaches_the_function() {
        let request = Request::post("/sessions/s1")
            .header("idempotency-key", "schlüssel".as_bytes())
            .header("user-agent", &b"\xfcber"[..])
            .header("x-two", "one")
            .header("x-two", "二".as_bytes());
        let event = event(request.body(&b""[..]).unwrap());
        assert_eq!(event["headers"]["idempotency-key"], "schlüssel");
        assert_eq!(event["multiValueHeaders"]["x-two"], json!(["one", "二"]));
        assert_eq!(
            (&event["headers"]["user-agent"], &event["requestContext"]["identity"]["userAgent"]),
            (&json!("über"), &json!("über"))
        );
    }

    #[test]
    fn absent_members_are_null() {
        let event = event(Request::get("/sessions/s").body(&b""[..]).unwrap());
        assert!(event["body"].is_null());
        assert!(event["queryStringParameters"].is_null());
        assert!(event["stageVariables"].is_null());
    }

    #[test]
    fn binary_media_type_is_that_of_the_template() {
        let template: yaml_serde::Value =
            yaml_serde::from_str(include_str!("../../../../template.yaml")).unwrap();
        let types = &template["Resources"]["Api"]["Properties"]["BinaryMediaTypes"];
        let types: Vec<_> = types.as_sequence().unwrap().iter().map(|kind| kind.as_str().unwrap()).collect();
        assert_eq!(types, [BINARY_MEDIA_TYPE.replace('/', "~1")]);
    }

    #[test]
    fn forms_and_other_bytes_than_text_are_base64() {
        let bytes = event(Request::post("/").body(&[0xff, 0xfe][..]).unwrap());
        assert_eq!((&bytes["body"], &bytes["isBase64Encoded"]), (&json!("//4="), &json!(true)));
        for (media, is_base64) in [("Multipart/Form-Data; boundary=b", true), ("application/json", false)] {
            let request = Request::post("/").header("content-type", media).body("x".as_bytes());
            assert_eq!(event(request.unwrap())["isBase64Encoded"], is_base64, "{media}");
        }
    }
}
