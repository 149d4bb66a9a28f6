//! `POST …/turns/{TurnId}/rerun` (DD-006; ruling: rerun's chain).

use local::{Function, Options};
use serde_json::{Value, json};

use crate::support::{
    Answer, Client, LEASE, System, history, id, in_context, is_chained, options, reading_tool, session_path,
    turn, turn_in, turn_path, user_message,
};

pub const ONE: &str = "First [[script: say \"One.\"]]";
pub const TWO: &str = "Second [[script: say \"Two.\"]]";
pub const THREE: &str = "Third [[script: say \"Three.\"]]";

async fn rerun(client: &Client, of: &Value, body: &Value) -> Answer {
    client.post(&format!("{}/rerun", turn_path(of)), body.to_string()).await
}

/// A turn that a rerun made, to be read.
fn made(of: &Value, body: &Value) -> Value {
    json!({"SessionId": of["SessionId"], "TurnId": body["TurnId"]})
}

/// Three turns of the session `s`, and the turns themselves.
pub async fn talk(client: &Client, make: fn(&str) -> Value) -> Vec<Value> {
    let turns: Vec<Value> = [ONE, TWO, THREE].map(make).into();
    for turn in &turns {
        client.execute(turn).await.result();
    }
    turns
}

pub fn of_s(instruction: &str) -> Value {
    turn_in("s", instruction)
}

pub fn told(exchanges: &[(&str, &str)]) -> Vec<String> {
    exchanges
        .iter()
        .flat_map(|(asked, said)| [format!("user: {asked}"), format!("assistant: {said}")])
        .collect()
}

#[tokio::test]
async fn rerun_is_a_new_turn_and_leaves_the_original_unchanged() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let turns = talk(&ada, of_s).await;
    let before = ada.get(&turn_path(&turns[1])).await.text;
    let body = json!({"TurnId": id()});
    let answer = rerun(&ada, &turns[1], &body).await;
    let result = answer.result();
    assert_eq!((&result["TurnId"], &result["PrimaryOutputText"]), (&body["TurnId"], &json!("Two.")));
    let read = ada.get(&turn_path(&made(&turns[1], &body))).await.result();
    assert_eq!(
        (&read["RerunOfTurnId"], &read["SequenceNumber"], &read["InstructionSummary"]),
        (&turns[1]["TurnId"], &json!(4), &json!(TWO))
    );
    let after = ada.get(&turn_path(&turns[1])).await.text;
    assert_eq!(before_request(&before), before_request(&after));
    assert!(ada.get(&turn_path(&turns[0])).await.result().get("RerunOfTurnId").is_none());
}

/// A body as a client compares it.
fn before_request(text: &str) -> Value {
    serde_json::from_str::<Value>(text).unwrap()["Result"].clone()
}

#[tokio::test]
async fn rerun_continues_from_original_parent_and_becomes_latest() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let turns = talk(&ada, of_s).await;
    let again = json!({"TurnId": id(), "Instruction": "Otherwise [[script: say \"Other.\"]]"});
    rerun(&ada, &turns[1], &again).await.result();
    let calls = system.model_calls();
    assert_eq!(calls[3]["previous_response_id"], calls[1]["previous_response_id"]);
    assert!(is_chained(&calls[3]) && user_message(&calls[3]).contains("Otherwise"));
    ada.execute(&of_s("Next")).await.result();
    let (next, third) = (system.last_call(), &calls[2]);
    assert!(is_chained(&next));
    assert_ne!(next["previous_response_id"], third["previous_response_id"], "the rerun is gone on from");
    // What the provider has forgotten is told as it was gone on from.
    ada.execute(&of_s("Last [[script: forget; say \"Done.\"]]")).await.result();
    let heard = history(&system.last_call());
    let mut expected = told(&[(ONE, "One."), ("Otherwise [[script: say \"Other.\"]]", "Other.")]);
    expected.push("user: Next".to_owned());
    assert_eq!(heard[..5], expected);
}

#[tokio::test]
async fn rerun_of_local_conversation_gets_only_earlier_history() {
    let system = System::start().await;
    system.put_context(json!({"Chain": "local"})).await;
    let ada = system.client("acme", "ada");
    let turns = talk(&ada, in_context).await;
    rerun(&ada, &turns[1], &json!({"TurnId": id()})).await.result();
    assert_eq!(history(&system.last_call()), told(&[(ONE, "One.")]));
    ada.execute(&in_context("Next")).await.result();
    assert_eq!(history(&system.last_call()), told(&[(ONE, "One."), (TWO, "Two.")]));
    // The first turn has nothing before it, whenever it is run again.
    rerun(&ada, &turns[0], &json!({"TurnId": id()})).await.result();
    assert!(history(&system.last_call()).is_empty());
}

#[tokio::test]
async fn failed_rerun_does_not_affect_the_session() {
    let system = System::start().await;
    system.put_context(json!({"Chain": "local"})).await;
    let ada = system.client("acme", "ada");
    let turns = talk(&ada, in_context).await;
    let fails = json!({"TurnId": id(), "Instruction": "Fails [[script: status 400]]"});
    assert_ne!(rerun(&ada, &turns[0], &fails).await.status, 200);
    ada.execute(&in_context("Next")).await.result();
    assert_eq!(history(&system.last_call()), told(&[(ONE, "One."), (TWO, "Two."), (THREE, "Three.")]));
}

#[tokio::test]
async fn repeated_rerun_is_replayed_and_a_different_one_conflicts() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let turns = talk(&ada, of_s).await;
    let body = json!({"TurnId": id()});
    let first = rerun(&ada, &turns[1], &body).await;
    let calls = system.model_calls().len();
    assert_eq!(rerun(&ada, &turns[1], &body).await.text, first.text);
    for (of, body) in [
        (&turns[0], body.clone()),
        (&turns[1], json!({"TurnId": body["TurnId"], "Mode": "general"})),
        (&turns[1], json!({"TurnId": body["TurnId"], "Instruction": "Other"})),
        (&turns[1], json!({"TurnId": turns[1]["TurnId"]})),
    ] {
        let refused = rerun(&ada, of, &body).await;
        assert_eq!((refused.status, refused.error().as_str()), (409, "TurnIdConflict"));
    }
    let plain = json!({"SessionId": "s", "TurnId": body["TurnId"], "Instruction": TWO});
    assert_eq!(ada.execute(&plain).await.error(), "TurnIdConflict");
    assert_eq!(system.model_calls().len(), calls);
}

#[tokio::test]
async fn rerun_honors_requested_model_or_mode() {
    let system = System::start().await;
    system.put_context(json!({"ModelName": "one", "Fallbacks": [{"ModelName": "two"}]})).await;
    let ada = system.client("acme", "ada");
    let first = in_context(ONE);
    ada.execute(&first).await.result();
    let body = json!({"TurnId": id(), "Model": "two", "Mode": "ddr_authoring"});
    rerun(&ada, &first, &body).await.result();
    assert_eq!(system.last_call()["model"], "two");
    let read = ada.get(&turn_path(&made(&first, &body))).await.result();
    assert_eq!(read["Mode"], "ddr_authoring");
    // The context's own model and the session's mode have the next turn.
    let next = in_context("Next");
    ada.execute(&next).await.result();
    assert_eq!(system.last_call()["model"], "one");
    assert_eq!(ada.get(&turn_path(&next)).await.result()["Mode"], "general");
    let session = ada.get(&session_path(&first)).await.result();
    assert_eq!((&session["Mode"], &session["ModeHistory"]), (&json!("general"), &json!([])));
}

/// DD-006: a rerun takes an updated context. What it leaves out is that of the original turn.
#[tokio::test]
async fn rerun_takes_new_files_scope_hints_and_solution() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let file = |contents: &str| json!([{"RelativePath": "src/a.rs", "FileName": "a.rs", "Contents": contents, "Origin": "ide"}]);
    let mut first = turn(ONE);
    first["InputArtifacts"] = file("fn old() {}");
    first["Repo"] = json!("old");
    ada.execute(&first).await.result();
    let body = json!({
        "TurnId": id(), "InputArtifacts": file("fn new() {}"), "Repo": "new", "SolutionContextText": "A Go module.",
        "RagScope": {"Conditions": [{"Key": "Path", "Operator": "contains", "Values": ["a"]}]},
        "ClipboardImages": [{"Id": "shot 9", "MimeType": "image/png", "DataBase64": "iVBORw0KGgo="}],
    });
    let answer = rerun(&ada, &first, &body).await.result();
    let call = system.last_call().to_string();
    for told in ["fn new() {}", "shot 9", "A Go module."] {
        assert!(call.contains(told), "{told}: {call}");
    }
    assert!(!call.contains("fn old() {}"), "{call}");
    assert!(answer["UserWarnings"].to_string().contains("`RagScope` was not used"), "{answer}");
    let read = ada.get(&turn_path(&made(&first, &body))).await.result();
    assert_eq!(
        read["ActiveFileRefs"][0]["ContentHash"],
        contracts::ContentHash::hash_text("fn new() {}").to_string()
    );
    assert_eq!(ada.get(&session_path(&first)).await.result()["Repo"], "new");
    assert_eq!(rerun(&ada, &first, &body).await.result(), answer, "the same request is a replay");
    let mut other = body.clone();
    other["Repo"] = json!("another");
    assert_eq!(rerun(&ada, &first, &other).await.error(), "TurnIdConflict");

    // What is left out stays.
    let plain = json!({"TurnId": id()});
    rerun(&ada, &first, &plain).await.result();
    assert!(system.last_call().to_string().contains("fn old() {}"));
}

#[tokio::test]
async fn invalid_rerun_is_refused_by_name_without_a_trace() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn(ONE);
    ada.execute(&first).await.result();
    for (body, code, member) in [
        (json!({}), "MemberRequired", "TurnId"),
        (json!({"TurnId": "last"}), "MemberInvalid", "TurnId"),
        (json!({"TurnId": id(), "Instruction": " "}), "MemberInvalid", "Instruction"),
        (json!({"TurnId": id(), "SessionId": "s"}), "MemberUnknown", "SessionId"),
        (json!({"TurnId": id(), "Mode": "poetry"}), "MemberInvalid", "Mode"),
        (json!({"TurnId": id(), "Model": "dear"}), "MemberInvalid", "Model"),
        (json!({"TurnId": id(), "InputArtifacts": 1}), "MemberInvalid", "InputArtifacts"),
        (
            json!({"TurnId": id(), "ClipboardImages": [{"MimeType": "image/png", "DataBase64": "iVBORw0KGgo="}]}),
            "MemberRequired",
            "ClipboardImages[0].Id",
        ),
    ] {
        let refused = rerun(&ada, &first, &body).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, code), "{}", refused.text);
        assert_eq!(refused.errors()[0]["Details"], member);
    }
    let named = rerun(&ada, &first, &json!({"TurnId": id(), "Mode": "poetry"})).await;
    assert!(named.text.contains("general, ddr_authoring"), "{}", named.text);
    assert_eq!(ada.get(&session_path(&first)).await.result()["TurnCount"], 1);
    assert_eq!(system.model_calls().len(), 1);
}

#[tokio::test]
async fn open_turn_cannot_be_rerun() {
    let system = System::start().await;
    system.put_context(json!({"ClientTools": [reading_tool()]})).await;
    let ada = system.client("acme", "ada");
    let waits = in_context("Wait [[script: call workspace_read_file {\"path\":\"a\"}]]");
    ada.execute(&waits).await.result();
    let refused = rerun(&ada, &waits, &json!({"TurnId": id()})).await;
    assert_eq!((refused.status, refused.error().as_str()), (409, "SessionBusy"));
    assert_eq!(refused.errors()[0]["Details"], waits["TurnId"]);
    assert_eq!(ada.get(&turn_path(&waits)).await.result()["Status"]["Id"], "pending");
}

#[tokio::test]
async fn rerun_can_be_streamed() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn(ONE);
    ada.execute(&first).await.result();
    let streamed = rerun(&ada, &first, &json!({"TurnId": id(), "Streaming": true})).await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    assert!(
        streamed.text.contains("event:result") || streamed.text.contains("event: result"),
        "{}",
        streamed.text
    );
}

#[tokio::test]
async fn crashed_rerun_is_taken_over_from_its_original_parent() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let turns = talk(&ada, of_s).await;
    let body = json!({"TurnId": id(), "Instruction": "Slow at first [[script: delay 700ms; say \"Here.\"]]"});
    let dies = async {
        let running = rerun(&ada, &turns[1], &body);
        let crash = async {
            system.model_called(4).await;
            system.cloud.crash(Function::Execute);
        };
        futures::join!(running, crash).0
    };
    assert_eq!(dies.await.error(), "FunctionFailed");
    let answer = rerun(&ada, &turns[1], &body).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Here.");
    let calls = system.model_calls();
    assert_eq!((calls.len(), &calls[4]["previous_response_id"]), (5, &calls[1]["previous_response_id"]));
}
