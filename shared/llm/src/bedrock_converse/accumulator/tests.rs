use serde_json::json;

use super::*;

type Events = Vec<(&'static str, Value)>;

/// Reads the events. Returns the end, the emitted text and the usage.
fn read(events: Events) -> (Result<Reply, Error>, String, Option<contracts::Usage>) {
    let mut text = String::new();
    let mut deltas = |delta: &str| text.push_str(delta);
    let mut observer = Observer::new(&mut deltas);
    let mut accumulator = Accumulator::new(7);
    let mut end = None;
    for (kind, event) in events {
        match accumulator.push(kind, &event.to_string(), &mut observer) {
            Ok(Progress::Pending) => {}
            Ok(Progress::Complete(reply)) => end = Some(Ok(reply)),
            Err(error) => end = Some(Err(error)),
        }
        if end.is_some() {
            break;
        }
    }
    let end = end.unwrap_or_else(|| accumulator.finish(&mut observer));
    let usage = observer.usage;
    (end, text, usage)
}

fn delta(index: u32, delta: Value) -> (&'static str, Value) {
    ("contentBlockDelta", json!({ "contentBlockIndex": index, "delta": delta, "p": "abcd" }))
}

fn call(index: u32, id: &str, name: &str) -> (&'static str, Value) {
    let start = json!({ "toolUse": { "toolUseId": id, "name": name } });
    ("contentBlockStart", json!({ "contentBlockIndex": index, "start": start }))
}

fn stop(reason: &str) -> (&'static str, Value) {
    ("messageStop", json!({ "stopReason": reason }))
}

fn metadata() -> (&'static str, Value) {
    let usage = json!({
        "inputTokens": 10, "outputTokens": 5, "totalTokens": 19, "cacheReadInputTokens": 3, "cacheWriteInputTokens": 1,
    });
    ("metadata", json!({ "usage": usage, "metrics": { "latencyMs": 1 } }))
}

fn exception(name: &str, message: &str) -> (&'static str, Value) {
    (EXCEPTION, json!({ "type": name, "message": message }))
}

#[test]
fn text_reasoning_calls_and_usage_are_collected() {
    let reasoning =
        |index, member: &str, text: &str| delta(index, json!({ "reasoningContent": { member: text } }));
    let events = vec![
        ("messageStart", json!({ "role": "assistant" })),
        reasoning(0, "text", "Hm"),
        reasoning(0, "text", "m."),
        reasoning(0, "signature", "s"),
        reasoning(0, "signature", "ig"),
        ("contentBlockStop", json!({ "contentBlockIndex": 0 })),
        delta(1, json!({ "text": "Loo" })),
        delta(1, json!({ "text": "king." })),
        call(2, "tooluse_1", "look"),
        delta(2, json!({ "toolUse": { "input": "{\"at\":" } })),
        delta(2, json!({ "toolUse": { "input": "1}" } })),
        // Two pieces, each padded.
        reasoning(3, "redactedContent", "ZQ=="),
        reasoning(3, "redactedContent", "bmM="),
        call(4, "tooluse_2", "list"),
        (
            "contentBlockStart",
            json!({ "contentBlockIndex": 5, "start": { "toolUse": { "toolUseId": "s", "name": "grounding", "type": SERVER_TOOL } } }),
        ),
        delta(5, json!({ "toolUse": { "input": "{}" } })),
        delta(6, json!({ "citation": { "title": "t" } })),
        ("novelty", json!({ "depth": 1 })),
        stop("tool_use"),
        metadata(),
    ];
    let (reply, text, usage) = read(events);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), text.as_str(), reply.model.as_str()), ("Looking.", "Looking.", ""));
    let calls: Vec<(&str, &str)> =
        reply.calls.iter().map(|call| (&*call.call_id, &*call.arguments)).collect();
    assert_eq!(calls, [("tooluse_1", "{\"at\":1}"), ("tooluse_2", "{}")]);
    let [thinking, redacted] = reply.reasoning.as_slice() else { panic!("{:?}", reply.reasoning) };
    assert_eq!((thinking.calls_before, thinking.encrypted.as_str()), (0, "sig"));
    assert_eq!(thinking.summary[0]["thinking"], "Hmm.");
    assert_eq!((redacted.calls_before, redacted.encrypted.as_str()), (1, "ZW5j"));
    let usage = usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (14, 5));
    assert_eq!((usage.cached_tokens, usage.cache_write_tokens), (Some(3), Some(1)));
}

#[test]
fn ends_are_classified() {
    let ended =
        |said: &str, reason: &str| read(vec![delta(0, json!({ "text": said })), stop(reason), metadata()]);
    assert!(ended("Half", "max_tokens").0.unwrap().is_truncated);
    assert_eq!(ended("Yes.", "end_turn").0.unwrap().text, "Yes.");
    for (said, reason, expected) in [
        ("", "max_tokens", Error::Incomplete),
        ("", "model_context_window_exceeded", Error::ContextTooLong),
        ("Blocked.", "guardrail_intervened", Error::ContentFiltered),
        ("Half", "content_filtered", Error::ContentFiltered),
        ("Half", "malformed_tool_use", Error::Malformed),
    ] {
        let (end, _, usage) = ended(said, reason);
        assert_eq!((end, usage.map(|usage| usage.total_tokens)), (Err(expected), Some(19)), "{reason}");
    }
}

#[test]
fn exceptions_are_classified() {
    for (name, message, expected) in [
        ("throttlingException", "Too many tokens.", Error::RateLimited { retry_after: None }),
        ("modelStreamErrorException", "m", Error::UNAVAILABLE),
        ("internalServerException", "m", Error::UNAVAILABLE),
        ("serviceUnavailableException", "m", Error::UNAVAILABLE),
        ("InternalFailure", "m", Error::UNAVAILABLE),
        ("validationException", "m", Error::Rejected { status: 400 }),
        ("validationException", "Input is too long for requested model.", Error::ContextTooLong),
    ] {
        let (end, text, _) = read(vec![delta(0, json!({ "text": "Half" })), exception(name, message)]);
        assert_eq!((end, text.as_str()), (Err(expected), "Half"), "{name}");
    }
}

#[test]
fn stream_is_complete_with_its_stop_reason_alone() {
    let text = || delta(0, json!({ "text": "Yes." }));
    assert!(read(vec![text(), stop("end_turn")]).0.is_ok());
    assert_eq!(read(vec![text(), metadata()]).0, Err(Error::Malformed));
    let (_, _, usage) = read(vec![text(), metadata(), stop("end_turn")]);
    assert_eq!(usage.map(|usage| usage.prompt_tokens), Some(14), "in another order");
}

#[test]
fn size_and_blocks_of_a_reply_are_limited() {
    let half = "x".repeat(crate::accumulator::MAX_TEXT / 2 + 1);
    let twice = |first: Option<(&'static str, Value)>, delta: (&'static str, Value)| {
        read(first.into_iter().chain([delta.clone(), delta]).collect()).0
    };
    let input = delta(0, json!({ "toolUse": { "input": half } }));
    assert_eq!(twice(Some(call(0, "c", "look")), input), Err(Error::Malformed));
    for member in ["text", "signature", "redactedContent"] {
        let reasoning = delta(0, json!({ "reasoningContent": { member: half } }));
        assert_eq!(twice(None, reasoning), Err(Error::Malformed), "{member}");
    }
    assert_eq!(twice(None, delta(0, json!({ "text": half }))), Err(Error::Malformed));
    let many: Events = (0..=1_024).map(|_| call(0, "c", "look")).collect();
    assert_eq!(read(many).0, Err(Error::Malformed));
}
