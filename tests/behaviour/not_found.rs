//! Hidden resources look like unknown ones: the same 404, to the byte, on every operation.
//!
//! The operations are those of the API's document, so one that is new has to say here how it is asked.

use contracts::paths;
use reqwest::Method;
use serde_json::{Value, json};

use crate::client_tools::results;
use crate::session_edits::{edit, session_of};
use crate::support::{Answer, Client, System, session_path, turn, workspace_turn};

/// The most tries of a comparison of calls.
const TRIES: usize = 4;
const UNKNOWN: &str = "0123456789abcdef0123456789abcdef";
const ASKS: &str = "Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read.\"]]";

/// The resource that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Names {
    /// No resource: the operation is about the caller's own.
    Nothing,
    /// A session.
    Session,
    /// A session and a turn of it.
    Turn,
}

/// Returns the resource that an operation names, and its body for this turn.
fn asked(operation: &str, turn: &Value) -> (Names, Option<Value>) {
    let (session, id) = (turn["SessionId"].clone(), turn["TurnId"].clone());
    match operation {
        "listSessions" | "searchSessions" | "exportSessions" => (Names::Nothing, None),
        // For operators alone, of their own org: whatever it names is what they send.
        "importSessions" => (Names::Nothing, None),
        // For operators; see `admin.rs`.
        "abandonTurn" | "settleTurn" | "quarantineSession" | "releaseSession" | "readTurnRecords"
        | "listUnknownEffects" | "resolveEffect" => (Names::Nothing, None),
        // Of the caller's own org; see `usage.rs`, `budgets.rs` and `org_settings.rs`.
        "readUsage" | "readBudgets" | "readBudgetUse" | "setBudgets" | "readOrgSettings"
        | "setOrgSettings" => (Names::Nothing, None),
        // For operators and agent editors; see `agents.rs` and `org_modes.rs`.
        contexts if contexts.contains("Agent") || contexts.contains("ConversationContext") => {
            (Names::Nothing, None)
        }
        // For operators; see `connections.rs`.
        connections if connections.contains("Connection") || connections == "tryTool" => {
            (Names::Nothing, None)
        }
        // For operators; see `webhooks.rs`.
        webhooks if webhooks.contains("Webhook") => (Names::Nothing, None),
        // An approval of the caller's own org; see `approvals.rs`.
        "listApprovals" | "readApproval" | "approveCall" | "denyCall" => (Names::Nothing, None),
        // For operators and agent editors; see `knowledge.rs`.
        documents if documents.contains("Knowledge") => (Names::Nothing, None),
        "listModes" | "readMode" | "putMode" | "deleteMode" | "listModeVersions" | "readModeVersion"
        | "rollBackMode" => (Names::Nothing, None),
        // A session that the org does not have is begun by it; of one that it has, see `private_sessions.rs`.
        "executeTurn" => (Names::Nothing, None),
        "readSession" | "exportSession" | "readModeHistory" | "listTurns" | "readLastTurn" | "readPurge"
        | "deleteSession" | "restoreSession" => (Names::Session, None),
        "changeSession" => (Names::Session, Some(json!({"Name": "Mine"}))),
        "forkSession" => (Names::Turn, Some(json!({"SessionId": "s2", "TurnId": id}))),
        "submitToolResults" => {
            let waits = json!({"SessionId": session, "TurnId": id, "ToolCalls": [{"ToolCallId": "call_1"}]});
            (Names::Turn, Some(results(&waits, "contents")))
        }
        "readTurn" | "readTurnSteps" | "readTurnSummary" | "streamTurn" | "cancelTurn"
        | "readInstruction" | "readAnswer" | "readModelRequest" | "readModelResponse" | "readFile"
        | "readFeedback" => (Names::Turn, None),
        "giveFeedback" => (Names::Turn, Some(json!({"Rating": 1}))),
        "rerunTurn" => (Names::Turn, Some(json!({"TurnId": "t2"}))),
        new => panic!("{new} is new: say here what its request names"),
    }
}

/// Every operation of the document.
fn operations() -> Vec<(Method, String, String)> {
    let document: Value = serde_json::from_str(&openapi::document().to_json().unwrap()).unwrap();
    let paths = document["paths"].as_object().unwrap().clone().into_iter();
    let operations = paths.flat_map(|(path, item)| {
        let item = item.as_object().unwrap().clone();
        item.into_iter().map(move |(method, operation)| {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            (method.to_uppercase().parse().unwrap(), path.clone(), id)
        })
    });
    operations.collect()
}

/// Returns everything of an answer but the ids of its request and its time.
fn shape(answer: &Answer) -> (u16, &str, Vec<(String, String)>) {
    let is_own = |name: &str| name != "date" && !name.ends_with("id");
    let headers = answer.headers.iter().filter(|(name, _)| is_own(name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), format!("{value:?}")));
    (answer.status, &answer.text, headers.collect())
}

async fn ask(client: &Client, (method, path, operation): &(Method, String, String), turn: &Value) -> Answer {
    let text = |name: &str| turn[name].as_str().unwrap();
    let filled = path.replace("{SessionId}", text("SessionId")).replace("{TurnId}", text("TurnId"));
    let filled = filled.replace("{Hash}", &"0".repeat(64)).replace("{Name}", "a.txt");
    client.send(method.clone(), &filled, asked(operation, turn).1.map(|body| body.to_string())).await
}

/// Requests a hidden resource and an unknown one, and asserts that the answers are equal, and the calls of the stores too:
/// their number and kinds tell in time.
async fn alike(
    (system, client): (&System, &Client),
    hidden: &Value,
    nobodys: &Value,
    least: Names,
    what: &str,
) {
    let calls = || {
        // The finalizer works at its own pace.
        let calls = system.take_calls().into_iter().filter(|call| call.function != "turn-finalizer");
        let mut calls: Vec<String> =
            calls.map(|call| format!("{} {:?} {}", call.function, call.service, call.operation)).collect();
        calls.sort_unstable();
        calls
    };
    for operation in operations() {
        let (names, _) = asked(&operation.2, hidden);
        if names < least || names == Names::Nothing {
            continue;
        }
        // A process that starts reads what it caches, so equal calls may need another try.
        for try_number in 0..TRIES {
            calls();
            let found = ask(client, &operation, hidden).await;
            let calls_of_hidden = calls();
            let never = ask(client, &operation, nobodys).await;
            let calls_of_unknown = calls();
            assert_eq!(found.status, 404, "{what}: {}: {}", operation.2, found.text);
            assert_eq!(shape(&never), shape(&found), "{what}: {}", operation.2);
            if calls_of_hidden == calls_of_unknown {
                break;
            }
            assert!(
                try_number + 1 < TRIES,
                "{what}: {}: {calls_of_hidden:?} {calls_of_unknown:?}",
                operation.2
            );
        }
    }
}

fn nobodys() -> Value {
    json!({"SessionId": UNKNOWN, "TurnId": UNKNOWN})
}

#[tokio::test]
async fn foreign_hidden_purged_and_unknown_sessions_get_the_same_404() {
    let system = System::metered().await;
    let (ada, bob, eve) =
        (system.client("acme", "ada"), system.client("acme", "bob"), system.client("rival", "eve"));
    let waits = workspace_turn(ASKS);
    ada.execute(&waits).await.result();
    alike((&system, &eve), &waits, &nobodys(), Names::Session, "another org's").await;

    let private = turn("for ada alone");
    ada.execute(&private).await.result();
    edit(&ada, &private, json!({"Visibility": "participants"})).await.result();
    alike((&system, &bob), &private, &nobodys(), Names::Session, "another member's").await;

    let purged = turn("gone");
    ada.execute(&purged).await.result();
    ada.send(Method::DELETE, &format!("{}?purge=true", session_path(&purged)), None).await.result();
    alike((&system, &bob), &purged, &nobodys(), Names::Session, "purged").await;
    assert_eq!(ada.get(&session_path(&waits)).await.result()["TurnCount"], 1, "nothing came of any of it");
}

#[tokio::test]
async fn hidden_and_unknown_turns_get_the_same_404_everywhere() {
    let system = System::metered().await;
    let ada = system.client("acme", "ada");
    let (one, other) = (turn("one"), turn("other"));
    for request in [&one, &other] {
        ada.execute(request).await.result();
    }
    let elsewhere = json!({"SessionId": session_of(&one), "TurnId": other["TurnId"]});
    let unknown = json!({"SessionId": session_of(&one), "TurnId": UNKNOWN});
    alike((&system, &ada), &elsewhere, &unknown, Names::Turn, "of another session").await;
    // A file of a turn that has none is as unknown as one of a turn that nobody sent.
    let file = |turn: &Value| {
        let path = paths::FILE.template().replace("{SessionId}", session_of(&one));
        let path = path.replace("{TurnId}", turn["TurnId"].as_str().unwrap());
        path.replace("{Hash}", &"1".repeat(64)).replace("{Name}", "b.txt")
    };
    let (none, never) = (ada.get(&file(&one)).await, ada.get(&file(&unknown)).await);
    assert_eq!((none.status, never.status), (404, 404), "{} {}", none.text, never.text);
}

/// Rules of a proxy or a web ACL for `/api/ai/agent/` would miss such a path.
#[tokio::test]
async fn native_route_inside_an_openai_path_is_unknown() {
    let system = System::start().await;
    let client = system.client("acme", "ada");
    client.execute(&turn("hello")).await.result();
    for path in ["/v1/x/api/ai/agent/sessions", "/v1/models/api/ai/agent/sessions"] {
        let answer = client.raw(Method::GET, path, &[], Vec::new()).await;
        assert_eq!(answer.status, 404, "{path}");
    }
}
