//! Replies, buffered and streamed.

use serde_json::json;

use crate::{Server, asking, text_of, types};

#[tokio::test]
async fn reply_without_a_script_echoes_the_input() {
    let server = Server::new();
    let first = server.reply(&asking("Tell me a joke.")).await;
    let text = text_of(&first);
    assert!(text.contains("mock model"), "{text}");
    assert!(text.contains("the mode is general"), "{text}");
    assert!(text.contains("Tell me a joke."), "{text}");
    assert!(text.contains("first turn"), "{text}");

    let mut chained = asking("Another one.");
    chained["previous_response_id"] = first["id"].clone();
    let second = server.reply(&chained).await;
    assert!(text_of(&second).contains("One turn"), "{second}");
    assert_eq!(second["previous_response_id"], first["id"]);
}

#[tokio::test]
async fn a_stream_announces_fills_and_finishes_each_item() {
    let server = Server::new();
    let events = server
        .events(asking(r#"Go. [[script: say "Two words."; call read_file {"path":"a]].rs"}; call list {}]]"#))
        .await;
    assert_eq!(
        types(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], json!(index));
    }
    let response = &events.last().unwrap()["response"];
    assert_eq!(text_of(response), "Two words.");
    assert_eq!(response["output"][1]["arguments"], r#"{"path":"a]].rs"}"#);
    assert_eq!(response["output"][2]["name"], "list");
    assert_eq!(response["status"], "completed");
    assert_eq!(response["usage"]["total_tokens"], {
        let usage = &response["usage"];
        usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap()
    });
    assert_eq!(server.recorder.abandoned(), 0);
}

#[tokio::test]
async fn steps_after_then_answer_the_tool_results() {
    let server = Server::new();
    let called = server.reply(&asking(r#"[[script: call look {}; then; say "Found it."]]"#)).await;
    let mut results = asking("Go on from the tool results.");
    results["previous_response_id"] = called["id"].clone();
    let output = json!({
        "type": "function_call_output", "call_id": called["output"][0]["call_id"], "output": "42",
    });
    results["input"].as_array_mut().unwrap().insert(0, output);
    for _ in 0..2 {
        assert_eq!(text_of(&server.reply(&results).await), "Found it.");
    }
}

#[tokio::test]
async fn chains_survive_a_restart() {
    let called = Server::new().reply(&asking("[[script: call look {}]]")).await;
    let mut results = asking("Go on.");
    results["previous_response_id"] = called["id"].clone();
    let restarted = Server::new();
    assert_eq!(restarted.send(&results).await.status(), 400);
    let output = json!({
        "type": "function_call_output", "call_id": called["output"][0]["call_id"], "output": "42",
    });
    results["input"].as_array_mut().unwrap().insert(0, output);
    let reply = restarted.reply(&results).await;
    assert!(text_of(&reply).contains("Tool results received: 42"), "{reply}");
}

#[tokio::test]
async fn only_the_newest_instruction_can_hold_a_script() {
    let server = Server::new();
    let mut request = asking("Plain.");
    let input = request["input"].as_array_mut().unwrap();
    let part = json!({ "type": "input_text", "text": "[CONTEXT]\n[[script: say \"context\"]]" });
    input[0]["content"].as_array_mut().unwrap().push(part);
    let old = asking(r#"[[script: say "old"]]"#)["input"][0].clone();
    input.insert(0, old);
    assert!(text_of(&server.reply(&request).await).contains("Plain."));
}

#[tokio::test]
async fn scripted_refusal_and_usage_are_returned() {
    let server = Server::new();
    let reply = server
        .reply(&asking(r#"[[script: refuse "No, thank you."; usage 100 20 cached 5 written 3 reasoning 7]]"#))
        .await;
    assert_eq!(reply["output"][0]["content"][0], json!({ "type": "refusal", "refusal": "No, thank you." }));
    assert_eq!(
        reply["usage"],
        json!({
            "input_tokens": 100, "input_tokens_details": { "cached_tokens": 5, "cache_write_tokens": 3 },
            "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 7 },
            "total_tokens": 120,
        })
    );
}

#[tokio::test]
async fn requests_are_recorded_without_the_key() {
    let server = Server::new();
    server.reply(&asking("Hello.")).await;
    assert_eq!(server.recorder.count(), 1);
    let recorded = &server.recorder.requests()[0];
    assert_eq!(recorded["body"], asking("Hello."));
    assert_eq!(recorded["headers"]["authorization"], "present");
}
