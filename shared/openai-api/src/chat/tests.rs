use contracts::{
    Error, ErrorCode,
    id::{SessionId, TurnId},
    request::{ChatCall, ChatMessage, ChatResult, UserMessage},
    response::ToolCall,
    stream::{Delta, Event, EventId, Kind, Reset},
};
use histories::Hint;
use serde_json::{Value, json};

use super::*;
use crate::{id::ResponseId, request::Body, response::Outcome};

fn parse(body: Value) -> ChatRequest {
    ChatRequest::parse(&Body::parse(body.to_string().as_bytes()).unwrap(), false)
        .unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn chat(messages: Value) -> ChatRequest {
    parse(json!({"model": "gpt-x", "messages": messages}))
}

fn said(text: &str) -> ChatMessage {
    ChatMessage::User(UserMessage { text: text.to_owned(), ..UserMessage::default() })
}

fn result(call_id: &str, output: &str) -> ChatMessage {
    let (call_id, output) = (call_id.to_owned(), output.to_owned());
    ChatMessage::Result(ChatResult { call_id, output, is_error: false })
}

fn completion() -> Completion {
    let response = ResponseId::first(SessionId::new("s").unwrap(), TurnId::new("t").unwrap());
    Completion { response, created: 7, model: "gpt-x".to_owned(), freeform: Vec::new() }
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
fn messages_are_read_role_by_role() {
    let id = completion().response.call(0);
    let call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let request = chat(json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": "sunny"},
        {"role": "user", "content": "And tomorrow?"},
    ]));
    let call = ChatCall { id: id.clone(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let expected = [
        said("Weather?"),
        ChatMessage::Assistant("Let me look.".to_owned()),
        ChatMessage::Call(call),
        result(&id, "sunny"),
        said("And tomorrow?"),
    ];
    assert_eq!(request.chat.messages, expected);
    assert_eq!(
        request.chat.hints,
        [Hint { message: 2, turn: completion().response.into(), is_certain: false }]
    );
    assert_eq!(request.chat.instructions, "Be kind.");
}

#[test]
fn refusals_and_functions_of_older_clients_are_accepted() {
    let request = chat(json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "refusal": "No."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "sunny"},
    ]));
    let call = ChatCall { id: String::new(), name: "f".to_owned(), arguments: "{}".to_owned() };
    let expected = [
        said("Hi"),
        ChatMessage::Assistant("No.".to_owned()),
        said("Weather?"),
        ChatMessage::Call(call),
        result("", "sunny"),
    ];
    assert_eq!((request.chat.messages.as_slice(), request.chat.hints.len()), (expected.as_slice(), 0));
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
        (json!({"conversation": "conv_1"}), "conversation"),
        (json!({"logprobs": true}), "logprobs"),
        (json!({"functions": [{"name": "f"}]}), "functions"),
        (json!({"response_format": {"type": "grammar"}}), "response_format"),
    ] {
        let body = Body::parse(with(members).to_string().as_bytes()).unwrap();
        let error = ChatRequest::parse(&body, false).unwrap_err();
        assert_eq!(
            (error.param.as_deref(), error.code.as_deref()),
            (Some(param), Some("unsupported_parameter"))
        );
    }
    parse(with(
        json!({"n": 1, "stop": null, "frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}}),
    ));
    let settings = parse(with(json!({"max_tokens": 50, "temperature": 0.5, "reasoning_effort": "low"})));
    assert_eq!(settings.chat.options.max_output_tokens, Some(50));
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let allowed = json!({"mode": "required", "tools": [tool("b")]});
    let settings = parse(with(json!({
        "tools": [tool("a"), tool("b")], "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed},
        "stop": "END", "response_format": {"type": "json_object"},
    })));
    let options = settings.chat.options;
    assert_eq!((options.tools[0].name.as_str(), options.requires_tool), ("b", true));
    assert_eq!((options.stop.as_slice(), options.json_object), (["END".to_owned()].as_slice(), true));
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
