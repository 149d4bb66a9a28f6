use contracts::{
    AgentExecuteResponse, ErrorCode, InvokeResult,
    id::{SessionId, TurnId},
    response::ToolCall,
    stream::{Delta, Event, EventId, Kind, Reasoning, Reset, ResetReason},
};
use serde_json::{Value, json, value::to_raw_value};

use super::*;
use crate::{
    id::ResponseId,
    response::{Frame, Outcome},
    sequence::LAST,
};

fn frame() -> Frame {
    let id = ResponseId::first(SessionId::new("s").unwrap(), TurnId::new("t").unwrap());
    Frame::new(id, 7, &json!({"metadata": {"a": "b"}}), "gpt-x")
}

/// An event id: the segment's attempt is 0.
fn id(segment: u64, offset: u64) -> EventId {
    EventId::new(segment << 26 | offset).unwrap()
}

fn delta(segment: u64, end: u64, text: &str) -> Event {
    Event { id: Some(id(segment, end)), kind: Kind::Delta(Delta { index: 0, text: text.to_owned() }) }
}

fn reasoning(index: u64, text: &str) -> Event {
    Event { id: None, kind: Kind::Reasoning(Reasoning { round: 1, index, text: text.to_owned() }) }
}

fn reset(segment: u64) -> Event {
    Event { id: Some(id(segment, 0)), kind: Kind::Reset(Reset { reason: Some(ResetReason::Tools) }) }
}

fn answer(text: &str) -> Event {
    let body = json!({"Successful": true, "Errors": [], "Warnings": [], "Result": {
        "Kind": "final", "SessionId": "s", "TurnId": "t", "ModeDisplayName": "General", "PrimaryOutputText": text,
        "Usage": {"PromptTokens": 3, "CompletionTokens": 2, "TotalTokens": 5},
    }});
    Event { id: Some(EventId::MAX), kind: Kind::Result(to_raw_value(&body).unwrap()) }
}

fn read(translator: &mut Translator, events: &[Event]) -> Vec<StreamEvent> {
    let mut all = translator.start();
    all.extend(events.iter().flat_map(|event| translator.event(event)));
    all
}

fn kinds(events: &[StreamEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind.trim_start_matches("response.")).collect()
}

/// The text of an output item, from its deltas.
fn text(events: &[StreamEvent], index: u64) -> String {
    let deltas = events.iter().filter(|event| event.kind.ends_with("output_text.delta"));
    let of_item = deltas.filter(|event| event.data()["output_index"] == index);
    of_item.map(|event| event.data()["delta"].as_str().unwrap()).collect()
}

fn assert_ascending(events: &[StreamEvent]) {
    assert!(events.is_sorted_by(|a, b| a.sequence_number < b.sequence_number), "{:?}", kinds(events));
    for event in events {
        assert_eq!(event.data()["sequence_number"], event.sequence_number);
        assert_eq!(event.data()["type"], event.kind);
    }
}

#[test]
fn answer_yields_every_event_in_order() {
    let mut translator = Translator::new(frame(), None);
    let events = read(&mut translator, &[delta(0, 3, "Hel"), delta(0, 5, "lo"), answer("Hello")]);
    assert_eq!(
        kinds(&events),
        [
            "created",
            "in_progress",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "completed",
        ]
    );
    assert_ascending(&events);
    assert!(translator.is_finished());
    let response = &events.last().unwrap().data()["response"];
    assert_eq!(
        (&response["status"], &response["output"][0]["content"][0]["text"]),
        (&json!("completed"), &json!("Hello"))
    );
    assert_eq!((&response["usage"]["total_tokens"], &response["metadata"]["a"]), (&json!(5), &json!("b")));
    assert_eq!(events[2].data()["item"]["id"], response["output"][0]["id"]);
    assert!(events[0].to_sse().starts_with("event: response.created\ndata: {"));
}

#[test]
fn reset_ends_the_message_as_incomplete() {
    let stream = [delta(0, 3, "Hmm"), reset(1), delta(1, 5, "Hello"), answer("Hello")];
    let events = read(&mut Translator::new(frame(), None), &stream);
    assert_ascending(&events);
    assert_eq!((text(&events, 0), text(&events, 1)), ("Hmm".to_owned(), "Hello".to_owned()));
    let done: Vec<&Value> = events
        .iter()
        .filter(|e| e.kind.ends_with("item.done"))
        .map(|e| &e.data()["item"]["status"])
        .collect();
    assert_eq!(done, ["incomplete", "completed"]);
    let phases: Vec<&Value> =
        events.iter().filter(|e| e.kind.ends_with("item.done")).map(|e| &e.data()["item"]["phase"]).collect();
    assert_eq!(phases, ["commentary", "final_answer"]);
    let output = &events.last().unwrap().data()["response"]["output"];
    assert_eq!((output.as_array().unwrap().len(), &output[0]["content"][0]["text"]), (1, &json!("Hello")));
}

#[test]
fn reasoning_is_an_item_before_the_text_that_follows_it() {
    let stream = [
        reasoning(0, "Let me"),
        reasoning(6, " think."),
        delta(0, 3, "Hmm"),
        reasoning(0, "Beside the text."),
        reset(1),
        reasoning(0, "Again."),
        delta(1, 5, "Hello"),
        answer("Hello"),
    ];
    let events = read(&mut Translator::new(frame(), None), &stream);
    assert_ascending(&events);
    assert_eq!(
        kinds(&events)[2..9],
        [
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
        ]
    );
    let item = &events[8].data()["item"];
    assert_eq!(item["summary"], json!([{"type": "summary_text", "text": "Let me think."}]));
    assert_eq!((&events[2].data()["item"]["id"], &events[4].data()["item_id"]), (&item["id"], &item["id"]));
    let done = events.iter().filter(|event| event.kind.ends_with("item.done"));
    let items: Vec<_> =
        done.map(|e| (e.data()["output_index"].as_u64(), e.data()["item"]["type"].as_str())).collect();
    let expected = ["reasoning", "message", "reasoning", "message"];
    assert_eq!(items, (0..).zip(expected).map(|(n, kind)| (Some(n), Some(kind))).collect::<Vec<_>>());
    assert_eq!((text(&events, 1), text(&events, 3)), ("Hmm".to_owned(), "Hello".to_owned()));
    let output = &events.last().unwrap().data()["response"]["output"];
    assert_eq!((output.as_array().unwrap().len(), &output[0]["type"]), (1, &json!("message")));

    // Another connection has no reasoning, and continues with the text after it.
    for event in &events {
        let mut translator = Translator::new(frame(), Some(event.sequence_number));
        let from = translator.last_event();
        let later =
            stream.iter().filter(|event| event.id.is_some() && from.is_none_or(|from| event.id > Some(from)));
        let later: Vec<Event> = later.cloned().collect();
        let rest = read(&mut translator, &later);
        let before = events.iter().filter(|other| other.sequence_number <= event.sequence_number).cloned();
        let all: Vec<StreamEvent> = before.chain(rest).collect();
        assert_ascending(&all);
        let texts: String = (0..8).map(|index| text(&all, index)).collect();
        assert_eq!(texts, "HmmHello", "after {}", event.kind);
    }
}

#[test]
fn calls_follow_the_text_beside_them() {
    let call = |id: &str| ToolCall {
        tool_call_id: id.to_owned(),
        name: "look".to_owned(),
        arguments_json: "{}".to_owned(),
    };
    let body = InvokeResult::ok(AgentExecuteResponse::ClientToolContinuation(
        contracts::response::ClientToolContinuation {
            metadata: contracts::response::Metadata {
                session_id: SessionId::new("s").unwrap(),
                turn_id: TurnId::new("t").unwrap(),
                mode_display_name: "General".to_owned(),
            },
            tool_calls: contracts::NonEmpty::new(vec![call("a"), call("b")]).unwrap(),
            tool_continuation_message: Some("Let me look.".to_owned()),
        },
    ));
    let result = Event { id: Some(EventId::MAX), kind: Kind::Result(to_raw_value(&body).unwrap()) };
    let stream = [delta(0, 12, "Let me look."), reset(7 << 8), result];
    let events = read(&mut Translator::new(frame(), None), &stream);
    assert_ascending(&events);
    assert_eq!(
        kinds(&events)[5..],
        [
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "completed",
        ]
    );
    let output = events.last().unwrap().data()["response"]["output"].as_array().unwrap().clone();
    let types: Vec<&str> = output.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["message", "function_call", "function_call"]);
    assert_eq!(output[0]["phase"], "commentary");
    assert_eq!(events[8].data()["output_index"], 1);
    assert_eq!(output[2]["call_id"], output[2]["id"], "a client that keeps one of them names the response");
}

/// Every connection that continues after an event gets exactly the later ones, with the same numbers.
#[test]
fn stream_continues_after_every_event() {
    let stream = [delta(0, 3, "Hmm"), reset(1), delta(1, 3, "Hel"), delta(1, 5, "lo"), answer("Hello")];
    let all = read(&mut Translator::new(frame(), None), &stream);
    for (n, event) in all.iter().enumerate() {
        let mut translator = Translator::new(frame(), Some(event.sequence_number));
        // The turn's stream continues after the event that the translator names.
        let from = translator.last_event();
        let later = stream.iter().filter(|event| from.is_none_or(|from| event.id > Some(from)));
        let later: Vec<Event> = later.cloned().collect();
        let rest = read(&mut translator, &later);
        let numbers =
            |events: &[StreamEvent]| events.iter().map(|e| (e.kind, e.sequence_number)).collect::<Vec<_>>();
        assert_eq!(numbers(&rest), numbers(&all[n + 1..]), "after {}", event.kind);
        assert!(translator.is_finished());
    }
}

/// A connection after the end has the outcome alone.
#[test]
fn stored_outcome_continues_a_live_stream() {
    let outcome = Outcome::Answer { text: "Hello".to_owned(), usage: None, is_truncated: false };
    let live =
        read(&mut Translator::new(frame(), None), &[delta(0, 3, "Hel"), delta(0, 5, "lo"), answer("Hello")]);
    for event in &live {
        let mut translator = Translator::new(frame(), Some(event.sequence_number));
        let mut rest = translator.start();
        rest.extend(translator.finish(&outcome));
        let before: String = text(&live[..=live.iter().position(|e| e == event).unwrap()], 0);
        assert_eq!(format!("{before}{}", text(&rest, 0)), "Hello", "after {}", event.kind);
        assert!(rest.is_empty() || rest.last().unwrap().sequence_number == LAST);
    }
}

#[test]
fn failed_turn_ends_with_failed_or_incomplete() {
    for (code, kind, status) in [
        (ErrorCode::ModelUnavailable, "failed", "failed"),
        (ErrorCode::ModelReplyIncomplete, "incomplete", "incomplete"),
        (ErrorCode::TurnCancelled, "failed", "cancelled"),
    ] {
        let body = InvokeResult::<()>::err(code.into());
        let result = Event { id: None, kind: Kind::Result(to_raw_value(&body).unwrap()) };
        let events = read(&mut Translator::new(frame(), None), &[delta(0, 2, "Hi"), result]);
        assert_ascending(&events);
        let last = events.last().unwrap();
        assert_eq!(
            (last.kind, last.data()["response"]["status"].as_str()),
            (&*format!("response.{kind}"), Some(status))
        );
        assert_eq!(last.data()["response"]["output"][0]["content"][0]["text"], "Hi");
    }
}
