//! `POST …/sessions/{SessionId}/quarantine` and `…/release`.

use local::{Function, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client_tools::{results, submit};
use crate::export::operator;
use crate::fork::fork;
use crate::provider_start::aptix;
use crate::session_edits::{delete, edit, restore, session_of};
use crate::support::{Answer, Client, System, id, session_path, turn, turn_in, turn_path, workspace_turn};

const ASKS: &str = "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";

async fn quarantine(client: &Client, turn: &Value) -> Answer {
    client.post(&format!("{}/quarantine", session_path(turn)), String::new()).await
}

async fn release(client: &Client, turn: &Value) -> Answer {
    client.post(&format!("{}/release", session_path(turn)), String::new()).await
}

/// Sends every request that would change the session, with its name.
async fn changes(client: &Client, turn: &Value) -> Vec<(&'static str, Answer)> {
    let path = session_path(turn);
    let forked = json!({"SessionId": id(), "TurnId": turn["TurnId"]});
    let rerun = json!({"TurnId": id()}).to_string();
    let rating = Some(json!({"Rating": 1}).to_string());
    vec![
        ("turn", client.execute(&turn_in(session_of(turn), "more")).await),
        ("rerun", client.post(&format!("{}/rerun", turn_path(turn)), rerun).await),
        ("edit", edit(client, turn, json!({"Name": "Mine"})).await),
        ("feedback", client.send(Method::PUT, &format!("{}/feedback", turn_path(turn)), rating).await),
        ("fork", fork(client, turn, &forked).await),
        ("delete", delete(client, turn).await),
        ("purge", client.send(Method::DELETE, &format!("{path}?purge=true"), None).await),
    ]
}

#[tokio::test]
async fn quarantined_session_is_readable_and_takes_no_change_until_its_release() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let first = workspace_turn("hello");
    let answer = ada.execute(&first).await;
    let mut asks = turn_in(session_of(&first), ASKS);
    asks["AgentContextId"] = json!("workspace");
    let waits = ada.execute(&asks).await.result();

    let marked = quarantine(&op, &first).await.result();
    assert!(marked["QuarantinedDate"].is_string(), "{marked}");
    let again = quarantine(&op, &first).await.result();
    assert_eq!(again["QuarantinedDate"], marked["QuarantinedDate"]);
    for client in [&ada, &op] {
        for (what, refused) in changes(client, &first).await {
            assert_eq!((refused.status, refused.error().as_str()), (409, "SessionQuarantined"), "{what}");
        }
    }
    let refused = submit(&ada, &results(&waits, "1")).await;
    assert_eq!((refused.status, refused.error().as_str()), (409, "SessionQuarantined"));
    let session = ada.get(&session_path(&first)).await.result();
    assert_eq!(session["QuarantinedDate"], marked["QuarantinedDate"]);
    assert_eq!((&session["TurnCount"], &session["Name"]), (&json!(2), &json!("hello")));
    assert_eq!(ada.execute(&first).await.text, answer.text, "a replay is a read");
    assert_eq!(ada.get(&turn_path(&asks)).await.result()["StatusReason"], "cancelled");
    let listed = ada.get(contracts::paths::SESSIONS).await.result();
    assert_eq!(listed["Items"][0]["QuarantinedDate"], marked["QuarantinedDate"]);

    for _ in 0..2 {
        assert_eq!(release(&op, &first).await.result().get("QuarantinedDate"), None);
    }
    ada.execute(&turn_in(session_of(&first), "go on")).await.result();
    edit(&ada, &first, json!({"Name": "Mine"})).await.result();
    for action in ["quarantine", "release"] {
        let audited = |line: &Value| line["message"] == "audit" && line["action"] == action;
        let lines = system.logged(Function::Execute, "audit", audited).await;
        assert_eq!((lines.len(), &lines[0]["user"]), (1, &json!("op")), "{action}");
    }
}

#[tokio::test]
async fn quarantine_stops_the_running_turn() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let request = turn("Work [[script: delay 60s; say \"Late.\"]]");
    let stopped = async {
        system.model_called(1).await;
        quarantine(&op, &request).await.result()
    };
    let (answer, _) = futures::join!(ada.execute(&request), stopped);
    assert_eq!((answer.status, answer.error().as_str()), (409, "TurnCancelled"));
    system.until_finalized(session_of(&request), 1).await;
}

#[tokio::test]
async fn deleted_session_is_not_quarantined() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let request = turn("hello");
    ada.execute(&request).await.result();
    delete(&ada, &request).await.result();
    assert_eq!(quarantine(&op, &request).await.error(), "SessionDeleted");
    assert_eq!(release(&op, &request).await.result()["IsDeleted"], true);
    restore(&ada, &request).await.result();
    quarantine(&op, &request).await.result();
}

#[tokio::test]
async fn only_operators_of_the_org_quarantine_and_release() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), operator(&system, "rival"));
    let editor = system.identified(&Identity { agent_editor: true, ..Identity::user("acme", "eddie") });
    let (known, unknown) = (turn("hello"), turn("nobody's"));
    ada.execute(&known).await.result();
    for what in ["quarantine", "release"] {
        let ask = async |client: &Client, turn: &Value| {
            client.post(&format!("{}/{what}", session_path(turn)), String::new()).await
        };
        for client in [&ada, &editor] {
            let (one, other) = (ask(client, &known).await, ask(client, &unknown).await);
            assert_eq!((one.status, one.error().as_str()), (403, "Forbidden"), "{what}");
            assert_eq!((other.status, &other.text), (403, &one.text), "{what}");
        }
        let (foreign, never) = (ask(&eve, &known).await, ask(&eve, &unknown).await);
        assert_eq!((foreign.status, &foreign.text), (404, &never.text), "{what}");
    }
    assert_eq!(ada.get(&session_path(&known)).await.result().get("QuarantinedDate"), None);
}

#[tokio::test]
async fn command_line_quarantines_and_releases() {
    let system = System::start().await;
    let identity = Identity { operator: true, ..Identity::user("acme", "op") };
    let token = system.cloud.token(&identity).unwrap();
    let request = turn("hello");
    system.client("acme", "ada").execute(&request).await.result();
    let session = session_of(&request);
    let environment = [("APTIX_URL", system.cloud.url()), ("APTIX_TOKEN", token.as_str())];
    for (command, expected) in
        [("quarantine", "is quarantined since 20"), ("release", "is not quarantined.\n")]
    {
        let output = aptix(&["admin", command, session], &environment).output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(&format!("{session} {expected}")), "{text}");
    }
}
