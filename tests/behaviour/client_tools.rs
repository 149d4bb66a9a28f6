//! Client tools: suspend, continue, exactly (AGN-033 §3.3, §5, AGN-034 §2.2).

use std::time::Duration;

use local::{Function, Options};
use serde_json::{Value, json};

use crate::support::{Answer, Client, LEASE, System, options, session_path, turn, turn_in, turn_path};

const RESULTS: &str = "/api/ai/agent/tool-results";

fn result(call: &Value, text: &str) -> Value {
    json!({"ToolCallId": call["ToolCallId"], "ExecutionMs": 5, "ResultJson": json!(text).to_string()})
}

/// The right results for a continuation.
fn results(continuation: &Value, text: &str) -> Value {
    let calls = continuation["ToolCalls"].as_array().unwrap();
    json!({
        "SessionId": continuation["SessionId"], "TurnId": continuation["TurnId"],
        "ToolResults": calls.iter().map(|call| result(call, text)).collect::<Vec<_>>(),
    })
}

async fn submit(client: &Client, results: &Value) -> Answer {
    client.post(RESULTS, results.to_string()).await
}

const ASK: &str = "Read [[script: say \"Let me look.\"; call workspace_read_file {\"path\":\"a.rs\"}; \
                   call workspace_read_file {\"path\":\"b.rs\"}; then; say \"Both read.\"]]";

#[tokio::test]
async fn client_calls_suspend_the_turn_and_their_results_finish_it() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let asked = turn(ASK);
    let suspended = ada.execute(&asked).await;
    let continuation = suspended.result();
    assert_eq!(continuation["Kind"], "client_tool_continuation");
    assert_eq!(continuation["ToolContinuationMessage"], "Let me look.");
    for forbidden in ["PrimaryOutputText", "ToolResults", "Files", "UserWarnings", "Usage"] {
        assert!(continuation.get(forbidden).is_none(), "{forbidden}");
    }
    let calls = continuation["ToolCalls"].as_array().unwrap();
    assert_eq!((calls.len(), calls[0]["ArgumentsJson"].as_str()), (2, Some("{\"path\":\"a.rs\"}")));
    assert_eq!(
        ada.execute(&asked).await.text,
        suspended.text,
        "the same user turn again gets the continuation"
    );
    assert_eq!(ada.get(&turn_path(&asked)).await.result()["Status"]["Id"], "pending");

    let right = results(&continuation, "contents");
    let answer = submit(&ada, &right).await;
    assert_eq!(answer.result()["PrimaryOutputText"], "Both read.");
    assert_eq!(submit(&ada, &right).await.text, answer.text, "the same results again get the same bytes");
    assert_eq!(ada.execute(&asked).await.text, answer.text, "and so does the user turn");
    let sent = &system.model_calls()[1];
    let outputs: Vec<_> = sent["input"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["type"] == "function_call_output")
        .collect();
    assert_eq!(outputs.len(), 2);
    assert_eq!(outputs[0]["call_id"], calls[0]["ToolCallId"]);
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn every_mutation_of_the_right_results_is_refused_and_the_right_ones_still_work() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let asked = turn(ASK);
    let continuation = ada.execute(&asked).await.result();
    let right = results(&continuation, "contents");
    let list = right["ToolResults"].as_array().unwrap().clone();
    let with = |list: Vec<Value>| json!({"SessionId": right["SessionId"], "TurnId": right["TurnId"], "ToolResults": list});
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut one = list[0].clone();
        edit(&mut one);
        with(vec![one, list[1].clone()])
    };
    let foreign = json!({"ToolCallId": "call_of_another", "ExecutionMs": 1, "ResultJson": "1"});
    let mutations = [
        ("missing", with(vec![list[0].clone()]), 409),
        ("none", with(vec![]), 400),
        ("extra", with(vec![list[0].clone(), list[1].clone(), foreign.clone()]), 409),
        ("swapped", with(vec![list[1].clone(), list[0].clone()]), 409),
        ("doubled", with(vec![list[0].clone(), list[0].clone()]), 409),
        ("foreign", with(vec![foreign, list[1].clone()]), 409),
        ("both", edited(&|one| one["ErrorMessage"] = json!("no")), 400),
        ("neither", edited(&|one| drop(one.as_object_mut().unwrap().remove("ResultJson"))), 400),
        ("not JSON", edited(&|one| one["ResultJson"] = json!("{")), 400),
        ("negative time", edited(&|one| one["ExecutionMs"] = json!(-1)), 400),
    ];
    for (name, mutation, status) in mutations {
        let refused = submit(&ada, &mutation).await;
        assert_eq!(refused.status, status, "{name}: {}", refused.text);
        if status == 409 {
            assert_eq!(refused.error(), "ToolResultsMismatch", "{name}");
            assert!(
                refused.errors()[0]["Details"].as_str().unwrap().contains("expected"),
                "{name}: {}",
                refused.text
            );
        }
    }
    assert_eq!(system.model_calls().len(), 1, "the model was not called");
    assert!(
        system.objects().await.iter().all(|key| !key.ends_with("tool-results.json")),
        "nothing was stored"
    );
    assert_eq!(submit(&ada, &right).await.result()["Kind"], "final");
}

#[tokio::test]
async fn a_turn_suspends_three_times_with_mixed_replies_and_a_mode_change() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let asked = turn(
        "Go [[script: call workspace_read_file {\"path\":\"1\"}; call code_hash_normalized {\"text\":\"x\"}; then; \
         call agent_change_mode {\"mode\":\"ddr_authoring\",\"branch\":false,\"reason\":\"r\"}; call workspace_read_file {\"path\":\"2\"}; then; \
         call workspace_read_file {\"path\":\"3\"}; then; say \"End.\"]]",
    );
    let mut answer = ada.execute(&asked).await.result();
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
async fn a_failed_tool_is_a_result_like_any_other() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let continuation = ada.execute(&turn(ASK)).await.result();
    let mut failed = results(&continuation, "x");
    failed["ToolResults"][0] = json!({"ToolCallId": continuation["ToolCalls"][0]["ToolCallId"], "ExecutionMs": 0, "ErrorMessage": "no such file"});
    assert_eq!(submit(&ada, &failed).await.result()["Kind"], "final");
    assert!(system.model_calls()[1].to_string().contains("no such file"));
}

#[tokio::test]
async fn a_new_user_turn_supersedes_a_waiting_one_at_once() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let asked = turn(ASK);
    let continuation = ada.execute(&asked).await.result();
    let next = turn_in(asked["SessionId"].as_str().unwrap(), "Never mind");
    assert_eq!(ada.execute(&next).await.result()["Kind"], "final");
    let late = submit(&ada, &results(&continuation, "late")).await;
    assert_eq!((late.status, late.error().as_str()), (409, "TurnSuperseded"));
    assert_eq!(ada.get(&turn_path(&asked)).await.result()["Status"]["Id"], "failed");
    let calls = system.model_calls();
    assert!(calls[1].get("previous_response_id").is_none(), "the chain goes on from the last completed turn");
}

#[tokio::test]
async fn a_waiting_turn_is_cancelled() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let asked = turn(ASK);
    let continuation = ada.execute(&asked).await.result();
    let cancelled = ada.post(&format!("{}/cancel", turn_path(&asked)), String::new()).await.result();
    assert_eq!(cancelled["Status"]["Id"], "failed");
    let late = submit(&ada, &results(&continuation, "late")).await;
    assert_eq!((late.status, late.error().as_str()), (409, "TurnCancelled"));
}

#[tokio::test]
async fn two_continuations_race_and_one_wins() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let continuation = ada.execute(&turn(ASK)).await.result();
    let (one, other) = (results(&continuation, "one"), results(&continuation, "other"));
    let (one, other) = futures::join!(submit(&ada, &one), submit(&ada, &other));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.text, other.text);
    let (same_a, same_b) = (turn(ASK), ());
    let () = same_b;
    let right = results(&ada.execute(&same_a).await.result(), "x");
    let (a, b) = futures::join!(submit(&ada, &right), submit(&ada, &right));
    assert_eq!((a.status, &a.text), (200, &b.text));
}

#[tokio::test]
async fn a_function_that_dies_after_the_results_were_accepted_is_taken_over_by_the_same_results() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let asked =
        turn("Read [[script: call workspace_read_file {\"path\":\"a\"}; then; delay 700ms; say \"Read.\"]]");
    let right = results(&ada.execute(&asked).await.result(), "contents");
    let crash = async {
        while system.model_calls().len() < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        system.cloud.crash(Function::ToolContinuation);
    };
    let (broken, ()) = futures::join!(submit(&ada, &right), crash);
    assert_eq!(broken.status, 502);
    let mut answer = submit(&ada, &right).await;
    while answer.status == 409 && answer.error() == "TurnInProgress" {
        answer = submit(&ada, &right).await;
    }
    assert_eq!(answer.result()["PrimaryOutputText"], "Read.", "{}", answer.text);
    assert_eq!(ada.get(&session_path(&asked)).await.result()["TurnCount"], 1);
}
