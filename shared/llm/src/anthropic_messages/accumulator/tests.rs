use serde_json::json;

use super::*;

/// Reads the events. Returns the end, the emitted text and the usage.
fn read(events: &[Value]) -> (Result<Reply, Error>, String, Option<contracts::Usage>) {
    let mut text = String::new();
    let mut deltas = |delta: &str| text.push_str(delta);
    let mut observer = Observer::new(&mut deltas);
    let mut accumulator = Accumulator::new(7);
    let mut end = None;
    for event in events {
        match accumulator.push("", &event.to_string(), &mut observer) {
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

fn start() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_1", "model": "claude-1",
        "usage": { "input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1 },
    } })
}

fn block(index: u32, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u32, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn text(index: u32, text: &str) -> Value {
    delta(index, json!({ "type": "text_delta", "text": text }))
}

fn stop(reason: &str) -> [Value; 2] {
    let delta = json!({ "stop_reason": reason });
    [
        json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 5 } }),
        json!({ "type": "message_stop" }),
    ]
}

#[test]
fn text_thinking_calls_and_usage_are_collected() {
    let [last, end] = stop("tool_use");
    let events = [
        start(),
        json!({ "type": "ping" }),
        block(0, json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "Hm" })),
        delta(0, json!({ "type": "thinking_delta", "thinking": "m." })),
        delta(0, json!({ "type": "signature_delta", "signature": "sig" })),
        json!({ "type": "content_block_stop", "index": 0 }),
        block(1, json!({ "type": "text", "text": "" })),
        text(1, "Loo"),
        text(1, "king."),
        block(2, json!({ "type": "tool_use", "id": "toolu_1", "name": "look", "input": {} })),
        delta(2, json!({ "type": "input_json_delta", "partial_json": "{\"at\":" })),
        delta(2, json!({ "type": "input_json_delta", "partial_json": "1}" })),
        block(3, json!({ "type": "redacted_thinking", "data": "enc" })),
        block(4, json!({ "type": "tool_use", "id": "toolu_2", "name": "list", "input": {} })),
        json!({ "type": "novelty" }),
        last,
        end,
    ];
    let (reply, text, usage) = read(&events);
    let reply = reply.unwrap();
    assert_eq!(
        (reply.text.as_str(), text.as_str(), reply.model.as_str()),
        ("Looking.", "Looking.", "claude-1")
    );
    assert_eq!((reply.response_id.as_str(), reply.is_stored), ("msg_1", false));
    let calls: Vec<(&str, &str)> =
        reply.calls.iter().map(|call| (&*call.call_id, &*call.arguments)).collect();
    assert_eq!(calls, [("toolu_1", "{\"at\":1}"), ("toolu_2", "{}")]);
    let [thinking, redacted] = reply.reasoning.as_slice() else { panic!("{:?}", reply.reasoning) };
    assert_eq!((thinking.calls_before, thinking.encrypted.as_str()), (0, "sig"));
    assert_eq!(thinking.summary[0]["thinking"], "Hmm.");
    assert_eq!((redacted.calls_before, redacted.encrypted.as_str()), (1, "enc"));
    let usage = usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens), (14, 5, Some(4)));
}

#[test]
fn ends_are_classified() {
    let ended = |said: &str, reason: &str| {
        let [last, end] = stop(reason);
        read(&[start(), text(0, said), last, end]).0
    };
    assert!(ended("Half", "max_tokens").unwrap().is_truncated);
    assert_eq!(ended("", "max_tokens"), Err(Error::Incomplete));
    assert_eq!(ended("", "model_context_window_exceeded"), Err(Error::ContextTooLong));
    assert_eq!(ended("Half", "refusal"), Err(Error::ContentFiltered));
    assert_eq!(ended("Yes.", "end_turn").unwrap().text, "Yes.");
}

#[test]
fn error_event_reports_its_cause_and_the_usage_so_far() {
    let error = |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "m" } });
    let (end, _, usage) = read(&[start(), error("overloaded_error")]);
    assert_eq!((end, usage.map(|usage| usage.prompt_tokens)), (Err(Error::UNAVAILABLE), Some(14)));
    assert_eq!(read(&[error("rate_limit_error")]).0, Err(Error::RateLimited { retry_after: None }));
}

#[test]
fn stream_is_complete_with_its_stop_reason_alone() {
    let [last, _] = stop("end_turn");
    assert!(read(&[start(), text(0, "Yes."), last]).0.is_ok());
    let (end, text, usage) = read(&[start(), text(0, "Ha")]);
    assert_eq!((end, text.as_str(), usage.is_some()), (Err(Error::Malformed), "Ha", true));
}

#[test]
fn whole_message_is_read_like_a_stream() {
    let message = json!({
        "type": "message", "id": "msg_1", "model": "claude-1", "stop_reason": "tool_use",
        "content": [
            { "type": "text", "text": "Yes." },
            { "type": "tool_use", "id": "toolu_1", "name": "look", "input": { "at": 1 } },
        ],
        "usage": { "input_tokens": 1, "output_tokens": 2 },
    });
    let (reply, text, usage) = read(&[message]);
    let reply = reply.unwrap();
    assert_eq!((text.as_str(), reply.calls[0].arguments.as_str()), ("Yes.", "{\"at\":1}"));
    assert_eq!(usage.map(|usage| usage.total_tokens), Some(3));
}

#[test]
fn size_and_blocks_of_a_reply_are_limited() {
    let half = "x".repeat(crate::accumulator::MAX_TEXT / 2 + 1);
    let twice = |started: Value, delta: Value| read(&[start(), started, delta.clone(), delta]).0;
    let thinking = block(0, json!({ "type": "thinking" }));
    let thought = delta(0, json!({ "type": "thinking_delta", "thinking": half }));
    assert_eq!(twice(thinking, thought), Err(Error::Malformed));
    let call = || block(0, json!({ "type": "tool_use", "id": "toolu_1", "name": "look", "input": {} }));
    let input = delta(0, json!({ "type": "input_json_delta", "partial_json": half }));
    assert_eq!(twice(call(), input), Err(Error::Malformed));
    assert_eq!(twice(block(0, json!({ "type": "text" })), text(0, &half)), Err(Error::Malformed));
    let many: Vec<Value> = std::iter::once(start()).chain((0..=1_024).map(|_| call())).collect();
    assert_eq!(read(&many).0, Err(Error::Malformed));
}
