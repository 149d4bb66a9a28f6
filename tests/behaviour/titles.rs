//! Titles of sessions by a model, which the deployment or the org's settings turn on.

use std::time::Duration;

use contracts::paths::{ORG_SETTINGS, USAGE};
use local::{Function, Options};
use serde_json::{Value, json};

use crate::{
    budgets::{budget, limit},
    export::operator,
    org_settings::{put, set},
    session_edits::{delete, edit, session_of},
    support::{
        Client, NamedProvider, PATIENCE, System, declaring, options, session_path, system_message, turn,
        turn_in, user_message,
    },
};

/// The time in which an unwanted title would come.
const A_WHILE: Duration = Duration::from_millis(700);

/// Lets this model write the titles of `acme`.
async fn titles(system: &System, model: &str) {
    set(system, "acme", json!({"Titles": {"Model": model}})).await;
}

async fn name(client: &Client, turn: &Value) -> String {
    let session = client.get(&session_path(turn)).await.result();
    session["Name"].as_str().unwrap().to_owned()
}

/// Waits until the session of a turn has this name.
async fn named(client: &Client, turn: &Value, wanted: &str) {
    let has = |answer: &crate::support::Answer| answer.json()["Result"]["Name"] == wanted;
    let read = client.until(&session_path(turn), PATIENCE, has).await.result();
    assert_eq!(read["Name"], wanted);
}

/// Waits until the usage of the org has so many model calls, and returns the report by model.
async fn counted(system: &System, calls: u64) -> Value {
    let path = format!("{USAGE}?by=model");
    let has = |answer: &crate::support::Answer| answer.json()["Result"]["Total"]["ModelCalls"] == calls;
    let report = operator(system, "acme").until(&path, PATIENCE, has).await.result();
    assert_eq!(report["Total"]["ModelCalls"], calls, "{report}");
    report
}

#[tokio::test]
async fn first_turn_gets_a_title_by_option() {
    let system = System::start().await;
    titles(&system, "mini").await;
    let ada = system.client("acme", "ada");
    let long = "and more about it ".repeat(60);
    let first = turn(&format!(
        "How do leases end? [[titled: usage 30 5; say \"\\\"The end of leases.\\\"\\nThey end.\"]] {long}"
    ));
    let answer = ada.execute(&first).await.result();
    assert_ne!(name(&ada, &first).await, "The end of leases", "the answer doesn't wait for it");
    named(&ada, &first, "The end of leases").await;
    let calls = system.model_calls();
    assert_eq!(calls.len(), 2);
    let call = &calls[1];
    assert_eq!(
        (&call["model"], &call["store"], &call["max_output_tokens"]),
        (&json!("mini"), &json!(false), &json!(32))
    );
    assert!(call.get("tools").is_none() && call.get("previous_response_id").is_none(), "{call}");
    assert!(system_message(call).contains("You name conversations."), "{call}");
    let said = user_message(call);
    assert!(said.contains("How do leases end?") && said.contains("Assistant:"), "{said}");
    assert!(said.len() < 1_600, "the request is small: {}", said.len());

    let report = counted(&system, 2).await;
    let groups = report["Groups"].as_array().unwrap();
    let of_title = groups.iter().find(|group| group["Key"] == "mini").expect("the title's usage");
    assert_eq!((&of_title["Turns"], &of_title["Usage"]["TotalTokens"]), (&json!(0), &json!(35)));
    assert_eq!(report["Total"]["Turns"], 1);
    let session = ada.get(&session_path(&first)).await.result();
    assert_eq!(session["TotalUsage"], answer["Usage"], "the session has the usage of its turns");

    // Later turns don't change it.
    ada.execute(&turn_in(session_of(&first), "And then? [[titled: say \"Another\"]]")).await.result();
    system.until_finalized(session_of(&first), 2).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!((name(&ada, &first).await.as_str(), system.model_calls().len()), ("The end of leases", 3));
}

#[tokio::test]
async fn session_keeps_its_excerpt_without_the_option() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("How do leases end?");
    ada.execute(&first).await.result();
    system.until_finalized(session_of(&first), 1).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!((name(&ada, &first).await.as_str(), system.model_calls().len()), ("How do leases end?", 1));
}

#[tokio::test]
async fn deployment_has_a_default_that_an_org_turns_off() {
    let mut options = options();
    options.environment.insert("TITLE_MODEL".to_owned(), "mini".to_owned());
    let system = System::with(options).await;
    set(&system, "rival", json!({"Titles": {}})).await;
    let (ada, rival) = (system.client("acme", "ada"), system.client("rival", "ada"));
    let off = turn("How do leases end?");
    rival.execute(&off).await.result();
    system.until_finalized(session_of(&off), 1).await;
    let on = turn("How do leases end?");
    ada.execute(&on).await.result();
    named(&ada, &on, "About: How do leases end?").await;
    assert_eq!((name(&rival, &off).await.as_str(), system.model_calls().len()), ("How do leases end?", 3));
}

#[tokio::test]
async fn renamed_or_deleted_session_keeps_its_name() {
    let system = System::start().await;
    titles(&system, "mini").await;
    let ada = system.client("acme", "ada");
    // Before the title is asked for.
    system.cloud.pause_finalizer().await;
    let early = turn("Early");
    ada.execute(&early).await.result();
    // To the name that it has: it's the user's from now on.
    edit(&ada, &early, json!({"Name": "Early"})).await.result();
    system.cloud.resume_finalizer().await;
    system.until_finalized(session_of(&early), 1).await;

    // While the model writes.
    let (late, gone) = (
        turn("Late [[titled: delay 2s; say \"By the model\"]]"),
        turn("Gone [[titled: delay 2s; say \"By the model\"]]"),
    );
    ada.execute(&late).await.result();
    ada.execute(&gone).await.result();
    system.model_called(5).await;
    edit(&ada, &late, json!({"Name": "Mine"})).await.result();
    let before = name(&ada, &gone).await;
    delete(&ada, &gone).await.result();
    counted(&system, 5).await;
    assert_eq!(name(&ada, &late).await, "Mine");
    let read = ada.get(&session_path(&gone)).await.result();
    assert_eq!((&read["Name"], &read["IsDeleted"]), (&json!(before), &json!(true)));
    assert_eq!((name(&ada, &early).await.as_str(), system.model_calls().len()), ("Early", 5));
}

#[tokio::test]
async fn failing_model_leaves_the_excerpt_and_is_called_once() {
    let system = System::start().await;
    titles(&system, "mini").await;
    let ada = system.client("acme", "ada");
    let mut sent = Vec::new();
    for script in ["status 503", "say \"Half of a\"; incomplete", "say \"...\""] {
        let turn = turn(&format!("Leases [[titled: {script}]]"));
        ada.execute(&turn).await.result();
        system.until_finalized(session_of(&turn), 1).await;
        sent.push(turn);
    }
    counted(&system, 6).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(system.model_calls().len(), 6, "no call is retried");
    for turn in &sent {
        assert_eq!(name(&ada, turn).await, turn["Instruction"].as_str().unwrap());
    }
    let failed = |line: &Value| line["message"] == "session title failed";
    let lines = system.logged(Function::TurnFinalizer, "session title failed", failed).await;
    assert!(lines[0]["session"].is_string() && lines[0]["error"].is_string(), "{lines:?}");
}

#[tokio::test]
async fn repeated_message_and_dead_finalizer_make_one_call() {
    let system = System::with(Options { visibility: Some(Duration::from_secs(1)), ..options() }).await;
    titles(&system, "mini").await;
    let ada = system.client("acme", "ada");
    let first = turn("Leases [[titled: delay 3s; say \"Too late\"]]");
    ada.execute(&first).await.result();
    system.model_called(2).await;
    // The message comes again after the crash, and once more.
    system.cloud.crash(Function::TurnFinalizer);
    let message = json!({
        "Kind": "turn_settled", "Org": "acme", "Session": first["SessionId"], "Turn": first["TurnId"],
    });
    let queue = &system.cloud.endpoints().finalize_queue;
    let send = system.cloud.sqs().send_message().queue_url(queue).message_body(message.to_string());
    send.send().await.expect("sent");
    let handled = |line: &Value| line["message"] == "turn message handled";
    let mut lines = Vec::new();
    for _ in 0..100 {
        lines = system.logged(Function::TurnFinalizer, "turn message handled", handled).await;
        if lines.len() >= 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(lines.len() >= 3, "{lines:?}");
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(system.model_calls().len(), 2);
    assert_eq!(name(&ada, &first).await, first["Instruction"].as_str().unwrap());
}

#[tokio::test]
async fn private_sessions_forbidden_models_and_used_up_budgets_get_none() {
    let system = System::start().await;
    let on = json!({"Model": "mini"});
    set(&system, "acme", json!({"Titles": on})).await;
    set(&system, "private", json!({"Titles": on, "SessionVisibility": "participants"})).await;
    set(&system, "strict", json!({"Titles": on, "Policy": {"Models": ["scripted"]}})).await;
    limit(&system, budget(json!({"Limit": 50}))).await;
    for org in ["acme", "private", "strict"] {
        let ada = system.client(org, "ada");
        let first = turn("Leases [[script: usage 100 10; say \"They end.\"]]");
        ada.execute(&first).await.result();
        system.until_finalized(session_of(&first), 1).await;
        tokio::time::sleep(A_WHILE).await;
        assert_eq!(name(&ada, &first).await, first["Instruction"].as_str().unwrap(), "{org}");
    }
    assert_eq!(system.model_calls().len(), 3);
}

#[tokio::test]
async fn title_provider_that_does_not_exist_is_refused() {
    let provider = NamedProvider::with_profile("ollama").await;
    let system = System::with(declaring(&json!([{"Name": "cheap", "BaseUrl": provider.base}]))).await;
    let op = operator(&system, "acme");
    let titles = |provider: &str| json!({"Titles": {"Model": "mini", "Provider": provider}});
    let refused = put(&op, &titles("none")).await;
    assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"), "{}", refused.text);
    assert_eq!(refused.errors()[0]["Details"], "Titles.Provider");
    assert!(refused.text.contains("must be one of cheap"), "{}", refused.text);
    assert!(op.get(ORG_SETTINGS).await.result().get("Titles").is_none());
    put(&op, &titles("cheap")).await.result();
}
