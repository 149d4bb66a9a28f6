//! Functions of the caller: a call suspends the turn, its output resumes it.

use serde_json::{Value, json};

use super::{
    asking_for_weather, create, created, error, events, kinds, path, request, streamed, text, weather, with,
};
use crate::support::{System, tools};

fn output(call: &Value, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": call["call_id"], "output": text})
}

#[tokio::test]
async fn function_output_resumes_the_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let called = created(&ada, &asking_for_weather()).await;
    let (message, call) = (&called["output"][0], &called["output"][1]);
    assert_eq!(message["content"][0]["text"], "Let me look.", "{called}");
    assert_eq!(
        (&call["type"], &call["name"], &call["arguments"]),
        (&json!("function_call"), &json!("get_weather"), &json!("{\"city\":\"Bern\"}"))
    );
    assert_eq!(
        (&called["status"], &called["tools"][0]["name"]),
        (&json!("completed"), &json!("get_weather"))
    );
    assert!(tools(&system.model_calls()[0]).contains(&"get_weather"));
    let resume = with(
        request(""),
        &json!({
            "previous_response_id": called["id"], "input": [output(call, "sunny")], "tools": [weather()],
        }),
    );
    let resumed = created(&ada, &resume).await;
    assert_eq!((text(&resumed).as_str(), &resumed["previous_response_id"]), ("It is sunny.", &called["id"]));
    assert_ne!(resumed["id"], called["id"]);
    assert_eq!(
        created(&ada, &resume).await["output"],
        resumed["output"],
        "the same outputs again get the same answer"
    );
    assert_eq!(system.model_calls().len(), 2, "one turn, two model calls");
    let input = system.model_calls()[1]["input"].clone();
    let sent = input.as_array().unwrap().iter().find(|item| item["type"] == "function_call_output");
    assert_eq!(sent.unwrap()["output"], "\"sunny\"");

    let read = ada.get(&path(&called)).await.json();
    assert_eq!(read["output"], called["output"], "the first response stays as it is");
    let inputs = ada.get(&format!("{}/input_items", path(&resumed))).await.json();
    assert_eq!(
        (&inputs["data"][0]["type"], &inputs["data"][0]["output"]),
        (&json!("function_call_output"), &json!("sunny"))
    );
}

/// As the examples of OpenAI's guide do: the whole list again, with the output items and the outputs.
#[tokio::test]
async fn function_output_resumes_from_items_sent_back() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let sent = asking_for_weather();
    let called = created(&ada, &sent).await;
    let mut list = vec![json!({"role": "user", "content": sent["input"]})];
    list.extend(called["output"].as_array().unwrap().clone());
    list.push(output(&called["output"][1], "{\"sky\":\"clear\"}"));
    let resumed = created(&ada, &with(sent, &json!({"input": list}))).await;
    assert_eq!(text(&resumed), "It is sunny.");
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn missing_or_unknown_output_changes_nothing() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let called = created(&ada, &asking_for_weather()).await;
    let next =
        |input: Value| with(request(""), &json!({"previous_response_id": called["id"], "input": input}));
    let call = &called["output"][1];
    let unknown = json!([{"type": "function_call_output", "call_id": "call_x", "output": "x"}]);
    for input in [
        unknown,
        json!("Never mind"),
        json!([output(call, "x"), output(call, "y")]),
        json!([output(call, "x"), {"role": "user", "content": "And then?"}]),
    ] {
        let answer = create(&ada, &next(input.clone())).await;
        assert_eq!((answer.status, error(&answer).1.as_str()), (400, "input"), "{input}");
    }
    assert_eq!(text(&created(&ada, &next(json!([output(call, "sunny")]))).await), "It is sunny.");
}

#[tokio::test]
async fn function_calls_are_streamed() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let stream = create(&ada, &with(asking_for_weather(), &json!({"stream": true}))).await;
    let all = events(&stream.text);
    assert_eq!(streamed(&all, 0), "Let me look.");
    let of_call: Vec<&str> = kinds(&all).into_iter().rev().take(5).collect();
    assert_eq!(
        of_call,
        [
            "completed",
            "output_item.done",
            "function_call_arguments.done",
            "function_call_arguments.delta",
            "output_item.added",
        ]
    );
    let called = &all.last().unwrap()["response"];
    let call = &called["output"][1];
    let resume = json!({"model": "scripted", "stream": true, "previous_response_id": called["id"],
                        "input": [output(call, "sunny")]});
    let resumed = events(&create(&ada, &resume).await.text);
    assert_eq!(
        (streamed(&resumed, 0).as_str(), kinds(&resumed).last()),
        ("It is sunny.", Some(&"completed"))
    );
    // A response in one piece goes on from a streamed one, and the other way round.
    let whole = created(&ada, &with(resume, &json!({"stream": false}))).await;
    assert_eq!(text(&whole), "It is sunny.");
}

#[tokio::test]
async fn forced_and_excluded_functions_follow_tool_choice() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    // Without a script, the mock model calls a forced function without arguments.
    let with_choice = |choice: Value| {
        with(request("Hi"), &json!({"tools": [{"type": "function", "name": "ping"}], "tool_choice": choice}))
    };
    let forced = created(&ada, &with_choice(json!({"type": "function", "name": "ping"}))).await;
    assert_eq!(forced["output"][0]["name"], "ping", "{forced}");
    assert_eq!(system.model_calls()[0]["tool_choice"]["name"], "ping");
    let none = created(&ada, &with_choice(json!("none"))).await;
    assert_eq!((&none["tool_choice"], &none["output"][0]["type"]), (&json!("none"), &json!("message")));
    assert!(!tools(&system.model_calls()[1]).contains(&"ping"));
}
