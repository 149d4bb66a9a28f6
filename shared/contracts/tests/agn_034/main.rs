//! AGN-034, clause by clause: accepted requests, rejected requests, and the error messages.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use contracts::{
    AgentExecuteRequest, ErrorCode, ToolContinuation, UserTurn,
    request::{Contents, ImageType, Origin, RagOperator, RagValue, limits},
    response::ToolOutcome,
};
use serde_json::{Value, json};

mod section_2_1_user_turn_request;
mod section_2_2_tool_continuation_submission;
mod section_3_top_level_request_envelope;
mod section_4_1_instruction;
mod section_4_2_input_artifacts;
mod section_4_3_clipboard_images;
mod section_4_4_rag_scope_inputs;
mod section_4_5_solution_context_hints;
mod section_4_6_workspace_and_environment_hints;
mod section_4_7_streaming_preference;
mod section_5_tool_results_submission;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";

/// A minimal user turn with these members added or replaced.
fn user_turn(members: Value) -> Value {
    merged(json!({"SessionId": "s1", "TurnId": "t1", "Instruction": "Explain."}), members)
}

/// A minimal tool continuation with these members added or replaced.
fn continuation(members: Value) -> Value {
    let results = json!([{"ToolCallId": "c1", "ExecutionMs": 12, "ResultJson": "{}"}]);
    merged(json!({"SessionId": "s1", "TurnId": "t1", "ToolResults": results}), members)
}

fn artifact(members: Value) -> Value {
    let plain =
        json!({"RelativePath": "src/a.rs", "FileName": "a.rs", "Contents": "fn a() {}", "Origin": "ide"});
    user_turn(json!({"InputArtifacts": [merged(plain, members)]}))
}

fn image(members: Value) -> Value {
    let plain = json!({"Id": "i1", "MimeType": "image/png", "DataBase64": PNG});
    user_turn(json!({"ClipboardImages": [merged(plain, members)]}))
}

fn condition(members: Value) -> Value {
    let plain = json!({"Key": "Repo", "Operator": "==", "Values": ["core"]});
    user_turn(json!({"RagScope": {"Conditions": [merged(plain, members)]}}))
}

fn result(members: Value) -> Value {
    let plain = json!({"ToolCallId": "c1", "ExecutionMs": 12});
    continuation(json!({"ToolResults": [merged(plain, members)]}))
}

/// Merges members into an object. Removes members whose new value is the string "absent".
fn merged(mut base: Value, members: Value) -> Value {
    let into = base.as_object_mut().unwrap();
    for (name, value) in members.as_object().unwrap() {
        if value == "absent" {
            into.remove(name);
        } else {
            into.insert(name.clone(), value.clone());
        }
    }
    base
}

fn parse(body: &Value) -> Result<AgentExecuteRequest, Vec<contracts::Error>> {
    AgentExecuteRequest::parse(body.to_string().as_bytes())
}

fn accepted_turn(body: &Value) -> UserTurn {
    match parse(body) {
        Ok(AgentExecuteRequest::UserTurn(turn)) => turn,
        other => panic!("{body}: {other:?}"),
    }
}

fn accepted_continuation(body: &Value) -> ToolContinuation {
    match parse(body) {
        Ok(AgentExecuteRequest::ToolContinuation(continuation)) => continuation,
        other => panic!("{body}: {other:?}"),
    }
}

/// Asserts that a body is rejected with exactly this error.
fn refused(body: &Value, code: ErrorCode, path: &str) {
    refused_text(&body.to_string(), code, path);
}

fn refused_text(body: &str, code: ErrorCode, path: &str) {
    let shown: String = body.chars().take(300).collect();
    let errors = AgentExecuteRequest::parse(body.as_bytes()).expect_err(&shown);
    let found: Vec<_> =
        errors.iter().map(|e| (e.error_code, e.details.as_deref().unwrap_or_default())).collect();
    assert_eq!(found, [(code, path)], "{shown}: {errors:?}");
    let message = &errors[0].message;
    let subject = if path.is_empty() { "The body" } else { path };
    assert!(message.starts_with(subject), "{message}");
    assert!(!message.contains(['§', '(']), "the message has a citation: {message}");
}
