//! The OpenAPI document: its examples hold, every operation is served, and what is served is documented.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

use std::{collections::BTreeSet, path::PathBuf};

use contracts::{AgentExecuteRequest, ErrorCode, ToolContinuation, operations, paths};
use lambda_http::{RequestExt, request::LambdaRequest};
use local::{Cloud, Options, token::Identity};
use protocol::queue_message::FinalizeMessage;
use serde_json::Value;

fn file(path: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn document() -> Value {
    serde_json::from_str(&openapi::document().to_json().unwrap()).unwrap()
}

/// Every operation as (method, path, what the document says).
fn documented(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, item)| {
            let item = item.as_object().unwrap().iter();
            item.map(move |(method, operation)| (method.to_uppercase(), path.clone(), operation.clone()))
        })
        .collect()
}

#[test]
fn openapi_3_0_has_every_operation_and_suits_generators() {
    let plain: Value = serde_json::from_str(&openapi::json_3_0().unwrap()).unwrap();
    let names = |document: &Value| {
        let names = documented(document).into_iter().map(|(method, path, _)| (method, path));
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&plain), names(&document()));
    let text = plain.to_string();
    for newer in [r#""type":"null""#, r#""type":["#, r#""const":"#, r#""openapi":"3.1"#] {
        assert!(!text.contains(newer), "{newer}");
    }
    let schemas = plain["components"]["schemas"].as_object().unwrap();
    let composed = schemas
        .iter()
        .filter(|(_, schema)| ["allOf", "oneOf", "anyOf"].iter().any(|word| !schema[*word].is_null()));
    let composed: Vec<&str> = composed.map(|(name, _)| name.as_str()).collect();
    assert_eq!(composed, ["AgentExecuteResponse", "RagValue"], "told apart by a tag, and by its type");
}

#[test]
fn openapi_cites_only_public_documents() {
    let yaml = openapi::yaml().unwrap();
    let cites = |line: &&str| {
        ["AGN-", "DD-0", "IDX-", "TUL-", "\u{a7}", concat!("ruling", ":")]
            .iter()
            .any(|name| line.contains(name))
    };
    let found: Vec<&str> = yaml.lines().filter(cites).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn references_and_links_have_targets() {
    let document = document();
    let mut references = Vec::new();
    visit(&document, &mut |name, value| {
        if name == "$ref" {
            references.push(value.as_str().unwrap().to_owned());
        }
    });
    for reference in references {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
    }
    let ids: BTreeSet<_> = documented(&document)
        .iter()
        .map(|(_, _, operation)| operation["operationId"].clone().to_string())
        .collect();
    assert_eq!(ids.len(), documented(&document).len());
    visit(&document, &mut |name, value| {
        if name == "operationId" {
            assert!(ids.contains(&value.to_string()), "{value}");
        }
    });
}

fn visit(value: &Value, see: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            see(name, member);
            visit(member, see);
        }),
        Value::Array(items) => items.iter().for_each(|item| visit(item, see)),
        _ => {}
    }
}

/// Codes that no operation answers with, and why. A code that comes into use leaves this list.
const NOT_OF_AN_OPERATION: [ErrorCode; 2] = [
    // No operation: no such path, or not with this method.
    ErrorCode::RouteNotFound,
    ErrorCode::MethodNotAllowed,
];

#[test]
fn error_codes_are_documented_where_they_can_occur() {
    let documented: BTreeSet<_> = operations::all().flat_map(|operation| operation.errors.concat()).collect();
    let expected: BTreeSet<_> =
        ErrorCode::ALL.iter().copied().filter(|code| !NOT_OF_AN_OPERATION.contains(code)).collect();
    assert_eq!(documented, expected);
}

/// The event of API Gateway in a file, as `lambda_http` reads it, and its body.
fn http_event(name: &str) -> (lambda_http::Request, Value) {
    let text = file(&format!("events/{name}"));
    let event: LambdaRequest = serde_json::from_str(&text).expect(name);
    let LambdaRequest::ApiGatewayV1(_) = &event else { panic!("{name} is no event of a REST API") };
    (event.into(), serde_json::from_str(&text).unwrap())
}

#[test]
fn sample_events_match_the_function_inputs() {
    let (execute, raw) = http_event("execute.json");
    assert_eq!((execute.method().as_str(), execute.raw_http_path()), ("POST", paths::EXECUTE));
    let body = raw["body"].as_str().unwrap();
    assert!(
        matches!(AgentExecuteRequest::parse(body.as_bytes()), Ok(AgentExecuteRequest::UserTurn(_))),
        "{body}"
    );

    let (results, raw) = http_event("tool-continuation.json");
    assert_eq!((results.method().as_str(), results.raw_http_path()), ("POST", paths::TOOL_RESULTS));
    let body = raw["body"].as_str().unwrap();
    assert!(ToolContinuation::parse(body.as_bytes()).is_ok(), "{body}");

    let (read, raw) = http_event("session-read.json");
    assert_eq!(read.method().as_str(), "GET");
    assert!(raw["body"].is_null());

    for name in ["turn-finalizer.json", "turn-finalizer-sweep.json"] {
        let event: Value = serde_json::from_str(&file(&format!("events/{name}"))).expect(name);
        let records = event["Records"].as_array().filter(|records| !records.is_empty()).expect(name);
        for record in records {
            let body = record["body"].as_str().unwrap();
            assert!(serde_json::from_str::<FinalizeMessage>(body).is_ok(), "{name}: {body}");
        }
    }
}

#[test]
fn request_examples_are_the_bodies_of_the_sample_events() {
    let document = document();
    let content =
        |path: &str| document["paths"][path]["post"]["requestBody"]["content"]["application/json"].clone();
    let bodies = ["execute.json", "tool-continuation.json"].map(|name| {
        let (_, raw) = http_event(name);
        serde_json::from_str::<Value>(raw["body"].as_str().unwrap()).unwrap()
    });
    let both = content(paths::EXECUTE);
    assert_eq!(both["examples"]["userTurn"]["value"], bodies[0]);
    assert_eq!(both["examples"]["toolResults"]["value"], bodies[1]);
    assert_eq!(content(paths::TOOL_RESULTS)["examples"]["toolResults"]["value"], bodies[1]);
}

/// The path with a value in place of each parameter.
fn filled(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment {
        "{Hash}" => "0".repeat(64),
        "{Version}" => "1".to_owned(),
        parameter if parameter.starts_with('{') => "a1".to_owned(),
        literal => literal.to_owned(),
    });
    segments.collect::<Vec<_>>().join("/")
}

#[tokio::test]
async fn documented_operations_are_served_and_others_get_the_envelope() {
    let options = Options { executable: Some(env!("CARGO_BIN_EXE_aptix").into()), ..Options::default() };
    let cloud = Cloud::start(options).await.unwrap();
    let token = cloud.token(&Identity::user("acme", "ada")).unwrap();
    let http = reqwest::Client::new();
    let call = async |method: &str, path: &str| {
        let request = http.request(method.parse().unwrap(), format!("{}{path}", cloud.url()));
        let response = request.bearer_auth(&token).send().await.unwrap();
        let status = response.status().as_u16();
        let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default();
        (status, body["Errors"][0]["ErrorCode"].as_str().unwrap_or_default().to_owned())
    };
    for (method, path, operation) in documented(&document()) {
        let (status, code) = call(&method, &filled(&path)).await;
        assert!(!["RouteNotFound", "MethodNotAllowed"].contains(&code.as_str()), "{method} {path}: {code}");
        let documented = operation["responses"].as_object().unwrap();
        assert!(documented.contains_key(&status.to_string()), "{method} {path}: {status} {code}");
    }
    for (method, path) in
        [("POST", filled(paths::SESSION.template())), ("DELETE", filled(paths::TURN.template()))]
    {
        let (status, code) = call(method, &path).await;
        assert!(matches!(status, 404 | 405), "{method} {path}: {status} {code}");
        assert!(["RouteNotFound", "MethodNotAllowed"].contains(&code.as_str()), "{path}: {code}");
    }
    cloud.shutdown().await;
}

#[tokio::test]
async fn local_cloud_serves_the_document_without_a_token() {
    let options = Options { executable: Some(env!("CARGO_BIN_EXE_aptix").into()), ..Options::default() };
    let cloud = Cloud::start(options).await.unwrap();
    let get = async |path: &str| {
        let response = reqwest::get(format!("{}{path}", cloud.url())).await.unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        (response.status().as_u16(), kind, response.text().await.unwrap())
    };
    let (status, kind, text) = get("/openapi.yaml").await;
    assert_eq!((status, kind.as_str()), (200, "application/yaml"));
    assert!(text == openapi::yaml().unwrap());
    let (status, kind, page) = get("/docs").await;
    assert_eq!((status, kind.as_str()), (200, "text/html; charset=utf-8"));
    assert!(page.contains("executeTurn"));
    cloud.shutdown().await;
}
