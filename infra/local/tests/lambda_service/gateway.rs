//! Tests of the gateway.

use std::time::{Duration, Instant, SystemTime};

use contracts::paths::EXECUTE;
use futures::StreamExt;
use local::Function;
use local::token::{Identity, LIFETIME};
use serde_json::json;

use crate::support::{call, code, json, post, quiet, start};

pub(crate) async fn request_reaches_function_and_reply_reaches_client() {
    let cloud = start(quiet()).await;
    let url = format!("{}/api/ai/agent/sessions/s%201/turns/last?a=1&a=2&b=x%20y", cloud.url());
    let token = cloud.token(&Identity { operator: true, ..Identity::user("acme", "ada") }).unwrap();
    let request = reqwest::Client::new().get(url).bearer_auth(token).header("x-asked", "thïs");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 202);
    assert_eq!(response.headers()["x-answered"], "yes");
    let received = json(response).await;
    assert_eq!(received["method"], "GET");
    let uri = received["uri"].as_str().unwrap();
    // lambda_http re-encodes the query.
    let (path, query) = uri.split_once('?').unwrap();
    assert!(path.ends_with("/api/ai/agent/sessions/s%201/turns/last"), "{path}");
    assert!(query.contains("a=1&a=2") && query.contains("b=x+y"), "{query}");
    assert_eq!(received["header"], "thïs");
    assert_eq!(received["claims"]["claims"]["custom:org"], "acme");
    assert_eq!(received["claims"]["claims"]["custom:operator"], "true");
}

pub(crate) async fn function_environment_hides_developer_variables() {
    let cloud = start(quiet()).await;
    let received = json(call(&cloud, json!({})).await).await;
    let environment = received["environment"].as_object().unwrap();
    assert_eq!(environment["TABLE_NAME"], cloud.table());
    assert_eq!(environment["AWS_ENDPOINT_URL_S3"], cloud.endpoints().s3);
    assert!(!environment.keys().any(|name| name.starts_with("CARGO")));
}

pub(crate) async fn gateway_refusals_have_envelope() {
    let cloud = start(quiet()).await;
    let client = reqwest::Client::new();
    let execute = format!("{}{EXECUTE}", cloud.url());
    let no_token = client.post(&execute).send().await.unwrap();
    assert_eq!(code(no_token).await, (401, "Unauthenticated".into()));
    let issued = SystemTime::now() - 2 * LIFETIME;
    let old = cloud.tokens().sign_at(&Identity::user("acme", "ada"), issued, LIFETIME).unwrap();
    let expired = client.post(&execute).bearer_auth(old).send().await.unwrap();
    assert_eq!(code(expired).await, (401, "Unauthenticated".into()));
    let unknown = client.get(format!("{}/nowhere", cloud.url())).send().await.unwrap();
    assert_eq!(code(unknown).await, (404, "RouteNotFound".into()));
    let wrong = client.get(&execute).send().await.unwrap();
    assert_eq!(code(wrong).await, (405, "MethodNotAllowed".into()));
    let for_lambda = post(&cloud, json!({})).body("x".repeat(6 * 1024 * 1024));
    assert_eq!(code(for_lambda.send().await.unwrap()).await, (413, "PayloadTooLarge".into()));
    let for_gateway = post(&cloud, json!({})).body("x".repeat(11 * 1024 * 1024));
    assert_eq!(code(for_gateway.send().await.unwrap()).await, (413, "PayloadTooLarge".into()));
    let huge = post(&cloud, json!({})).body("x".repeat(80 * 1024 * 1024));
    assert_eq!(code(huge.send().await.unwrap()).await, (413, "PayloadTooLarge".into()));
    assert_eq!(cloud.processes(Function::Execute), 0);
}

pub(crate) async fn cors_preflight_is_answered() {
    let cloud = start(quiet()).await;
    let url = format!("{}/api/ai/agent/sessions/s", cloud.url());
    let request = reqwest::Client::new().request(reqwest::Method::OPTIONS, url).send().await.unwrap();
    assert_eq!(request.status(), 204);
    assert_eq!(request.headers()["access-control-allow-methods"], "GET,PATCH,DELETE,OPTIONS");
    assert_eq!(request.headers()["access-control-allow-headers"], "*,Authorization");
}

pub(crate) async fn stream_arrives_in_chunks() {
    let cloud = start(quiet()).await;
    let response = call(&cloud, json!({"do": "stream", "ms": 300})).await;
    let mut chunks = response.bytes_stream();
    let first = chunks.next().await.unwrap().unwrap();
    let at = Instant::now();
    assert_eq!(&first[..], b"one ");
    let rest: Vec<_> = chunks.map(|chunk| chunk.unwrap()).collect().await;
    assert_eq!(rest.concat(), b"two three");
    assert!(at.elapsed() > Duration::from_millis(400));
}
