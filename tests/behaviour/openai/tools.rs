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
    for input in [unknown, json!("Never mind"), json!([output(call, "x"), output(call, "y")])] {
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

/// The AI SDK sends a call back without the id of its item.
#[tokio::test]
async fn function_output_resumes_after_a_call_without_its_item_id() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let called = created(&ada, &asking_for_weather()).await;
    let items = called["output"].as_array().unwrap();
    let call = items.iter().find(|item| item["type"] == "function_call").unwrap();
    let bare = json!({
        "type": "function_call", "call_id": call["call_id"], "name": call["name"], "arguments": call["arguments"],
    });
    let history = json!([{"role": "user", "content": "What is the weather?"}, bare, output(call, "sunny")]);
    let resumed = created(&ada, &with(request("x"), &json!({"input": history, "tools": [weather()]}))).await;
    assert_eq!((text(&resumed).as_str(), &resumed["previous_response_id"]), ("It is sunny.", &called["id"]));
    let inputs = ada.get(&format!("{}/input_items", path(&resumed))).await.json();
    assert_eq!(inputs["data"][0]["call_id"], call["call_id"]);
}

/// The items of a conversation are those of its responses, in pages of any size, in both orders.
#[tokio::test]
async fn conversation_lists_its_items() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let place = json!({"conversation": "conv_c1"});
    created(&ada, &with(request("Hi [[script: say \"Hello.\"]]"), &place)).await;
    let called = created(&ada, &with(asking_for_weather(), &place)).await;
    let call =
        &called["output"].as_array().unwrap().iter().find(|item| item["type"] == "function_call").unwrap();
    let resume =
        json!({"previous_response_id": called["id"], "input": [output(call, "sunny")], "tools": [weather()]});
    let resumed = created(&ada, &with(request("x"), &resume)).await;
    assert_eq!(text(&resumed), "It is sunny.");

    let items = "/v1/conversations/conv_c1/items";
    let all = ada.get(&format!("{items}?order=asc&limit=100")).await.json();
    let listed = all["data"].as_array().unwrap().clone();
    let kinds: Vec<String> = listed
        .iter()
        .map(|item| item["role"].as_str().or(item["type"].as_str()).unwrap().to_owned())
        .collect();
    let expected =
        ["user", "assistant", "user", "assistant", "function_call", "function_call_output", "assistant"];
    assert_eq!(kinds, expected, "{all}");
    assert_eq!((&all["object"], &all["has_more"]), (&json!("list"), &json!(false)));
    assert_eq!((&all["first_id"], &all["last_id"]), (&listed[0]["id"], &listed[6]["id"]));
    assert_eq!(listed[6], resumed["output"][0]);

    for (order, expected) in [("asc", listed.clone()), ("desc", listed.iter().rev().cloned().collect())] {
        for limit in [1, 2, 4] {
            let (mut paged, mut after) = (Vec::new(), String::new());
            loop {
                let page = ada.get(&format!("{items}?order={order}&limit={limit}{after}")).await.json();
                paged.extend(page["data"].as_array().unwrap().clone());
                if page["has_more"] != true {
                    break;
                }
                after = format!("&after={}", page["last_id"].as_str().unwrap());
            }
            assert_eq!(paged, expected, "{order} by {limit}");
        }
    }
    let one = format!("{items}/{}", listed[5]["id"].as_str().unwrap());
    assert_eq!(ada.get(&one).await.json(), listed[5]);

    for path in [items.to_owned(), one, "/v1/conversations/conv_unknown/items".to_owned()] {
        assert_eq!(error(&eve.get(&path).await).0, 404, "{path}");
    }
    for (query, param) in
        [("limit=0", "limit"), ("order=up", "order"), ("after=msg_x", "after"), ("size=1", "size")]
    {
        let refused = error(&ada.get(&format!("{items}?{query}")).await);
        assert_eq!((refused.0, refused.1.as_str()), (400, param), "{query}");
    }
    assert_eq!(error(&ada.get(&format!("{items}/msg_x")).await).0, 404);
}
