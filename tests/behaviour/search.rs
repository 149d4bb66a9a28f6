//! `GET /api/ai/agent/search`.

use contracts::paths;
use local::{Function, token::Identity};
use serde_json::{Value, json};
use storage::Table;

use crate::{
    capacity::Units,
    scale::{fill, fill_session},
    session_edits::{delete, edit, session_of},
    support::{Client, System, turn, turn_in},
};

pub fn asking(words: &str) -> String {
    format!("{}?q={}", paths::SEARCH, words.replace(' ', "%20"))
}

async fn found(client: &Client, path: &str) -> Vec<Value> {
    client.get(path).await.result()["Items"].as_array().unwrap().clone()
}

/// The ids of the sessions that are found, in their order.
pub async fn ids(client: &Client, words: &str) -> Vec<String> {
    let found = found(client, &asking(words)).await;
    found.iter().map(|one| one["Session"]["Id"].as_str().unwrap().to_owned()).collect()
}

/// A turn that its session shows as over.
pub async fn ended(client: &Client, turn: &Value) {
    client.execute(turn).await.result();
    let path = crate::support::session_path(turn);
    let over = |answer: &crate::support::Answer| answer.result()["TotalUsage"]["TotalTokens"] != 0;
    client.until(&path, crate::support::PATIENCE, over).await;
}

/// Returns the marked words of a match's snippet.
fn marked(one: &Value) -> Vec<String> {
    let units: Vec<u16> = one["Snippet"].as_str().unwrap().encode_utf16().collect();
    let number = |mark: &Value, name: &str| usize::try_from(mark[name].as_u64().unwrap()).unwrap();
    let word = |mark: &Value| {
        let (start, length) = (number(mark, "Start"), number(mark, "Length"));
        String::from_utf16(&units[start..start + length]).unwrap()
    };
    one["Marks"].as_array().unwrap().iter().map(word).collect()
}

#[tokio::test]
async fn search_finds_names_instructions_and_answers_newest_first() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (older, newer) = (turn("Über den Café-Automaten"), turn("Count [[script: words 12]]"));
    ended(&ada, &older).await;
    ended(&ada, &newer).await;
    let next = turn_in(session_of(&newer), "And the CAFE around the corner?");
    ended(&ada, &next).await;
    system
        .until_item(|item| {
            item["SK"]
                .as_s()
                .is_ok_and(|sk| sk.ends_with("#RESULT") && sk.contains(next["TurnId"].as_str().unwrap()))
        })
        .await;

    assert_eq!(ids(&ada, "cafe").await, [session_of(&newer), session_of(&older)]);
    assert_eq!(ids(&ada, "word7").await, [session_of(&newer)], "an answer alone holds it");
    assert_eq!(ids(&ada, "cafe corner").await, [session_of(&newer)]);
    assert!(ids(&ada, "corner word7").await.is_empty(), "two turns don't make up for each other");
    assert!(ids(&ada, "afe").await.is_empty(), "a word is found where one begins");

    let one = found(&ada, &asking("CAFÉ corner")).await.remove(0);
    let matches = one["Matches"].as_array().unwrap();
    let of = |name: &str| matches.iter().find(|one| one["MatchedIn"] == name).unwrap();
    assert_eq!(of("instruction")["TurnId"], next["TurnId"]);
    assert_eq!(of("instruction")["SequenceNumber"], 2);
    assert_eq!(of("instruction")["Snippet"], "And the CAFE around the corner?");
    assert_eq!(marked(of("instruction")), ["CAFE", "corner"]);
    assert_eq!(marked(of("answer")), ["CAFE", "corner"]);

    edit(&ada, &older, json!({"Name": "Coffee", "Description": "Where it comes from"})).await.result();
    assert_eq!(ids(&ada, "coffee from").await, [session_of(&older)]);
    assert_eq!(ids(&ada, "coffee automat").await, [session_of(&older)], "its name counts for its turns");
}

#[tokio::test]
async fn search_hides_private_deleted_and_foreign_sessions() {
    let system = System::start().await;
    let (ada, bob, eve) =
        (system.client("acme", "ada"), system.client("acme", "bob"), system.client("rival", "eve"));
    let op = system.identified(&Identity { operator: true, ..Identity::user("acme", "op") });
    let (private, deleted, open) = (turn("a secret plan"), turn("a secret deed"), turn("an open secret"));
    for request in [&private, &deleted, &open] {
        ended(&ada, request).await;
    }
    edit(&ada, &private, json!({"Visibility": "participants"})).await.result();
    delete(&ada, &deleted).await.result();
    assert_eq!(ids(&bob, "secret").await, [session_of(&open)]);
    assert!(ids(&eve, "secret").await.is_empty());
    assert_eq!(ids(&ada, "secret").await.len(), 2);
    assert_eq!(ids(&op, "secret").await.len(), 2);
    let of_search = |line: &Value| line["message"] == "audit" && line["action"] == "search";
    let audited = system.logged(Function::SessionRead, "audit", of_search).await;
    assert!(audited.iter().all(|line| !line.to_string().contains("secret")), "no words of a user");
    assert_eq!(found(&ada, &format!("{}&includeDeleted=true", asking("secret"))).await.len(), 3);
    assert_eq!(found(&bob, &format!("{}&userId=bob", asking("secret"))).await.len(), 0);
    assert_eq!(found(&bob, &format!("{}&userId=ada", asking("secret"))).await.len(), 1);
}

#[tokio::test]
async fn invalid_query_is_refused_and_token_is_bound_to_its_search() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (long, many) = ("x".repeat(257), "a b c d e f g h i");
    for (query, rule) in [
        ("", "at least one word"),
        ("?q=", "at least one word"),
        ("?q=-%20-", "at least one word"),
        (&format!("?q={long}"), "at most 256 characters"),
        (&format!("?q={}", many.replace(' ', "+")), "at most 8 words"),
        ("?q=a&pageSize=0", "pageSize must be"),
        ("?q=a&order=asc", "Unknown query parameter"),
    ] {
        let refused = ada.get(&format!("{}{query}", paths::SEARCH)).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"), "{query}");
        assert!(refused.text.contains(rule), "{query}: {}", refused.text);
    }
    for number in 0..3 {
        ended(&ada, &turn(&format!("common words {number}"))).await;
    }
    let page = ada.get(&format!("{}&pageSize=1", asking("common"))).await.result();
    let token = page["ContinuationToken"].as_str().unwrap();
    let next = |words: &str| format!("{}&continuationToken={token}", asking(words));
    assert_eq!(found(&ada, &next("common")).await.len(), 2);
    for refused in [ada.get(&next("words")).await, system.client("acme", "bob").get(&next("common")).await] {
        assert_eq!((refused.status, refused.error().as_str()), (400, "ParameterInvalid"));
    }
}

/// Every page of a search: how many sessions each had, and what it cost in read units.
async fn pages(client: &Client, system: &System, words: &str) -> Vec<(usize, f64)> {
    let mut pages = Vec::new();
    let mut path = asking(words);
    loop {
        Units::take(system);
        let page = client.get(&path).await.result();
        pages.push((page["Items"].as_array().unwrap().len(), Units::take(system).reads));
        let Some(token) = page["ContinuationToken"].as_str() else { return pages };
        path = format!("{}&continuationToken={token}", asking(words));
        assert!(pages.len() < 10, "a search comes to an end");
    }
}

#[tokio::test]
async fn call_scans_bounded_sessions_and_turns_and_next_continues() {
    let system = System::metered().await;
    fill(&system, "many", 130).await;
    let of_sessions = pages(&system.client("many", "ada"), &system, "nowhere").await;
    println!("130 sessions: {of_sessions:?}");
    assert_eq!(of_sessions.len(), 2, "100 sessions and 30");
    assert!(of_sessions[0].1 <= 2.0 * 100.0, "{} read units for 100 sessions", of_sessions[0].1);
    assert_eq!(pages(&system.client("many", "ada"), &system, "session").await.len(), 3, "50 to a page");

    let table = Table::new(system.cloud.dynamodb().clone(), system.cloud.table().to_owned());
    fill_session(&table, "acme", "long", 620).await;
    let of_turns = pages(&system.client("acme", "ada"), &system, "nowhere").await;
    println!("620 turns: {of_turns:?}");
    assert_eq!(of_turns.len(), 2, "500 turns and 120");
    assert!(of_turns[0].1 <= 0.5 * 500.0, "{} read units for 500 turns", of_turns[0].1);
    let first = found(&system.client("acme", "ada"), &asking("question")).await.remove(0);
    let newest: Vec<u64> = first["Matches"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["SequenceNumber"].as_u64())
        .collect();
    assert!(newest.len() == 10 && newest.is_sorted_by(|one, next| one > next), "{newest:?}");
}
