//! Tools: those of the client over two runs, and those of the server within one.

use serde_json::{Value, json};

use super::{BASE, connect, error, input, kinds, messages, of, run, send, text, turn_counts, user, with};
use crate::support::{System, tools};

fn weather() -> Value {
    json!({"name": "get_weather", "description": "Returns the weather of a city.",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}})
}

fn ask(run: &str, messages: &[Value]) -> Value {
    with(input("t", run, &json!(messages)), &json!({"tools": [weather()]}))
}

fn result(call: &Value, content: &str) -> Value {
    json!({"id": format!("r-{content}"), "role": "tool", "toolCallId": call["toolCallId"], "content": content})
}

const TWO_ROUNDS: &str = "Weather? [[script: say \"I look.\"; call get_weather {\"city\":\"Bern\"}; then; call get_weather {\"city\":\"Thun\"}; then; say \"Sunny.\"]]";

#[tokio::test]
async fn results_in_the_next_run_resume_the_turn_once() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut chat = vec![user("u", TWO_ROUNDS)];
    for (run_id, city, weather) in [("r1", "Bern", "sunny"), ("r2", "Thun", "cloudy")] {
        let called = run(&ada, &ask(run_id, &chat)).await;
        let [start] = of(&called, "TOOL_CALL_START")[..] else { panic!("{called:?}") };
        let arguments = of(&called, "TOOL_CALL_ARGS")[0]["delta"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(arguments).unwrap(), json!({"city": city}));
        let end = called.last().unwrap();
        assert_eq!(end["outcome"], json!({"type": "success", "pendingToolCallIds": [start["toolCallId"]]}));
        assert_eq!((messages(&called).len(), &start["parentMessageId"]), (1, &messages(&called)[0]["id"]));
        chat.extend(messages(&called));
        chat.push(result(start, weather));
    }
    let answered = run(&ada, &ask("r3", &chat)).await;
    assert_eq!((text(&answered).as_str(), system.model_calls().len()), ("Sunny.", 3));
    let again = run(&ada, &ask("r3", &chat)).await;
    assert_eq!((messages(&again), system.model_calls().len()), (messages(&answered), 3));
    let mut changed = chat.clone();
    changed.last_mut().unwrap()["content"] = "hail".into();
    let changed = send(&ada, BASE, &ask("r4", &changed)).await;
    assert_eq!(changed.status, 409, "{}", changed.text);
    chat.extend(messages(&answered));
    let shown = messages(&connect(&ada, "t").await);
    let roles = |chat: &[Value]| chat.iter().map(|message| message["role"].clone()).collect::<Vec<_>>();
    assert_eq!(roles(&shown), roles(&chat));
    assert_eq!(shown[1], chat[1]);
    chat.push(user("u2", "Thanks [[script: say \"Bye.\"]]"));
    assert_eq!(text(&run(&ada, &ask("r5", &chat)).await), "Bye.");
    assert_eq!((turn_counts(&ada).await, system.model_calls().len()), (vec![2], 4));
    assert!(tools(&system.model_calls().pop().unwrap()).contains(&"get_weather"));
}

#[tokio::test]
async fn parallel_calls_need_all_results_in_any_order() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let question = user(
        "u",
        "Weather? [[script: call get_weather {\"city\":\"Bern\"}; call get_weather {\"city\":\"Thun\"}; then; say \"Mixed.\"]]",
    );
    let called = run(&ada, &ask("r1", std::slice::from_ref(&question))).await;
    let [bern, thun] = of(&called, "TOOL_CALL_START")[..] else { panic!("{called:?}") };
    let mut chat = vec![question];
    chat.extend(messages(&called));
    assert_eq!((chat.len(), chat[1]["toolCalls"].as_array().unwrap().len()), (2, 2));
    chat.push(result(thun, "cloudy"));
    let half = send(&ada, BASE, &ask("r2", &chat)).await;
    assert_eq!((error(&half).0, error(&half).1.as_str()), (409, "ToolResultsMismatch"));
    assert!(error(&half).2.contains(bern["toolCallId"].as_str().unwrap()), "{}", half.text);
    let unknown = json!({"toolCallId": "nothing"});
    let foreign =
        send(&ada, BASE, &ask("r2", &[chat[0].clone(), chat[1].clone(), result(&unknown, "x")])).await;
    assert_eq!(error(&foreign).1, "ToolResultsMismatch", "{}", foreign.text);
    chat.push(with(result(bern, ""), &json!({"error": "No such city"})));
    assert_eq!(text(&run(&ada, &ask("r2", &chat)).await), "Mixed.");
    let model = system.model_calls().pop().unwrap().to_string();
    assert!(model.contains("No such city") && model.contains("cloudy"), "{model}");
}

#[tokio::test]
async fn text_beside_results_reaches_the_model_and_text_alone_moves_on() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let question =
        user("u", "Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]");
    let called = run(&ada, &ask("r1", std::slice::from_ref(&question))).await;
    let call = of(&called, "TOOL_CALL_START")[0];
    let mut chat = vec![question.clone()];
    chat.extend(messages(&called));
    let steering = user("u2", "Only in the morning");
    let answered =
        run(&ada, &ask("r2", &[chat.clone(), vec![result(call, "sunny"), steering]].concat())).await;
    assert_eq!(answered.last().unwrap()["type"], "RUN_FINISHED", "{answered:?}");
    let model = system.model_calls().pop().unwrap().to_string();
    assert!(model.contains("Only in the morning") && model.contains("sunny"), "{model}");

    let other = |mut input: Value| {
        input["threadId"] = "t2".into();
        input
    };
    let called = run(&ada, &other(ask("r1", std::slice::from_ref(&question)))).await;
    let mut chat = vec![question];
    chat.extend(messages(&called));
    chat.push(user("u3", "Never mind [[script: say \"Fine.\"]]"));
    assert_eq!(text(&run(&ada, &other(ask("r2", &chat))).await), "Fine.");
}

#[tokio::test]
async fn server_tools_are_calls_with_results() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let question = user(
        "u",
        "Modes? [[script: say \"I look.\"; call agent_list_modes {}; then; call get_weather {\"city\":\"Bern\"}; then; call agent_list_modes {}; then; say \"Done.\"]]",
    );
    let called = run(&ada, &ask("r1", std::slice::from_ref(&question))).await;
    let starts = of(&called, "TOOL_CALL_START");
    let names: Vec<&str> = starts.iter().map(|start| start["toolCallName"].as_str().unwrap()).collect();
    assert_eq!(names, ["agent_list_modes", "get_weather"], "{called:?}");
    let results = of(&called, "TOOL_CALL_RESULT");
    assert_eq!((results.len(), &results[0]["toolCallId"]), (1, &starts[0]["toolCallId"]));
    assert!(results[0]["content"].as_str().unwrap().contains("general"));
    assert_eq!(called.last().unwrap()["outcome"]["pendingToolCallIds"], json!([starts[1]["toolCallId"]]));
    let mut chat = vec![question];
    chat.extend(messages(&called));
    chat.push(result(starts[1], "sunny"));
    let answered = run(&ada, &ask("r2", &chat)).await;
    assert_eq!(of(&answered, "TOOL_CALL_RESULT").len(), 1, "{answered:?}");
    assert_eq!(text(&answered), "Done.");
    chat.extend(messages(&answered));
    let shown = messages(&connect(&ada, "t").await);
    let ids = |chat: &[Value]| -> Vec<Value> {
        chat.iter()
            .filter(|message| message["role"] == "assistant")
            .map(|message| message["id"].clone())
            .collect()
    };
    assert_eq!((ids(&shown), shown.len()), (ids(&chat), chat.len()), "{shown:#?}");
    let again = run(&ada, &ask("r2", &chat[..chat.len() - messages(&answered).len()])).await;
    assert_eq!(
        (kinds(&again).len(), text(&again), system.model_calls().len()),
        (kinds(&answered).len(), text(&answered), 4)
    );
}
