//! Forks of forks: how deep they may be, and that the end of the check hides what lies beyond it.

use aws_sdk_dynamodb::types::AttributeValue;
use protocol::ancestry::MAX_FORK_DEPTH;
use reqwest::Method;
use serde_json::{Value, json};

use crate::fork::fork;
use crate::session_edits::{edit, session_of};
use crate::support::{Client, System, id, is_chained, session_path, turn, turn_in};

/// The number of sessions in an ancestry that an earlier version of the service allowed.
const DEPTH: usize = 40;

fn secret(level: usize) -> String {
    format!("secret-{level:02}")
}

/// Forks a session at a turn of it.
async fn forked(client: &Client, of: &Value) -> String {
    let session = id();
    fork(client, of, &json!({"SessionId": session, "TurnId": of["TurnId"]})).await.result();
    session
}

/// Replaces the origin of a session in the table, and returns the one before.
async fn set_origin(system: &System, of: &Value, origin: Option<AttributeValue>) -> Option<AttributeValue> {
    let key = |text: String| AttributeValue::S(text);
    let update = system.cloud.dynamodb().update_item().table_name(system.cloud.table());
    let update = update.key("PK", key(format!("O#acme#S#{}", session_of(of))));
    let update = update.key("SK", key("SESSION".to_owned()));
    let update = match origin {
        Some(origin) => update
            .update_expression("SET ForkedFrom = :origin")
            .expression_attribute_values(":origin", origin),
        None => update.update_expression("REMOVE ForkedFrom"),
    };
    let update = update.return_values(aws_sdk_dynamodb::types::ReturnValue::AllOld);
    update.send().await.unwrap().attributes?.get("ForkedFrom").cloned()
}

/// The turns of sessions of which each is a fork of the one before, and forks of the last one by two users. Each turn tells
/// its level. A version without a maximum made them: no session has an origin while it is forked.
async fn nested(system: &System, client: &Client, other: &Client) -> (Vec<Value>, Vec<String>, Vec<String>) {
    system.cloud.pause_finalizer().await;
    let mut turns = vec![turn(&secret(0))];
    client.execute(&turns[0]).await.result();
    let mut origins = vec![None];
    for level in 1..DEPTH {
        let session = forked(client, &turns[level - 1]).await;
        turns.push(turn_in(&session, &secret(level)));
        client.execute(&turns[level]).await.result();
        assert!(is_chained(&system.last_call()), "it tells the session that it was forked from");
        origins.push(set_origin(system, &turns[level], None).await);
    }
    let (mut own, mut of_other) = (Vec::new(), Vec::new());
    for _ in 0..DEPTH {
        own.push(forked(client, &turns[DEPTH - 1]).await);
        of_other.push(forked(other, &turns[DEPTH - 1]).await);
    }
    for (turn, origin) in turns.iter().zip(origins) {
        if origin.is_some() {
            set_origin(system, turn, origin).await;
        }
    }
    system.cloud.resume_finalizer().await;
    for turn in &turns {
        system.until_finalized(session_of(turn), 1).await;
    }
    (turns, own, of_other)
}

/// Takes a turn in a fork of all of these sessions, and requires that its model is told nothing of the lost one and
/// those before it, but what comes after.
async fn assert_tells_after(system: &System, client: &Client, session: &str, lost: usize) {
    let answer = client.execute(&turn_in(session, "Goes on")).await.result();
    let call = system.last_call();
    assert!(!is_chained(&call), "{lost}: the provider's copy tells it");
    let told: Vec<usize> = (0..DEPTH).filter(|level| call.to_string().contains(&secret(*level))).collect();
    let first_told = (lost + 1).max(DEPTH - MAX_FORK_DEPTH);
    assert_eq!(told, (first_told..DEPTH).collect::<Vec<_>>(), "{lost}");
    assert_eq!(answer["UserWarnings"].as_array().unwrap().len(), 1, "{lost}: {answer}");
    if lost.is_multiple_of(8) {
        let again = client.execute(&turn_in(session, "And on")).await.result();
        assert!(again.get("UserWarnings").is_none() && is_chained(&system.last_call()), "{lost}: {again}");
    }
}

#[tokio::test]
async fn deep_fork_tells_no_hidden_or_purged_ancestor_at_any_depth() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("acme", "eve"));
    let (ancestors, own, of_eve) = nested(&system, &ada, &eve).await;
    for (level, ancestor) in ancestors.iter().enumerate() {
        edit(&ada, ancestor, json!({"Visibility": "participants"})).await.result();
        assert_tells_after(&system, &eve, &of_eve[level], level).await;
    }
    // Their owner still sees them.
    for (level, ancestor) in ancestors.iter().enumerate() {
        let path = format!("{}?purge=true", session_path(ancestor));
        ada.send(Method::DELETE, &path, None).await.result();
        assert_tells_after(&system, &ada, &own[level], level).await;
    }
}

#[tokio::test]
async fn fork_of_too_many_forks_is_refused() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut last = turn("first");
    ada.execute(&last).await.result();
    let mut made = String::new();
    for _ in 0..MAX_FORK_DEPTH {
        made = forked(&ada, &last).await;
        last = turn_in(&made, "next");
        ada.execute(&last).await.result();
        assert!(is_chained(&system.last_call()));
    }
    let body = json!({"SessionId": id(), "TurnId": last["TurnId"]});
    let refused = fork(&ada, &last, &body).await;
    assert_eq!((refused.status, refused.error().as_str()), (400, "MemberTooLarge"), "{}", refused.text);
    assert_eq!(refused.errors()[0]["Details"], "TurnId", "{}", refused.text);
    assert_eq!(ada.get(&session_path(&body)).await.status, 404);
    let answer = ada.execute(&turn_in(&made, "and on")).await.result();
    assert!(answer.get("UserWarnings").is_none() && is_chained(&system.last_call()), "{answer}");
}

#[tokio::test]
async fn fork_of_a_missing_session_does_not_use_the_providers_copy() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn(&secret(0));
    ada.execute(&first).await.result();
    system.until_finalized(session_of(&first), 1).await;
    let made = forked(&ada, &first).await;
    let delete = system.cloud.dynamodb().delete_item().table_name(system.cloud.table());
    let delete = delete.key("PK", AttributeValue::S(format!("O#acme#S#{}", session_of(&first))));
    delete.key("SK", AttributeValue::S("SESSION".to_owned())).send().await.unwrap();
    let answer = ada.execute(&turn_in(&made, "Goes on")).await.result();
    let call = system.last_call();
    assert!(!is_chained(&call) && !call.to_string().contains(&secret(0)), "{call}");
    assert!(answer["UserWarnings"][0].as_str().unwrap().contains("was purged"), "{answer}");
}
