//! Threads: requests that name the previous message.

use serde_json::{Value, json};

use super::{calls, created, request, send, text, turn_counts, user, weather, with};
use crate::support::{System, tools};

fn create(messages: &Value) -> Value {
    let thread = json!({"thread": {"type": "create"}, "tools": [weather()], "system": "Be kind."});
    with(request(messages), &thread)
}

fn continued(previous: &Value, messages: &Value) -> Value {
    let thread = json!({"type": "continue", "previous_message_id": previous["id"]});
    with(request(messages), &json!({"thread": thread}))
}

/// The status and the code of a thread's error.
async fn refused(client: &crate::support::Client, request: &Value) -> (u16, String) {
    let answer = send(client, request).await;
    let code = answer.json()["error"]["details"]["error_code"].as_str().unwrap_or_default().to_owned();
    (answer.status, code)
}

#[tokio::test]
async fn thread_goes_on_with_new_messages_alone() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let question = user("Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]");
    let called = created(&ada, &create(&json!([question]))).await;
    let result = json!({"type": "tool_result", "tool_use_id": calls(&called)[0]["id"], "content": "sunny"});
    let results = json!([{"role": "user", "content": [result]}]);
    let answer = created(&ada, &continued(&called, &results)).await;
    assert_eq!(text(&answer), "Sunny.");
    let more = continued(&answer, &json!([user("And Thun? [[script: say \"Cloudy.\"]]")]));
    let cloudy = created(&ada, &more).await;
    assert_eq!((text(&cloudy).as_str(), turn_counts(&ada).await), ("Cloudy.", vec![2]));
    // The thread keeps its system prompt. The provider has it from the first call on.
    assert!(system.model_calls()[0].to_string().contains("Be kind."));
    let last = system.model_calls().pop().unwrap();
    assert!(tools(&last).contains(&"get_weather"), "the thread keeps its tools");
    // Both messages were continued.
    for previous in [&called, &answer] {
        let code = refused(&ada, &continued(previous, &results)).await;
        assert_eq!(code, (400, "thread_already_continued".to_owned()));
    }
}

#[tokio::test]
async fn thread_that_cant_go_on_has_a_code() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let hello = created(&ada, &create(&json!([user("Hi [[script: say \"Hello.\"]]")]))).await;
    let more = continued(&hello, &json!([user("More")]));
    let not_found = (404, "thread_not_found".to_owned());
    assert_eq!(refused(&eve, &more).await, not_found, "another org's");
    let unknown = continued(&json!({"id": "msg_01XFDUDYJgAACzvnptvVoYEL"}), &json!([user("More")]));
    assert_eq!(refused(&ada, &unknown).await, not_found);
    let mismatch = (400, "thread_fingerprint_mismatch".to_owned());
    for change in [json!({"system": "Be rude."}), json!({"model": "agent/default"})] {
        assert_eq!(refused(&ada, &with(more.clone(), &change)).await, mismatch);
    }
    let choice = with(more.clone(), &json!({"tool_choice": {"type": "any"}}));
    assert_eq!(refused(&ada, &choice).await, (400, "thread_unsupported_request".to_owned()));
    assert_eq!(created(&ada, &more).await["type"], "message");
}
