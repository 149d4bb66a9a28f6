//! Server tools: run within the turn, shown in the final response (AGN-011 §5, AGN-033 §5.3).

use crate::support::{System, options, said, tools, turn};

#[tokio::test]
async fn three_rounds_with_failed_and_timed_out_calls_give_one_answer() {
    let mut options = options();
    options.environment.insert("DIAGNOSTIC_TOOLS".to_owned(), "true".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    let request = turn(
        "Work [[script: call code_hash_normalized {\"text\":\"a\"}; call agent_list_modes {}; then; \
         call diagnostics_fail {}; call diagnostics_sleep {\"milliseconds\":600000}; then; \
         call code_hash_normalized {\"text\":\"b\"}; then; say \"Done.\"]]",
    );
    let answer = ada.execute(&request).await.result();
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
async fn published_file_has_the_right_bytes_and_hash() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn(
        "Publish [[script: call publish_file {\"name\":\"notes.md\",\"media_type\":\"text/markdown\",\"contents\":\"# Hi\",\"encoding\":\"utf8\",\"description\":\"Notes\"}; then; say \"There.\"]]",
    );
    let answer = ada.execute(&request).await.result();
    let file = &answer["Files"][0];
    assert_eq!((file["Name"].as_str(), file["SizeBytes"].as_u64()), (Some("notes.md"), Some(4)), "{answer}");
    let link = ada.get(file["Url"].as_str().unwrap()).await;
    let bytes = reqwest::get(link.header("location").unwrap()).await.unwrap().bytes().await.unwrap();
    assert_eq!(bytes.as_ref(), b"# Hi");
    let hash = contracts::ContentHash::hash_text("# Hi").to_string();
    assert_eq!(file["ContentHash"], hash);
}

#[tokio::test]
async fn endless_tool_calls_are_stopped() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let rounds = "call agent_list_modes {}; then; ".repeat(20);
    let request = turn(&format!("Loop [[script: {rounds} say \"never\"]]"));
    let refused = ada.execute(&request).await;
    assert_eq!((refused.status, refused.error().as_str()), (502, "ToolRoundsExceeded"));
    assert_eq!(system.model_calls().len(), 17);
}

#[tokio::test]
async fn file_published_twice_is_listed_once() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let publish = "call publish_file {\"name\":\"a.txt\",\"media_type\":\"text/plain\",\"contents\":\"x\",\"encoding\":\"utf8\",\"description\":null}";
    let other = publish.replace("\"x\"", "\"y\"");
    let request = turn(&format!(
        "Publish [[script: {publish}; {publish}; then; {publish}; {other}; then; say \"There.\"]]"
    ));
    let answer = ada.execute(&request).await.result();
    let hashes: Vec<_> =
        answer["Files"].as_array().unwrap().iter().map(|file| &file["ContentHash"]).collect();
    assert_eq!(hashes.len(), 2, "{answer}");
    assert_ne!(hashes[0], hashes[1]);
    assert_eq!(answer["ToolResults"].as_array().unwrap().len(), 4, "every call has its result");
}

/// Names in the scripts of people write their letters in three bytes each, percent-encoded in nine.
#[tokio::test]
async fn published_file_with_a_long_name_keeps_its_extension() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for name in [format!("{}.json", "x".repeat(400)), format!("{}.json", "日".repeat(400))] {
        let request = turn(&format!(
            "Publish [[script: call publish_file {{\"name\":\"{name}\",\"media_type\":\"application/json\",\"contents\":\"[]\",\"encoding\":\"utf8\",\"description\":null}}; then; say \"There.\"]]",
        ));
        let answer = ada.execute(&request).await.result();
        let file = &answer["Files"][0];
        let kept = file["Name"].as_str().unwrap();
        assert!(kept.ends_with(".json") && kept.len() < 255 && name.starts_with(&kept[..9]), "{kept}");
        let link = ada.get(file["Url"].as_str().unwrap()).await;
        let bytes = reqwest::get(link.header("location").unwrap()).await.unwrap().bytes().await.unwrap();
        assert_eq!(bytes.as_ref(), b"[]");
    }
}
