use serde_json::{Value, json};

use super::*;
use agent::model::MessagePhase;

/// Accumulates the events. Returns the progress and the emitted text.
fn accumulated(events: &[Value]) -> (Result<Progress, Error>, Vec<String>) {
    let mut accumulator = Accumulator::default();
    let mut pieces = Vec::new();
    let mut progress = Ok(Progress::Pending);
    for event in events {
        let mut deltas = |piece: &str| pieces.push(piece.to_owned());
        progress = accumulator.push("", &event.to_string(), &mut Observer::new(&mut deltas));
        if progress != Ok(Progress::Pending) {
            break;
        }
    }
    (progress, pieces)
}

fn reply(events: &[Value]) -> (Reply, Vec<String>) {
    match accumulated(events) {
        (Ok(Progress::Complete(reply)), pieces) => (reply, pieces),
        other => panic!("no reply: {other:?}"),
    }
}

fn error(event: Value) -> Error {
    accumulated(&[event]).0.unwrap_err()
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
fn text_deltas_are_forwarded_in_order() {
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
fn failed_or_incomplete_reply_keeps_its_id() {
    let ended = |kind: &str, status: &str| {
        let event = json!({"type": kind, "response": {"id": "resp_9", "status": status, "output": []}});
        let mut ignore = |_: &str| {};
        let mut observer = Observer::new(&mut ignore);
        let reply = Accumulator::default().push("", &event.to_string(), &mut observer);
        (reply.is_err(), observer.failed_response_id)
    };
    let expected = (true, Some("resp_9".to_owned()));
    assert_eq!(ended("response.failed", "failed"), expected);
    assert_eq!(ended("response.incomplete", "incomplete"), expected);
    assert_eq!(ended("response.completed", "incomplete"), expected, "some servers end it this way");
    assert_eq!(ended("response.completed", "completed"), (false, None));
}

/// Returns the usage and the capture of an event.
fn observed(event: &Value) -> (Option<Usage>, Value) {
    let mut ignore = |_: &str| {};
    let mut observer = Observer::new(&mut ignore).with_raw_payloads(true);
    let _ = Accumulator::default().push("", &event.to_string(), &mut observer);
    (observer.usage, serde_json::from_slice(&observer.raw.unwrap().response).unwrap())
}

#[test]
fn usage_is_reported_for_every_outcome() {
    let mut event = completed(json!([]));
    for end in ["completed", "failed", "incomplete"] {
        event["type"] = json!(format!("response.{end}"));
        let (usage, raw) = observed(&event);
        let usage = usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (10, 5, 15));
        assert_eq!((usage.cached_tokens, usage.cache_write_tokens), (Some(4), Some(3)));
        assert_eq!(usage.reasoning_tokens, Some(2));
        assert_eq!(raw, event["response"], "the response is captured unchanged");
    }
    let bare = json!({ "type": "error", "code": "server_error" });
    assert_eq!(observed(&bare), (None, bare));
}

#[test]
fn segments_are_joined_by_a_blank_line_while_streaming() {
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
fn unstreamed_text_is_emitted_at_the_end() {
    let (all_at_once, pieces) = reply(&[completed(json!([message(&["All at once."])]))]);
    assert_eq!((all_at_once.text.as_str(), pieces), ("All at once.", vec!["All at once.".to_owned()]));

    let (rest, pieces) = reply(&[delta(0, 0, "Most"), completed(json!([message(&["Most of it."])]))]);
    assert_eq!(rest.text, "Most of it.");
    assert_eq!(pieces.concat(), rest.text);
}

#[test]
fn final_text_wins_and_is_marked_as_restated() {
    let (other, pieces) = reply(&[delta(0, 0, "Shown. "), completed(json!([message(&["Meant."])]))]);
    assert_eq!((other.text.as_str(), other.replaces_stream), ("Meant.", true));
    assert_eq!(pieces, ["Shown. "]);
    let (none, _) = reply(&[delta(0, 0, "Shown."), completed(json!([{ "type": "reasoning" }]))]);
    assert_eq!(
        (none.text.as_str(), none.replaces_stream),
        ("Shown.", false),
        "an empty final text keeps the emitted one"
    );
}

/// A request that stores its response and continues from a stored one.
const STORED_AND_CHAINED: StateOptions = StateOptions { store: true, chained: true };

/// Returns the progress after the terminal event of a request with this `state`.
fn reply_with_state(state: StateOptions, event: &Value) -> Result<Progress, Error> {
    Accumulator::new(state, 7).push("", &event.to_string(), &mut Observer::new(&mut |_| {}))
}

#[test]
fn reply_reports_whether_it_was_stored() {
    let event = |echo: Value| {
        let mut event = completed(json!([message(&["Hi."])]));
        event["response"].as_object_mut().unwrap().extend(echo.as_object().unwrap().clone());
        event
    };
    for (state, echo, stored) in [
        (STORED_AND_CHAINED, json!({ "store": true, "previous_response_id": "resp_0" }), true),
        (STORED_AND_CHAINED, json!({}), true),
        (STORED_AND_CHAINED, json!({ "store": false }), false),
        (STORED_AND_CHAINED, json!({ "previous_response_id": null }), false),
        (
            StateOptions { chained: false, ..STORED_AND_CHAINED },
            json!({ "previous_response_id": null }),
            true,
        ),
        (StateOptions { store: false, ..STORED_AND_CHAINED }, json!({ "store": true }), false),
        (STORED_AND_CHAINED, json!({ "id": null }), false),
    ] {
        match reply_with_state(state, &event(echo.clone())) {
            Ok(Progress::Complete(reply)) => assert_eq!(reply.is_stored, stored, "{echo}"),
            other => panic!("{echo}: {other:?}"),
        }
    }
    let created = json!({ "type": "response.created", "response": { "previous_response_id": null } });
    assert_eq!(reply_with_state(STORED_AND_CHAINED, &created), Err(Error::ChainLost));
    assert_eq!(
        reply_with_state(StateOptions { chained: false, ..STORED_AND_CHAINED }, &created),
        Ok(Progress::Pending)
    );
}

#[test]
fn malformed_details_do_not_discard_a_reply() {
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
    let Ok(Progress::Complete(reply)) = reply_with_state(STORED_AND_CHAINED, &event) else {
        panic!("no reply")
    };
    assert_eq!(reply.text, "Plain.\n\nOld.");
    let calls: Vec<(&str, &str)> =
        reply.calls.iter().map(|call| (call.call_id.as_str(), call.arguments.as_str())).collect();
    let [first, second, generated @ .., nameless] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((*first, *second, *nameless), (("a", r#"{"at":1}"#), ("fc_1", "{}"), ("b", "{}")));
    let ids: Vec<&str> = generated.iter().map(|(id, _)| *id).collect();
    assert!(matches!(ids.as_slice(), [one, other] if one != other && one.len() == 9), "{ids:?}");
    assert!(!reply.is_stored, "the provider can't match outputs with generated ids");
    assert_eq!(reply.response_id, "unnamed_0000000000000007");
}

#[test]
fn token_limit_returns_the_text_so_far() {
    let incomplete = |output: Value| {
        let mut event = completed(output);
        event["type"] = json!("response.incomplete");
        event["response"]["incomplete_details"] = json!({ "reason": "max_output_tokens" });
        event
    };
    let (text, _) = reply(&[delta(0, 0, "Half"), incomplete(json!([message(&["Half"])]))]);
    assert_eq!((text.text.as_str(), text.is_truncated), ("Half", true));
    let Ok(Progress::Complete(cut)) =
        reply_with_state(STORED_AND_CHAINED, &incomplete(json!([message(&["Half"]), call("a")])))
    else {
        panic!("no reply")
    };
    assert_eq!((cut.calls.len(), cut.is_stored), (0, false), "a truncated call is dropped");
    assert_eq!(error(incomplete(json!([call("a")]))), Error::Incomplete);
}

#[test]
fn untyped_event_is_recognized_by_field_or_shape() {
    let mut untyped = completed(json!([message(&["Hi."])]));
    untyped.as_object_mut().unwrap().remove("type");
    let push = |kind: &str, event: &Value| {
        Accumulator::default().push(kind, &event.to_string(), &mut Observer::new(&mut |_| {}))
    };
    assert!(matches!(push("response.completed", &untyped), Ok(Progress::Complete(_))));
    assert_eq!(push("message", &untyped), Ok(Progress::Pending), "the type is unknown");
    let mut document = untyped["response"].clone();
    document["object"] = json!("response");
    assert!(matches!(push("", &document), Ok(Progress::Complete(_))));
    document["status"] = json!("failed");
    document["error"] = json!({ "code": "rate_limit_exceeded" });
    assert_eq!(push("", &document), Err(Error::RateLimited { retry_after: None }));
    let bare = json!({ "error": { "message": "m", "type": "InternalServerError", "code": 500 } });
    assert_eq!(push("message", &bare), Err(Error::UNAVAILABLE));
    assert_eq!(push("", &json!({})), Ok(Progress::Pending));
}

#[test]
fn usage_is_read_in_every_notation() {
    let usage = |usage: Value| {
        let mut event = completed(json!([message(&["Hi."])]));
        event["response"]["usage"] = usage;
        observed(&event).0.map(|usage| (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens))
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
fn terminal_event_without_output_uses_finished_items() {
    let item_done = |item: Value| json!({ "type": "response.output_item.done", "item": item });
    let (reply, _) = reply(&[
        delta(0, 0, "Looking."),
        item_done(message(&["Looking."])),
        item_done(call("call_1")),
        completed(json!([])),
    ]);
    assert_eq!(reply.text, "Looking.");
    assert_eq!(reply.calls.len(), 1);
}

#[test]
fn calls_keep_the_models_order_alongside_text() {
    let (reply, _) = reply(&[completed(json!([call("call_b"), message(&["Looking."]), call("call_a"),]))]);
    let ids: Vec<&str> = reply.calls.iter().map(|call| call.call_id.as_str()).collect();
    assert_eq!(ids, ["call_b", "call_a"]);
    assert_eq!(reply.calls[0].name, "look");
    assert_eq!(reply.calls[0].arguments, "{}");
}

#[test]
fn too_many_calls_are_malformed() {
    let many: Vec<Value> = (0..=crate::tool_calls::MAX_CALLS).map(|n| call(&n.to_string())).collect();
    assert_eq!(error(completed(Value::Array(many))), Error::Malformed);
}

#[test]
fn phase_of_a_message_is_kept_with_its_text() {
    let phased = |text: &str, phase: &str| json!({ "type": "message", "id": text, "phase": phase, "content": [{ "type": "output_text", "text": text }] });
    let items = [phased("Looking.", "commentary"), phased("Done.", "final_answer"), phased("Odd.", "verse")];
    let done = items.clone().map(|item| json!({ "type": "response.output_item.done", "item": item }));
    for (events, output) in [(Vec::new(), json!(items)), (done.to_vec(), json!([]))] {
        let (reply, _) = reply(&[events, vec![completed(output)]].concat());
        assert_eq!(reply.text, "Looking.\n\nDone.\n\nOdd.");
        let phases: Vec<_> = reply.text_parts.iter().map(|part| part.phase).collect();
        assert_eq!(phases, [Some(MessagePhase::Commentary), Some(MessagePhase::FinalAnswer), None]);
    }
}

#[test]
fn refusal_is_text() {
    let (reply, pieces) = reply(&[
        json!({ "type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "No." }),
        completed(json!([{ "type": "message", "content": [{ "type": "refusal", "refusal": "No." }] }])),
    ]);
    assert_eq!(reply.text, "No.");
    assert_eq!(pieces, ["No."]);
}

#[test]
fn unknown_events_and_items_are_skipped() {
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
fn keep_alive_markers_are_skipped() {
    for data in ["[DONE]", "", " "] {
        assert_eq!(
            Accumulator::default().push("", data, &mut Observer::new(&mut |_| {})),
            Ok(Progress::Pending)
        );
    }
}

#[test]
fn usage_may_be_missing() {
    let mut event = completed(json!([]));
    event["response"]["usage"] = Value::Null;
    assert_eq!(observed(&event).0, None);
}

#[test]
fn failure_events_map_to_errors() {
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
fn unreadable_event_is_skipped_if_the_end_has_the_reply() {
    for (data, is_needed) in
        [("{", true), ("[]", true), ("7", false), ("ping", false), ("{\"type\":\"x.delta\"", true)]
    {
        let ended = |output: Value| {
            let mut accumulator = Accumulator::default();
            let mut ignore = |_: &str| {};
            let mut observer = Observer::new(&mut ignore);
            assert_eq!(accumulator.push("", data, &mut observer), Ok(Progress::Pending), "{data}");
            accumulator.push("", &completed(output).to_string(), &mut observer)
        };
        assert!(matches!(ended(json!([message(&["Hi."])])), Ok(Progress::Complete(_))), "{data}");
        assert_eq!(ended(json!([])).is_err(), is_needed, "{data}");
    }
}

#[test]
fn text_over_the_limit_is_malformed() {
    let half = "x".repeat(MAX_TEXT / 2 + 1);
    assert_eq!(accumulated(&[delta(0, 0, &half), delta(0, 0, &half)]).0, Err(Error::Malformed));
}

#[test]
fn announced_reasoning_and_hosted_calls_are_kept_once() {
    let reasoning = |id: &str, encrypted: Value| json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": encrypted });
    let search = |id: &str, status: &str| json!({ "type": "web_search_call", "id": id, "status": status });
    let event =
        |kind: &str, index: u32, item: Value| json!({ "type": kind, "output_index": index, "item": item });
    let (added, done) = ("response.output_item.added", "response.output_item.done");
    let whole = |thought: &str, found: &str| {
        json!([reasoning(thought, json!("gAAAA")), search(found, "completed"), message(&["One."])])
    };
    // Some gateways encrypt an id anew in each event.
    for (ids, last) in [
        (["rs_1", "ws_1"], whole("rs_1", "ws_1")),
        (["rs_1", "ws_1"], json!([])),
        (["rs_2", "ws_2"], whole("rs_3", "ws_3")),
    ] {
        let (reply, _) = reply(&[
            event(added, 0, reasoning("rs_1", Value::Null)),
            event(done, 0, reasoning(ids[0], json!("gAAAA"))),
            event(added, 1, search("ws_1", "in_progress")),
            event(done, 1, search(ids[1], "completed")),
            delta(2, 0, "One."),
            completed(last.clone()),
        ]);
        assert_eq!((reply.reasoning.len(), reply.hosted.len()), (1, 1), "{last}");
        assert_eq!(reply.reasoning[0].encrypted, "gAAAA");
        assert_eq!((reply.hosted[0].reasoning_before, &reply.text), (1, &"One.".to_owned()));
    }
}

#[test]
fn replayable_reasoning_keeps_its_position_and_never_fails_a_reply() {
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
    let positions: Vec<_> =
        reply.reasoning.iter().map(|item| (item.calls_before, item.id.as_str())).collect();
    assert_eq!(positions, [(0, "rs_1"), (1, "rs_3")]);
    assert_eq!((reply.reasoning[0].encrypted.as_str(), reply.reasoning[0].summary.len()), ("gAAAA", 1));
}
