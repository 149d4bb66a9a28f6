//! Starts a cloud and calls it.

use std::time::{Duration, Instant};

use contracts::paths::EXECUTE;
use local::token::Identity;
use local::{Cloud, Options};
use serde_json::Value;

pub(crate) fn quiet() -> Options {
    Options { sweep: None, ..Options::default() }
}

pub(crate) async fn start(options: Options) -> Cloud {
    Cloud::start(options).await.unwrap()
}

pub(crate) fn post(cloud: &Cloud, request: Value) -> reqwest::RequestBuilder {
    reqwest::Client::new()
        .post(format!("{}{EXECUTE}", cloud.url()))
        .bearer_auth(cloud.token(&Identity::user("acme", "ada")).unwrap())
        .header("content-type", "application/json")
        .body(request.to_string())
}

pub(crate) async fn call(cloud: &Cloud, request: Value) -> reqwest::Response {
    post(cloud, request).send().await.unwrap()
}

pub(crate) async fn json(response: reqwest::Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

pub(crate) async fn code(response: reqwest::Response) -> (u16, String) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    assert!(response.headers().contains_key("x-amzn-requestid"));
    let body = json(response).await;
    assert_eq!(body["Successful"], false);
    (status, body["Errors"][0]["ErrorCode"].as_str().unwrap().to_owned())
}

pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
