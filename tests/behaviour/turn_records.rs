//! `GET …/turns/{TurnId}/records`, and `aptix admin show`.

use local::{Function, token::Identity};
use serde_json::{Value, json};

use crate::export::operator;
use crate::provider_start::aptix;
use crate::session_edits::session_of;
use crate::support::{Answer, Client, System, turn, turn_path, workspace_turn};

const WAITS: &str = "Marker [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";

async fn records(client: &Client, turn: &Value) -> Answer {
    client.get(&format!("{}/records", turn_path(turn))).await
}

fn keys(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|entry| entry["Key"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn operator_reads_the_stored_state_without_contents() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let request = turn("Marker");
    ada.execute(&request).await.result();
    system.until_finalized(session_of(&request), 1).await;
    let path = format!("{}/feedback", turn_path(&request));
    ada.send(reqwest::Method::PUT, &path, Some(json!({"Rating": 5}).to_string())).await.result();

    let answer = records(&op, &request).await;
    assert!(!answer.text.contains("Marker"), "{}", answer.text);
    let shown = answer.result();
    let (session, head) = (&shown["Session"], &shown["Turn"]);
    assert_eq!((&session["TurnCount"], session.get("OpenTurnId")), (&json!(1), None));
    assert_eq!(
        (&head["Phase"], &head["Status"], &head["SequenceNumber"], &head["Takeovers"]),
        (&json!("finalized"), &json!("completed"), &json!(1), &json!(0))
    );
    assert_eq!((head.get("LeaseEndDate"), head.get("DueDate")), (None, None));
    assert_eq!(head["OutcomeAttemptId"], head["AttemptId"]);
    let id = request["TurnId"].as_str().unwrap();
    let items = keys(&shown["Items"]);
    let feedback = format!("FEEDBACK#{id}#");
    assert_eq!(items[..3], [format!("TURN#{id}"), format!("TURN#{id}#REQUEST"), format!("TURN#{id}#RESULT")]);
    assert!(items.iter().any(|key| key.starts_with(&feedback)), "{items:?}");
    assert!(
        shown["Items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item["Version"] == 1 && item["SizeBytes"].as_u64() > Some(50))
    );
    let objects = keys(&shown["Objects"]);
    let outcome = format!("{}/result.json", head["AttemptId"].as_str().unwrap());
    assert!(objects.contains(&outcome.as_str()), "{objects:?}");
    assert!(objects.iter().any(|key| key.ends_with("/instruction.json")), "{objects:?}");
    let referenced = |object: &&Value| object["Key"].as_str().unwrap() == outcome;
    let object = shown["Objects"].as_array().unwrap().iter().find(referenced).unwrap();
    assert_eq!((&object["IsReferenced"], object["SizeBytes"].as_u64() > Some(100)), (&json!(true), true));
    assert_eq!(shown["IsTruncated"], false);
    let audited = |line: &Value| line["message"] == "audit" && line["action"] == "show";
    let lines = system.logged(Function::SessionRead, "audit", audited).await;
    assert_eq!((lines.len(), &lines[0]["user"]), (1, &json!("op")));
}

#[tokio::test]
async fn records_of_open_turns_have_lease_and_deadline() {
    let system = System::start().await;
    let (ada, op) = (system.client("acme", "ada"), operator(&system, "acme"));
    let waits = workspace_turn(WAITS);
    ada.execute(&waits).await.result();
    let head = records(&op, &waits).await.result()["Turn"].clone();
    assert_eq!((&head["Phase"], &head["Status"]), (&json!("awaiting_tools"), &json!("pending")));
    assert!(head["ToolDeadlineDate"].is_string() && head["SuspendedByAttemptId"].is_string(), "{head}");

    let runs = turn("Work [[script: delay 60s; say \"Late.\"]]");
    let looks = async {
        system.model_called(2).await;
        let shown = records(&op, &runs).await.result();
        ada.post(&format!("{}/cancel", turn_path(&runs)), String::new()).await.result();
        shown
    };
    let (_, shown) = futures::join!(ada.execute(&runs), looks);
    let head = &shown["Turn"];
    assert_eq!((&head["Phase"], &head["AttemptIds"]), (&json!("running"), &json!([head["AttemptId"]])));
    assert!(head["LeaseEndDate"].is_string() && head["DueDate"].is_string(), "{head}");
    assert_eq!(shown["Session"]["OpenTurnId"], runs["TurnId"]);
}

#[tokio::test]
async fn only_operators_of_the_org_read_records() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), operator(&system, "rival"));
    let editor = system.identified(&Identity { agent_editor: true, ..Identity::user("acme", "eddie") });
    let (known, unknown) = (turn("hello"), turn("nobody's"));
    ada.execute(&known).await.result();
    for client in [&ada, &editor] {
        let (one, other) = (records(client, &known).await, records(client, &unknown).await);
        assert_eq!((one.status, one.error().as_str()), (403, "Forbidden"));
        assert_eq!((other.status, &other.text), (403, &one.text));
    }
    let (foreign, never) = (records(&eve, &known).await, records(&eve, &unknown).await);
    assert_eq!((foreign.status, foreign.error().as_str()), (404, "TurnNotFound"));
    assert_eq!(foreign.text, never.text);
}

#[tokio::test]
async fn command_line_shows_contents_only_on_request() {
    let system = System::start().await;
    let identity = Identity { operator: true, ..Identity::user("acme", "op") };
    let token = system.cloud.token(&identity).unwrap();
    let request = turn("Marker [[script: say \"Echo.\"]]");
    system.client("acme", "ada").execute(&request).await.result();
    let (session, id) = (session_of(&request), request["TurnId"].as_str().unwrap());
    system.until_finalized(session, 1).await;
    let environment = [("APTIX_URL", system.cloud.url()), ("APTIX_TOKEN", token.as_str())];
    let show = async |more: &[&str]| {
        let arguments = [&["admin", "show", session, id], more].concat();
        let output = aptix(&arguments, &environment).output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = show(&[]).await;
    assert!(text.starts_with(&format!("session {session}: revision ")), "{text}");
    assert!(text.contains(&format!("turn {id}: number 1, finalized, completed, of ada\n")), "{text}");
    assert!(text.contains(&format!("  TURN#{id}#RESULT\n")) && text.contains("/result.json\n"), "{text}");
    assert!(!text.contains("Marker") && !text.contains("Echo."), "{text}");
    let text = show(&["--contents"]).await;
    assert!(
        text.contains("\nrequest\n") && text.contains("Marker") && text.ends_with("\nanswer\nEcho.\n"),
        "{text}"
    );
    let audited = |line: &Value| line["message"] == "audit" && line["action"] == "read";
    system.logged(Function::SessionRead, "audit", audited).await;
}
