//! `GET /api/ai/agent/sessions` and below.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::paths;
use local::token::Identity;
use serde_json::{Value, json};

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
async fn a_query_that_a_path_does_not_take_is_refused_by_name_on_every_route() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    let path = turn_path(&request);
    let named = |answer: &crate::support::Answer| {
        assert_eq!((answer.status, answer.error().as_str()), (400, "ParameterInvalid"), "{}", answer.text);
        answer.errors()[0]["Details"].as_str().unwrap().to_owned()
    };
    for (path, member) in [
        (format!("{}?pageSize=abc", paths::SESSIONS), "pageSize"),
        (format!("{}?pageSize=2&pageSize=3", paths::SESSIONS), "pageSize"),
        (format!("{}?banana=1", paths::SESSIONS), "banana"),
        (format!("{}?pageSize=2", session_path(&request)), "pageSize"),
        (format!("{}/turns/last?banana=1", session_path(&request)), "banana"),
        (format!("{path}?banana=1"), "banana"),
        (format!("{path}/summary?banana=1"), "banana"),
        (format!("{path}/stream?banana=1"), "banana"),
        (format!("{path}/payloads/answer?banana=1"), "banana"),
    ] {
        assert_eq!(named(&ada.get(&path).await), member, "{path}");
    }
    let calls = system.model_calls().len();
    for path in [paths::EXECUTE, paths::TOOL_RESULTS, &format!("{path}/cancel")] {
        let refused = ada.post(&format!("{path}?banana=1"), turn("x").to_string()).await;
        assert_eq!(named(&refused), "banana", "{path}");
    }
    assert_eq!(system.model_calls().len(), calls);
}

#[tokio::test]
async fn a_token_that_no_page_ended_with_is_refused_before_the_table_is_asked() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for _ in 0..2 {
        ada.execute(&turn("hello")).await.result();
    }
    let page = list(&ada, "?pageSize=1").await;
    let ours = page["ContinuationToken"].as_str().unwrap();
    let [sort, pk, sk]: [String; 3] = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(ours).unwrap()).unwrap();
    let forged = |keys: [&str; 3]| URL_SAFE_NO_PAD.encode(serde_json::to_vec(&keys).unwrap());
    let long = "x".repeat(2_000);
    for token in [
        forged([&sort, &pk, "TURN#x"]),
        forged([&sort, &pk, "USER#ada"]),
        forged([&sort, &pk, &long]),
        forged([&long, &pk, &sk]),
        forged([&sort.replace('#', "#x"), &pk, &sk]),
        forged([&sort, &format!("{pk}%41"), &sk]),
        forged([&sort, &pk.replace("acme", "rival"), &sk]),
        forged([&sort, "O#%2E%2E#S#x", &sk]),
    ] {
        let refused = ada.get(&format!("{}?pageSize=1&continuationToken={token}", paths::SESSIONS)).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{token}");
        // A token is good for its own list alone.
        let other = ada.get(&format!("{}?userId=ada&continuationToken={ours}", paths::SESSIONS)).await;
        assert_eq!(other.error(), "ParameterInvalid");
    }
    let session = paths::SESSION.of(&page["Items"][0]["Id"].as_str().unwrap().parse().unwrap());
    for token in ["0", "-1", "+1", "01", "1.0", "x", "99999999999999999999"] {
        let refused = ada.get(&format!("{session}?continuationToken={}", token.replace('+', "%2B"))).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{token}");
    }
}

#[tokio::test]
async fn a_sessions_org_has_its_name_where_the_token_knows_one_and_else_its_id() {
    let system = System::start().await;
    let identity = Identity { org_name: Some("Acme Corp.".to_owned()), ..Identity::user("acme", "ada") };
    let ada = system.identified(&identity);
    let request = turn("hello");
    ada.execute(&request).await.result();
    let org = |session: Value| session["OwnerOrganization"].clone();
    let named = org(ada.get(&session_path(&request)).await.result());
    assert_eq!(named, json!({ "Id": "acme", "Text": "Acme Corp." }));
    let bob = system.client("acme", "bob");
    let plain = org(bob.get(&session_path(&request)).await.result());
    assert_eq!(plain, json!({ "Id": "acme", "Text": "acme" }));
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
