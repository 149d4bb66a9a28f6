//! `POST …/turns/{TurnId}/cancel`.

use std::time::{Duration, Instant};

use local::{Options, token::Identity};
use serde_json::{Value, json};

use crate::client_tools::{results, submit};
use crate::support::{
    Client, PATIENCE, System, options, session_path, turn, turn_in, turn_path, workspace_turn,
};

/// Longer than a test: what an attempt learns within it, no renewal told.
const LONG_LEASE: Duration = Duration::from_secs(180);

fn cancel_path(turn: &Value) -> String {
    format!("{}/cancel", turn_path(turn))
}

pub async fn cancel(client: &Client, turn: &Value) {
    let summary = client.post(&cancel_path(turn), String::new()).await.result();
    assert_eq!(summary["Status"]["Id"], "failed");
}

/// A turn of twenty tool rounds whose tools take a second each.
async fn twenty_rounds() -> (System, Value) {
    let mut options = Options { lease: Some(LONG_LEASE), ..options() };
    options.environment.insert("DIAGNOSTIC_TOOLS".to_owned(), "true".to_owned());
    let system = System::with(options).await;
    system.put_context(json!({"MaxRounds": 30})).await;
    let rounds = "call diagnostics_sleep {\"milliseconds\":1000}; then; ".repeat(20);
    let mut request = turn(&format!("Work [[script: {rounds} say \"Done.\"]]"));
    request["ConversationContextId"] = "c".into();
    (system, request)
}

#[tokio::test]
async fn no_model_call_starts_after_a_cancel_is_answered() {
    let (system, request) = twenty_rounds().await;
    let ada = system.client("acme", "ada");
    let cancelled = async {
        system.model_called(5).await;
        // In the middle of the fifth round's tool.
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel(&ada, &request).await;
        system.model_calls().len()
    };
    let (answer, calls) = futures::join!(ada.execute(&request), cancelled);
    assert_eq!((answer.status, answer.error().as_str()), (409, "TurnCancelled"));
    // As long as two more rounds would take.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(system.model_calls().len(), calls, "none after the answer");
    assert!(calls < 15, "the twenty rounds were well under way: {calls}");
}

#[tokio::test]
async fn cancel_between_quick_tool_rounds_stops_further_calls() {
    let system = System::with(Options { lease: Some(LONG_LEASE), ..options() }).await;
    system.put_context(json!({"MaxRounds": 60})).await;
    let rounds = "call agent_list_modes {}; then; ".repeat(60);
    for calls in [2, 5, 9] {
        let ada = system.client("acme", "ada");
        let before = system.model_calls().len();
        let mut request = turn(&format!("Work [[script: {rounds} say \"Done.\"]]"));
        request["ConversationContextId"] = "c".into();
        let cancelled = async {
            system.model_called(before + calls).await;
            cancel(&ada, &request).await;
            system.model_calls().len()
        };
        let (answer, at_the_answer) = futures::join!(ada.execute(&request), cancelled);
        assert_eq!((answer.status, answer.error().as_str()), (409, "TurnCancelled"));
        assert_eq!(system.model_calls().len(), at_the_answer, "none after the answer");
    }
}

#[tokio::test]
async fn cancel_closes_the_connection_of_a_call_in_flight() {
    let system = System::with(Options { lease: Some(LONG_LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let request = turn("Think [[script: say \"So\"; hang 100s; say \"it is.\"]]");
    let model = system.cloud.model().unwrap();
    let closed = async {
        system.model_called(1).await;
        cancel(&ada, &request).await;
        let answered = Instant::now();
        while model.abandoned() == 0 {
            assert!(answered.elapsed() < PATIENCE, "the model still writes for nobody");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        println!("closed {:?} after the answer", answered.elapsed());
    };
    let (answer, ()) = futures::join!(ada.execute(&request), closed);
    assert_eq!((answer.status, answer.error().as_str()), (409, "TurnCancelled"));
    assert_eq!(system.model_calls().len(), 1);
}

#[tokio::test]
async fn cancel_ends_running_turn_and_frees_session_at_once() {
    let system = System::with(Options { lease: Some(crate::support::LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let slow = turn("Take your time [[script: delay 20s]]");
    let path = format!("{}/cancel", turn_path(&slow));
    let running = ada.execute(&slow);
    let cancelled = async {
        system.model_called(1).await;
        let called = std::time::Instant::now();
        let summary = ada.post(&path, String::new()).await.result();
        let next = ada.execute(&turn_in(slow["SessionId"].as_str().unwrap(), "next")).await;
        (summary, next, called)
    };
    let (running, (summary, next, called)) = futures::join!(running, cancelled);
    assert_eq!(summary["Status"]["Id"], "failed");
    assert_eq!((running.status, running.error().as_str()), (409, "TurnCancelled"));
    assert!(
        called.elapsed() < Duration::from_secs(15),
        "the attempt stopped long before the model would have"
    );
    assert_eq!(next.result()["Kind"], "final");
    assert_eq!(ada.execute(&slow).await.text, running.text, "it replays as cancelled");
    assert_eq!(ada.post(&path, String::new()).await.json()["Warnings"], serde_json::json!([]));
}

#[tokio::test]
async fn cancel_keeps_a_settled_outcome_and_404s_an_unknown_turn() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("done");
    let answer = ada.execute(&request).await;
    let path = format!("{}/cancel", turn_path(&request));
    let late = ada.post(&path, String::new()).await;
    assert_eq!(late.result()["Status"]["Id"], "completed");
    let warnings = late.json()["Warnings"].clone();
    assert_eq!(warnings.as_array().map(Vec::len), Some(1), "the call's own warning: {warnings}");
    assert!(warnings[0]["Message"].as_str().unwrap().contains("its outcome stands"), "{warnings}");
    assert_eq!(ada.execute(&request).await.text, answer.text);
    let unknown = ada.post(&format!("{}/cancel", turn_path(&turn("never sent"))), String::new()).await;
    assert_eq!((unknown.status, unknown.error().as_str()), (404, "TurnNotFound"));
    assert_eq!(system.client("rival", "eve").post(&path, String::new()).await.status, 404);
}

#[tokio::test]
async fn turn_ended_from_outside_keeps_its_suspension_data() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let operator = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    let ask = "Read [[script: call workspace_read_file {\"path\":\"a.rs\"}; then; \
               call agent_list_modes {}; call workspace_read_file {\"path\":\"b.rs\"}; then; say \"Read.\"]]";
    let request = workspace_turn(ask);
    let first = ada.execute(&request).await.result();
    submit(&ada, &results(&first, "a")).await.result();
    cancel(&ada, &request).await;
    let known = |read: &Value| {
        assert_eq!(read["Errors"], json!(["The turn was cancelled."]));
        assert_eq!((&read["ClientToolMs"], &read["ToolRounds"]), (&json!(5), &json!(2)), "{read}");
        assert!(read["ServerToolMs"].is_u64() && read["Usage"]["TotalTokens"].is_u64(), "{read}");
        assert!(read["OpenAIResponseReceivedDate"].is_string(), "{read}");
        assert!(read["OpenAIResponseId"].as_str().unwrap().starts_with("resp_"), "{read}");
        assert!(read.get("AgentAnswerSummary").is_none() && read.get("OpenAIChainExpiresDate").is_none());
    };
    known(&operator.get(&turn_path(&request)).await.result());
    // The session's next turn does not change what is kept, wherever it is kept by then.
    let next = turn_in(request["SessionId"].as_str().unwrap(), "go on");
    assert_eq!(ada.execute(&next).await.result()["Kind"], "final");
    known(&operator.get(&turn_path(&request)).await.result());
}

#[tokio::test]
async fn running_turn_ended_from_outside_keeps_its_recorded_rounds() {
    let system = System::with(Options { lease: Some(crate::support::LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let operator = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    let two_rounds = "call agent_list_modes {}; then; call agent_list_modes {}; then;";
    let waiting = |request: &Value| {
        let step =
            format!("{}/{}/", request["SessionId"].as_str().unwrap(), request["TurnId"].as_str().unwrap());
        let system = &system;
        async move {
            system.object(|key| key.contains(&step) && key.ends_with("/step-2.json")).await;
        }
    };
    let known = |read: &Value, error: &str| {
        assert_eq!(read["Errors"].as_array().unwrap().len(), 1);
        assert!(read["Errors"][0].as_str().unwrap().starts_with(error), "{read}");
        assert_eq!(read["ToolRounds"], 2, "{read}");
        assert!(read["ServerToolMs"].is_u64() && read["Usage"]["TotalTokens"].as_u64() > Some(0), "{read}");
        assert!(read["OpenAIResponseReceivedDate"].is_string(), "{read}");
        assert!(read["OpenAIResponseId"].as_str().unwrap().starts_with("resp_"), "{read}");
        assert!(read.get("AgentAnswerSummary").is_none() && read.get("OpenAIChainExpiresDate").is_none());
    };
    // Cancelled in the third call, then read before and after it is finalized.
    let cancelled = turn(&format!("Work [[script: {two_rounds} delay 100s; say \"Done.\"]]"));
    let ended = async {
        waiting(&cancelled).await;
        cancel(&ada, &cancelled).await;
    };
    let (answer, ()) = futures::join!(ada.execute(&cancelled), ended);
    assert_eq!((answer.status, answer.error().as_str()), (409, "TurnCancelled"));
    let settled = operator.get(&turn_path(&cancelled)).await.result();
    known(&settled, "The turn was cancelled.");
    let session = cancelled["SessionId"].as_str().unwrap();
    // Its attempt dies in the third call, and the session's next turn finds it so.
    let dead = turn_in(session, &format!("Work [[script: {two_rounds} delay 100s; say \"Done.\"]]"));
    let crash = async {
        waiting(&dead).await;
        system.crash_execute().await;
    };
    futures::join!(ada.execute(&dead), crash);
    let next = turn_in(session, "go on");
    let last = ada.execute_when_free(&next).await.result();
    known(&operator.get(&turn_path(&cancelled)).await.result(), "The turn was cancelled.");
    let abandoned = operator.get(&turn_path(&dead)).await.result();
    known(&abandoned, "The turn was interrupted");
    let head = format!("TURN#{}", next["TurnId"].as_str().unwrap());
    system.until_attribute(&head, "Status", "completed").await;
    let used = |read: &Value| read["Usage"]["TotalTokens"].as_u64().unwrap();
    let total = ada.get(&session_path(&next)).await.result()["TotalUsage"]["TotalTokens"].as_u64().unwrap();
    assert_eq!(total, used(&settled) + used(&abandoned) + used(&last), "each is counted in its session");
}

#[tokio::test]
async fn cancel_after_tool_results_keeps_their_duration() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = workspace_turn(
        "Read [[script: call workspace_read_file {\"path\":\"a.rs\"}; then; delay 100s; say \"Read.\"]]",
    );
    let first = ada.execute(&request).await.result();
    let cancelled = async {
        system.model_called(2).await;
        cancel(&ada, &request).await;
    };
    let results = results(&first, "a");
    let (answer, ()) = futures::join!(submit(&ada, &results), cancelled);
    assert_eq!((answer.status, answer.error().as_str()), (409, "TurnCancelled"));
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!((&read["ClientToolMs"], &read["ToolRounds"]), (&json!(5), &json!(1)), "{read}");
    assert!(read["OpenAIResponseReceivedDate"].is_string(), "{read}");
}

#[tokio::test]
async fn failed_reply_shows_the_provider_response_id_to_operators() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let operator = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    // Text that ran out of tokens is an answer, and what failed before any text is asked for again.
    for script in ["say \"So\"; fail", "incomplete"] {
        let request = turn(&format!("Try [[script: {script}]]"));
        assert!(ada.execute(&request).await.status >= 400);
        let read = operator.get(&turn_path(&request)).await.result();
        assert!(read["OpenAIResponseId"].as_str().unwrap().starts_with("resp_"), "{script}: {read}");
        assert!(ada.get(&turn_path(&request)).await.result().get("OpenAIResponseId").is_none());
    }
}
