//! Chats whose clients send the whole history: what isn't recognized reaches the model role by role.

use serde_json::{Value, json};

use super::{created, error, request, text, weather, with};
use crate::support::{Answer, Client, System, options};

const CHAT: &str = "/v1/chat/completions";

/// The start of the service's own message with the results of calls.
const WITH_RESULTS: &str = "Go on with the current turn";

/// A system whose model gets the whole conversation with each request.
pub(crate) async fn whole_history() -> System {
    let mut options = options();
    options.environment.insert("CONVERSATION_STATE".to_owned(), "local".to_owned());
    System::with(options).await
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

pub(crate) fn called(id: &str, arguments: &str) -> Value {
    let function = json!({"name": "get_weather", "arguments": arguments});
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": function}]})
}

pub(crate) fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

async fn send(client: &Client, messages: &[Value]) -> Answer {
    let tool = weather();
    let function =
        json!({"name": tool["name"], "description": tool["description"], "parameters": tool["parameters"]});
    let body = json!({
        "model": "scripted", "messages": messages, "tools": [{"type": "function", "function": function}],
    });
    client.post(CHAT, body.to_string()).await
}

/// Sends the chat, adds the reply to it, and returns the reply.
async fn chat(client: &Client, messages: &mut Vec<Value>) -> Value {
    let answer = send(client, messages).await;
    assert_eq!(answer.status, 200, "{messages:?}: {}", answer.text);
    let reply = answer.json()["choices"][0]["message"].clone();
    messages.push(reply.clone());
    reply
}

/// The numbers of turns of the user's sessions, ascending.
pub(crate) async fn turns(client: &Client, user: &str) -> Vec<u64> {
    let sessions = client.get(&format!("/api/ai/agent/sessions?userId={user}")).await.result();
    let items = sessions["Items"].as_array().unwrap().iter();
    let mut counts: Vec<u64> = items.map(|session| session["TurnCount"].as_u64().unwrap()).collect();
    counts.sort_unstable();
    counts
}

/// A message as (role, text), without the service's own headers. A call is its name and arguments.
pub(crate) fn line(role: &str, text: &str) -> (String, String) {
    let text = text.split_once("[INSTRUCTION]\n").map_or(text, |(_, text)| text);
    (role.to_owned(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What the model got, role by role. Adjacent messages of one role are joined, texts stand before calls.
pub(crate) fn received(call: &Value) -> Vec<(String, String)> {
    let lines = call["input"].as_array().unwrap().iter().filter_map(|item| {
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("function_call"), _) => {
                let call =
                    format!("{}{}", item["name"].as_str().unwrap(), item["arguments"].as_str().unwrap());
                Some(line("call", &call))
            }
            (Some("function_call_output"), _) => {
                let output = item["output"].as_str().unwrap();
                let output = serde_json::from_str::<String>(output).unwrap_or_else(|_| output.to_owned());
                Some(line("result", &output))
            }
            (_, Some("user")) => Some(line("user", item["content"][0]["text"].as_str().unwrap())),
            (_, Some("assistant")) => {
                let text = item["content"].as_str().or(item["content"][0]["text"].as_str());
                Some(line("assistant", text.unwrap()))
            }
            _ => None,
        }
    });
    let is_sent = |(_, text): &(String, String)| !text.starts_with(WITH_RESULTS);
    joined(lines.filter(is_sent).collect())
}

/// What the client sent, role by role.
fn sent(messages: &[Value]) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for message in messages {
        let content = match &message["content"] {
            Value::Array(parts) => {
                parts.iter().map(|part| part["text"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
            }
            content => content.as_str().unwrap_or_default().to_owned(),
        };
        match message["role"].as_str().unwrap() {
            "user" => lines.push(line("user", &content)),
            "tool" => lines.push(line("result", &content)),
            _ => {
                if !content.is_empty() {
                    lines.push(line("assistant", &content));
                }
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let function = &call["function"];
                    let name = function["name"].as_str().unwrap();
                    lines.push(line("call", &format!("{name}{}", function["arguments"].as_str().unwrap())));
                }
            }
        }
    }
    joined(lines)
}

pub(crate) fn joined(lines: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (role, text) in lines {
        match all.last_mut().filter(|last| last.0 == role && (role == "user" || role == "assistant")) {
            Some(last) => last.1 = format!("{} {text}", last.1),
            None => all.push((role, text)),
        }
    }
    all
}

#[tokio::test]
async fn chat_whose_first_turn_called_stays_in_its_session() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let mut chat_so_far =
        vec![user("Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]")];
    let call = chat(&ada, &mut chat_so_far).await["tool_calls"][0].clone();
    chat_so_far.push(result(call["id"].as_str().unwrap(), "sunny"));
    for n in 2..=4 {
        chat(&ada, &mut chat_so_far).await;
        let expected = sent(&chat_so_far[..chat_so_far.len() - 1]);
        assert_eq!(received(system.model_calls().last().unwrap()), expected, "{n}");
        chat_so_far.push(user(&format!("Message {n} [[script: say \"Answer {n}.\"]]")));
    }
    assert_eq!(turns(&ada, "ada").await, [3]);
}

#[tokio::test]
async fn unknown_history_reaches_the_model_role_by_role() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let mut messages = vec![
        user("My name is Ada."),
        assistant("Let me look."),
        called("call_x", "{\"city\":\"Bern\"}"),
        result("call_x", "sunny"),
        assistant("Nice."),
        user("Who am I? [[script: say \"Ada.\"]]"),
    ];
    for n in 1..=3 {
        chat(&ada, &mut messages).await;
        let expected = sent(&messages[..messages.len() - 1]);
        assert_eq!(received(system.model_calls().last().unwrap()), expected, "{n}");
        assert_eq!(turns(&ada, "ada").await, [n], "the chat is recognized from here on");
        messages.push(user(&format!("And {n}? [[script: say \"Answer {n}.\"]]")));
    }
}

#[tokio::test]
async fn results_of_another_service_are_answered() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let script = "Weather? [[script: call get_weather {}; then; say \"Sunny.\"]]";
    let mut messages = vec![user(script), called("call_x", "{}"), result("call_x", "sunny")];
    assert_eq!(chat(&ada, &mut messages).await["content"], "Sunny.");
    assert_eq!(received(&system.model_calls()[0]), sent(&messages[..3]));
    messages.push(user("Thanks [[script: say \"Welcome.\"]]"));
    chat(&ada, &mut messages).await;
    assert_eq!(received(&system.model_calls()[1]), sent(&messages[..5]));
    assert_eq!(turns(&ada, "ada").await, [2]);

    let items = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"role": "user", "content": script},
        {"type": "function_call", "call_id": "call_x", "name": "get_weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_x", "output": "sunny"},
    ]);
    let answered = created(&ada, &with(request("x"), &json!({"input": items, "tools": [weather()]}))).await;
    assert_eq!(text(&answered), "Sunny.");
    assert_eq!(received(&system.model_calls()[2]), sent(&messages[..3]));
}

#[tokio::test]
async fn message_after_results_joins_the_turn() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let ask = "Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]";
    let steer = "Only today.";
    let mut messages = vec![user(ask)];
    let call = chat(&ada, &mut messages).await["tool_calls"][0].clone();
    messages.push(result(call["id"].as_str().unwrap(), "sunny"));
    messages.push(user(steer));
    chat(&ada, &mut messages).await;
    assert_eq!(received(system.model_calls().last().unwrap()), sent(&messages[..4]));
    messages.push(user("Go on [[script: say \"Fine.\"]]"));
    chat(&ada, &mut messages).await;
    assert_eq!(received(system.model_calls().last().unwrap()), sent(&messages[..6]));
    assert_eq!(turns(&ada, "ada").await, [2]);

    let bob = system.client("acme", "bob");
    let first = with(request(ask), &json!({"tools": [weather()]}));
    let called = created(&bob, &first).await;
    let call = called["output"].as_array().unwrap().last().unwrap();
    let output = json!({"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"});
    for chained in [true, false] {
        let mut items = vec![output.clone(), user(steer)];
        let members = match chained {
            true => json!({"previous_response_id": called["id"], "input": items}),
            false => {
                items.insert(0, call.clone());
                items.insert(0, user(ask));
                json!({"input": items})
            }
        };
        let answered = created(&bob, &with(first.clone(), &members)).await;
        assert_eq!(text(&answered), "Sunny.", "{chained}");
        let last = received(system.model_calls().last().unwrap());
        assert_eq!(last.last().map(|(role, text)| (role.as_str(), text.as_str())), Some(("user", steer)));
    }
    assert_eq!(turns(&bob, "bob").await, [1], "the same results and message again get the same answer");
}

/// As pydantic-ai and pi send it: the calls keep their ids, the answers don't.
#[tokio::test]
async fn answers_without_ids_after_calls_with_ids_go_on() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let ask = "Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]";
    let mut items = vec![user(ask)];
    for n in 1..=3 {
        let members = json!({"input": items, "tools": [weather()]});
        let answer = created(&ada, &with(request("x"), &members)).await;
        for item in answer["output"].as_array().unwrap() {
            match item["type"].as_str() {
                Some("function_call") => {
                    let mut call = item.clone();
                    call.as_object_mut().unwrap().remove("id");
                    let output = json!({
                        "type": "function_call_output", "call_id": item["call_id"], "output": "sunny",
                    });
                    items.extend([call, output]);
                }
                _ => {
                    items.push(assistant(item["content"][0]["text"].as_str().unwrap()));
                    items.push(user(&format!("Message {n} [[script: say \"Answer {n}.\"]]")));
                }
            }
        }
    }
    let roles: Vec<String> =
        received(system.model_calls().last().unwrap()).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["user", "call", "result", "assistant", "user"]);
    assert_eq!(turns(&ada, "ada").await, [2]);
}

#[tokio::test]
async fn turn_that_moved_on_is_left_and_the_chat_goes_on() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let ask = "Weather? [[script: call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]";
    let mut messages = vec![user(ask)];
    let call = chat(&ada, &mut messages).await["tool_calls"][0].clone();
    let id = call["id"].as_str().unwrap().to_owned();
    for output in ["sunny", "rain", "sunny"] {
        let mut all = messages.clone();
        all.push(result(&id, output));
        assert_eq!(chat(&ada, &mut all).await["content"], "Sunny.");
        let last = received(system.model_calls().last().unwrap());
        assert!(last.iter().any(|(role, _)| role == "result"), "{last:?}");
    }
    assert_eq!(system.model_calls().len(), 3, "equal results are repeated, others start a turn");
}

#[tokio::test]
async fn messages_that_end_with_the_model_are_refused() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let answer = send(&ada, &[user("Hi"), assistant("Hello.")]).await;
    assert_eq!((error(&answer).0, error(&answer).1.as_str()), (400, "messages"));
}

/// There is nothing to answer, so the model isn't asked.
#[tokio::test]
async fn results_of_calls_that_no_message_holds_are_refused() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let refused = send(&ada, &[user("Hi"), result("call_x", "y")]).await;
    assert_eq!(refused.status, 200, "the message is answered: {}", refused.text);
    for messages in
        [vec![result("call_x", "y")], vec![user("Hi"), assistant("Hello."), result("call_x", "y")]]
    {
        let refused = send(&ada, &messages).await;
        assert_eq!(error(&refused), (400, "messages".to_owned(), "invalid_value".to_owned()));
        assert!(refused.text.contains("call_x"), "{}", refused.text);
    }
    let output = json!([{"type": "function_call_output", "call_id": "call_x", "output": "y"}]);
    let responses =
        ada.post("/v1/responses", json!({"model": "scripted", "input": output}).to_string()).await;
    assert_eq!(responses.status, 400, "{}", responses.text);
    let blocks = json!([{"type": "tool_result", "tool_use_id": "toolu_x", "content": "y"}]);
    let body =
        json!({"model": "scripted", "max_tokens": 9, "messages": [{"role": "user", "content": blocks}]});
    let message = ada.post("/v1/messages", body.to_string()).await;
    assert_eq!(message.status, 400, "{}", message.text);
    assert!(message.text.contains("unexpected tool_use_id"), "{}", message.text);
    assert_eq!(system.model_calls().len(), 1);
}

/// The items of LangChain and of the Agents SDK: the input, and every output with its id.
#[tokio::test]
async fn response_chat_with_ids_stays_in_one_session_after_calls() {
    let system = whole_history().await;
    let ada = system.client("acme", "ada");
    let tools = json!({"tools": [weather()]});
    let mut items = vec![user(
        "Weather? [[script: say \"Looking.\"; call get_weather {\"city\":\"Bern\"}; then; say \"Sunny.\"]]",
    )];
    let turn = async |items: &mut Vec<Value>| -> Value {
        let response = created(&ada, &with(json!({"model": "scripted", "input": items}), &tools)).await;
        items.extend(response["output"].as_array().unwrap().clone());
        response
    };
    let mut last = json!(null);
    for (n, follow_up) in [
        "And Thun? [[script: call get_weather {}; then; say \"Rain.\"]]",
        "And? [[script: say \"Bye.\"]]",
        "",
    ]
    .into_iter()
    .enumerate()
    {
        last = turn(&mut items).await;
        while let Some(call) =
            last["output"].as_array().unwrap().iter().find(|item| item["type"] == "function_call")
        {
            items.push(json!({"type": "function_call_output", "call_id": call["call_id"], "output": "done"}));
            last = turn(&mut items).await;
        }
        assert_eq!(turns(&ada, "ada").await, [n as u64 + 1], "{items:?}");
        items.push(user(follow_up));
    }
    assert_eq!(text(&last), "Bye.");
}
