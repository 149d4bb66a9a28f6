//! Tools of the caller: calls, results, and what follows them.

use serde_json::{Value, json};

use super::{calls, created, entry, error, request, send, text, turn_counts, user, weather, with};
use crate::support::{System, said, tools};

fn result(call: &Value, content: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": call["id"], "content": content})
}

fn results(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

fn ask(messages: &Value) -> Value {
    with(request(messages), &json!({"tools": [weather()]}))
}

const TWO_ROUNDS: &str = "Weather? [[script: say \"I look.\"; call get_weather {\"city\":\"Bern\"}; then; call get_weather {\"city\":\"Thun\"}; then; say \"Sunny.\"]]";

#[tokio::test]
async fn two_rounds_and_a_follow_up_are_one_session() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut messages = vec![user(TWO_ROUNDS)];
    for (city, weather) in [("Bern", "sunny"), ("Thun", "cloudy")] {
        let called = created(&ada, &ask(&json!(messages))).await;
        assert_eq!(called["stop_reason"], "tool_use", "{called}");
        let call = calls(&called)[0].clone();
        assert_eq!((&call["name"], &call["input"]), (&json!("get_weather"), &json!({"city": city})));
        messages.extend([entry(&called), results(&[result(&call, weather)])]);
    }
    let answer = created(&ada, &ask(&json!(messages))).await;
    assert_eq!((text(&answer).as_str(), &answer["stop_reason"]), ("Sunny.", &json!("end_turn")));
    messages.extend([entry(&answer), user("Thanks [[script: say \"Bye.\"]]")]);
    let bye = created(&ada, &ask(&json!(messages))).await;
    assert_eq!((text(&bye).as_str(), turn_counts(&ada).await), ("Bye.", vec![2]));
    let last = system.model_calls().pop().unwrap();
    assert!(said(&last).starts_with("Thanks") || said(&last).contains("Thanks"), "{last}");
    assert!(tools(&last).contains(&"get_weather"));
}

#[tokio::test]
async fn parallel_calls_are_answered_in_any_order_and_may_fail() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let question = user(
        "Weather? [[script: call get_weather {\"city\":\"Bern\"}; call get_weather {\"city\":\"Thun\"}; then; say \"Mixed.\"]]",
    );
    let called = created(&ada, &ask(&json!([question]))).await;
    let both = calls(&called);
    assert_eq!(both.len(), 2, "{called}");
    assert_ne!(both[0]["id"], both[1]["id"]);
    let failed = with(result(both[0], "No such city"), &json!({"is_error": true}));
    let answers = results(&[result(both[1], "cloudy"), failed]);
    let answer = created(&ada, &ask(&json!([question, entry(&called), answers]))).await;
    assert_eq!(text(&answer), "Mixed.");
    let model = system.model_calls().pop().unwrap().to_string();
    assert!(model.contains("No such city") && model.contains("cloudy"), "{model}");
}

/// A user who interrupts the agent sends a text beside the results.
#[tokio::test]
async fn text_beside_results_reaches_the_model() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let question = user("Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]");
    let called = created(&ada, &ask(&json!([question]))).await;
    let call = calls(&called)[0];
    let steering = json!({"type": "text", "text": "Only in the morning [[script: say \"Foggy.\"]]"});
    let messages = json!([question, entry(&called), results(&[result(call, "sunny"), steering])]);
    let answer = created(&ada, &ask(&messages)).await;
    assert!(!text(&answer).is_empty(), "{answer}");
    let model = system.model_calls().pop().unwrap().to_string();
    assert!(model.contains("Only in the morning") && model.contains("sunny"), "{model}");
    let more = json!([
        messages[0],
        messages[1],
        messages[2],
        entry(&answer),
        user("And? [[script: say \"Done.\"]]")
    ]);
    assert_eq!(text(&created(&ada, &ask(&more)).await), "Done.");
}

#[tokio::test]
async fn streamed_call_has_its_arguments_in_a_delta() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let answer = send(&ada, &with(ask(&json!([user(TWO_ROUNDS)])), &json!({"stream": true}))).await;
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    let start = events.iter().find(|event| event["content_block"]["type"] == "tool_use").unwrap();
    assert_eq!((&start["content_block"]["input"], &start["index"]), (&json!({}), &json!(1)));
    let arguments: String =
        events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({"city": "Bern"}));
    let end = events.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
}

#[tokio::test]
async fn tool_choice_is_honoured() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    // Without a script, the mock model calls a forced tool without arguments.
    let ping = json!([{"name": "ping", "input_schema": {"type": "object", "properties": {}}}]);
    let choose =
        |choice: Value| with(request(&json!([user("Hi")])), &json!({"tools": ping, "tool_choice": choice}));
    for choice in [json!({"type": "tool", "name": "ping"}), json!({"type": "any"})] {
        let forced = created(&ada, &choose(choice)).await;
        assert_eq!(calls(&forced)[0]["name"], "ping", "{forced}");
    }
    let none = created(&ada, &choose(json!({"type": "none"}))).await;
    assert!(calls(&none).is_empty(), "{none}");
    let unknown = send(&ada, &choose(json!({"type": "tool", "name": "nothing"}))).await;
    assert_eq!(error(&unknown).2, "tool_choice: Tool 'nothing' not found in provided tools");
}

#[tokio::test]
async fn history_of_another_service_with_calls_reaches_the_model() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let messages = json!([
        user("Weather?"),
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "abc"},
            {"type": "tool_use", "id": "toolu_01A", "name": "get_weather", "input": {"city": "Bern"}},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01A", "content": "hail"}]},
        {"role": "assistant", "content": "It hails."},
        user("Sure? [[script: say \"Yes.\"]]"),
    ]);
    assert_eq!(text(&created(&ada, &ask(&messages)).await), "Yes.");
    let model = system.model_calls().pop().unwrap().to_string();
    assert!(model.contains("It hails.") && model.contains("hail"), "{model}");
}
