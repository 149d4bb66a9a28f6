//! Modes of an org over the API, turns in them, and deprecation.

use contracts::paths::{AGENTS, CONVERSATION_CONTEXTS, MODES};
use local::token::Identity;
use reqwest::Method;
use serde_json::{Value, json};

use crate::agents::{editor, put};
use crate::client_tools::{results, submit};
use crate::provider_start::aptix;
use crate::support::{
    Answer, Client, System, in_context, said, session_path, system_message, tools, turn, turn_in,
};

const RULE: &str = "Leave internal changes out.";

/// A mode that a release needs.
fn release_notes() -> Value {
    json!({
        "DisplayName": "Release notes", "Description": "Writes the notes of a release.",
        "WhenToUse": "When the user wants release notes.", "Status": "active", "Version": "1",
        "ModeInstructions": [RULE], "AssociatedToolIds": ["publish_file"],
    })
}

fn with(mut document: Value, name: &str, value: impl Into<Value>) -> Value {
    document[name] = value.into();
    document
}

/// Content of a conversation context that starts in this mode.
fn starting_in(mode: &str) -> Value {
    json!({"Name": "C", "System": "Help.", "DefaultMode": mode})
}

async fn delete(client: &Client, path: &str) -> Answer {
    client.send(Method::DELETE, path, None).await
}

/// Writes the mode `release_notes` and the context `c` that starts in it.
async fn release_team(eddie: &Client, mode: &Value) {
    put(eddie, &MODES.context("release_notes"), mode).await.result();
    put(eddie, &CONVERSATION_CONTEXTS.context("c"), &starting_in("release_notes")).await.result();
}

fn listed(list: &Value) -> Vec<(String, bool)> {
    let items = list["Items"].as_array().unwrap().iter();
    items.map(|mode| (mode["Id"].as_str().unwrap().to_owned(), mode["IsBuiltIn"] == true)).collect()
}

#[tokio::test]
async fn turn_uses_the_prompt_and_tools_of_a_mode_of_its_org() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    release_team(&eddie, &release_notes()).await;
    let first = in_context("hello");
    let answer = ada.execute(&first).await.result();
    assert_eq!(answer["ModeDisplayName"], "Release notes");
    assert_eq!(ada.get(&session_path(&first)).await.result()["Mode"], "release_notes");
    let call = system.last_call();
    assert!(said(&call).starts_with("[MODE: release_notes]"), "{}", said(&call));
    let prompt = system_message(&call);
    assert!(prompt.contains(RULE) && prompt.contains("- `release_notes`: Release notes. When"), "{prompt}");
    assert_eq!(tools(&call), ["publish_file", "agent_change_mode"]);

    // A session of another mode changes to it.
    let change = json!({"mode": "release_notes", "branch": false, "reason": "notes"});
    let script = format!("[[script: call agent_change_mode {change}; then; say \"Ready.\"]]");
    let changed = ada.execute(&turn(&script)).await.result();
    assert_eq!(changed["ModeDisplayName"], "Release notes");
    assert!(said(&system.last_call()).contains(RULE), "{}", said(&system.last_call()));
}

#[tokio::test]
async fn resumed_turn_answers_in_the_mode_of_its_org() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    let ask = json!([{"Name": "ask_client", "Description": "Asks.", "ExecutedBy": "client",
        "Parameters": {"type": "object", "properties": {}}}]);
    release_team(&eddie, &with(release_notes(), "ClientTools", ask)).await;
    let waits =
        ada.execute(&in_context("[[script: call ask_client {}; then; say \"Ready.\"]]")).await.result();
    assert_eq!(waits["ToolCalls"][0]["Name"], "ask_client");
    let answer = submit(&ada, &results(&waits, "yes")).await.result();
    assert_eq!((&answer["Kind"], &answer["ModeDisplayName"]), (&json!("final"), &json!("Release notes")));
}

#[tokio::test]
async fn modes_are_listed_read_versioned_and_rolled_back() {
    let system = System::start().await;
    let (eddie, path) = (editor(&system, "acme"), MODES.context("release_notes"));
    let built_in = ["general", "ddr_authoring", "workflow_authoring"].map(|key| (key.to_owned(), true));
    assert_eq!(listed(&eddie.get(MODES.list).await.result()), built_in);
    let general = eddie.get(&MODES.context("general")).await.result();
    assert_eq!((&general["IsBuiltIn"], &general["Content"]["Key"]), (&json!(true), &json!("general")));

    let written = put(&eddie, &path, &release_notes()).await.result();
    assert_eq!((&written["Id"], &written["Name"]), (&json!("release_notes"), &json!("Release notes")));
    assert_eq!(written["Content"]["Id"].as_str().unwrap().len(), 32, "derived from the key");
    assert_eq!(put(&eddie, &path, &written["Content"]).await.result(), written, "nothing changed");
    let list = eddie.get(MODES.list).await.result();
    assert_eq!(listed(&list)[0], ("release_notes".to_owned(), false));
    assert_eq!(list["Items"].as_array().unwrap().len(), 4);

    let create = [("content-type", "application/json"), ("if-none-match", "*")];
    let exists = eddie.raw(Method::PUT, &path, &create, release_notes().to_string().into_bytes()).await;
    assert_eq!((exists.status, exists.error().as_str()), (412, "PreconditionFailed"));
    put(&eddie, &path, &with(release_notes(), "DisplayName", "Notes")).await.result();
    let restored = eddie.post(&MODES.rollback("release_notes"), json!({"Version": 1}).to_string()).await;
    assert_eq!(restored.result()["Name"], "Release notes");
    let versions = eddie.get(&MODES.versions("release_notes")).await.result();
    assert_eq!(
        (&versions["Items"][0]["Version"], &versions["Items"][0]["RestoredVersion"]),
        (&json!(3), &json!(1))
    );
    let second = eddie.get(&MODES.version("release_notes", 2)).await.result();
    assert_eq!(second["Content"]["DisplayName"], "Notes");
}

#[tokio::test]
async fn invalid_mode_is_refused_with_every_member() {
    let system = System::start().await;
    let eddie = editor(&system, "acme");
    let mut wrong = release_notes();
    for (name, value) in [
        ("DisplayName", json!(" ")),
        ("WhenToUse", json!("Two\nlines.")),
        ("AssociatedToolIds", json!(["publish_file", "rm"])),
        ("IsDefault", json!(true)),
        ("Deprecated", json!("Use general.")),
        ("Id", json!("6b1f0f4c9d2e4a57b8c3e1d05f7a9210")),
    ] {
        wrong[name] = value;
    }
    let general = with(release_notes(), "Status", "deprecated");
    for (key, content, members) in [
        (
            "release_notes",
            wrong,
            vec!["AssociatedToolIds[1]", "Deprecated", "DisplayName", "Id", "IsDefault", "WhenToUse"],
        ),
        (
            "release_notes",
            with(with(release_notes(), "Colour", 1), "Status", "retired"),
            vec!["Colour", "Status"],
        ),
        ("release_notes", with(release_notes(), "Key", "other"), vec!["Key"]),
        ("Release-Notes", release_notes(), vec!["Key"]),
        ("general", general, vec!["Status"]),
    ] {
        let refused = put(&eddie, &MODES.context(key), &content).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "MemberInvalid"), "{}", refused.text);
        let errors = refused.errors();
        let mut named: Vec<_> = errors.iter().filter_map(|error| error["Details"].as_str()).collect();
        named.sort_unstable();
        assert_eq!(named, members, "{}", refused.text);
    }
    let empty = put(&eddie, &MODES.context("release_notes"), &json!({})).await;
    assert!(empty.text.contains("missing field `WhenToUse`"), "{}", empty.text);
    assert_eq!(eddie.get(&MODES.context("release_notes")).await.error(), "ModeNotFound");
}

#[tokio::test]
async fn context_may_name_only_modes_of_its_own_org() {
    let system = System::start().await;
    let (eddie, eve) = (editor(&system, "acme"), editor(&system, "rival"));
    release_team(&eddie, &release_notes()).await;
    let refused = put(&eve, &CONVERSATION_CONTEXTS.context("c"), &starting_in("release_notes")).await;
    assert_eq!((refused.status, &refused.errors()[0]["Details"]), (400, &json!("DefaultMode")));
    assert!(!eve.get(MODES.list).await.text.contains("release_notes"));
}

#[tokio::test]
async fn built_in_mode_is_replaced_for_the_org_alone_and_comes_back() {
    let system = System::start().await;
    let (eddie, path) = (editor(&system, "acme"), MODES.context("general"));
    let content = eddie.get(&path).await.result()["Content"].clone();
    let refused = delete(&eddie, &path).await;
    assert_eq!((refused.status, refused.error().as_str()), (404, "ModeNotFound"));

    put(&eddie, &path, &with(content, "ModeInstructions", json!([RULE]))).await.result();
    let list = eddie.get(MODES.list).await.result();
    assert_eq!(listed(&list)[0], ("general".to_owned(), false));
    assert_eq!(list["Items"].as_array().unwrap().len(), 3);
    for (org, is_replaced) in [("acme", true), ("rival", false)] {
        system.client(org, "ada").execute(&turn("hello")).await.result();
        assert_eq!(system_message(&system.last_call()).contains(RULE), is_replaced, "{org}");
    }
    delete(&eddie, &path).await.result();
    assert_eq!(eddie.get(&path).await.result()["IsBuiltIn"], true);
    system.client("acme", "ada").execute(&turn("hello")).await.result();
    assert!(!system_message(&system.last_call()).contains(RULE));
}

#[tokio::test]
async fn deleted_mode_leaves_its_sessions_without_instructions() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    release_team(&eddie, &release_notes()).await;
    ada.execute(&in_context("hello")).await.result();
    delete(&eddie, &MODES.context("release_notes")).await.result();
    // The name is that of the key.
    assert_eq!(ada.execute(&turn_in("s", "go on")).await.result()["ModeDisplayName"], "Release Notes");
    assert_eq!(tools(&system.last_call()), ["agent_change_mode"]);
    let mut fresh = turn("hello");
    fresh["ConversationContextId"] = json!("c");
    assert_eq!(ada.execute(&fresh).await.result()["ModeDisplayName"], "General");
}

#[tokio::test]
async fn new_session_in_a_deprecated_mode_gets_a_warning() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    release_team(&eddie, &release_notes()).await;
    let old = with(release_notes(), "Status", "deprecated");
    let path = MODES.context("release_notes");
    let read = put(&eddie, &path, &with(old, "Deprecated", "Use \"general\".")).await.result();
    assert_eq!(read["Deprecated"], "Use \"general\".");
    let first = ada.execute(&in_context("hello")).await.result();
    assert_eq!(
        first["UserWarnings"],
        json!(["The mode \"Release notes\" is deprecated: Use \"general\"."]),
        "{first}"
    );
    let next = ada.execute(&turn_in("s", "go on")).await.result();
    assert!(!next.to_string().contains("deprecated") && next["ModeDisplayName"] == "Release notes", "{next}");
}

#[tokio::test]
async fn deprecated_agent_warns_new_sessions_and_leaves_the_models() {
    let system = System::start().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    let content = json!({"Name": "Helper", "Deprecated": "Use \"engineer\"."});
    put(&eddie, &AGENTS.context("helper"), &content).await.result();
    put(&eddie, &AGENTS.context("engineer"), &json!({"Name": "Engineer"})).await.result();
    let list = eddie.get(AGENTS.list).await.result();
    assert_eq!(
        (&list["Items"][0]["Deprecated"], &list["Items"][1]["Deprecated"]),
        (&Value::Null, &json!("Use \"engineer\"."))
    );
    assert_eq!(eddie.get(&AGENTS.context("helper")).await.result()["Deprecated"], "Use \"engineer\".");

    let mut request = turn_in("s", "hello");
    request["AgentContextId"] = json!("helper");
    let first = ada.execute(&request).await.result();
    let warning = "The agent \"Helper\" is deprecated: Use \"engineer\".";
    assert_eq!(first["UserWarnings"], json!([warning]), "{first}");
    let next = ada.execute(&turn_in("s", "go on")).await.result();
    assert!(!next.to_string().contains("deprecated"), "{next}");

    let models = ada.get("/v1/models").await.text;
    assert!(models.contains("agent/engineer") && !models.contains("agent/helper"), "{models}");
    assert_eq!(ada.get("/v1/models/agent/helper").await.status, 200);
    let long = with(content, "Deprecated", "x".repeat(401));
    let refused = put(&eddie, &AGENTS.context("helper"), &long).await;
    assert_eq!((refused.status, &refused.errors()[0]["Details"]), (400, &json!("Deprecated")));
}

#[tokio::test]
async fn only_operators_and_agent_editors_of_the_org_edit_modes() {
    let system = System::start().await;
    let (eddie, ada, eve) = (editor(&system, "acme"), system.client("acme", "ada"), editor(&system, "rival"));
    let op = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    put(&op, &MODES.context("known"), &release_notes()).await.result();
    let operations = |key: &str| {
        [
            (Method::PUT, MODES.context(key), Some(release_notes())),
            (Method::GET, MODES.context(key), None),
            (Method::GET, MODES.versions(key), None),
            (Method::GET, MODES.version(key, 1), None),
            (Method::POST, MODES.rollback(key), Some(json!({"Version": 1}))),
            (Method::DELETE, MODES.context(key), None),
        ]
    };
    let refused = ada.get(MODES.list).await;
    assert_eq!((refused.status, refused.error().as_str()), (403, "Forbidden"));
    for (known, unknown) in operations("known").into_iter().zip(operations("unknown")) {
        let ask = async |client: &Client, (method, path, body): &(Method, String, Option<Value>)| {
            client.send(method.clone(), path, body.as_ref().map(Value::to_string)).await
        };
        for operation in [&known, &unknown] {
            let forbidden = ask(&ada, operation).await;
            assert_eq!((forbidden.status, &forbidden.text), (403, &refused.text), "{operation:?}");
        }
        if known.0 != Method::PUT {
            let (foreign, never) = (ask(&eve, &known).await, ask(&eve, &unknown).await);
            assert_eq!(foreign.status, 404, "{known:?}: {}", foreign.text);
            assert_eq!(foreign.text.replace("known", ""), never.text.replace("unknown", ""));
        }
    }
    assert_eq!(eddie.get(&MODES.context("known")).await.result()["Version"], 1);
}

#[tokio::test]
async fn command_line_manages_modes_over_the_api() {
    let system = System::start().await;
    let identity = Identity { agent_editor: true, ..Identity::user("acme", "eddie") };
    let token = system.cloud.token(&identity).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("modes.json");
    let run = async |arguments: &[&str]| {
        let environment = [("APTIX_URL", system.cloud.url()), ("APTIX_TOKEN", token.as_str())];
        let output = aptix(arguments, &environment).output().await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.success(), text(output.stdout), text(output.stderr))
    };
    let path = file.to_str().unwrap();
    let mode = with(release_notes(), "Key", "release_notes");
    std::fs::write(&file, mode.to_string()).unwrap();
    let (is_ok, output, errors) = run(&["modes", "put", path]).await;
    assert!(is_ok && output.contains("Saved release_notes as 1-"), "{output}{errors}");
    let (_, list, _) = run(&["modes", "list"]).await;
    assert!(
        list.starts_with("release_notes ") && list.contains("general") && list.contains("built-in"),
        "{list}"
    );
    let (_, shown, _) = run(&["modes", "show", "release_notes"]).await;
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["ModeInstructions"], json!([RULE]));
    let (is_ok, output, errors) = run(&["modes", "delete", "release_notes"]).await;
    assert!(is_ok && output.contains("aptix modes rollback"), "{output}{errors}");
    let (is_ok, output, errors) = run(&["modes", "rollback", "release_notes", "1"]).await;
    assert!(is_ok && output.contains("content of version 1, as 3-"), "{output}{errors}");

    // A file with a context and its mode is written in the order that both need.
    let context = with(with(starting_in("drafting"), "Kind", "conversation"), "Id", "c");
    let mode = with(with(release_notes(), "Kind", "mode"), "Key", "drafting");
    std::fs::write(&file, json!([context, mode]).to_string()).unwrap();
    let (is_ok, output, errors) = run(&["agents", "put", path]).await;
    assert!(is_ok && output.starts_with("Saved drafting as 1-"), "{output}{errors}");
}
