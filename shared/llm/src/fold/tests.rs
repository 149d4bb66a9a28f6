use serde_json::{Value, json};

use super::*;

/// What the events come to, and the pieces of text that were handed on.
fn folded(events: &[Value]) -> (Result<Progress, Error>, Vec<String>) {
    let mut fold = Fold::default();
    let mut pieces = Vec::new();
    let mut progress = Ok(Progress::More);
    for event in events {
        let mut deltas = |piece: &str| pieces.push(piece.to_owned());
        progress = fold.push(&event.to_string(), &mut Observer::of(&mut deltas));
        if progress != Ok(Progress::More) {
            break;
        }
    }
    (progress, pieces)
}

fn reply(events: &[Value]) -> (Reply, Vec<String>) {
    match folded(events) {
        (Ok(Progress::Done(reply)), pieces) => (reply, pieces),
        other => panic!("no reply: {other:?}"),
    }
}

fn error(event: Value) -> Error {
    folded(&[event]).0.unwrap_err()
}

fn delta(output_index: u32, content_index: u32, delta: &str) -> Value {
    json!({
        "type": "response.output_text.delta", "output_index": output_index,
        "content_index": content_index, "delta": delta,
    })
}

fn completed(output: Value) -> Value {
    json!({ "type": "response.completed", "response": {
        "id": "resp_1", "model": "model-1", "status": "completed", "output": output,
        "usage": {
            "input_tokens": 10, "input_tokens_details": { "cached_tokens": 4 },
            "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 2 },
            "total_tokens": 15,
        },
    }})
}

fn message(texts: &[&str]) -> Value {
    let part = |text: &&str| json!({ "type": "output_text", "text": text });
    let parts: Vec<Value> = texts.iter().map(part).collect();
    json!({ "type": "message", "content": parts })
}

fn call(id: &str) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": "look", "arguments": "{}" })
}

#[test]
fn text_is_handed_on_as_it_comes() {
    let (reply, pieces) = reply(&[
        delta(0, 0, "Hello"),
        delta(0, 0, " there."),
        completed(json!([message(&["Hello there."])])),
    ]);
    assert_eq!(pieces, ["Hello", " there."]);
    assert_eq!(reply.text, "Hello there.");
    assert_eq!(reply.response_id, "resp_1");
    assert_eq!(reply.model, "model-1");
}

#[test]
fn a_reply_that_failed_or_broke_off_leaves_its_id() {
    let ended = |kind: &str, status: &str| {
        let event = json!({"type": kind, "response": {"id": "resp_9", "status": status, "output": []}});
        let mut ignore = |_: &str| {};
        let mut observer = Observer::of(&mut ignore);
        let reply = Fold::default().push(&event.to_string(), &mut observer);
        (reply.is_err(), observer.failed_id)
    };
    let told = (true, Some("resp_9".to_owned()));
    assert_eq!(ended("response.failed", "failed"), told);
    assert_eq!(ended("response.incomplete", "incomplete"), told);
    assert_eq!(ended("response.completed", "incomplete"), told, "some servers end it this way");
    assert_eq!(ended("response.completed", "completed"), (false, None));
}

/// The tokens that an event tells, and what is kept of it.
fn told(event: &Value) -> (Option<Usage>, Value) {
    let mut ignore = |_: &str| {};
    let mut observer = Observer::of(&mut ignore).keeping_raw(true);
    let _ = Fold::default().push(&event.to_string(), &mut observer);
    (observer.usage, serde_json::from_slice(&observer.raw.unwrap().response).unwrap())
}

#[test]
fn what_a_response_cost_is_told_however_it_ended() {
    let mut event = completed(json!([]));
    for end in ["completed", "failed", "incomplete"] {
        event["type"] = json!(format!("response.{end}"));
        let (usage, raw) = told(&event);
        let usage = usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (10, 5, 15));
        assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (Some(4), Some(2)));
        assert_eq!(raw, event["response"], "the response is kept as it came");
    }
    let bare = json!({ "type": "error", "code": "server_error" });
    assert_eq!(told(&bare), (None, bare));
}

#[test]
fn segments_are_joined_by_a_blank_line_also_while_they_stream() {
    let (reply, pieces) = reply(&[
        delta(0, 0, "One."),
        delta(0, 1, ""),
        delta(0, 1, "Two."),
        delta(2, 0, "Three."),
        completed(json!([message(&["One.", "Two."]), { "type": "reasoning" }, message(&["Three."])])),
    ]);
    assert_eq!(reply.text, "One.\n\nTwo.\n\nThree.");
    assert_eq!(pieces.concat(), reply.text);
}

#[test]
fn text_that_was_not_streamed_is_handed_on_at_the_end() {
    let (whole, pieces) = reply(&[completed(json!([message(&["All at once."])]))]);
    assert_eq!((whole.text.as_str(), pieces), ("All at once.", vec!["All at once.".to_owned()]));

    let (rest, pieces) = reply(&[delta(0, 0, "Most"), completed(json!([message(&["Most of it."])]))]);
    assert_eq!(rest.text, "Most of it.");
    assert_eq!(pieces.concat(), rest.text);
}

#[test]
fn text_that_was_handed_on_stays() {
    let (reply, pieces) = reply(&[delta(0, 0, "Shown. "), completed(json!([message(&["Shown."])]))]);
    assert_eq!(reply.text, "Shown. ");
    assert_eq!(pieces.concat(), reply.text);
}

#[test]
fn a_terminal_event_without_output_leaves_the_finished_items() {
    let done = |item: Value| json!({ "type": "response.output_item.done", "item": item });
    let (reply, _) = reply(&[
        delta(0, 0, "Looking."),
        done(message(&["Looking."])),
        done(call("call_1")),
        completed(json!([])),
    ]);
    assert_eq!(reply.text, "Looking.");
    assert_eq!(reply.calls.len(), 1);
}

#[test]
fn calls_come_in_the_models_order_beside_text() {
    let (reply, _) = reply(&[completed(json!([call("call_b"), message(&["Looking."]), call("call_a"),]))]);
    let ids: Vec<&str> = reply.calls.iter().map(|call| call.call_id.as_str()).collect();
    assert_eq!(ids, ["call_b", "call_a"]);
    assert_eq!(reply.calls[0].name, "look");
    assert_eq!(reply.calls[0].arguments, "{}");
}

#[test]
fn calls_that_could_not_be_answered_are_malformed() {
    let many: Vec<Value> = (0..=MOST_CALLS).map(|n| call(&n.to_string())).collect();
    for output in [json!([call("a"), call("a")]), json!([call("")]), Value::Array(many)] {
        assert_eq!(error(completed(output)), Error::Malformed);
    }
}

#[test]
fn a_refusal_is_text() {
    let (reply, pieces) = reply(&[
        json!({ "type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "No." }),
        completed(json!([{ "type": "message", "content": [{ "type": "refusal", "refusal": "No." }] }])),
    ]);
    assert_eq!(reply.text, "No.");
    assert_eq!(pieces, ["No."]);
}

#[test]
fn what_does_not_exist_yet_is_skipped() {
    let (reply, _) = reply(&[
        json!({ "type": "response.created", "response": { "id": 7 } }),
        json!({ "type": "response.novelty.appeared", "item": null }),
        json!({ "type": "response.output_item.done", "item": { "type": "novelty", "content": 1 } }),
        completed(json!([
            { "type": "novelty", "call_id": 5 },
            { "type": "message", "content": [
                { "type": "output_novelty" }, { "type": "output_text", "text": "Hi.", "novelty": 1 },
            ]},
        ])),
    ]);
    assert_eq!(reply.text, "Hi.");
}

#[test]
fn foreign_markers_are_skipped() {
    for data in ["[DONE]", "", " "] {
        assert_eq!(Fold::default().push(data, &mut Observer::of(&mut |_| {})), Ok(Progress::More));
    }
}

#[test]
fn usage_may_be_missing() {
    let mut event = completed(json!([]));
    event["response"]["usage"] = Value::Null;
    assert_eq!(told(&event).0, None);
}

#[test]
fn failures_are_named() {
    let failed = |code: &str| {
        error(json!({ "type": "response.failed", "response": {
            "id": "resp_1", "error": { "code": code, "message": "secret words" },
        }}))
    };
    assert_eq!(failed("server_error"), Error::UNAVAILABLE);
    assert_eq!(failed("rate_limit_exceeded"), Error::RateLimited { retry_after: None });
    assert_eq!(failed("new_code"), Error::UNAVAILABLE);

    let incomplete = |reason: &str| {
        error(json!({ "type": "response.incomplete", "response": {
            "id": "resp_1", "incomplete_details": { "reason": reason },
        }}))
    };
    assert_eq!(incomplete("max_output_tokens"), Error::Incomplete);
    assert_eq!(incomplete("content_filter"), Error::ContentFiltered);

    let flat = json!({ "type": "error", "code": "context_length_exceeded", "message": "m", "param": null });
    assert_eq!(error(flat), Error::ContextTooLong);
    let nested = json!({ "type": "error", "error": { "type": "server_error", "code": null } });
    assert_eq!(error(nested), Error::UNAVAILABLE);

    let mut contradictory = completed(json!([]));
    contradictory["response"]["status"] = json!("incomplete");
    assert_eq!(error(contradictory), Error::Incomplete);
}

#[test]
fn what_can_not_be_read_is_malformed() {
    for data in ["{", "[]", "{}", r#"{"type":"response.completed"}"#] {
        assert_eq!(
            Fold::default().push(data, &mut Observer::of(&mut |_| {})),
            Err(Error::Malformed),
            "{data}"
        );
    }
    let mut nameless = completed(json!([]));
    nameless["response"]["id"] = json!("");
    assert_eq!(error(nameless), Error::Malformed);
}

#[test]
fn text_is_bounded() {
    let half = "x".repeat(MOST_TEXT / 2 + 1);
    assert_eq!(folded(&[delta(0, 0, &half), delta(0, 0, &half)]).0, Err(Error::Malformed));
}
