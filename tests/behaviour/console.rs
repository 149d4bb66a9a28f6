//! Routes of the console beside the API. Browser tests of the pages are in `clients/console/test`.

use std::fs;
use std::path::Path;

use local::Function;
use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, Client, System, turn};

/// A request as the console's own page sends it.
pub async fn page(system: &System, method: Method, path: &str, body: String) -> Answer {
    let headers = [
        ("x-aptix-console", system.cloud.console_key()),
        ("origin", system.cloud.url()),
        ("sec-fetch-site", "same-origin"),
    ];
    system.anonymous().raw(method, path, &headers, body.into_bytes()).await
}

#[tokio::test]
async fn only_the_consoles_own_page_gets_a_token() {
    let system = System::start().await;
    let who = json!({ "Org": "acme", "User": "ada" }).to_string();
    let token = page(&system, Method::POST, "/console/api/token", who.clone()).await.result();
    let ada = Client::new(system.cloud.url(), Some(token["Token"].as_str().unwrap().to_owned()));
    assert_eq!(ada.execute(&turn("hello")).await.status, 200);
    let (key, own) = (system.cloud.console_key(), system.cloud.url());
    // Another page of this machine, a page from elsewhere, and another user of this machine.
    for (key, origin) in
        [(key, "http://127.0.0.1:3000"), (key, "https://evil.example"), ("1", own), ("", own)]
    {
        let other = [("x-aptix-console", key), ("origin", origin)];
        let body = who.clone().into_bytes();
        let refused = system.anonymous().raw(Method::POST, "/console/api/token", &other, body).await;
        assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"), "{key:?}, {origin}");
    }
}

#[tokio::test]
async fn status_page_shows_processes_queues_and_logs() {
    let system = System::start().await;
    system.client("acme", "ada").execute(&turn("hello")).await.result();
    let machine = page(&system, Method::GET, "/console/api/machine", String::new()).await.result();
    let execute =
        machine["Functions"].as_array().unwrap().iter().find(|one| one["Name"] == "execute").unwrap();
    assert_eq!(execute["Processes"], json!(system.cloud.processes(Function::Execute)));
    assert!(machine["Queues"].as_array().unwrap().iter().all(|queue| queue["Waiting"].is_u64()), "{machine}");
    let log = page(&system, Method::GET, "/console/api/logs/execute", String::new()).await.result();
    assert!(!log["Lines"].as_array().unwrap().is_empty());
    assert_eq!(page(&system, Method::GET, "/console/api/logs/..%2Fexecute", String::new()).await.status, 404);
}

#[tokio::test]
async fn contexts_are_listed_with_models_for_one_org() {
    let system = System::start().await;
    let fast = json!({ "Kind": "conversation", "Id": "fast", "Name": "Fast", "System": "Be brief.", "ModelName": "m" });
    let helper = json!({ "Kind": "agent", "Id": "helper", "Name": "Helper" });
    system.put_contexts("acme", &json!([fast, helper])).await;
    let list = async |org: &str| {
        page(&system, Method::GET, &format!("/console/api/contexts/{org}"), String::new()).await.result()
    };
    let listed = list("acme").await;
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|one| (&one["Kind"], &one["Id"])).collect();
    assert_eq!(names, [(&json!("agent"), &json!("helper")), (&json!("conversation"), &json!("fast"))]);
    assert_eq!(listed[1]["ModelName"], "m");
    assert_eq!(list("other").await, json!([]));
}

/// The pages are JavaScript, so the compiler doesn't notice when a route that they call is removed.
#[tokio::test]
async fn each_request_of_the_pages_has_a_route() {
    let system = System::start().await;
    let mut calls = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/console")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "js") {
            let text = fs::read_to_string(path).unwrap();
            calls.extend(text.split("consoleApi('").skip(1).map(console_call));
        }
    }
    assert!(calls.len() >= 8, "{calls:?}");
    for (method, path) in calls {
        let path = format!("/console/api/{path}");
        let answer = page(&system, method.parse().unwrap(), &path, String::new()).await;
        assert!(![404, 405].contains(&answer.status), "{method} {path}: {}", answer.status);
    }
}

/// Returns the method and the path of a call, read from its first argument on.
fn console_call(source: &str) -> (String, String) {
    let (method, rest) = source.split_once("', ").expect("two arguments");
    let path = rest[1..].split(['\'', '`']).next().expect("a path");
    // The only variables are a function's name and an org, at the end, and a function's name is also valid for an org.
    let path = path.split_once("${").map_or(path.to_owned(), |(start, _)| format!("{start}execute"));
    (method.to_owned(), path)
}
