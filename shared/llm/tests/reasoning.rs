//! Reasoning is passed on while it is written, on every wire, and is no text of the reply.

#![allow(clippy::unwrap_used, clippy::panic)]

use llm::accumulator::{Progress, StateOptions};
use llm::reader::Reader;
use llm::sse::Limits;
use llm::{Observer, Wire};
use serde_json::{Value, json};

/// Reads a stream. Returns the text and the reasoning.
fn read(wire: Wire, stream: &str) -> (String, String) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let (mut on_text, mut on_reasoning) =
        (|piece: &str| text.push_str(piece), |piece: &str| reasoning.push_str(piece));
    let mut reader = Reader::new(Limits::default(), wire, StateOptions::default(), 7);
    let mut observer = Observer::new(&mut on_text).with_reasoning(&mut on_reasoning);
    let pushed = reader.push(stream.as_bytes(), &mut observer).unwrap();
    if matches!(pushed, Progress::Pending) {
        reader.finish(&mut observer).unwrap();
    }
    (text, reasoning)
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn summary(kind: &str, part: u32, name: &str, text: &str) -> Value {
    json!({ "type": format!("response.{kind}"), "item_id": "rs_1", "output_index": 0, "summary_index": part, name: text })
}

#[test]
fn summaries_of_the_responses_wire_are_passed_on_part_by_part() {
    let end = json!({ "type": "response.completed", "response": { "id": "r", "output": [
        { "type": "message", "content": [{ "type": "output_text", "text": "Yes." }] },
    ] } });
    let text = json!({ "type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Yes." });
    // A character in two halves.
    let half = r#"data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Now \ud83d"}"#;
    let rest = r#"data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"\ude00"}"#;
    let stream = events(&[
        summary("reasoning_summary_text.delta", 0, "delta", "Let"),
        summary("reasoning_summary_text.delta", 0, "delta", " me."),
        summary("reasoning_summary_text.done", 0, "text", "Let me."),
    ]) + &format!("{half}\n\n{rest}\n\n")
        + &events(&[
            summary("reasoning_summary_text.done", 2, "text", "No deltas."),
            text.clone(),
            end.clone(),
        ]);
    let expected = ("Yes.".to_owned(), "Let me.\n\nNow \u{1f600}\n\nNo deltas.".to_owned());
    assert_eq!(read(Wire::Responses, &stream), expected);
    // Servers of open models send the reasoning itself.
    let piece = json!({ "type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "Hm." });
    assert_eq!(read(Wire::Responses, &events(&[piece, text, end])), ("Yes.".to_owned(), "Hm.".to_owned()));
}

#[test]
fn reasoning_of_chat_completions_is_passed_on_under_either_name() {
    for name in ["reasoning_content", "reasoning"] {
        let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
        let stream = events(&[
            delta(json!({ name: "Let" })),
            delta(json!({ name: " me." })),
            delta(json!({ "content": "Yes." })),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
        ]) + "data: [DONE]\n\n";
        assert_eq!(read(Wire::ChatCompletions, &stream), ("Yes.".to_owned(), "Let me.".to_owned()), "{name}");
    }
}

#[test]
fn thinking_blocks_of_anthropic_are_parts() {
    let block = |index: u32, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta =
        |index: u32, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let thinking = |index, text: &str| delta(index, json!({ "type": "thinking_delta", "thinking": text }));
    let stream = events(&[
        json!({ "type": "message_start", "message": { "id": "m" } }),
        block(0, json!({ "type": "thinking", "thinking": "" })),
        thinking(0, "Let"),
        thinking(0, " me."),
        block(1, json!({ "type": "redacted_thinking", "data": "AAAA" })),
        block(2, json!({ "type": "thinking", "thinking": "" })),
        thinking(2, "Now."),
        delta(3, json!({ "type": "text_delta", "text": "Yes." })),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
        json!({ "type": "message_stop" }),
    ]);
    assert_eq!(read(Wire::AnthropicMessages, &stream), ("Yes.".to_owned(), "Let me.\n\nNow.".to_owned()));
}

#[test]
fn reasoning_content_of_converse_is_passed_on() {
    let reasoning =
        |text: &str| json!({ "reasoningContent": { "reasoningText": { "text": text, "signature": "s" } } });
    let content = json!([reasoning("Let me."), reasoning("Now."), { "text": "Yes." }]);
    let whole = json!({ "output": { "message": { "role": "assistant", "content": content } }, "stopReason": "end_turn" });
    let expected = ("Yes.".to_owned(), "Let me.\n\nNow.".to_owned());
    assert_eq!(read(Wire::BedrockConverse, &whole.to_string()), expected);
}
