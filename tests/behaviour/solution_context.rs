//! The solution context latches: the newest one given stays (AGN-034 §4.5).

use local::Options;
use protocol::payload::MAX_INLINE_REQUEST_BYTES;
use serde_json::{Value, json};

use crate::client_tools::{results, submit};
use crate::support::{
    Client, LEASE, System, is_chained, options, reading_tool, system_message, turn_in, user_message,
};

/// A turn with a solution context, or without that member.
async fn talk(client: &Client, instruction: &str, solution: Option<&str>) -> Value {
    let mut turn = turn_in("s", instruction);
    if let Some(text) = solution {
        turn["SolutionContextText"] = json!(text);
    }
    client.execute(&turn).await.result()
}

#[tokio::test]
async fn solution_context_is_sent_only_when_it_changes() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    talk(&ada, "one", Some("A Rust workspace.")).await;
    let first = system_message(&system.last_call());
    let parts =
        ["[MODE_INSTRUCTIONS", "[SOLUTION_CONTEXT]", "A Rust workspace.", "<<<APTIX_SERVER_TOOL_USAGE"];
    let places: Vec<usize> = parts.iter().map(|part| first.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{first}");
    let call = system.last_call();
    let content = call["input"][0]["content"].as_array().unwrap();
    assert_eq!(content.len(), 3, "base prompt, mode with solution, usage: {content:?}");
    assert!(content[2]["text"].as_str().unwrap().starts_with("<<<APTIX_SERVER_TOOL_USAGE"), "{content:?}");

    for kept in [None, Some("A Rust workspace.")] {
        talk(&ada, "two", kept).await;
        let said = user_message(&system.last_call());
        assert!(!said.contains("[SOLUTION_CONTEXT]"), "{kept:?}: {said}");
    }
    talk(&ada, "three", Some("A Go module.")).await;
    let said = user_message(&system.last_call());
    assert!(said.contains("A Go module.") && is_chained(&system.last_call()), "{said}");
    talk(&ada, "four", Some("")).await;
    let said = user_message(&system.last_call());
    assert!(said.contains("no longer holds"), "{said}");
    talk(&ada, "five", None).await;
    assert!(!user_message(&system.last_call()).contains("[SOLUTION_CONTEXT]"));
}

#[tokio::test]
async fn rebuilt_chain_and_tool_round_get_the_current_one() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    talk(&ada, "one", Some("A Rust workspace.")).await;
    talk(&ada, "Two [[script: forget; call agent_list_modes {}; then; say \"Done.\"]]", None).await;
    let calls = system.model_calls();
    assert_eq!(calls.len(), 4);
    assert!(system_message(&calls[2]).contains("A Rust workspace."), "loaded from the turn that brought it");
    assert!(!user_message(&calls[3]).contains("[SOLUTION_CONTEXT]"), "the chain knows it");
}

#[tokio::test]
async fn continuation_that_cannot_read_it_is_refused_and_works_later() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    system.put_context(json!({"Chain": "local", "ClientTools": [reading_tool()]})).await;
    let ada = system.client("acme", "ada");
    // Too large to be inline, so that there is only the object.
    let mut first = turn_in("s", &"one ".repeat(MAX_INLINE_REQUEST_BYTES));
    first["ConversationContextId"] = json!("c");
    first["SolutionContextText"] = json!("A Rust workspace.");
    ada.execute(&first).await.result();
    let ask =
        turn_in("s", "Read [[script: call workspace_read_file {\"path\":\"a.rs\"}; then; say \"Read.\"]]");
    let suspended = ada.execute(&ask).await.result();
    let results = results(&suspended, "a");
    let calls = system.model_calls().len();

    // The text lies with the turn that brought it.
    let by = format!("/{}/", first["TurnId"].as_str().unwrap());
    let brought = system.object(|key| key.contains(&by) && key.ends_with("/instruction.json")).await;
    let (s3, bucket) = (system.cloud.s3(), system.cloud.bucket());
    let stored = s3.get_object().bucket(bucket).key(&brought).send().await.unwrap();
    let stored = stored.body.collect().await.unwrap().into_bytes();
    s3.delete_object().bucket(bucket).key(&brought).send().await.unwrap();
    let refused = submit(&ada, &results).await;
    assert_eq!((refused.status, refused.error().as_str()), (503, "StorageUnavailable"), "{}", refused.text);
    assert!(refused.header("retry-after").is_some(), "it is temporary");
    assert_eq!(system.model_calls().len(), calls, "the model is not asked without it");

    s3.put_object().bucket(bucket).key(&brought).body(stored.into()).send().await.unwrap();
    let mut answer = submit(&ada, &results).await;
    while answer.status == 409 && answer.error() == "TurnInProgress" {
        answer = submit(&ada, &results).await;
    }
    let answer = answer.result();
    assert_eq!(answer["PrimaryOutputText"], "Read.");
    assert!(system_message(&system.last_call()).contains("A Rust workspace."));
}

#[tokio::test]
async fn solution_context_of_a_failed_turn_is_stored() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    talk(&ada, "one", None).await;
    let mut failing = turn_in("s", "Fail [[script: status 400]]");
    failing["SolutionContextText"] = json!("A Rust workspace.");
    assert_eq!(ada.execute(&failing).await.status, 502);
    talk(&ada, "two", None).await;
    assert!(user_message(&system.last_call()).contains("A Rust workspace."));
}
