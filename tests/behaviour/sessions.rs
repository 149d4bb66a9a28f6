//! `GET /api/ai/agent/sessions` and below.

use contracts::paths;
use serde_json::Value;

use crate::support::{Client, PATIENCE, System, session_path, turn, turn_in, turn_path};

async fn list(client: &Client, query: &str) -> Value {
    client.get(&format!("{}{query}", paths::SESSIONS)).await.result()
}

fn ids(page: &Value) -> Vec<String> {
    page["Items"].as_array().unwrap().iter().map(|item| item["Id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn sessions_are_listed_by_newest_activity_page_by_page() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut expected = Vec::new();
    for number in 0..5 {
        let request = turn(&format!("session {number}"));
        ada.execute(&request).await.result();
        expected.insert(0, request["SessionId"].as_str().unwrap().to_owned());
    }
    let mut seen = Vec::new();
    let mut query = "?pageSize=2".to_owned();
    loop {
        let page = list(&ada, &query).await;
        assert_eq!(page["PageSize"], 2);
        seen.extend(ids(&page));
        let Some(token) = page["ContinuationToken"].as_str() else {
            assert_eq!(page["HasMore"], false);
            break;
        };
        assert_eq!(page["HasMore"], true);
        query = format!("?pageSize=2&continuationToken={token}");
    }
    assert_eq!(seen, expected);
    let summary = &list(&ada, "").await["Items"][0];
    assert_eq!((summary["Name"].as_str(), summary["TurnCount"].as_u64()), (Some("session 4"), Some(1)));
}

#[tokio::test]
async fn a_users_list_holds_the_sessions_that_user_takes_part_in_by_that_users_own_last_turn() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let (one, two) = (turn("one"), turn("two"));
    ada.execute(&one).await.result();
    ada.execute(&two).await.result();
    bob.execute(&turn_in(one["SessionId"].as_str().unwrap(), "from bob")).await.result();
    assert_eq!(ids(&list(&ada, "?userId=bob").await), [one["SessionId"].as_str().unwrap()]);
    assert_eq!(
        ids(&list(&bob, "?userId=ada").await),
        [two["SessionId"].as_str().unwrap(), one["SessionId"].as_str().unwrap()]
    );
    assert!(ids(&list(&ada, "?userId=nobody").await).is_empty());
    // Ada goes on with the first: her own order changes once that turn is finalized.
    ada.execute(&turn_in(one["SessionId"].as_str().unwrap(), "again")).await.result();
    let moved = |answer: &crate::support::Answer| {
        ids(&answer.json()["Result"]).first().map(String::as_str) == one["SessionId"].as_str()
    };
    let later = ada.until(&format!("{}?userId=ada", paths::SESSIONS), PATIENCE, moved).await;
    assert!(moved(&later), "{}", later.text);
}

#[tokio::test]
async fn a_bad_query_is_refused_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for query in [
        "?pageSize=0",
        "?pageSize=101",
        "?pageSize=x",
        "?banana=1",
        "?continuationToken=x",
        "?continuationToken=W10",
    ] {
        let refused = ada.get(&format!("{}{query}", paths::SESSIONS)).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{query}");
    }
}

#[tokio::test]
async fn a_session_of_more_than_a_hundred_turns_is_read_in_pages() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("1");
    let session = first["SessionId"].as_str().unwrap();
    ada.execute(&first).await.result();
    for number in 2..=103 {
        ada.execute(&turn_in(session, &number.to_string())).await.result();
    }
    let page = ada.get(&session_path(&first)).await.result();
    assert_eq!((page["TurnCount"].as_u64(), page["Turns"].as_array().unwrap().len()), (Some(103), 100));
    let token = page["ContinuationToken"].as_str().unwrap();
    let rest = ada.get(&format!("{}?continuationToken={token}", session_path(&first))).await.result();
    let numbers: Vec<u64> = rest["Turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["SequenceNumber"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [101, 102, 103]);
    assert!(rest.get("ContinuationToken").is_none());
}

#[tokio::test]
async fn a_turn_is_read_whole_light_and_as_the_last() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = turn("first");
    let second = turn_in(first["SessionId"].as_str().unwrap(), "second");
    ada.execute(&first).await.result();
    ada.execute(&second).await.result();
    let summary = ada.get(&format!("{}/summary", turn_path(&first))).await.result();
    assert_eq!(summary["InstructionSummary"], "first");
    assert!(summary.get("FullInstructionUrl").is_none());
    let last = ada.get(&format!("{}/turns/last", session_path(&first))).await.result();
    assert_eq!(last["Id"], second["TurnId"]);
    assert_eq!(ada.get(&format!("{}/turns/none", session_path(&first))).await.error(), "TurnNotFound");
}
