//! Preconditions of writes: `If-Match` is honoured or refused by name, so that no change is lost (RFC 9110 §13.1).

use contracts::paths::{
    AGENTS, BUDGETS, CONNECTIONS, CONVERSATION_CONTEXTS, MODES, ORG_SETTINGS, SESSIONS, WEBHOOKS,
};
use futures::future::join_all;
use local::token::Identity;
use reqwest::Method;
use serde_json::{Value, json};

use crate::agents::put;
use crate::session_edits::{delete, edit, restore};
use crate::support::{Answer, Client, System, session_path, turn, turn_in};

const STALE: &str = "\"stale\"";

/// An operator who may edit agents too.
fn operator(system: &System) -> Client {
    let user = Identity::user("acme", "op");
    system.identified(&Identity { operator: true, agent_editor: true, ..user })
}

async fn send_if(client: &Client, method: Method, path: &str, tags: &str, body: &Value) -> Answer {
    let headers = [("content-type", "application/json"), ("if-match", tags)];
    client.raw(method, path, &headers, body.to_string().into_bytes()).await
}

async fn patch_if(client: &Client, turn: &Value, tags: &str, body: &Value) -> Answer {
    send_if(client, Method::PATCH, &session_path(turn), tags, body).await
}

async fn tag_of(client: &Client, path: &str) -> String {
    client.get(path).await.header("etag").unwrap().to_owned()
}

/// Returns every write of the document, as (method, path, id, takes `If-Match`).
fn writes() -> Vec<(Method, String, String, bool)> {
    let document: Value = serde_json::from_str(&openapi::document().to_json().unwrap()).unwrap();
    let mut writes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if ["put", "patch", "post", "delete"].contains(&method.as_str()) {
                let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
                let takes = parameters.iter().any(|parameter| parameter.to_string().contains("/If-Match\""));
                let method = method.to_uppercase().parse().unwrap();
                let id = operation["operationId"].as_str().unwrap().to_owned();
                writes.push((method, path.clone(), id, takes));
            }
        }
    }
    writes
}

/// Returns the body of a write that changes the prepared resources.
fn body(id: &str, mode: &Value) -> Value {
    match id {
        "changeSession" => json!({"Name": "Lost"}),
        "putAgent" => json!({"Kind": "agent", "Id": "x", "Name": "Lost"}),
        "putConversationContext" => json!({"Name": "Lost", "System": "Lost."}),
        "putConnection" => {
            json!({"Kind": "connection", "Id": "x", "Name": "Lost", "Protocol": "http", "Url": "https://example.com"})
        }
        "putWebhook" => {
            json!({"Kind": "webhook", "Id": "x", "Name": "Lost", "Url": "https://example.com", "Events": ["turn.failed"]})
        }
        "putMode" => {
            let mut lost = mode.clone();
            lost["Description"] = json!("Lost.");
            lost
        }
        "setBudgets" => json!({"Currency": "EUR", "Budgets": []}),
        "setOrgSettings" => json!({"RetentionDays": 9}),
        id if id.starts_with("rollOut") => json!({"Version": 1, "Percent": 30}),
        id if id.starts_with("rollBack") => json!({"Version": 1}),
        _ => json!({}),
    }
}

#[tokio::test]
async fn every_write_honours_if_match_or_refuses_it_by_name() {
    let system = System::start().await;
    let op = operator(&system);
    let [session, deleted, quarantined] = ["hello", "deleted", "quarantined"].map(turn);
    for request in [&session, &deleted, &quarantined] {
        op.execute(request).await.result();
    }
    delete(&op, &deleted).await.result();
    op.post(&format!("{}/quarantine", session_path(&quarantined)), String::new()).await.result();
    let mode = json!({
        "DisplayName": "X", "Description": "One.", "WhenToUse": "Never.", "Status": "active", "Version": "1",
        "ModeInstructions": ["Help."],
    });
    for number in 1..=2 {
        let agent = json!({"Kind": "agent", "Id": "x", "Name": format!("{number}")});
        put(&op, &AGENTS.context("x"), &agent).await.result();
        let context = json!({"Name": "X", "System": format!("{number}")});
        put(&op, &CONVERSATION_CONTEXTS.context("x"), &context).await.result();
        let mut mode = mode.clone();
        mode["Description"] = json!(format!("{number}."));
        put(&op, &MODES.context("x"), &mode).await.result();
        let connection =
            json!({"Name": format!("{number}"), "Protocol": "http", "Url": "https://example.com"});
        put(&op, &CONNECTIONS.context("x"), &connection).await.result();
        let webhook =
            json!({"Name": format!("{number}"), "Url": "https://example.com", "Events": ["turn.failed"]});
        put(&op, &WEBHOOKS.context("x"), &webhook).await.result();
    }
    // A repeated change succeeds, so each path names a session that the operation changes.
    let filled = |path: &str, id: &str| {
        let request = match id {
            "restoreSession" => &deleted,
            "releaseSession" => &quarantined,
            _ => &session,
        };
        let (of_session, of_turn) = (&request["SessionId"], &request["TurnId"]);
        let names = [("{SessionId}", of_session.as_str()), ("{TurnId}", of_turn.as_str())];
        let names = names.into_iter().chain([
            ("{ContextId}", Some("x")),
            ("{ModeKey}", Some("x")),
            ("{ApprovalId}", Some("x")),
        ]);
        names.fold(path.to_owned(), |path, (name, value)| path.replace(name, value.unwrap()))
    };
    let read = [
        session_path(&session),
        session_path(&deleted),
        session_path(&quarantined),
        AGENTS.context("x"),
        CONVERSATION_CONTEXTS.context("x"),
        MODES.context("x"),
        CONNECTIONS.context("x"),
        WEBHOOKS.context("x"),
        BUDGETS.to_owned(),
        ORG_SETTINGS.to_owned(),
        SESSIONS.to_owned(),
    ];
    let state = async || {
        let answers = join_all(read.iter().map(|path| op.get(path))).await;
        answers.into_iter().map(|answer| answer.text).collect::<Vec<String>>()
    };
    let before = state().await;
    let writes = writes();
    assert!(writes.len() > 20, "{writes:?}");
    for (method, path, id, takes_if_match) in writes {
        let path = filled(&path, &id);
        for tags in [STALE, "W/\"stale\", \"other\""] {
            let answer = send_if(&op, method.clone(), &path, tags, &body(&id, &mode)).await;
            let expected =
                if takes_if_match { (412, "PreconditionFailed") } else { (400, "ParameterInvalid") };
            assert_eq!((answer.status, answer.error().as_str()), expected, "{id}: {}", answer.text);
            if !takes_if_match {
                assert_eq!(answer.errors()[0]["Details"], "If-Match", "{id}");
            }
        }
        let empty = send_if(&op, method, &path, "", &body(&id, &mode)).await;
        assert_eq!((empty.status, &empty.errors()[0]["Details"]), (400, &json!("If-Match")), "{id}");
    }
    for (method, path) in [
        (Method::POST, "/v1/responses"),
        (Method::DELETE, "/v1/responses/resp_x"),
        (Method::POST, "/v1/responses/resp_x/cancel"),
        (Method::POST, "/v1/chat/completions"),
        (Method::POST, "/v1/files"),
        (Method::DELETE, "/v1/files/x"),
        (Method::POST, "/v1/conversations"),
        (Method::DELETE, "/v1/conversations/conv_x"),
        (Method::POST, "/v1/conversations/conv_x/items"),
    ] {
        let answer = send_if(&op, method, path, STALE, &json!({})).await;
        assert_eq!((answer.status, answer.text.contains("If-Match")), (400, true), "{path}: {}", answer.text);
    }
    assert_eq!(state().await, before, "nothing was changed");
    assert_eq!(system.model_calls().len(), 3);
}

#[tokio::test]
async fn session_changes_under_its_entity_tag() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let request = turn("hello");
    ada.execute(&request).await.result();
    let path = session_path(&request);
    let first = tag_of(&ada, &path).await;
    patch_if(&ada, &request, &first, &json!({"Name": "One"})).await.result();
    let second = tag_of(&ada, &path).await;
    assert_ne!(first, second);
    let stale = patch_if(&ada, &request, &first, &json!({"Name": "Two"})).await;
    assert_eq!((stale.status, stale.error().as_str()), (412, "PreconditionFailed"));
    assert_eq!(format!("\"{}\"", stale.errors()[0]["Details"].as_str().unwrap()), second);
    // The request that lost its response is sent again.
    patch_if(&ada, &request, &first, &json!({"Name": "One"})).await.result();
    let weak = patch_if(&ada, &request, &format!("W/{second}"), &json!({"Name": "Two"})).await;
    assert_eq!(weak.status, 412, "a weak tag matches nothing");
    patch_if(&ada, &request, &format!("\"x\", {second}"), &json!({"Name": "Two"})).await.result();
    patch_if(&ada, &request, "*", &json!({"Name": "Three"})).await.result();

    // A turn is part of what the tag stands for.
    let third = tag_of(&ada, &path).await;
    ada.execute(&turn_in(request["SessionId"].as_str().unwrap(), "more")).await.result();
    let unseen = send_if(&ada, Method::DELETE, &path, &third, &json!({})).await;
    assert_eq!(unseen.status, 412, "{}", unseen.text);
    for purge in ["", "?purge=true"] {
        let stale = send_if(&ada, Method::DELETE, &format!("{path}{purge}"), STALE, &json!({})).await;
        assert_eq!(stale.status, 412, "{purge}: {}", stale.text);
    }
    let fourth = tag_of(&ada, &path).await;
    send_if(&ada, Method::DELETE, &path, &fourth, &json!({})).await.result();
    let back = format!("{path}/restore");
    assert_eq!(send_if(&ada, Method::POST, &back, &fourth, &json!({})).await.status, 412);
    let deleted = tag_of(&ada, &path).await;
    send_if(&ada, Method::POST, &back, &deleted, &json!({})).await.result();
    assert_eq!(ada.get(&path).await.result()["Name"], "Three");

    for tags in ["*", STALE, first.as_str()] {
        let hidden = patch_if(&eve, &request, tags, &json!({"Name": "x"})).await;
        assert_eq!((hidden.status, hidden.error().as_str()), (404, "SessionNotFound"), "{tags}");
    }
    restore(&ada, &request).await.result();
    edit(&ada, &request, json!({"Name": "Unconditional"})).await.result();
}

#[tokio::test]
async fn one_of_concurrent_session_edits_wins() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    system.until_finalized(request["SessionId"].as_str().unwrap(), 1).await;
    let tag = tag_of(&ada, &session_path(&request)).await;
    let edits: Vec<Value> = (0..6).map(|number| json!({"Name": format!("Name {number}")})).collect();
    let answers = join_all(edits.iter().map(|edit| patch_if(&ada, &request, &tag, edit))).await;
    let won: Vec<usize> = (0..6).filter(|number| answers[*number].status == 200).collect();
    assert!(answers.iter().all(|answer| [200, 412].contains(&answer.status)), "{answers:?}");
    let [winner] = won.as_slice() else { panic!("{won:?}") };
    assert_eq!(ada.get(&session_path(&request)).await.result()["Name"], format!("Name {winner}"));
}

#[tokio::test]
async fn rollout_is_part_of_the_entity_tag() {
    let system = System::start().await;
    let op = operator(&system);
    let (path, rollout) = (CONVERSATION_CONTEXTS.context("x"), CONVERSATION_CONTEXTS.rollout("x").unwrap());
    for number in 1..=2 {
        put(&op, &path, &json!({"Name": "X", "System": format!("{number}")})).await.result();
    }
    let tag = tag_of(&op, &path).await;
    let percent = |percent: u64| json!({"Version": 1, "Percent": percent});
    let roll_out = async |tags: &str, body: &Value| send_if(&op, Method::PUT, &rollout, tags, body).await;
    let written = roll_out(&tag, &percent(25)).await;
    let next = written.header("etag").unwrap().to_owned();
    assert_ne!(next, tag);
    assert_eq!((tag_of(&op, &path).await, written.status), (next.clone(), 200));
    roll_out(&tag, &percent(25)).await.result();
    for stale in [
        roll_out(&tag, &percent(50)).await,
        send_if(&op, Method::PUT, &path, &tag, &json!({"Name": "X", "System": "3"})).await,
        send_if(&op, Method::DELETE, &path, &tag, &json!({})).await,
    ] {
        assert_eq!((stale.status, stale.error().as_str()), (412, "PreconditionFailed"), "{}", stale.text);
    }
    assert_eq!(op.get(&path).await.result()["Rollout"], percent(25), "the rollout isn't lost");

    let bodies: Vec<Value> = (1..=6).map(|number| percent(number * 10)).collect();
    let answers = join_all(bodies.iter().map(|body| roll_out(&next, body))).await;
    let won: Vec<&Value> = bodies
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| answer.status == 200)
        .map(|(body, _)| body)
        .collect();
    assert!(answers.iter().all(|answer| [200, 412].contains(&answer.status)), "{answers:?}");
    assert_eq!(won, [&op.get(&path).await.result()["Rollout"]]);
}
