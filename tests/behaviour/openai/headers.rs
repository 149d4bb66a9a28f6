//! Headers of responses: the request's id, and the caller's limits per minute.

use std::time::{SystemTime, UNIX_EPOCH};

use contracts::paths::BUDGETS;
use reqwest::Method;
use serde_json::json;

use super::{create, created, error, request, with};
use crate::{
    export::operator,
    support::{Answer, System},
};

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).map(|value| value.to_str().unwrap())
}

fn minute() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 60
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let response = created(&ada, &request("Hi")).await;
    for answer in [
        create(&ada, &request("Hi")).await,
        create(&ada, &with(request("Hi"), &json!({"prompt": {"id": "p"}}))).await,
        create(&ada, &with(request("Hi"), &json!({"stream": true}))).await,
        ada.get(&super::path(&response)).await,
        ada.get("/v1/models").await,
        ada.get("/v1/files/file-1").await,
        ada.get("/v1/unknown").await,
    ] {
        let id = header(&answer, "x-request-id").unwrap_or_else(|| panic!("no id: {}", answer.text));
        assert!(id.len() >= 32, "{id}");
        let limits = answer.headers.keys().find(|name| name.as_str().starts_with("x-ratelimit"));
        assert_eq!(limits, None, "there is no limit");
    }
}

#[tokio::test]
async fn rate_limit_headers_count_down_to_a_refusal() {
    let system = System::start().await;
    let budgets = json!({"Budgets": [
        {"Id": "rate", "Scope": "user", "Window": "minute", "Unit": "turns", "Limit": 2},
        {"Id": "tokens", "Scope": "org", "Window": "minute", "Unit": "tokens", "Limit": 1_000_000},
        {"Id": "more", "Scope": "org", "Window": "minute", "Unit": "turns", "Limit": 1_000},
        {"Id": "month", "Scope": "org", "Window": "month", "Unit": "turns", "Limit": 1},
    ]});
    // The monthly limit only warns, and no header has it.
    let mut budgets = budgets;
    budgets["Budgets"][3]["Action"] = json!("warn");
    operator(&system, "acme").send(Method::PUT, BUDGETS, Some(budgets.to_string())).await.result();
    // A new user in each try: a minute may end between the requests.
    for user in ["ada", "bob", "eve"] {
        let (client, began) = (system.client("acme", user), minute());
        let chat = json!({"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]});
        let answers = [
            create(&client, &request("Hi")).await,
            create(&client, &with(request("Hi"), &json!({"stream": true}))).await,
            client.post("/v1/chat/completions", chat.to_string()).await,
        ];
        let other = system.client("acme", &format!("{user}-2"));
        let message = with(chat.clone(), &json!({"max_tokens": 9}));
        let message = other.post("/v1/messages", message.to_string()).await;
        if minute() != began {
            continue;
        }
        let of = |name: &str| answers.each_ref().map(|answer| header(answer, name).unwrap_or_default());
        assert_eq!(answers.each_ref().map(|answer| answer.status), [200, 200, 429]);
        assert_eq!(of("x-ratelimit-limit-requests"), ["2"; 3]);
        assert_eq!(of("x-ratelimit-remaining-requests"), ["1", "0", "0"]);
        assert_eq!(of("x-ratelimit-limit-tokens"), ["1000000"; 3]);
        for name in ["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"] {
            let seconds = of(name).map(|reset| reset.strip_suffix('s').unwrap().parse::<u64>().unwrap());
            assert!(seconds.iter().all(|seconds| *seconds <= 60), "{seconds:?}");
        }
        let tokens: u64 = of("x-ratelimit-remaining-tokens")[0].parse().unwrap();
        assert!(tokens <= 990_000, "the turn has reserved a hundredth: {tokens}");
        assert_eq!(error(&answers[2]).2, "insufficient_quota");
        let of = |name: &str| header(&message, &format!("anthropic-ratelimit-{name}")).unwrap_or_default();
        let (limits, rests) = (["requests-limit", "tokens-limit"], ["requests-remaining"]);
        assert_eq!((limits.map(of), rests.map(of)), (["2", "1000000"], ["1"]));
        assert!(
            of("requests-reset").ends_with(":00.000Z"),
            "the end of the minute: {}",
            of("requests-reset")
        );
        return;
    }
    panic!("every try lasted beyond its minute");
}
