//! Operations of operators on turns: abandon and settle.

use local::{Function, token::Identity};
use serde_json::{Value, json};

use crate::export::operator;
use crate::provider_start::aptix;
use crate::support::{
    Client, LEASE, PATIENCE, System, options, session_path, turn, turn_in, turn_path, workspace_turn,
};

const WAITS: &str = "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";

async fn ask(client: &Client, turn: &Value, what: &str) -> crate::support::Answer {
    client.post(&format!("{}/{what}", turn_path(turn)), String::new()).await
}

#[tokio::test]
async fn operator_abandons_a_running_turn_and_its_session_goes_on() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let request = turn("Work [[script: delay 60s; say \"Late.\"]]");
    let abandoned = async {
        system.model_called(1).await;
        ask(&op, &request, "abandon").await.result()
    };
    let (answer, summary) = futures::join!(ada.execute(&request), abandoned);
    assert_eq!((answer.status, answer.error().as_str()), (503, "TurnAbandoned"));
    assert_eq!((&summary["Status"]["Id"], &summary["StatusReason"]), (&json!("failed"), &json!("abandoned")));
    assert_eq!(ada.get(&turn_path(&request)).await.result().get("CancelledByUserId"), None);
    ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "go on")).await.result();

    let again = ask(&op, &request, "abandon").await;
    assert_eq!((again.status, again.json()["Warnings"].clone()), (200, json!([])));
    let done = turn("quick");
    ada.execute(&done).await.result();
    let late = ask(&op, &done, "abandon").await;
    assert_eq!(late.result()["Status"]["Id"], "completed");
    assert_eq!(late.json()["Warnings"].as_array().unwrap().len(), 1);
    let audited = |line: &Value| line["message"] == "audit" && line["action"] == "abandon";
    let lines = system.logged(Function::Execute, "audit", audited).await;
    assert_eq!((lines.len(), &lines[0]["user"], &lines[0]["operator"]), (1, &json!("op"), &json!(true)));
}

#[tokio::test]
async fn operator_abandons_a_turn_that_waits_for_tools() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let waits = workspace_turn(WAITS);
    ada.execute(&waits).await.result();
    assert_eq!(ask(&op, &waits, "abandon").await.result()["StatusReason"], "abandoned");
    assert_eq!(ada.get(&session_path(&waits)).await.result()["TurnCount"], 1);
}

#[tokio::test]
async fn operator_settles_a_turn_whose_function_died_without_the_sweep() {
    let system = System::with(local::Options { lease: Some(LEASE), ..options() }).await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let request = turn("Work [[script: delay 1s; say \"Never.\"]]");
    futures::join!(ada.execute(&request), async {
        system.model_called(1).await;
        system.cloud.crash(Function::Execute);
    });
    // The lease isn't over, so the turn counts as alive.
    assert_eq!(ask(&op, &request, "settle").await.result()["Status"]["Id"], "pending");
    let give_up = std::time::Instant::now() + PATIENCE;
    loop {
        let summary = ask(&op, &request, "settle").await.result();
        if summary["Status"]["Id"] == "failed" {
            assert_eq!(summary["StatusReason"], "abandoned");
            break;
        }
        assert!(std::time::Instant::now() < give_up, "{summary}");
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    let audited = |line: &Value| line["message"] == "audit" && line["action"] == "settle";
    system.logged(Function::Execute, "audit", audited).await;
}

#[tokio::test]
async fn only_operators_of_the_org_abandon_and_settle() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), operator(&system, "rival"));
    let editor = system.identified(&Identity { agent_editor: true, ..Identity::user("acme", "eddie") });
    let (known, unknown) = (workspace_turn(WAITS), turn("nobody's"));
    ada.execute(&known).await.result();
    for what in ["abandon", "settle"] {
        for client in [&ada, &editor] {
            let (one, other) = (ask(client, &known, what).await, ask(client, &unknown, what).await);
            assert_eq!((one.status, one.error().as_str()), (403, "Forbidden"), "{what}");
            assert_eq!((other.status, &other.text), (403, &one.text), "{what}");
        }
        let (foreign, never) = (ask(&eve, &known, what).await, ask(&eve, &unknown, what).await);
        assert_eq!((foreign.status, &foreign.text), (404, &never.text), "{what}");
    }
    assert_eq!(ada.get(&turn_path(&known)).await.result()["StatusReason"], "waiting_for_tools");
}

#[tokio::test]
async fn command_line_abandons_and_settles() {
    let system = System::start().await;
    let identity = Identity { operator: true, ..Identity::user("acme", "op") };
    let token = system.cloud.token(&identity).unwrap();
    let waits = workspace_turn(WAITS);
    system.client("acme", "ada").execute(&waits).await.result();
    let (session, id) = (waits["SessionId"].as_str().unwrap(), waits["TurnId"].as_str().unwrap());
    for (command, expected) in
        [("settle", "is pending (waiting_for_tools)."), ("abandon", "is failed (abandoned).")]
    {
        let environment = [("APTIX_URL", system.cloud.url()), ("APTIX_TOKEN", token.as_str())];
        let output = aptix(&["admin", command, session, id], &environment).output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, format!("{id} {expected}\n"), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
