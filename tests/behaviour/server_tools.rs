//! Server tools: run within the turn, shown in the final response (AGN-011 §5, AGN-033 §5.3).

use serde_json::{Value, json};

use crate::support::{Answer, System, options, session_path, turn, turn_in, turn_path};

/// The text of the newest user message of a model call.
fn said(call: &Value) -> String {
    let input = call["input"].as_array().unwrap();
    let message = input.iter().rev().find(|item| item["role"] == "user").unwrap();
    message["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

fn tools(call: &Value) -> Vec<&str> {
    call["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn three_rounds_with_parallel_calls_one_failing_and_one_timing_out_end_in_one_answer() {
    let mut options = options();
    options.environment.insert("DIAGNOSTIC_TOOLS".to_owned(), "true".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    let asked = turn(
        "Work [[script: call code_hash_normalized {\"text\":\"a\"}; call agent_list_modes {}; then; \
         call diagnostics_fail {}; call diagnostics_sleep {\"milliseconds\":600000}; then; \
         call code_hash_normalized {\"text\":\"b\"}; then; say \"Done.\"]]",
    );
    let answer = ada.execute(&asked).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Done.");
    let results = answer["ToolResults"].as_array().unwrap();
    let failed: Vec<bool> = results.iter().map(|result| result.get("ErrorMessage").is_some()).collect();
    assert_eq!(failed, [false, false, true, true, false], "{results:?}");
    let late = results[3]["ErrorMessage"].as_str().unwrap();
    assert!(late.contains("did not finish"), "{late}");

    let calls = system.model_calls();
    assert_eq!(calls.len(), 4);
    for (before, after) in calls.iter().zip(&calls[1..]) {
        let answered: Vec<_> = after["input"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|item| item["type"] == "function_call_output")
            .collect();
        assert!(!answered.is_empty() && after["previous_response_id"].is_string());
        assert_eq!(tools(before), tools(after), "the tool list stays as it is within a turn");
    }
    assert!(said(&calls[1]).contains("[TOOL_RESULTS]"));
}

#[tokio::test]
async fn a_published_file_is_a_file_ref_whose_bytes_and_hash_are_right() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let asked = turn(
        "Publish [[script: call publish_file {\"name\":\"notes.md\",\"media_type\":\"text/markdown\",\"contents\":\"# Hi\",\"encoding\":\"utf8\",\"description\":\"Notes\"}; then; say \"There.\"]]",
    );
    let answer = ada.execute(&asked).await.result();
    let file = &answer["Files"][0];
    assert_eq!((file["Name"].as_str(), file["SizeBytes"].as_u64()), (Some("notes.md"), Some(4)), "{answer}");
    let link = ada.get(file["Url"].as_str().unwrap()).await;
    let bytes = reqwest::get(link.header("location").unwrap()).await.unwrap().bytes().await.unwrap();
    assert_eq!(bytes.as_ref(), b"# Hi");
    let hash = contracts::ContentHash::of_bytes(b"# Hi").to_string();
    assert_eq!(file["ContentHash"], hash);
}

#[tokio::test]
async fn a_mode_change_shows_at_once_and_changes_tools_and_history_with_the_next_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let asked = turn(
        "Write a DDR [[script: call agent_change_mode {\"mode\":\"workflow_authoring\",\"branch\":false,\"reason\":\"first\"}; then; \
         call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":true,\"reason\":\"design\"}; then; say \"Ready.\"]]",
    );
    let answer = ada.execute(&asked).await.result();
    assert_ne!(answer["ModeDisplayName"], "General");
    let warnings = answer["UserWarnings"].to_string();
    assert!(warnings.contains("more than once") && warnings.contains("new branch"), "{warnings}");
    let calls = system.model_calls();
    assert!(said(&calls[0]).starts_with("[MODE: general]"));
    assert!(said(&calls[2]).starts_with("[MODE: ddr_authoring]"));
    assert!(
        said(&calls[2]).contains("[MODE_INSTRUCTIONS: ddr_authoring]"),
        "the new mode's instructions are told"
    );

    let next = turn_in(asked["SessionId"].as_str().unwrap(), "go on");
    ada.execute(&next).await.result();
    assert!(said(&system.model_calls()[3]).starts_with("[MODE: ddr_authoring]"));
    let session = ada.get(&session_path(&asked)).await.result();
    assert_eq!(
        (&session["Mode"], &session["Turns"][0]["Mode"]),
        (&json!("ddr_authoring"), &json!("general"))
    );
    let history = session["ModeHistory"].as_array().unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(
        (&history[0]["PreviousMode"], &history[0]["NewMode"], &history[0]["Reason"], &history[0]["Branch"]),
        (&json!("general"), &json!("ddr_authoring"), &json!("design"), &json!(true))
    );
}

#[tokio::test]
async fn an_unknown_mode_or_a_failed_turn_changes_no_mode() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let asked = turn(
        "Try [[script: call agent_change_mode {\"mode\":\"banana\",\"branch\":false,\"reason\":\"why\"}; then; \
         call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":false,\"reason\":\"why\"}; then; status 400]]",
    );
    let refused = ada.execute(&asked).await;
    assert_eq!(refused.status, 502, "{}", refused.text);
    let done = |answer: &Answer| answer.json()["Result"]["LastTurnStatus"].is_null();
    assert!(done(&ada.get(&turn_path(&asked)).await));
    ada.execute(&turn_in(asked["SessionId"].as_str().unwrap(), "go on")).await.result();
    let session = ada.get(&session_path(&asked)).await.result();
    assert_eq!((&session["Mode"], session["ModeHistory"].as_array().unwrap().len()), (&json!("general"), 0));
    assert!(said(&system.model_calls()[1]).contains("banana"), "the model is told why");
}

#[tokio::test]
async fn a_model_that_never_stops_calling_tools_is_stopped() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let rounds = "call agent_list_modes {}; then; ".repeat(20);
    let asked = turn(&format!("Loop [[script: {rounds} say \"never\"]]"));
    let refused = ada.execute(&asked).await;
    assert_eq!((refused.status, refused.error().as_str()), (502, "ToolRoundsExceeded"));
    assert_eq!(system.model_calls().len(), 17);
}
