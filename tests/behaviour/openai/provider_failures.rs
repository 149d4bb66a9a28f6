//! Failures of model providers: without `PROVIDER_MESSAGES`, no body has a provider's text or address (I14).

use local::Options;
use serde_json::{Value, json};

use super::{RESPONSES, request, with};
use crate::support::{Client, NamedProvider, System, options};

const CHAT: &str = "/v1/chat/completions";

/// The provider's text in each failure. No client may read it in a deployment.
const SECRET: &str = "Xanadu";

/// A failure of each kind, in the order of `model::Error`.
const FAILURES: [&str; 24] = [
    "status 429 message \"Xanadu\"",
    "status 429 code insufficient_quota message \"Xanadu\"",
    "status 402 message \"Xanadu\"",
    "status 400 code context_length_exceeded message \"Xanadu\"",
    "status 400 param input.0.content.0.image_url message \"Xanadu\"",
    "status 400 code content_filter message \"Xanadu\"",
    "status 401 code Xanadu message \"Xanadu\"",
    "status 403 type Xanadu message \"Xanadu\"",
    "status 404 code model_not_found message \"Xanadu\"",
    "status 404 message \"Xanadu\"",
    "status 400 code previous_response_not_found message \"Xanadu\"",
    "status 400 code Xanadu param temperature message \"Xanadu\"",
    "status 400 code Xanadu param Xanadu message \"Xanadu\"",
    "status 413 message \"Xanadu\"",
    "status 500 code Xanadu message \"Xanadu\"",
    "status 503 message \"Xanadu\"",
    "silent",
    "drop",
    "malformed",
    "cut after 3 events",
    "unended",
    "fail Xanadu",
    "error Xanadu",
    "incomplete max_output_tokens",
];

fn with_settings(provider_messages: bool, more: &[(&str, &str)]) -> Options {
    let mut options = Options { provider_messages, ..options() };
    let fast = [
        ("OPENAI_RETRIES", "0"),
        ("OPENAI_FIRST_BYTE_TIMEOUT_SECONDS", "3"),
        ("OPENAI_IDLE_TIMEOUT_SECONDS", "3"),
        ("OPENAI_BREAKER_FAILURES", "0"),
    ];
    for (name, value) in fast.iter().chain(more) {
        options.environment.insert((*name).to_owned(), (*value).to_owned());
    }
    options
}

/// Returns the bodies in which clients read a failure: of both APIs, in one piece and as streams.
async fn bodies(client: &Client, input: &str) -> Vec<String> {
    let mut bodies = Vec::new();
    for stream in [false, true] {
        let members = json!({"stream": stream});
        let response = with(request(input), &members);
        let chat = json!({"model": "scripted", "messages": [{"role": "user", "content": input}]});
        for (path, body) in [(RESPONSES, response), (CHAT, with(chat, &members))] {
            let answer = client.post(path, body.to_string()).await;
            let has_failed = answer.status >= 400
                || [
                    "response.failed",
                    "\"status\":\"incomplete\"",
                    "\"error\":{",
                    "\"finish_reason\":\"length\"",
                ]
                .iter()
                .any(|sign| answer.text.contains(sign));
            assert!(has_failed, "{input}: {} {}", answer.status, answer.text);
            if let Some(id) = response_id(&answer.text) {
                bodies.push(client.get(&format!("{RESPONSES}/{id}")).await.text);
                bodies.push(client.get(&format!("{RESPONSES}/{id}?stream=true")).await.text);
            }
            bodies.push(answer.text);
        }
    }
    bodies
}

/// Returns the id of the response in a stream.
fn response_id(stream: &str) -> Option<String> {
    let first = stream.lines().find_map(|line| line.strip_prefix("data: "))?;
    let event: Value = serde_json::from_str(first).ok()?;
    event["response"]["id"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn failure_of_no_kind_shows_the_providers_text_or_address() {
    let system = System::with(with_settings(false, &[])).await;
    let ada = system.client("acme", "ada");
    let address = system.cloud.endpoints().model.trim_start_matches("http://");
    let host = address.split('/').next().unwrap();
    for failure in FAILURES {
        for body in bodies(&ada, &format!("[[script: {failure}]]")).await {
            assert!(!body.contains(SECRET) && !body.contains(host), "{failure}: {body}");
        }
    }
}

#[tokio::test]
async fn unreachable_providers_address_is_not_shown() {
    let gone = NamedProvider::with_profile("ollama").await.base.clone();
    let host = gone.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    let providers = json!([{"Name": "gone", "BaseUrl": gone}]).to_string();
    let settings = [("MODEL_PROVIDERS", providers.as_str()), ("MODEL_PROVIDER", "gone")];
    for (provider_messages, is_shown) in [(false, false), (true, true)] {
        let system = System::with(with_settings(provider_messages, &settings)).await;
        for body in bodies(&system.client("acme", "ada"), "Hello").await {
            assert_eq!(body.contains(&host), is_shown, "{body}");
        }
    }
}

#[tokio::test]
async fn developers_machine_shows_the_providers_text() {
    let system = System::with(with_settings(true, &[])).await;
    let ada = system.client("acme", "ada");
    for failure in [FAILURES[0], FAILURES[12]] {
        for body in bodies(&ada, &format!("[[script: {failure}]]")).await {
            assert!(body.contains(SECRET), "{failure}: {body}");
        }
    }
}
