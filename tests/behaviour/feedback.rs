//! `PUT` and `GET …/turns/{TurnId}/feedback`.

use contracts::paths;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Client, System, id, reading_tool, session_path, turn, turn_in, turn_path};

async fn say(client: &Client, of: &Value, body: &Value) -> Answer {
    client.send(Method::PUT, &format!("{}/feedback", turn_path(of)), Some(body.to_string())).await
}

async fn said(client: &Client, of: &Value, query: &str) -> Value {
    client.get(&format!("{}/feedback{query}", turn_path(of))).await.result()
}

#[tokio::test]
async fn feedback_is_stored_once_per_user_and_read_by_the_org() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let request = turn("hello");
    ada.execute(&request).await.result();
    assert_eq!(said(&ada, &request, "").await["Items"], json!([]));
    let before = ada.get(&turn_path(&request)).await;
    let first = say(&ada, &request, &json!({"Rating": 2, "Label": "too long", "Note": "Say less.\nPlease."}))
        .await
        .result();
    assert_eq!((&first["User"]["Id"], &first["Note"]), (&json!("ada"), &json!("Say less.\nPlease.")));
    say(&bob, &request, &json!({"Rating": 5})).await.result();
    let again = say(&ada, &request, &json!({"Rating": 4, "Label": null})).await.result();
    assert_eq!((&again["Rating"], again.get("Label"), again.get("Note")), (&json!(4), None, None));
    assert_eq!(again["CreationDate"], first["CreationDate"]);
    assert!(again["LastUpdatedDate"].as_str() >= first["LastUpdatedDate"].as_str());
    let page = said(&bob, &request, "").await;
    let mut items = page["Items"].as_array().unwrap().clone();
    items.sort_by_key(|item| item["User"]["Id"].to_string());
    assert_eq!((items.len(), &items[0], &items[1]["Rating"]), (2, &again, &json!(5)));
    // A turn that is over never changes, whatever is said of it.
    let after = ada.get(&turn_path(&request)).await;
    assert_eq!((before.header("etag"), &before.text), (after.header("etag"), &after.text));
}

#[tokio::test]
async fn page_of_long_notes_has_all_of_them() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    // More than 1 MB, where a page of the table ends.
    let body = json!({"Rating": 3, "Note": "𝄞".repeat(4_096)});
    for number in 0..80 {
        say(&system.client("acme", &format!("user{number}")), &request, &body).await.result();
    }
    let page = said(&ada, &request, "?pageSize=100").await;
    assert_eq!((page["Items"].as_array().unwrap().len(), page.get("ContinuationToken")), (80, None));
}

#[tokio::test]
async fn feedback_of_many_users_is_paged() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    let mut users: Vec<String> = (0..5).map(|number| format!("user/{number} 組")).collect();
    for user in &users {
        say(&system.client("acme", user), &request, &json!({"Rating": 3})).await.result();
    }
    let (mut seen, mut query) = (Vec::new(), "?pageSize=2".to_owned());
    loop {
        let page = said(&ada, &request, &query).await;
        let items = page["Items"].as_array().unwrap();
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|item| item["User"]["Id"].as_str().unwrap().to_owned()));
        let Some(token) = page["ContinuationToken"].as_str() else { break };
        query = format!("?pageSize=2&continuationToken={token}");
    }
    seen.sort();
    users.sort();
    assert_eq!(seen, users);
}

#[tokio::test]
async fn empty_or_oversized_feedback_is_refused_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    for (body, code, member) in [
        (json!({}), "MemberRequired", "Rating"),
        (json!({"Rating": 0}), "MemberInvalid", "Rating"),
        (json!({"Rating": 6}), "MemberInvalid", "Rating"),
        (json!({"Rating": 4.5}), "MemberInvalid", "Rating"),
        (json!({"Rating": "good"}), "MemberInvalid", "Rating"),
        (json!({"Rating": 3, "Label": "two\nlines"}), "MemberInvalid", "Label"),
        (json!({"Rating": 3, "Label": "x".repeat(65)}), "MemberTooLarge", "Label"),
        (json!({"Rating": 3, "Note": "x".repeat(4_097)}), "MemberTooLarge", "Note"),
        (json!({"Rating": 3, "Stars": 3}), "MemberUnknown", "Stars"),
    ] {
        let refused = say(&ada, &request, &body).await;
        assert_eq!((refused.status, refused.error().as_str()), (400, code), "{}", refused.text);
        assert_eq!(refused.errors()[0]["Details"], member);
    }
    assert_eq!(said(&ada, &request, "").await["Items"], json!([]));
}

#[tokio::test]
async fn feedback_on_an_open_foreign_or_unknown_turn_is_refused() {
    let system = System::start().await;
    system.put_context(json!({"ClientTools": [reading_tool()]})).await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let waits = crate::support::in_context("Wait [[script: call workspace_read_file {\"path\":\"a\"}]]");
    ada.execute(&waits).await.result();
    let rating = json!({"Rating": 3});
    let open = say(&ada, &waits, &rating).await;
    assert_eq!((open.status, open.error().as_str()), (409, "SessionBusy"));
    let unknown = json!({"SessionId": "nobodys", "TurnId": "nobodys"});
    for (foreign, unknown) in [
        (say(&eve, &waits, &rating).await, say(&eve, &unknown, &rating).await),
        (
            eve.get(&format!("{}/feedback", turn_path(&waits))).await,
            eve.get(&format!("{}/feedback", turn_path(&unknown))).await,
        ),
    ] {
        assert_eq!((foreign.status, &foreign.text), (404, &unknown.text));
    }
    assert!(ada.get(&session_path(&waits)).await.text.contains("pending"));
}

/// Returns the ratings that the session's reads show, which agree.
async fn ratings(client: &Client, of: &Value) -> Value {
    let read = client.get(&session_path(of)).await.result();
    let list = client.get(paths::SESSIONS).await.result();
    let summary = list["Items"].as_array().unwrap().iter().find(|item| item["Id"] == of["SessionId"]);
    assert_eq!(read.get("Ratings"), summary.unwrap().get("Ratings"));
    read["Ratings"].clone()
}

#[tokio::test]
async fn session_counts_the_latest_rating_of_each_user_and_turn() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let first = turn("hello");
    ada.execute(&first).await.result();
    let second = turn_in(first["SessionId"].as_str().unwrap(), "go on");
    assert_eq!(ratings(&ada, &first).await, Value::Null, "nobody rated it");
    for (client, of, rating, expected) in [
        (&ada, &first, 5, json!({"Count": 1, "Mean": 5.0})),
        (&bob, &first, 2, json!({"Count": 2, "Mean": 3.5})),
        // Replaced, and sent again.
        (&ada, &first, 1, json!({"Count": 2, "Mean": 1.5})),
        (&ada, &first, 1, json!({"Count": 2, "Mean": 1.5})),
    ] {
        say(client, of, &json!({"Rating": rating})).await.result();
        assert_eq!(ratings(&bob, of).await, expected);
    }
    // A turn that runs meanwhile keeps what its writes didn't read.
    let rated = async {
        system.model_called(2).await;
        say(&bob, &first, &json!({"Rating": 4})).await.result();
    };
    let slow = turn_in(first["SessionId"].as_str().unwrap(), "Slowly [[script: delay 300ms; say \"Done.\"]]");
    let (answer, ()) = futures::join!(ada.execute(&slow), rated);
    answer.result();
    say(&ada, &slow, &json!({"Rating": 3})).await.result();
    assert_eq!(ratings(&ada, &first).await, json!({"Count": 3, "Mean": 2.67}));
    system.until_finalized(first["SessionId"].as_str().unwrap(), 2).await;
    ada.execute(&second).await.result();
    assert_eq!(ratings(&ada, &first).await, json!({"Count": 3, "Mean": 2.67}));
    // A fork has turns of its own.
    let fork = json!({"SessionId": id(), "TurnId": slow["TurnId"]});
    let forked = ada.post(&format!("{}/fork", session_path(&first)), fork.to_string()).await.result();
    assert_eq!(forked.get("Ratings"), None);
}

/// Rates a turn, again while other writes are in the way.
async fn rate_until_stored(client: &Client, of: &Value, rating: u8) {
    loop {
        let answer = say(client, of, &json!({"Rating": rating})).await;
        if ![409, 429, 503].contains(&answer.status) {
            answer.result();
            return;
        }
    }
}

#[tokio::test]
async fn concurrent_ratings_are_counted_once() {
    let system = System::start().await;
    let request = turn("hello");
    system.client("acme", "ada").execute(&request).await.result();
    let users = ["ada", "bob", "cleo"].map(|user| system.client("acme", user));
    let all = users.iter().flat_map(|client| (1..=5).map(move |rating| (client, rating)));
    join_all(all.map(|(client, rating)| rate_until_stored(client, &request, rating))).await;
    let kept = said(&users[0], &request, "").await;
    let sum: u64 =
        kept["Items"].as_array().unwrap().iter().map(|item| item["Rating"].as_u64().unwrap()).sum();
    let session = system.until_item(|item| item["SK"].as_s().is_ok_and(|key| key == "SESSION")).await;
    let stored = |name: &str| session[name].as_n().unwrap().parse::<u64>().unwrap();
    assert_eq!((stored("RatingCount"), stored("RatingSum")), (3, sum));
}
