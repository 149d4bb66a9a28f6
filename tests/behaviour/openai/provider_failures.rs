//! Failures of model providers: without `PROVIDER_MESSAGES`, no body has a provider's text or address (I14).

use local::Options;
use serde_json::{Value, json};

use super::{RESPONSES, request, with};
use crate::support::{Answer, Client, NamedProvider, System, options};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";

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

/// A failure, and how clients learn of it: the status, type and code over Chat Completions and Responses, the code of a failed
/// response, and status and type over Messages.
type Class = (&'static str, (u16, &'static str, &'static str), &'static str, (u16, &'static str));

const INVALID: &str = "invalid_request_error";
const CLASSES: [Class; 9] = [
    ("status 400 code x", (400, INVALID, "invalid_prompt"), "invalid_prompt", (400, INVALID)),
    (
        "status 400 code context_length_exceeded",
        (400, INVALID, "context_length_exceeded"),
        "context_length_exceeded",
        (400, INVALID),
    ),
    (
        "status 400 param input.0.content.0.image_url",
        (400, INVALID, "ModelAttachmentRefused"),
        "invalid_prompt",
        (400, INVALID),
    ),
    (
        "status 404 code model_not_found",
        (404, INVALID, "model_not_found"),
        "invalid_prompt",
        (404, "not_found_error"),
    ),
    (
        "status 401",
        (403, "permission_error", "ModelMisconfigured"),
        "invalid_prompt",
        (403, "permission_error"),
    ),
    (
        "status 429",
        (429, "rate_limit_error", "rate_limit_exceeded"),
        "rate_limit_exceeded",
        (429, "rate_limit_error"),
    ),
    (
        "status 429 code insufficient_quota",
        (429, "rate_limit_error", "insufficient_quota"),
        "insufficient_quota",
        (402, "billing_error"),
    ),
    ("status 503", (503, "server_error", "ModelUnavailable"), "server_error", (503, "overloaded_error")),
    ("malformed", (502, "server_error", "ModelReplyMalformed"), "server_error", (502, "api_error")),
];

/// SDKs and agents repeat a request, compact it or stop by status, type and code, whether they asked for a stream or not.
#[tokio::test]
async fn failure_tells_clients_whether_to_repeat() {
    let system = System::with(with_settings(false, &[])).await;
    let ada = system.client("acme", "ada");
    let last = |answer: &Answer| -> Value {
        let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        serde_json::from_str(data.unwrap_or_else(|| panic!("{}", answer.text))).unwrap()
    };
    for (failure, (status, kind, code), failed, (messages_status, messages_kind)) in CLASSES {
        let input = format!("Hi [[script: {failure}]]");
        let chat =
            json!({"model": "scripted", "max_tokens": 9, "messages": [{"role": "user", "content": input}]});
        let streamed = json!({"stream": true});
        for (path, body) in [(RESPONSES, request(&input)), (CHAT, chat.clone())] {
            let answer = ada.post(path, body.to_string()).await;
            let error = &answer.json()["error"];
            assert_eq!(
                (answer.status, &error["type"], &error["code"]),
                (status, &json!(kind), &json!(code)),
                "{path}: {failure}"
            );
            assert_eq!(
                answer.header("x-should-retry"),
                Some("false"),
                "a repetition gets the same failure: {failure}"
            );
        }
        let chunk = last(&ada.post(CHAT, with(chat.clone(), &streamed).to_string()).await);
        let error = &chunk["error"];
        assert_eq!((&error["type"], &error["code"]), (&json!(kind), &json!(code)), "{failure}");
        let event = last(&ada.post(RESPONSES, with(request(&input), &streamed).to_string()).await);
        let response = &event["response"];
        assert_eq!(
            (&event["type"], &response["error"]["code"]),
            (&json!("response.failed"), &json!(failed)),
            "{failure}"
        );
        let answer = ada.post(MESSAGES, chat.to_string()).await;
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, &error["type"]), (messages_status, &json!(messages_kind)), "{failure}");
        let event = last(&ada.post(MESSAGES, with(chat, &streamed).to_string()).await);
        assert_eq!(
            (&event["type"], &event["error"]["type"]),
            (&json!("error"), &json!(messages_kind)),
            "{failure}"
        );
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
