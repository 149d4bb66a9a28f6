use serde_json::{Value, json};

use super::*;

/// What the events come to, and the pieces of text that were handed on.
fn folded(events: &[Value]) -> (Result<Progress, Error>, Vec<String>) {
    let mut fold = Fold::default();
    let mut pieces = Vec::new();
    let mut progress = Ok(Progress::More);
    for event in events {
        let mut deltas = |piece: &str| pieces.push(piece.to_owned());
        progress = fold.push("", &event.to_string(), &mut Observer::of(&mut deltas));
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
            "input_tokens": 10, "input_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 3 },
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
        let reply = Fold::default().push("", &event.to_string(), &mut observer);
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
    let _ = Fold::default().push("", &event.to_string(), &mut observer);
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
        assert_eq!((usage.cached_tokens, usage.cache_write_tokens), (Some(4), Some(3)));
        assert_eq!(usage.reasoning_tokens, Some(2));
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
fn the_text_that_a_response_ends_with_counts_and_is_said_to_differ() {
    let (other, pieces) = reply(&[delta(0, 0, "Shown. "), completed(json!([message(&["Meant."])]))]);
    assert_eq!((other.text.as_str(), other.restated), ("Meant.", true));
    assert_eq!(pieces, ["Shown. "]);
    let (none, _) = reply(&[delta(0, 0, "Shown."), completed(json!([{ "type": "reasoning" }]))]);
    assert_eq!((none.text.as_str(), none.restated), ("Shown.", false), "no text at all takes nothing back");
}

/// A memory that is asked for everything.
const ALL: Memory = Memory { keep: true, recall: true };

/// The reply to a request that asks this, of its terminal event.
fn recalled(memory: Memory, event: &Value) -> Result<Progress, Error> {
    Fold::of(memory, 7).push("", &event.to_string(), &mut Observer::of(&mut |_| {}))
}

#[test]
fn a_reply_says_whether_it_was_kept() {
    let event = |echo: Value| {
        let mut event = completed(json!([message(&["Hi."])]));
        event["response"].as_object_mut().unwrap().extend(echo.as_object().unwrap().clone());
        event
    };
    for (memory, echo, kept) in [
        (ALL, json!({ "store": true, "previous_response_id": "resp_0" }), true),
        (ALL, json!({}), true),
        (ALL, json!({ "store": false }), false),
        (ALL, json!({ "previous_response_id": null }), false),
        (Memory { recall: false, ..ALL }, json!({ "previous_response_id": null }), true),
        (Memory { keep: false, ..ALL }, json!({ "store": true }), false),
        (ALL, json!({ "id": null }), false),
    ] {
        match recalled(memory, &event(echo.clone())) {
            Ok(Progress::Done(reply)) => assert_eq!(reply.kept, kept, "{echo}"),
            other => panic!("{echo}: {other:?}"),
        }
    }
    let begun = json!({ "type": "response.created", "response": { "previous_response_id": null } });
    assert_eq!(recalled(ALL, &begun), Err(Error::ChainLost));
    assert_eq!(recalled(Memory { recall: false, ..ALL }, &begun), Ok(Progress::More));
}

#[test]
fn a_detail_throws_no_reply_away() {
    let odd = json!([
        { "type": "message", "content": null },
        { "type": "message", "content": "Plain." },
        { "type": "message", "content": [
            { "type": "output_text", "text": null }, { "type": "text", "text": "Old." }, 7,
        ]},
        { "type": "function_call", "name": "look", "call_id": "a", "arguments": { "at": 1 } },
        { "type": "function_call", "name": "look", "call_id": "a", "id": "fc_1", "arguments": null },
        { "type": "function_call", "name": "look", "call_id": "" },
        { "type": "function_call", "name": "look", "call_id": 7, "arguments": "{}" },
        { "type": "function_call", "call_id": "b", "arguments": "{}" },
        null,
    ]);
    let mut event = completed(odd);
    event["response"]["id"] = json!(7);
    event["response"]["model"] = json!(["m"]);
    let Ok(Progress::Done(reply)) = recalled(ALL, &event) else { panic!("no reply") };
    assert_eq!(reply.text, "Plain.\n\nOld.");
    let calls: Vec<(&str, &str)> =
        reply.calls.iter().map(|call| (call.call_id.as_str(), call.arguments.as_str())).collect();
    let minted = ["call_000000000000000702", "call_000000000000000703"];
    assert_eq!(calls, [("a", r#"{"at":1}"#), ("fc_1", "{}"), (minted[0], "{}"), (minted[1], "{}")]);
    assert!(!reply.kept, "the provider can't match outputs with ids that it never gave");
    assert_eq!(reply.response_id, "unnamed_0000000000000007");
}

#[test]
fn a_reply_that_ran_out_of_tokens_ends_with_the_text_so_far() {
    let incomplete = |output: Value| {
        let mut event = completed(output);
        event["type"] = json!("response.incomplete");
        event["response"]["incomplete_details"] = json!({ "reason": "max_output_tokens" });
        event
    };
    let (text, _) = reply(&[delta(0, 0, "Half"), incomplete(json!([message(&["Half"])]))]);
    assert_eq!((text.text.as_str(), text.cut_short), ("Half", true));
    let Ok(Progress::Done(cut)) = recalled(ALL, &incomplete(json!([message(&["Half"]), call("a")]))) else {
        panic!("no reply")
    };
    assert_eq!((cut.calls.len(), cut.kept), (0, false), "a call that may be half of one is not made");
    assert_eq!(error(incomplete(json!([call("a")]))), Error::Incomplete);
}

#[test]
fn an_event_without_a_type_is_told_by_its_field_or_its_looks() {
    let mut untyped = completed(json!([message(&["Hi."])]));
    untyped.as_object_mut().unwrap().remove("type");
    let push = |kind: &str, event: &Value| {
        Fold::default().push(kind, &event.to_string(), &mut Observer::of(&mut |_| {}))
    };
    assert!(matches!(push("response.completed", &untyped), Ok(Progress::Done(_))));
    assert_eq!(push("message", &untyped), Ok(Progress::More), "it could be anything");
    let mut whole = untyped["response"].clone();
    whole["object"] = json!("response");
    assert!(matches!(push("", &whole), Ok(Progress::Done(_))));
    whole["status"] = json!("failed");
    whole["error"] = json!({ "code": "rate_limit_exceeded" });
    assert_eq!(push("", &whole), Err(Error::RateLimited { retry_after: None }));
    let bare = json!({ "error": { "message": "m", "type": "InternalServerError", "code": 500 } });
    assert_eq!(push("message", &bare), Err(Error::UNAVAILABLE));
    assert_eq!(push("", &json!({})), Ok(Progress::More));
}

#[test]
fn usage_is_read_however_it_is_written() {
    let usage = |usage: Value| {
        let mut event = completed(json!([message(&["Hi."])]));
        event["response"]["usage"] = usage;
        told(&event).0.map(|usage| (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens))
    };
    assert_eq!(usage(json!({ "input_tokens": 10.0, "output_tokens": 4.6 })), Some((10, 5, 15)));
    assert_eq!(
        usage(json!({ "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": null })),
        Some((1, 2, 3))
    );
    assert_eq!(usage(json!({ "input_tokens": -1, "output_tokens": "many" })), Some((0, 0, 0)));
    assert_eq!(usage(json!("none")), None);
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
fn more_calls_than_can_be_answered_are_malformed() {
    let many: Vec<Value> = (0..=items::MOST_CALLS).map(|n| call(&n.to_string())).collect();
    assert_eq!(error(completed(Value::Array(many))), Error::Malformed);
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
        assert_eq!(Fold::default().push("", data, &mut Observer::of(&mut |_| {})), Ok(Progress::More));
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
    assert_eq!(incomplete("max_output_tokens"), Error::Incomplete, "there is no text to end with");
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
    for data in ["{", "[]", "7", r#"{"type":"response.completed"}"#] {
        assert_eq!(
            Fold::default().push("", data, &mut Observer::of(&mut |_| {})),
            Err(Error::Malformed),
            "{data}"
        );
    }
}

#[test]
fn text_is_bounded() {
    let half = "x".repeat(MOST_TEXT / 2 + 1);
    assert_eq!(folded(&[delta(0, 0, &half), delta(0, 0, &half)]).0, Err(Error::Malformed));
}

#[test]
fn reasoning_is_kept_in_its_place_when_it_can_be_told_again_and_never_fails_a_reply() {
    let reasoning = |id: Value, encrypted: Value| {
        json!({ "type": "reasoning", "id": id, "summary": [{ "type": "summary_text", "text": "Look." }],
            "encrypted_content": encrypted })
    };
    let output = json!([
        reasoning(json!("rs_1"), json!("gAAAA")),
        call("call_1"),
        reasoning(json!("rs_2"), Value::Null),
        reasoning(json!(7), json!("gBBBB")),
        { "type": "reasoning", "summary": "none" },
        reasoning(json!("rs_3"), json!("gCCCC")),
        call("call_2"),
    ]);
    let (reply, _) = reply(&[completed(output)]);
    let kept: Vec<_> = reply.reasoning.iter().map(|kept| (kept.calls_before, kept.id.as_str())).collect();
    assert_eq!(kept, [(0, "rs_1"), (1, "rs_3")]);
    assert_eq!((reply.reasoning[0].encrypted.as_str(), reply.reasoning[0].summary.len()), ("gAAAA", 1));
}
