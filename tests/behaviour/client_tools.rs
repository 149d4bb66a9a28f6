//! Client tools: suspend, continue, exactly (AGN-033 §3.3, §5, AGN-034 §2.2).

use contracts::paths::TOOL_RESULTS;
use local::{Function, Options};
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, LEASE, System, options, session_path, turn, turn_in, turn_path, workspace_turn,
};

/// The right result for a call.
pub fn result(call: &Value, text: &str) -> Value {
    json!({"ToolCallId": call["ToolCallId"], "ExecutionMs": 5, "ResultJson": json!(text).to_string()})
}

/// The right results for a continuation.
pub fn results(continuation: &Value, text: &str) -> Value {
    let calls = continuation["ToolCalls"].as_array().unwrap();
    json!({
        "SessionId": continuation["SessionId"], "TurnId": continuation["TurnId"],
        "ToolResults": calls.iter().map(|call| result(call, text)).collect::<Vec<_>>(),
    })
}

pub async fn submit(client: &Client, results: &Value) -> Answer {
    client.post(TOOL_RESULTS, results.to_string()).await
}

const ASK: &str = "Read [[script: say \"Let me look.\"; call workspace_read_file {\"path\":\"a.rs\"}; \
                   call workspace_read_file {\"path\":\"b.rs\"}; then; say \"Both read.\"]]";

/// A client is only asked to run tools of an agent that it named.
#[tokio::test]
async fn default_agent_has_no_client_tools() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn(ASK);
    let answer = ada.execute(&request).await.result();
    assert_eq!((&answer["Kind"], &answer["PrimaryOutputText"]), (&json!("final"), &json!("Both read.")));
    assert!(!system.model_calls()[0]["tools"].to_string().contains("workspace_"));
    let named = workspace_turn(ASK);
    assert_eq!(ada.execute(&named).await.result()["Kind"], "client_tool_continuation");
    let read = ada.get(&session_path(&named)).await.result();
    assert_eq!(
        (&read["AgentContextId"], &read["AgentContextName"], &read["ConversationContextId"]),
        (&json!("workspace"), &json!("Workspace"), &json!("default"))
    );
    let agent = json!({"Kind": "agent", "Id": "workspace", "Name": "Our own", "ClientTools": []});
    system.put_contexts("acme", &agent).await;
    assert_eq!(
        ada.execute(&workspace_turn(ASK)).await.result()["Kind"],
        "final",
        "the org's own takes its place"
    );
}

#[tokio::test]
async fn client_tool_calls_suspend_the_turn_and_results_finish_it() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(ASK);
    let suspended = ada.execute(&request).await;
    let continuation = suspended.result();
    assert_eq!(continuation["Kind"], "client_tool_continuation");
    assert_eq!(continuation["ToolContinuationMessage"], "Let me look.");
    for forbidden in ["PrimaryOutputText", "ToolResults", "Files", "UserWarnings", "Usage"] {
        assert!(continuation.get(forbidden).is_none(), "{forbidden}");
    }
    let calls = continuation["ToolCalls"].as_array().unwrap();
    assert_eq!((calls.len(), calls[0]["ArgumentsJson"].as_str()), (2, Some("{\"path\":\"a.rs\"}")));
    assert_eq!(
        ada.execute(&request).await.text,
        suspended.text,
        "the same user turn again gets the continuation"
    );
    assert_eq!(ada.get(&turn_path(&request)).await.result()["Status"]["Id"], "pending");

    let right = results(&continuation, "contents");
    let answer = submit(&ada, &right).await;
    assert_eq!(answer.result()["PrimaryOutputText"], "Both read.");
    assert_eq!(submit(&ada, &right).await.text, answer.text, "the same results again get the same bytes");
    assert_eq!(ada.execute(&request).await.text, answer.text, "and so does the user turn");
    let sent = &system.model_calls()[1];
    let outputs: Vec<_> = sent["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["type"] == "function_call_output")
        .collect();
    assert_eq!(outputs.len(), 2);
    assert!(outputs[0]["call_id"].as_str().unwrap().starts_with("call_"), "the provider's own id");
    assert_eq!(calls[0]["ToolCallId"].as_str().unwrap().len(), 9, "ours");
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn turn_suspends_three_times_with_mixed_replies_and_a_mode_change() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(
        "Go [[script: call workspace_read_file {\"path\":\"1\"}; call code_hash_normalized {\"text\":\"x\"}; then; \
         call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":false,\"reason\":\"r\"}; call workspace_read_file {\"path\":\"2\"}; then; \
         call workspace_read_file {\"path\":\"3\"}; then; say \"End.\"]]",
    );
    let mut answer = ada.execute(&request).await.result();
    let mut rounds = 0;
    while answer["Kind"] == "client_tool_continuation" {
        assert_eq!(answer["ToolCalls"].as_array().unwrap().len(), 1, "the client sees its own calls only");
        rounds += 1;
        answer = submit(&ada, &results(&answer, "ok")).await.result();
    }
    assert_eq!((rounds, &answer["PrimaryOutputText"]), (3, &json!("End.")));
    assert_eq!(answer["ToolResults"].as_array().unwrap().len(), 2, "what the server ran, over all rounds");
    let calls = system.model_calls();
    let answered = |call: &Value| {
        call["input"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call_output").count()
    };
    assert_eq!(calls.iter().map(answered).collect::<Vec<_>>(), [0, 2, 2, 1]);
    assert_ne!(answer["ModeDisplayName"], "General");
}

#[tokio::test]
async fn warnings_before_a_suspension_are_in_the_final_response() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let change = |mode: &str| {
        format!("call agent_change_mode {{\"mode\":\"{mode}\",\"branch\":false,\"reason\":\"r\"}}; ")
    };
    let continuation = ada
        .execute(&workspace_turn(&format!(
            "Go [[script: {}{}call workspace_read_file {{\"path\":\"a\"}}; then; say \"Done.\"]]",
            change("ddr_authoring"),
            change("workflow_authoring"),
        )))
        .await
        .result();
    assert_eq!(
        (&continuation["Kind"], continuation.get("UserWarnings")),
        (&json!("client_tool_continuation"), None)
    );
    let answer = submit(&ada, &results(&continuation, "x")).await;
    let warnings = answer.result()["UserWarnings"].clone();
    assert_eq!(warnings.as_array().map(Vec::len), Some(1), "{warnings}");
    assert_eq!(answer.json()["Warnings"], json!([]), "they are about the answer, not about the call");
}

#[tokio::test]
async fn failed_client_tool_is_a_regular_result() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let continuation = ada.execute(&workspace_turn(ASK)).await.result();
    let mut failed = results(&continuation, "x");
    failed["ToolResults"][0] = json!({"ToolCallId": continuation["ToolCalls"][0]["ToolCallId"], "ExecutionMs": 0, "ErrorMessage": "no such file"});
    assert_eq!(submit(&ada, &failed).await.result()["Kind"], "final");
    assert!(system.model_calls()[1].to_string().contains("no such file"));
}

#[tokio::test]
async fn file_written_along_with_tool_calls_is_stored_and_linked() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let base64 = "QUJD".repeat(300);
    let request = workspace_turn(&format!(
        "Draw [[script: say \"Here: data:text/plain;base64,{base64} so far.\"; \
         call workspace_read_file {{\"path\":\"a\"}}; then; say \"Done.\"]]"
    ));
    let continuation = ada.execute(&request).await.result();
    let message = continuation["ToolContinuationMessage"].as_str().unwrap();
    assert!(!message.contains("base64") && message.starts_with("Here: ["), "{message}");
    assert!(continuation.get("Files").is_none(), "AGN-033 §6.2");
    let url = message.split(['(', ')']).nth(1).unwrap();
    let link = ada.get(url).await;
    assert_eq!(link.status, 302, "{}", link.text);
    let bytes = reqwest::get(link.header("location").unwrap()).await.unwrap();
    assert_eq!((bytes.status(), bytes.text().await.unwrap()), (reqwest::StatusCode::OK, "ABC".repeat(300)));
    let answer = submit(&ada, &results(&continuation, "x")).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Done.");
}

#[tokio::test]
async fn a_new_user_turn_supersedes_a_waiting_one_at_once() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(ASK);
    let continuation = ada.execute(&request).await.result();
    let next = turn_in(request["SessionId"].as_str().unwrap(), "Never mind");
    assert_eq!(ada.execute(&next).await.result()["Kind"], "final");
    let late = submit(&ada, &results(&continuation, "late")).await;
    assert_eq!((late.status, late.error().as_str()), (409, "TurnSuperseded"));
    assert_eq!(ada.get(&turn_path(&request)).await.result()["Status"]["Id"], "failed");
    let calls = system.model_calls();
    assert!(calls[1].get("previous_response_id").is_none(), "the chain goes on from the last completed turn");
}

#[tokio::test]
async fn a_waiting_turn_is_cancelled() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(ASK);
    let continuation = ada.execute(&request).await.result();
    let cancelled = ada.post(&format!("{}/cancel", turn_path(&request)), String::new()).await.result();
    assert_eq!(cancelled["Status"]["Id"], "failed");
    let late = submit(&ada, &results(&continuation, "late")).await;
    assert_eq!((late.status, late.error().as_str()), (409, "TurnCancelled"));
}

#[tokio::test]
async fn two_continuations_race_and_one_wins() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let continuation = ada.execute(&workspace_turn(ASK)).await.result();
    let (one, other) = (results(&continuation, "one"), results(&continuation, "other"));
    let (one, other) = futures::join!(submit(&ada, &one), submit(&ada, &other));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.text, other.text);
    let (same_a, same_b) = (workspace_turn(ASK), ());
    let () = same_b;
    let right = results(&ada.execute(&same_a).await.result(), "x");
    let (a, b) = futures::join!(submit(&ada, &right), submit(&ada, &right));
    assert_eq!((a.status, &a.text), (200, &b.text));
}

#[tokio::test]
async fn crash_after_accepted_results_is_taken_over_by_same_results() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(
        "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; delay 700ms; say \"Read.\"]]",
    );
    let right = results(&ada.execute(&request).await.result(), "contents");
    let crash = async {
        system.model_called(2).await;
        system.cloud.crash(Function::ToolContinuation);
    };
    let (broken, ()) = futures::join!(submit(&ada, &right), crash);
    assert_eq!(broken.status, 502);
    let mut answer = submit(&ada, &right).await;
    while answer.status == 409 && answer.error() == "TurnInProgress" {
        answer = submit(&ada, &right).await;
    }
    assert_eq!(answer.result()["PrimaryOutputText"], "Read.", "{}", answer.text);
    assert_eq!(ada.get(&session_path(&request)).await.result()["TurnCount"], 1);
}

#[tokio::test]
async fn invalid_call_arguments_return_to_the_model_not_the_client() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let continuation = ada
        .execute(&workspace_turn(
            "Read [[script: call workspace_read_file {\"pfad\":\"a\"}; then; call workspace_read_file {\"path\":7}; \
             call workspace_read_file {\"path\":\"b\"}; then; say \"Read.\"]]",
        ))
        .await
        .result();
    assert_eq!(continuation["ToolCalls"].as_array().unwrap().len(), 1, "{continuation}");
    assert_eq!(continuation["ToolCalls"][0]["ArgumentsJson"], "{\"path\":\"b\"}");
    assert_eq!(submit(&ada, &results(&continuation, "x")).await.result()["PrimaryOutputText"], "Read.");
    let sent: Vec<Vec<String>> = system
        .model_calls()
        .iter()
        .map(|call| {
            let input = call["input"].as_array().unwrap().iter();
            let outputs = input.filter(|item| item["type"] == "function_call_output");
            outputs.map(|item| item["output"].as_str().unwrap().to_owned()).collect()
        })
        .collect();
    assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(sent[1][0].contains("required property") && sent[2][0].contains("/path"), "{sent:?}");
}

#[tokio::test]
async fn turn_reports_the_duration_of_client_tools() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(ASK);
    let continuation = ada.execute(&request).await.result();
    assert!(ada.get(&turn_path(&request)).await.result().get("ClientToolMs").is_none());
    submit(&ada, &results(&continuation, "x")).await.result();
    assert_eq!(ada.get(&turn_path(&request)).await.result()["ClientToolMs"], 10);
}

#[tokio::test]
async fn turn_without_tool_results_fails_at_its_deadline() {
    let mut options = options();
    options.environment.insert("TOOL_WAIT_SECONDS".to_owned(), "0.3".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(ASK);
    let continuation = ada.execute(&request).await.result();
    let is_over = async || {
        system.cloud.sweep().await.expect("a sweep");
        ada.get(&turn_path(&request)).await.result()["Status"]["Id"] == "failed"
    };
    let mut sweeps = 1;
    while !is_over().await {
        sweeps += 1;
        assert!(sweeps < 500, "no sweep ends it");
    }
    let late = submit(&ada, &results(&continuation, "late")).await;
    assert_eq!((late.status, late.error().as_str()), (409, "ToolDeadlineExpired"));
    assert_eq!(ada.execute(&request).await.error(), "ToolDeadlineExpired", "the user turn hears the same");
    assert_eq!(system.model_calls().len(), 1);
    let next = turn_in(request["SessionId"].as_str().unwrap(), "go on");
    assert_eq!(ada.execute(&next).await.result()["Kind"], "final", "the session goes on");
}

#[tokio::test]
async fn only_the_requesting_user_can_submit_tool_results() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request =
        workspace_turn("Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]");
    let right = results(&ada.execute(&request).await.result(), "contents");
    let refused = submit(&system.client("acme", "bob"), &right).await;
    assert_eq!((refused.status, refused.error().as_str()), (403, "TurnOfAnotherUser"), "{}", refused.text);
    let foreign = submit(&system.client("rival", "ada"), &right).await;
    assert_eq!(
        (foreign.status, foreign.error().as_str()),
        (404, "TurnNotFound"),
        "another org knows of no turn"
    );
    assert_eq!(submit(&ada, &right).await.result()["PrimaryOutputText"], "Read.", "nothing was lost");
    let replayed = submit(&system.client("acme", "bob"), &right).await;
    assert_eq!(replayed.status, 403, "nor the answer, which bob can read as a turn of the session");
}
