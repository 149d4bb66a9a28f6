//! Chats whose client replaced messages: an id, or the client's own name, keeps them in their session.

use local::call_proxy::Call;
use mock_model::Moment;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    created,
    histories::{assistant, received, turns, user, whole_history},
    request, text, weather, with,
};
use crate::support::{Client, System};

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const ASK: &str = "Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]";

/// Creates a response of a chat with a function, and adds its output to the chat.
async fn respond(client: &Client, items: &mut Vec<Value>) -> Value {
    let response =
        created(client, &with(json!({"model": "scripted", "input": items}), &json!({"tools": [weather()]})))
            .await;
    items.extend(response["output"].as_array().unwrap().clone());
    response
}

fn output(response: &Value, output: &Value) -> Value {
    let call = response["output"].as_array().unwrap().last().unwrap();
    json!({"type": "function_call_output", "call_id": call["call_id"], "output": output})
}

/// As Qwen Code resumes a chat: it writes the first message anew, and the rest as it was.
#[tokio::test]
async fn chat_with_another_first_message_starts_over_in_its_session() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let mut items = vec![user(ASK)];
    let called = respond(&ada, &mut items).await;
    items.push(output(&called, &json!("sunny")));
    respond(&ada, &mut items).await;
    items[0] = user(&format!("It is Sunday. {ASK}"));
    for n in 2..=3 {
        items.push(user(&format!("And {n}? [[script: say \"Answer {n}.\"]]")));
        assert_eq!(text(&respond(&ada, &mut items).await), format!("Answer {n}."));
        let got = received(system.model_calls().last().unwrap());
        assert!(got[0].1.starts_with("It is Sunday."), "{got:?}");
        let roles: Vec<&str> = got.iter().map(|(role, _)| role.as_str()).collect();
        assert_eq!(roles[..5], ["user", "call", "result", "assistant", "user"]);
        assert_eq!(turns(&ada, "ada").await, [n]);
    }
    // A colleague who knows the ids gets a session of their own.
    let bob = system.client("acme", "bob");
    items.push(user("Bob's [[script: say \"Bob.\"]]"));
    respond(&bob, &mut items).await;
    assert_eq!((turns(&ada, "ada").await, turns(&bob, "bob").await), (vec![3], vec![1]));
}

#[tokio::test]
async fn history_after_chained_responses_stays_in_their_session() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let first = created(&ada, &request("One [[script: say \"First.\"]]")).await;
    let next = json!({"previous_response_id": first["id"]});
    let second = created(&ada, &with(request("Two [[script: say \"Second.\"]]"), &next)).await;
    let mut items = vec![user("One [[script: say \"First.\"]]")];
    items.extend(first["output"].as_array().unwrap().clone());
    items.push(user("Two [[script: say \"Second.\"]]"));
    items.extend(second["output"].as_array().unwrap().clone());
    items.push(user("Three [[script: say \"Third.\"]]"));
    assert_eq!(text(&respond(&ada, &mut items).await), "Third.");
    let got = received(system.model_calls().last().unwrap());
    assert_eq!(
        got.iter().map(|(role, _)| role.as_str()).collect::<Vec<_>>(),
        ["user", "assistant", "user", "assistant", "user"]
    );
    assert_eq!(turns(&ada, "ada").await, [3]);
}

#[tokio::test]
async fn image_in_a_functions_output_reaches_the_model() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let mut items = vec![user("First [[script: say \"Hello.\"]]")];
    respond(&ada, &mut items).await;
    items.push(user(ASK));
    let called = respond(&ada, &mut items).await;
    let image = json!({"type": "input_image", "image_url": format!("data:image/png;base64,{PIXEL}"), "detail": "high"});
    items.push(output(&called, &json!([{"type": "input_text", "text": "sunny"}, image])));
    respond(&ada, &mut items).await;
    let last = system.model_calls().pop().unwrap().to_string();
    assert!(last.contains(PIXEL) && last.contains("sunny"), "{last}");
    items.push(user("Thanks [[script: say \"Welcome.\"]]"));
    assert_eq!(text(&respond(&ada, &mut items).await), "Welcome.");
    assert_eq!(turns(&ada, "ada").await, [4], "the turn that waited, and the one with the image");
}

/// Claude Code names its session, and an agent of it, whatever it sends.
#[tokio::test]
async fn claude_codes_session_goes_on_after_a_compaction() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let send = async |messages: Value, agent: &str, tools: Value| -> Value {
        let headers = [
            ("content-type", "application/json"),
            ("anthropic-version", "2023-06-01"),
            ("x-claude-code-session-id", "a99d539b"),
            ("x-claude-code-agent-id", agent),
        ];
        let body = json!({"model": "scripted", "max_tokens": 9, "messages": messages, "tools": tools});
        let answer = ada.raw(Method::POST, "/v1/messages", &headers, body.to_string().into_bytes()).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.header("request-id").is_some());
        answer.json()
    };
    let tools = json!([{"name": "get_weather", "description": "Weather", "input_schema": {"type": "object", "properties": {}}}]);
    let title = json!([user("A title? [[script: say \"Title.\"]]")]);
    send(title.clone(), "", json!([])).await;
    let mut messages = vec![user("Hi [[script: say \"Hello.\"]]")];
    send(json!(messages), "", tools.clone()).await;
    messages.extend([assistant("Hello."), user("Two [[script: say \"Second.\"]]")]);
    send(json!(messages), "", tools.clone()).await;
    // A subagent, and the request for a title, are beside the chat.
    send(json!([user("Look [[script: say \"Found.\"]]")]), "agent-1", tools.clone()).await;
    send(title, "", json!([])).await;
    let compacted = json!([user("A summary."), user("Three [[script: say \"Third.\"]]")]);
    send(compacted, "", tools.clone()).await;
    let got = received(system.model_calls().last().unwrap());
    assert_eq!(got.len(), 1, "{got:?}");
    let after = json!([
        user("A summary."),
        user("Three [[script: say \"Third.\"]]"),
        assistant("Third."),
        user("Four [[script: say \"Fourth.\"]]")
    ]);
    send(after, "", tools).await;
    assert_eq!(turns(&ada, "ada").await, [1, 1, 1, 4]);
}

/// The lookup of a history takes one more request to the table than that of a chat's second message, however long it is.
#[tokio::test]
async fn unknown_history_takes_one_more_request_to_the_table() {
    let system = System::metered().await;
    let ada = system.client("acme", "ada");
    let model = system.cloud.model().unwrap();
    let mut counts = Vec::new();
    for length in [1, 1, 40] {
        let mut items: Vec<Value> = Vec::new();
        for n in 0..length {
            items.extend([
                user(&format!("Question {} {n}", counts.len())),
                assistant(&format!("Answer {n}.")),
            ]);
        }
        items.push(user("Now [[script: say \"Done.\"]]"));
        model.clear();
        system.take_calls();
        created(&ada, &with(request("x"), &json!({"input": items}))).await;
        let asked = model.moments().into_iter().find(|(moment, _)| *moment == Moment::Received).unwrap().1;
        let calls = system.take_calls();
        let is_read = |call: &&Call| {
            call.function == "execute" && call.operation == "BatchGetItem" && call.started < asked
        };
        counts.push(calls.iter().filter(is_read).count());
    }
    assert_eq!(counts[2], counts[1] + 1, "{counts:?}");
}
