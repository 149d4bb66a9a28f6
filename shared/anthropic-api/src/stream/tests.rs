use contracts::{
    Error, ErrorCode,
    id::{SessionId, TurnId},
    stream::{Delta, EventId, Reset},
};
use histories::TurnRound;
use serde_json::value::to_raw_value;

use super::*;

fn frame(stops: &[&str]) -> Frame {
    let turn = TurnRound::first(SessionId::new("s").unwrap(), TurnId::new("t").unwrap());
    let stops = stops.iter().map(|stop| (*stop).to_owned()).collect();
    Frame { turn, model: "agent/default".to_owned(), stops, shows_thinking: true }
}

fn delta(text: &str) -> Event {
    Event { id: Some(EventId::MAX), kind: Kind::Delta(Delta { index: 0, text: text.to_owned() }) }
}

fn reset() -> Event {
    Event { id: Some(EventId::MAX), kind: Kind::Reset(Reset::default()) }
}

fn result(result: &Value) -> Event {
    let body = json!({"Successful": true, "Errors": [], "Warnings": [], "Result": result});
    Event { id: Some(EventId::MAX), kind: Kind::Result(to_raw_value(&body).unwrap()) }
}

fn answer(text: &str) -> Event {
    result(&json!({
        "Kind": "final", "SessionId": "s", "TurnId": "t", "ModeDisplayName": "General", "PrimaryOutputText": text,
        "Usage": {"PromptTokens": 30, "CompletionTokens": 2, "TotalTokens": 32, "CachedTokens": 20,
                  "CacheWriteTokens": 5, "ReasoningTokens": 1},
    }))
}

fn calls(text: &str) -> Event {
    result(&json!({
        "Kind": "client_tool_continuation", "SessionId": "s", "TurnId": "t", "ModeDisplayName": "General",
        "ToolContinuationMessage": text,
        "ToolCalls": [
            {"ToolCallId": "c1", "Name": "look", "ArgumentsJson": "{\"at\":1}"},
            {"ToolCallId": "c2", "Name": "see", "ArgumentsJson": ""},
        ],
    }))
}

/// The events of a message, as the data of each.
fn read(frame: Frame, events: &[Event]) -> Vec<Value> {
    let mut translator = MessageTranslator::new(frame);
    let mut stream = translator.start();
    for event in events {
        assert!(!translator.is_finished());
        stream.push_str(&translator.event(event));
    }
    assert!(translator.is_finished());
    let blocks = stream.split_terminator("\n\n");
    let data = blocks.map(|block| {
        let (kind, data) = block.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(kind, format!("event: {}", data["type"].as_str().unwrap()));
        data
    });
    data.collect()
}

/// The message that an SDK accumulates from events, under the rules of Anthropic's SDKs.
fn accumulate(events: &[Value]) -> Value {
    let mut message = events[0]["message"].clone();
    let mut inputs: Vec<String> = Vec::new();
    let mut open: Option<u64> = None;
    for event in &events[1..] {
        let index = event["index"].as_u64();
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!((open, index), (None, Some(inputs.len() as u64)), "{event}");
                open = index;
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                inputs.push(String::new());
            }
            "content_block_delta" => {
                assert_eq!(index, open, "{event}");
                let at = usize::try_from(index.unwrap()).unwrap();
                let block = &mut message["content"][at];
                match event["delta"]["type"].as_str().unwrap() {
                    "text_delta" => {
                        let text = format!(
                            "{}{}",
                            block["text"].as_str().unwrap(),
                            event["delta"]["text"].as_str().unwrap()
                        );
                        block["text"] = json!(text);
                    }
                    "input_json_delta" => {
                        inputs[at].push_str(event["delta"]["partial_json"].as_str().unwrap())
                    }
                    other => panic!("{other}"),
                }
            }
            "content_block_stop" => {
                assert_eq!(index, open.take(), "{event}");
                let at = usize::try_from(index.unwrap()).unwrap();
                if !inputs[at].is_empty() {
                    message["content"][at]["input"] = serde_json::from_str(&inputs[at]).unwrap();
                }
            }
            "message_delta" => {
                for name in ["stop_reason", "stop_sequence", "stop_details"] {
                    message[name] = event["delta"][name].clone();
                }
                message["usage"] = event["usage"].clone();
            }
            "ping" | "message_stop" | "error" => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!(open, None);
    message
}

fn texts(message: &Value) -> Vec<&str> {
    message["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect()
}

fn outcome(event: &Event) -> Outcome {
    let Kind::Result(body) = &event.kind else { panic!("no result") };
    Outcome::from_body(body.get().as_bytes())
}

#[test]
fn text_is_one_block_between_start_and_stop() {
    let events = read(frame(&[]), &[delta("Hello"), delta(" there"), answer("Hello there")]);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    assert_eq!(events[0]["message"]["stop_reason"], Value::Null);
    let message = accumulate(&events);
    assert_eq!((texts(&message), &message["stop_reason"]), (vec!["Hello there"], &json!("end_turn")));
    let usage = &message["usage"];
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(5), &json!(2)));
    assert_eq!(
        (&usage["cache_read_input_tokens"], &usage["cache_creation_input_tokens"]),
        (&json!(20), &json!(5))
    );
    assert_eq!(usage["output_tokens_details"], json!({"thinking_tokens": 1}));
}

#[test]
fn stream_gives_the_message_of_a_buffered_response() {
    let streams: [&[Event]; 5] = [
        &[answer("Hello")],
        &[delta("Hel"), answer("Hello")],
        &[delta("I look."), reset(), calls("I look.")],
        &[calls("")],
        &[calls("I look.")],
    ];
    for events in streams {
        let streamed = accumulate(&read(frame(&[]), events));
        let whole = frame(&[]).with_outcome(&outcome(events.last().unwrap())).unwrap();
        assert_eq!(streamed, whole);
    }
}

#[test]
fn calls_are_blocks_with_their_arguments() {
    let message = accumulate(&read(frame(&[]), &[delta("I look."), reset(), calls("I look.")]));
    let content = message["content"].as_array().unwrap();
    assert_eq!(content.len(), 3);
    assert_eq!((&content[1]["name"], &content[1]["input"]), (&json!("look"), &json!({"at": 1})));
    assert_eq!(content[2]["input"], json!({}));
    assert_ne!(content[1]["id"], content[2]["id"]);
    assert_eq!(message["stop_reason"], "tool_use");
}

#[test]
fn discarded_text_is_a_block_of_its_own() {
    let events = [delta("Searching"), reset(), delta("Found"), delta("."), answer("Found.")];
    assert_eq!(texts(&accumulate(&read(frame(&[]), &events))), ["Searching", "Found."]);
    let events = [delta("Searching"), reset(), answer("Found.")];
    assert_eq!(texts(&accumulate(&read(frame(&[]), &events))), ["Searching", "Found."]);
    let restated = [delta("Found it"), reset(), answer("Found it")];
    assert_eq!(texts(&accumulate(&read(frame(&[]), &restated))), ["Found it"]);
}

#[test]
fn answer_ends_before_a_stop_sequence() {
    for pieces in [&["one END two"][..], &["one E", "ND two"], &["one ", "E", "N", "D", " two"]] {
        let mut events: Vec<Event> = pieces.iter().map(|piece| delta(piece)).collect();
        events.push(answer("one END two"));
        let message = accumulate(&read(frame(&["END"]), &events));
        assert_eq!(texts(&message), ["one "], "{pieces:?}");
        assert_eq!(
            (&message["stop_reason"], &message["stop_sequence"]),
            (&json!("stop_sequence"), &json!("END"))
        );
        assert_eq!(message, frame(&["END"]).with_outcome(&outcome(events.last().unwrap())).unwrap());
    }
    let withheld = [delta("one E"), answer("one E")];
    assert_eq!(texts(&accumulate(&read(frame(&["END"]), &withheld))), ["one E"]);
}

#[test]
fn failure_is_an_error_event_or_an_error() {
    let failed = |code: ErrorCode| Outcome::Failed { error: Error::from(code), text: "part".to_owned() };
    let mut translator = MessageTranslator::new(frame(&[]));
    let begun = translator.start() + &translator.event(&delta("part"));
    let end = translator.finish(&failed(ErrorCode::ModelUnavailable));
    assert!(begun.contains("text_delta") && end.starts_with("event: content_block_stop"), "{end}");
    let error = end.split("data: ").last().unwrap();
    let error: Value = serde_json::from_str(error.trim()).unwrap();
    assert_eq!((&error["type"], &error["error"]["type"]), (&json!("error"), &json!("overloaded_error")));
    assert_eq!(frame(&[]).with_outcome(&failed(ErrorCode::ModelUnavailable)).unwrap_err().status, 503);
}

#[test]
fn incomplete_and_refused_answers_are_messages() {
    let failed = |code: ErrorCode| Outcome::Failed { error: Error::from(code), text: "part".to_owned() };
    let incomplete = frame(&[]).with_outcome(&failed(ErrorCode::ModelReplyIncomplete)).unwrap();
    assert_eq!((texts(&incomplete), &incomplete["stop_reason"]), (vec!["part"], &json!("max_tokens")));
    let refused = frame(&[]).with_outcome(&failed(ErrorCode::ModelContentFiltered)).unwrap();
    assert_eq!(refused["stop_reason"], "refusal");
    assert_eq!(refused["stop_details"]["type"], "refusal");
}
