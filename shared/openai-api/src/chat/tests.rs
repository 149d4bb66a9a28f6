use contracts::{
    Error, ErrorCode,
    id::{SessionId, TurnId},
    response::ToolCall,
    stream::{Delta, Event, EventId, Kind, Reset},
};
use runtime::id_key::IdKeys;
use serde_json::{Value, json};

use super::*;
use crate::{
    id::ResponseId,
    request::{FunctionOutput, Input},
    response::Outcome,
    retry::RequestUser,
};

fn parse(body: Value) -> ChatRequest {
    ChatRequest::parse(body.to_string().as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn chat(messages: Value) -> ChatRequest {
    parse(json!({"model": "gpt-x", "messages": messages}))
}

fn text(request: &ChatRequest) -> &str {
    match &request.create.input {
        Input::Message(message) => &message.text,
        Input::Outputs(_) => panic!("no message"),
    }
}

fn completion() -> Completion {
    let response = ResponseId::first(SessionId::new("s").unwrap(), TurnId::new("t").unwrap());
    Completion { response, created: 7, model: "gpt-x".to_owned() }
}

fn delta(text: &str) -> Event {
    Event { id: Some(EventId::MAX), kind: Kind::Delta(Delta { index: 0, text: text.to_owned() }) }
}

fn data(chunks: &[String]) -> Vec<Value> {
    let lines = chunks.iter().map(|chunk| chunk.trim_end().strip_prefix("data: ").unwrap());
    lines.filter(|line| *line != "[DONE]").map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn streamed(chunks: &[String]) -> String {
    data(chunks)
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn second_request_names_the_first_turn() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let first = chat(json!([{"role": "system", "content": "Be kind."}, user("Hi")]));
    assert_eq!((first.create.instructions.as_str(), first.history.points.len()), ("Be kind.", 0));
    let reply = json!({"role": "assistant", "content": "Hello."});
    let second = chat(json!([user("Hi"), reply, user("More")]));
    let [point] = second.history.points.as_slice() else { panic!("{:?}", second.history) };
    assert_eq!((point.hash, point.answer.as_str()), (first.history.hash, "Hello."));
    assert_eq!(
        (text(&second), second.history.transcript.as_str()),
        ("More", "User: Hi\n\nAssistant: Hello.")
    );
    let edited = chat(json!([user("Hi!"), reply, user("More")]));
    assert_ne!(edited.history.points[0].hash, point.hash);
    let key = IdKeys::from_keys("k").unwrap().current;
    let ada = RequestUser { key: &key, org: "acme", user: "ada" };
    let turn = |hash| History::turn(ada, hash).unwrap();
    assert_eq!(turn(&point.hash), turn(&first.history.hash));
    assert_ne!(History::session(ada, &point.hash, 0), History::session(ada, &point.hash, 1));
}

#[test]
fn tool_results_name_the_response_of_their_call() {
    let id = completion().response.call(0);
    let call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let request = chat(json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": "sunny"},
    ]));
    assert_eq!(request.caller, Some(completion().response));
    let outputs = vec![FunctionOutput { call_id: id.clone(), output: "sunny".to_owned() }];
    assert_eq!(request.create.input, Input::Outputs(outputs.clone()));
    let calls = [ToolCall {
        tool_call_id: "call_1".to_owned(),
        name: "f".to_owned(),
        arguments_json: "{}".to_owned(),
    }];
    let results = crate::request::tool_continuation(&completion().response, &calls, &outputs).unwrap();
    assert_eq!(results.tool_results.iter().next().unwrap().tool_call_id, "call_1");
}

#[test]
fn unsupported_members_are_refused_by_name() {
    let with = |members: Value| {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        body
    };
    for (members, param) in [
        (json!({"n": 2}), "n"),
        (json!({"stop": ["x"]}), "stop"),
        (json!({"seed": 1}), "seed"),
        (json!({"logprobs": true}), "logprobs"),
        (json!({"functions": [{"name": "f"}]}), "functions"),
        (json!({"response_format": {"type": "json_object"}}), "response_format"),
        (json!({"store": false}), "store"),
    ] {
        let error = ChatRequest::parse(with(members).to_string().as_bytes()).unwrap_err();
        assert_eq!(
            (error.param.as_deref(), error.code.as_deref()),
            (Some(param), Some("unsupported_parameter"))
        );
    }
    parse(with(
        json!({"n": 1, "stop": null, "frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}}),
    ));
    let settings = parse(with(json!({"max_tokens": 50, "temperature": 0.5, "reasoning_effort": "low"})));
    assert_eq!(settings.create.options.max_output_tokens, Some(50));
}

#[test]
fn stream_is_chunks_then_done() {
    let mut translator = ChatTranslator::new(completion(), true);
    let mut chunks = translator.start();
    chunks.extend(translator.event(&delta("Hel")));
    let outcome = Outcome::Answer { text: "Hello".to_owned(), usage: None, is_truncated: false };
    chunks.extend(translator.finish(&outcome));
    assert_eq!((streamed(&chunks).as_str(), chunks.last().unwrap().as_str()), ("Hello", "data: [DONE]\n\n"));
    let data = data(&chunks);
    assert_eq!(data[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(data[data.len() - 2]["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        (&data[data.len() - 1]["choices"], &data[data.len() - 1]["usage"]["total_tokens"]),
        (&json!([]), &json!(0))
    );
}

#[test]
fn answer_after_discarded_text_ends_the_stream() {
    let mut translator = ChatTranslator::new(completion(), false);
    let mut chunks = translator.event(&delta("One moment."));
    chunks.extend(translator.event(&Event { id: None, kind: Kind::Reset(Reset::default()) }));
    chunks.extend(translator.event(&delta("Done.")));
    chunks.extend(translator.finish(&Outcome::Answer {
        text: "Done.".to_owned(),
        usage: None,
        is_truncated: false,
    }));
    assert_eq!(streamed(&chunks), "One moment.\n\nDone.");
}

#[test]
fn calls_and_failures_end_the_stream() {
    let call =
        ToolCall { tool_call_id: "c".to_owned(), name: "f".to_owned(), arguments_json: "{}".to_owned() };
    let calls = Outcome::Calls { text: "Let me look.".to_owned(), calls: vec![call] };
    let mut translator = ChatTranslator::new(completion(), false);
    let chunks = translator.finish(&calls);
    assert_eq!(streamed(&chunks), "Let me look.");
    let data = data(&chunks);
    assert_eq!(data[1]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"], "f");
    assert_eq!(data[2]["choices"][0]["finish_reason"], "tool_calls");
    let failed = Outcome::Failed { error: Error::from(ErrorCode::ModelUnavailable), text: String::new() };
    let chunks = ChatTranslator::new(completion(), false).finish(&failed);
    assert!(chunks.len() == 1 && chunks[0].contains("\"type\":\"server_error\""), "{chunks:?}");
    assert_eq!(completion().with_outcome(&failed).unwrap_err().status, 503);
    let whole = completion().with_outcome(&calls).unwrap();
    assert_eq!(whole["choices"][0]["message"]["tool_calls"][0]["id"], completion().response.call(0));
}
