use super::*;

/// Reads the chunks. Returns the end, the emitted text and the usage.
fn read(chunks: &[Value], done: bool) -> (Result<Reply, Error>, String, Option<contracts::Usage>) {
    let mut text = String::new();
    let mut deltas = |delta: &str| text.push_str(delta);
    let mut observer = Observer::new(&mut deltas);
    let mut accumulator = Accumulator::new(7);
    let mut end = None;
    let data = chunks.iter().map(Value::to_string).chain(done.then(|| "[DONE]".to_owned()));
    for data in data {
        match accumulator.push("message", &data, &mut observer) {
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

fn delta(delta: Value) -> Value {
    json!({ "id": "c1", "model": "m1", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn piece(index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let function = json!({ "name": name, "arguments": arguments });
    delta(json!({ "tool_calls": [{ "index": index, "id": id, "function": function }] }))
}

fn calls(reply: &Reply) -> Vec<(&str, &str, &str)> {
    reply.calls.iter().map(|call| (&*call.call_id, &*call.name, &*call.arguments)).collect()
}

#[test]
fn text_calls_reasoning_and_usage_are_collected() {
    let chunks = [
        delta(json!({ "role": "assistant", "content": "", "reasoning_content": "Hm" })),
        delta(json!({ "reasoning_content": "m." })),
        delta(json!({ "content": "Loo" })),
        delta(json!({ "content": "king." })),
        piece(0, Some("a"), Some("look"), ""),
        piece(0, None, None, "{\"at\":"),
        piece(0, None, None, "1}"),
        piece(1, Some("b"), Some("list"), ""),
        finish("tool_calls"),
        json!({ "choices": [], "usage": {
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": { "cached_tokens": 4 },
            "completion_tokens_details": { "reasoning_tokens": 2 },
        } }),
    ];
    let (reply, text, usage) = read(&chunks, true);
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), text.as_str(), reply.model.as_str()), ("Looking.", "Looking.", "m1"));
    assert_eq!((reply.response_id.as_str(), reply.is_stored), ("c1", false));
    assert_eq!(calls(&reply), [("a", "look", "{\"at\":1}"), ("b", "list", "{}")]);
    let reasoning: Vec<(&str, &str)> =
        reply.reasoning.iter().map(|item| (&*item.id, &*item.encrypted)).collect();
    assert_eq!(reasoning, [("reasoning_content", "Hmm.")]);
    let usage = usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (10, 5, 15));
    assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (Some(4), Some(2)));
}

#[test]
fn parallel_calls_are_told_apart_without_indices_and_ids() {
    let same_index =
        [piece(0, Some("a"), Some("look"), "{}"), piece(0, Some("b"), Some("look"), "{}"), finish("stop")];
    let (reply, ..) = read(&same_index, true);
    assert_eq!(calls(&reply.unwrap()), [("a", "look", "{}"), ("b", "look", "{}")]);
    let no_ids = [piece(0, None, Some("look"), "{}"), piece(0, None, Some("list"), "{}"), finish("stop")];
    let (reply, ..) = read(&no_ids, true);
    let reply = reply.unwrap();
    let names: Vec<&str> = reply.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["look", "list"]);
    assert_ne!(reply.calls[0].call_id, reply.calls[1].call_id);
}

#[test]
fn calls_without_arguments_or_names_are_not_joined_with_others() {
    let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "function": { "name": name, "arguments": arguments } });
    let all = [
        call("a", "look", ""),
        call("b", "look", "{\"at\":1}"),
        call("c", "", "{\"at\":1}"),
        call("d", "look", "[1]"),
        call("e", "look", "null"),
    ];
    let message = json!({ "message": { "tool_calls": all }, "finish_reason": "tool_calls" });
    let (reply, ..) = read(&[json!({ "choices": [message] })], true);
    let expected = [
        ("a", "look", "{}"),
        ("b", "look", "{\"at\":1}"),
        ("c", "", "{\"at\":1}"),
        ("d", "look", "[1]"),
        ("e", "look", "null"),
    ];
    assert_eq!(calls(&reply.unwrap()), expected);
    let nameless = [
        piece(0, Some("a"), Some("look"), "{}"),
        piece(1, Some("b"), None, ""),
        piece(1, None, None, "{}"),
        finish("tool_calls"),
    ];
    let (reply, ..) = read(&nameless, true);
    assert_eq!(calls(&reply.unwrap()), [("a", "look", "{}"), ("b", "", "{}")]);
}

#[test]
fn signature_of_a_call_is_kept_at_its_place() {
    let mut signed = piece(1, Some("b"), Some("look"), "{}");
    signed["choices"][0]["delta"]["tool_calls"][0]["extra_content"] =
        json!({ "google": { "thought_signature": "sig" } });
    let (reply, ..) = read(&[piece(0, Some("a"), Some("look"), "{}"), signed, finish("tool_calls")], true);
    let reply = reply.unwrap();
    assert_eq!((reply.reasoning[0].calls_before, reply.reasoning[0].encrypted.as_str()), (1, "sig"));
}

#[test]
fn stream_is_complete_with_done_or_a_finish_reason() {
    let said = delta(json!({ "content": "Yes." }));
    assert!(read(std::slice::from_ref(&said), true).0.is_ok(), "[DONE]");
    assert!(read(&[said.clone(), finish("stop")], false).0.is_ok(), "a finish reason");
    assert_eq!(read(&[said], false).0, Err(Error::Malformed), "cut");
}

#[test]
fn ends_are_classified() {
    let said = || delta(json!({ "content": "Half" }));
    let end = |chunks: &[Value]| read(chunks, true).0;
    assert!(end(&[said(), finish("length")]).unwrap().is_truncated);
    assert_eq!(end(&[finish("length")]), Err(Error::Incomplete));
    assert_eq!(end(&[said(), finish("content_filter")]), Err(Error::ContentFiltered));
    assert_eq!(end(&[said(), finish("error")]), Err(Error::UNAVAILABLE));
    let refused = end(&[delta(json!({ "refusal": "No." })), finish("stop")]).unwrap();
    assert_eq!(refused.text, "No.");
    let error = |code: &str| json!({ "error": { "code": code, "message": "m" } });
    assert_eq!(end(&[said(), error("rate_limit_exceeded")]), Err(Error::RateLimited { retry_after: None }));
    assert_eq!(end(&[error("context_length_exceeded")]), Err(Error::ContextTooLong));
    assert_eq!(end(&[error("odd")]), Err(Error::UNAVAILABLE));
}

#[test]
fn malformed_details_do_not_discard_a_reply() {
    let odd = json!({
        "id": 7, "model": null, "choices": [{ "delta": {
            "content": [{ "type": "thinking", "thinking": [] }, { "type": "text", "text": "Yes." }],
            "tool_calls": [{ "function": { "name": "look", "arguments": { "at": 1 } } }],
        }, "finish_reason": "tool_calls" }],
        "usage": { "prompt_tokens": 10.0, "completion_tokens": "many" },
    });
    let (reply, text, usage) = read(&[odd], true);
    let reply = reply.unwrap();
    assert_eq!((text.as_str(), reply.calls[0].arguments.as_str()), ("Yes.", "{\"at\":1}"));
    assert!(reply.response_id.starts_with("unnamed_") && reply.calls[0].call_id.len() == 9);
    assert_eq!(usage.map(|usage| usage.total_tokens), Some(10));
}

#[test]
fn whole_completion_is_read_like_a_stream() {
    let whole = json!({ "id": "c1", "object": "chat.completion", "model": "m1", "choices": [
        { "index": 0, "message": { "role": "assistant", "content": "Yes." }, "finish_reason": "stop" },
    ], "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 } });
    let (reply, text, usage) = read(&[whole], false);
    assert_eq!((reply.unwrap().text.as_str(), text.as_str()), ("Yes.", "Yes."));
    assert_eq!(usage.map(|usage| usage.total_tokens), Some(2));
}

#[test]
fn size_and_calls_of_a_reply_are_limited() {
    let half = "x".repeat(MAX_TEXT / 2 + 1);
    let twice = |chunk: Value| read(&[chunk.clone(), chunk], true).0;
    assert_eq!(twice(delta(json!({ "content": half }))), Err(Error::Malformed));
    assert_eq!(twice(delta(json!({ "reasoning": half }))), Err(Error::Malformed));
    assert_eq!(twice(piece(0, Some("a"), Some("look"), &half)), Err(Error::Malformed));
    let many: Vec<Value> = (0..=128).map(|n| piece(n, Some(&n.to_string()), Some("look"), "{}")).collect();
    assert_eq!(read(&many, true).0, Err(Error::Malformed));
}

#[test]
fn empty_error_in_a_chunk_is_none() {
    for error in [json!(null), json!(false), json!(""), json!({}), json!([])] {
        let mut chunk = delta(json!({ "content": "Yes." }));
        chunk["error"] = error.clone();
        let (reply, ..) = read(&[chunk, finish("stop")], true);
        assert_eq!(reply.map(|reply| reply.text).as_deref(), Ok("Yes."), "{error}");
    }
}

#[test]
fn completion_at_the_end_of_its_stream_adds_nothing() {
    let message = json!({
        "content": "Yes.", "reasoning_content": "Hm.",
        "tool_calls": [{ "id": "a", "function": { "name": "look", "arguments": { "at": 1 } } }],
    });
    let chunks = [
        delta(json!({ "reasoning_content": "Hm." })),
        delta(json!({ "content": "Ye" })),
        piece(0, Some("a"), Some("look"), "{\"at\":1}"),
        json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] }),
    ];
    let (reply, text, _) = read(&chunks, true);
    let reply = reply.unwrap();
    assert_eq!((text.as_str(), calls(&reply).as_slice()), ("Yes.", &[("a", "look", "{\"at\":1}")][..]));
    assert_eq!(reply.reasoning.len(), 1);
    assert_eq!(reply.reasoning[0].encrypted, "Hm.");
}
