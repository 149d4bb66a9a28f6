//! Routes of the console beside the API. Browser tests of the pages are in `clients/console/test`.

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
async fn contexts_are_put_and_listed_and_refused_with_every_violation() {
    let system = System::start().await;
    let path = "/console/api/contexts/acme";
    let context = json!({ "Kind": "conversation", "Id": "brief", "Name": "Brief", "System": "Be brief." });
    page(&system, Method::PUT, path, context.to_string()).await.result();
    page(&system, Method::PUT, path, json!({ "Kind": "agent", "Id": "a", "Name": "A" }).to_string())
        .await
        .result();
    let listed = page(&system, Method::GET, path, String::new()).await.result();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|one| (&one["Kind"], &one["Id"])).collect();
    assert_eq!(names, [(&json!("agent"), &json!("a")), (&json!("conversation"), &json!("brief"))]);
    assert_eq!(listed[1]["System"], "Be brief.");

    let mut wrong = context;
    (wrong["System"], wrong["Temperature"]) = (json!(" "), json!(9));
    let refused = page(&system, Method::PUT, path, wrong.to_string()).await;
    let messages: Vec<_> = refused.errors().iter().map(|error| error["Message"].to_string()).collect();
    assert_eq!(refused.status, 400);
    assert!(
        ["System", "Temperature"].iter().all(|member| messages.iter().any(|one| one.contains(member))),
        "{messages:?}"
    );
    let others = page(&system, Method::GET, "/console/api/contexts/other", String::new()).await.result();
    assert_eq!(others, json!([]));
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
