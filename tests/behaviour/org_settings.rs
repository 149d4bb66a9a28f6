//! `GET` and `PUT /api/ai/agent/org-settings`, and what operators disable with it.

use contracts::paths::ORG_SETTINGS;
use local::{Function, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    capacity::Units,
    client_tools::{results, submit},
    export::operator,
    provider_start::aptix,
    support::{Answer, Client, PATIENCE, System, id, session_path, turn, turn_in, turn_path, workspace_turn},
};

/// A turn that waits for a tool of the client.
const WAITS: &str = "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";

pub async fn put(client: &Client, settings: &Value) -> Answer {
    client.send(Method::PUT, ORG_SETTINGS, Some(settings.to_string())).await
}

/// Replaces the settings of an org.
pub async fn set(system: &System, org: &str, settings: Value) {
    put(&operator(system, org), &settings).await.result();
}

async fn put_if(client: &Client, header: (&str, &str), settings: &Value) -> Answer {
    let headers = [("content-type", "application/json"), header];
    client.raw(Method::PUT, ORG_SETTINGS, &headers, settings.to_string().into_bytes()).await
}

/// Requires that a request was refused with this code, and by this name.
#[track_caller]
pub fn refused(answer: &Answer, code: &str, name: Option<&str>) {
    assert_eq!((answer.status, answer.error().as_str()), (403, code), "{}", answer.text);
    let error = &answer.errors()[0];
    assert_eq!(error.get("Details").and_then(Value::as_str), name, "{error}");
    let message = error["Message"].as_str().unwrap();
    assert!(message.contains(name.unwrap_or("The org")), "{message}");
    assert!(message.contains("Nothing was started."), "{message}");
    assert_eq!(error["Retry"], "never");
}

#[tokio::test]
async fn operators_read_and_replace_the_settings_of_their_org() {
    let system = System::start().await;
    let op = operator(&system, "acme");
    let first = op.get(ORG_SETTINGS).await;
    let empty = first.result();
    assert_eq!(
        (&empty["Org"], &empty["Policy"], &empty["Disabled"]),
        (&json!("acme"), &json!({}), &json!({"Org": false}))
    );
    let tag = format!("\"{}\"", empty["ETag"].as_str().unwrap());
    assert_eq!(first.header("etag"), Some(tag.as_str()));
    let unchanged = op.raw(Method::GET, ORG_SETTINGS, &[("if-none-match", &tag)], Vec::new()).await;
    assert_eq!((unchanged.status, unchanged.text.as_str()), (304, ""));

    let settings = json!({
        "SessionVisibility": "participants", "RetentionDays": 9,
        "Policy": {"Models": ["scripted"], "MaxFileBytes": 1000}, "Disabled": {"Users": ["eve"]},
    });
    let answer = put_if(&op, ("if-match", &tag), &settings).await;
    let written = answer.result();
    assert_eq!(answer.header("etag"), Some(format!("\"{}\"", written["ETag"].as_str().unwrap()).as_str()));
    assert_eq!(op.get(ORG_SETTINGS).await.result(), written);
    assert_eq!((&written["RetentionDays"], &written["Disabled"]["Users"]), (&json!(9), &json!(["eve"])));
    // The other org's are its own.
    assert_eq!(operator(&system, "rival").get(ORG_SETTINGS).await.result()["Policy"], json!({}));

    // A repeated request succeeds. A change on an older state doesn't, whichever way names the state.
    assert_eq!(put_if(&op, ("if-match", &tag), &settings).await.result(), written);
    let mut late = empty.clone();
    late["RetentionDays"] = json!(1);
    for stale in [
        put_if(&op, ("if-match", &tag), &json!({})).await,
        put_if(&op, ("if-none-match", "*"), &json!({})).await,
        put(&op, &late).await,
    ] {
        assert_eq!((stale.status, stale.error().as_str()), (412, "PreconditionFailed"), "{}", stale.text);
        assert_eq!(stale.errors()[0]["Details"], written["ETag"]);
    }
    assert_eq!(op.get(ORG_SETTINGS).await.result(), written, "nothing was changed");
    let audited = |line: &Value| line["message"] == "audit" && line["action"] == "org_settings";
    let lines = system.logged(Function::Execute, "audit", audited).await;
    let seen = (lines.len(), &lines[0]["user"], &lines[0]["users_disabled"]);
    assert_eq!(seen, (1, &json!("op"), &json!(1)), "one change, and the repetition is none");
    let mut next = written.clone();
    next["Disabled"] = json!({});
    put(&op, &next).await.result();
}

#[tokio::test]
async fn invalid_settings_are_refused_by_member_and_change_nothing() {
    let system = System::start().await;
    let op = operator(&system, "acme");
    let before = op.get(ORG_SETTINGS).await.text;
    for (settings, code, member) in [
        (json!({"SessionVisibility": "all"}), "MemberInvalid", "SessionVisibility"),
        (json!({"RetentionDays": 4000}), "MemberInvalid", "RetentionDays"),
        (json!({"Policy": {"Models": "scripted"}}), "MemberInvalid", "Policy.Models"),
        (json!({"Policy": {"Tools": vec!["t"; 65]}}), "MemberTooLarge", "Policy.Tools"),
        (json!({"Policy": {"MaxFileBytes": 5_000_000}}), "MemberInvalid", "Policy.MaxFileBytes"),
        (json!({"Disabled": {"User": "eve"}}), "MemberUnknown", "Disabled.User"),
        (json!({"Disabled": {"Users": [""]}}), "MemberInvalid", "Disabled.Users[0]"),
        (json!({"Org": "rival"}), "MemberInvalid", "Org"),
    ] {
        let answer = put(&op, &settings).await;
        assert_eq!((answer.status, answer.error().as_str()), (400, code), "{}", answer.text);
        assert_eq!(answer.errors()[0]["Details"], member, "{}", answer.text);
    }
    let none = op.send(Method::PUT, ORG_SETTINGS, Some(String::new())).await;
    assert_eq!((none.status, none.error().as_str()), (400, "BodyMissing"));
    assert_eq!(op.get(ORG_SETTINGS).await.text, before);
}

#[tokio::test]
async fn only_operators_see_and_change_settings() {
    let system = System::start().await;
    set(&system, "acme", json!({"Disabled": {"Users": ["mallory"]}})).await;
    let editor = system.identified(&Identity { agent_editor: true, ..Identity::user("acme", "eddie") });
    let others = [system.client("acme", "ada"), editor, system.client("rival", "eve")];
    let mut texts = Vec::new();
    for client in &others {
        for answer in [client.get(ORG_SETTINGS).await, put(client, &json!({"Disabled": {"Org": true}})).await]
        {
            assert_eq!((answer.status, answer.error().as_str()), (403, "Forbidden"));
            texts.push(answer.text);
        }
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "every refusal is the same, byte for byte: {texts:?}");
    assert_eq!(system.anonymous().get(ORG_SETTINGS).await.status, 401);
    system.client("acme", "ada").execute(&turn("hello")).await.result();
}

#[tokio::test]
async fn disabled_user_agent_org_and_model_are_refused_by_name() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let done = turn("Hello [[script: say \"Done.\"]]");
    let first = ada.execute(&done).await;
    first.result();
    let fork = json!({"SessionId": id(), "TurnId": done["TurnId"]});
    let code = "DisabledByOperator";
    let rerun =
        async || ada.post(&format!("{}/rerun", turn_path(&done)), json!({"TurnId": id()}).to_string()).await;
    for (disabled, name) in [
        (json!({"Users": ["ada"]}), Some("ada")),
        (json!({"Agents": ["default"]}), Some("default")),
        (json!({"Org": true}), None),
        (json!({"Models": ["scripted"]}), Some("scripted")),
    ] {
        set(&system, "acme", json!({"Disabled": disabled})).await;
        let (next, calls) = (turn("Next"), system.model_calls().len());
        refused(&ada.execute(&next).await, code, name);
        refused(&ada.execute(&turn_in(done["SessionId"].as_str().unwrap(), "More")).await, code, name);
        refused(&rerun().await, code, name);
        let streamed = ada.execute_streaming(&turn("Streamed"), None).await.err().unwrap();
        refused(&streamed, code, name);
        if disabled["Models"].is_null() {
            let forked = ada.post(&format!("{}/fork", session_path(&done)), fork.to_string()).await;
            refused(&forked, code, name);
            assert_eq!(ada.get(&session_path(&fork)).await.status, 404);
        }
        // Nothing was started, and nothing is left of it.
        assert_eq!((ada.get(&session_path(&next)).await.status, system.model_calls().len()), (404, calls));
        // What was answered is replayed and read.
        assert_eq!(ada.execute(&done).await.text, first.text);
        assert_eq!(ada.get(&turn_path(&done)).await.result()["Status"]["Id"], "completed");
        if name == Some("ada") {
            bob.execute(&turn("Bob's")).await.result();
        }
        if name == Some("default") {
            ada.execute(&workspace_turn("Another agent's")).await.result();
        }
        system.client("rival", "ada").execute(&turn("Another org's")).await.result();
    }
    set(&system, "acme", json!({})).await;
    ada.execute(&turn("Next")).await.result();
    ada.post(&format!("{}/fork", session_path(&done)), fork.to_string()).await.result();
}

#[tokio::test]
async fn running_and_waiting_turns_of_a_disabled_org_finish() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let waits = workspace_turn(WAITS);
    let suspended = ada.execute(&waits).await.result();
    let slow = turn("Slow [[script: delay 1s; say \"Finished.\"]]");
    let calls = system.model_calls().len();
    let (answer, ()) = futures::join!(ada.execute(&slow), async {
        system.model_called(calls + 1).await;
        set(&system, "acme", json!({"Disabled": {"Org": true}})).await;
    });
    assert_eq!(answer.result()["PrimaryOutputText"], "Finished.");
    assert_eq!(submit(&ada, &results(&suspended, "contents")).await.result()["PrimaryOutputText"], "Read.");
    // The process that ran the turn may remember the settings for a minute. The next one doesn't.
    system.crash_execute().await;
    refused(&ada.execute(&turn("Next")).await, "DisabledByOperator", None);
}

#[tokio::test]
async fn admin_commands_disable_and_enable() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let identity = Identity { operator: true, ..Identity::user("acme", "op") };
    let (token, users) =
        (system.cloud.token(&identity).unwrap(), system.cloud.token(&Identity::user("acme", "ada")).unwrap());
    let run = async |token: &str, arguments: &[&str]| {
        let environment = [("APTIX_URL", system.cloud.url()), ("APTIX_TOKEN", token)];
        let mut command = aptix(&[&["admin"], arguments].concat(), &environment);
        let done = tokio::time::timeout(PATIENCE, command.output()).await.expect("an end").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    for (options, subject, name) in [
        (&[][..], "org acme", None),
        (&["--user", "ada"][..], "user ada", Some("ada")),
        (&["--agent", "default"][..], "agent default", Some("default")),
        (&["--model", "scripted"][..], "model scripted", Some("scripted")),
    ] {
        let (status, output, errors) = run(&token, &[&["disable", "acme"], options].concat()).await;
        let expected = format!("{subject}: disabled. New turns are refused within a minute.\n");
        assert_eq!((status, output), (Some(0), expected), "{errors}");
        refused(&ada.execute(&turn("No")).await, "DisabledByOperator", name);
        let (status, output, errors) = run(&token, &[&["enable", "acme"], options].concat()).await;
        let expected = format!("{subject}: enabled. New turns are accepted within a minute.\n");
        assert_eq!((status, output), (Some(0), expected), "{errors}");
        ada.execute(&turn("Yes")).await.result();
    }
    let (status, _, errors) = run(&token, &["disable", "rival"]).await;
    assert_eq!(status, Some(2));
    assert!(errors.contains("You are an operator of acme, not of rival."), "{errors}");

    let file = system.cloud.data_folder().join("settings.json");
    let (_, stored, _) = run(&token, &["org-settings", "get"]).await;
    let mut settings: Value = serde_json::from_str(&stored).unwrap();
    settings["RetentionDays"] = json!(3);
    std::fs::write(&file, settings.to_string()).unwrap();
    let put = ["org-settings", "put", file.to_str().unwrap()];
    let (status, written, errors) = run(&token, &put).await;
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap()["RetentionDays"], 3);
    settings["RetentionDays"] = json!(4);
    std::fs::write(&file, settings.to_string()).unwrap();
    let (status, _, errors) = run(&token, &put).await;
    assert_eq!(status, Some(1), "the file has the ETag of an older state");
    assert!(errors.contains("Read the settings, then send the change again."), "{errors}");

    for arguments in [&["disable", "acme"][..], &["enable", "acme"], &["org-settings", "get"], &put] {
        let (status, output, errors) = run(&users, arguments).await;
        assert_eq!((status, output.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(errors.contains("requires the operator role"), "{errors}");
    }
}

#[tokio::test]
async fn settings_cost_a_turn_no_read_while_they_are_cached() {
    let system = System::metered().await;
    let ada = system.client("acme", "ada");
    let mut reads = Vec::new();
    for warm in [false, true] {
        Units::take(&system);
        let sent = turn("hello");
        ada.execute(&sent).await.result();
        system
            .until_attribute(&format!("TURN#{}", sent["TurnId"].as_str().unwrap()), "Status", "completed")
            .await;
        let units = Units::take_finalized(&system).await;
        println!("warm {warm}: {} read units {:?}", units.reads, units.by_operation);
        reads.push(units.by_operation.get("GetItem").copied().unwrap_or_default());
    }
    // The settings and the budgets of the org are read by the first turn of a process. Both are absent here.
    assert!(reads[0] - reads[1] >= 2.0, "{reads:?}");
}
