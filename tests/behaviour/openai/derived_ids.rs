//! Ids of sessions and turns that derive from requests: nobody else can own the session that a request will get.

use std::time::Duration;

use local::{Data, Options};
use reqwest::Method;
use serde_json::{Value, json};

use super::{create_with, created, id, request, text};
use crate::session_edits::{delete, edit};
use crate::support::{Answer, Client, PATIENCE, System, options, session_path, turn_in};

const CHAT: &str = "/v1/chat/completions";
const HELLO: &str = "Hello [[script: say \"Hi.\"]]";
const KEYED: [(&str, &str); 1] = [("idempotency-key", "k1")];

/// A system with a known key, from which the same ids derive in each. Purges and sweeps are frequent.
async fn system(more: Options) -> System {
    let mut environment = more.environment.clone();
    for (name, value) in [("PAGE_TOKEN_KEY", "known"), ("PURGE_RECHECK_SECONDS", "1")] {
        environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    System::with(Options { environment, sweep: Some(Duration::from_secs(1)), ..more }).await
}

async fn chat_with(client: &Client, messages: &Value, headers: &[(&str, &str)]) -> Answer {
    let body = json!({"model": "scripted", "messages": messages}).to_string();
    let headers: Vec<_> = [("content-type", "application/json")].iter().chain(headers).copied().collect();
    client.raw(Method::POST, CHAT, &headers, body.into_bytes()).await
}

async fn chat(client: &Client, messages: &Value) -> Value {
    let answer = chat_with(client, messages, &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The sessions in which the user takes part, as (id, number of turns), newest first.
async fn own(client: &Client, user: &str) -> Vec<(String, u64)> {
    let list = client.get(&format!("/api/ai/agent/sessions?userId={user}")).await.result();
    let items = list["Items"].as_array().unwrap().iter();
    items.map(|item| (item["Id"].as_str().unwrap().to_owned(), item["TurnCount"].as_u64().unwrap())).collect()
}

async fn only_own(client: &Client, user: &str) -> String {
    let sessions = own(client, user).await;
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    sessions[0].0.clone()
}

fn in_session(session: &str) -> Value {
    json!({"SessionId": session, "TurnId": "t"})
}

/// Returns the sessions that ada's first message and her first keyed request get.
async fn foreseen() -> [String; 2] {
    let system = system(options()).await;
    let ada = system.client("acme", "ada");
    chat(&ada, &json!([user(HELLO)])).await;
    let of_chat = only_own(&ada, "ada").await;
    create_with(&ada, &request(HELLO), &KEYED).await;
    let of_key = own(&ada, "ada").await.into_iter().find(|(id, _)| *id != of_chat).unwrap().0;
    [of_chat, of_key]
}

#[tokio::test]
async fn squatted_session_is_left_for_the_next_id() {
    let foreseen = foreseen().await;
    for visibility in ["org", "participants"] {
        let system = system(options()).await;
        let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
        let rival = system.client("rival", "ada");
        for session in &foreseen {
            let planted = turn_in(session, "Planted [[script: say \"Hi.\"]]");
            for squatter in [&bob, &rival] {
                squatter.execute(&planted).await.result();
                edit(squatter, &planted, json!({"Visibility": visibility})).await.result();
            }
        }
        let first = chat(&ada, &json!([user(HELLO)])).await;
        assert_eq!(first["choices"][0]["message"]["content"], "Hi.");
        let begun = only_own(&ada, "ada").await;
        assert!(!foreseen.contains(&begun), "{visibility}");
        let more = json!([user(HELLO), {"role": "assistant", "content": "Hi."}, user("More")]);
        chat(&ada, &more).await;
        assert_eq!(own(&ada, "ada").await, [(begun.clone(), 2)], "the chat goes on in its session");
        let retried = chat_with(&ada, &json!([user(HELLO)]), &[("x-stainless-retry-count", "1")]).await;
        assert_eq!(retried.json()["id"], first["id"], "a retry finds its own turn");

        let keyed = create_with(&ada, &request(HELLO), &KEYED).await.json();
        let again = create_with(&ada, &request(HELLO), &KEYED).await.json();
        assert_eq!((text(&keyed).as_str(), id(&again)), ("Hi.", id(&keyed)));
        let calls: Vec<String> = system.model_calls().iter().map(Value::to_string).collect();
        let planted = calls.iter().filter(|call| call.contains("Planted")).count();
        assert_eq!((planted, calls.len()), (4, 7), "no history of others reaches the model");
        for session in &foreseen {
            let squatted = bob.get(&session_path(&in_session(session))).await.result();
            assert_eq!(squatted["TurnCount"], 1, "{visibility}");
        }
    }
}

#[tokio::test]
async fn ids_differ_by_org_user_and_deployment() {
    let mut ids = Vec::new();
    for key in ["known", "other"] {
        let environment = [("PAGE_TOKEN_KEY".to_owned(), key.to_owned())].into();
        let system = system(Options { environment, ..options() }).await;
        for (org, name) in [("acme", "ada"), ("acme", "bob"), ("rival", "ada")] {
            let client = system.client(org, name);
            chat(&client, &json!([user(HELLO)])).await;
            ids.push(only_own(&client, name).await);
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6);
}

#[tokio::test]
async fn first_message_works_after_deletion_purge_and_retention() {
    // Retention of two seconds.
    let environment = [("SESSION_RETENTION_DAYS".to_owned(), "0.0000231".to_owned())].into();
    let system = system(Options { environment, ..options() }).await;
    let ada = system.client("acme", "ada");
    let mut seen = Vec::new();
    for end in ["deleted", "purged", "retention", "none"] {
        chat(&ada, &json!([user(HELLO)])).await;
        let of_chat = only_own(&ada, "ada").await;
        let retried = chat_with(&ada, &json!([user(HELLO)]), &[("x-stainless-retry-count", "1")]).await;
        assert_eq!((retried.status, own(&ada, "ada").await.len()), (200, 1), "{end}: {}", retried.text);
        let keyed = create_with(&ada, &request(HELLO), &KEYED).await;
        assert_eq!(keyed.status, 200, "{end}: {}", keyed.text);
        let keyed = id(&keyed.json()).to_owned();
        assert_eq!(id(&create_with(&ada, &request(HELLO), &KEYED).await.json()), keyed, "{end}");
        let more = json!([user(HELLO), {"role": "assistant", "content": "Hi."}, user("More")]);
        chat(&ada, &more).await;
        let sessions = own(&ada, "ada").await;
        assert!(sessions.len() == 2 && sessions.contains(&(of_chat.clone(), 2)), "{end}: {sessions:?}");
        for (session, _) in sessions {
            assert!(!seen.contains(&session), "{end}");
            let session_turn = in_session(&session);
            let path = session_path(&session_turn);
            match end {
                "purged" => {
                    let answer = ada.send(Method::DELETE, &format!("{path}?purge=true"), None).await;
                    answer.result();
                }
                "none" => {}
                _ => _ = delete(&ada, &session_turn).await.result(),
            }
            if ["purged", "retention"].contains(&end) {
                let is_done = |answer: &Answer| answer.text.contains("\"State\":\"done\"");
                let report = ada.until(&format!("{path}/purge"), PATIENCE, is_done).await;
                assert!(is_done(&report), "{end}: {}", report.text);
            }
            seen.push(session);
        }
    }
}

#[tokio::test]
async fn concurrent_first_requests_are_two_chats() {
    let system = system(options()).await;
    let ada = system.client("acme", "ada");
    let hello = json!([user(HELLO)]);
    let (one, two) = futures::join!(chat(&ada, &hello), chat(&ada, &hello));
    assert_ne!(one["id"], two["id"]);
    let counts: Vec<u64> = own(&ada, "ada").await.into_iter().map(|(_, turns)| turns).collect();
    assert_eq!((counts.as_slice(), system.model_calls().len()), ([1, 1].as_slice(), 2));
    let more = |text: &str| json!([user(HELLO), {"role": "assistant", "content": "Hi."}, user(text)]);
    let (third, fourth) = (more("One"), more("Two"));
    futures::join!(chat(&ada, &third), chat(&ada, &fourth));
    let counts: Vec<u64> = own(&ada, "ada").await.into_iter().map(|(_, turns)| turns).collect();
    assert_eq!(counts.iter().sum::<u64>(), 4, "{counts:?}");
    let slow = json!([user("Slowly [[script: delay 1s; say \"Done.\"]]")]);
    let retry = [("x-stainless-retry-count", "1")];
    let (first, retried) = futures::join!(chat(&ada, &slow), async {
        system.model_called(5).await;
        chat_with(&ada, &slow, &retry).await
    });
    assert_eq!((retried.status, &retried.json()["id"]), (200, &first["id"]), "{}", retried.text);
    assert_eq!(system.model_calls().len(), 5);
}

#[tokio::test]
async fn rotated_key_still_finds_chats_and_keys() {
    let folder = tempfile::tempdir().unwrap();
    let with_key = async |key: &str| {
        let environment = [("PAGE_TOKEN_KEY".to_owned(), key.to_owned())].into();
        system(Options { environment, data: Data::Folder(folder.path().to_owned()), ..options() }).await
    };
    let hi = json!({"role": "assistant", "content": "Hi."});
    let before = with_key("old").await;
    let ada = before.client("acme", "ada");
    let first = chat(&ada, &json!([user(HELLO)])).await;
    let begun = only_own(&ada, "ada").await;
    let keyed = create_with(&ada, &request(HELLO), &KEYED).await.json();
    before.cloud.shutdown().await;

    let after = with_key("new,old").await;
    let ada = after.client("acme", "ada");
    let retried = chat_with(&ada, &json!([user(HELLO)]), &[("x-stainless-retry-count", "1")]).await.json();
    assert_eq!(retried["id"], first["id"]);
    assert_eq!(id(&create_with(&ada, &request(HELLO), &KEYED).await.json()), id(&keyed));
    let second = user("More [[script: say \"Hi.\"]]");
    chat(&ada, &json!([user(HELLO), hi, second])).await;
    chat(&ada, &json!([user(HELLO), hi, second, hi, user("Even more")])).await;
    let sessions = own(&ada, "ada").await;
    assert!(sessions.len() == 2 && sessions.contains(&(begun, 3)), "{sessions:?}");
    let other = create_with(&ada, &request(HELLO), &[("idempotency-key", "k2")]).await.json();
    assert_ne!(id(&other), id(&keyed));
    created(&ada, &request(HELLO)).await;
}
