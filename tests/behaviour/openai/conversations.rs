//! Conversations with metadata and items that no response has brought.

use reqwest::Method;
use serde_json::{Value, json};

use super::{created, error, path, request, text, with};
use crate::support::{Client, System};

const CONVERSATIONS: &str = "/v1/conversations";

async fn post(client: &Client, path: &str, body: Value) -> Value {
    let answer = client.post(path, body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn message(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": text})
}

/// The texts of the items of a list.
fn texts(list: &Value) -> Vec<&str> {
    let items = list["data"].as_array().unwrap().iter();
    items.map(|item| item["content"][0]["text"].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn conversation_keeps_metadata_and_items_until_it_is_deleted() {
    let system = System::start().await;
    let (ada, bob, eve) =
        (system.client("acme", "ada"), system.client("acme", "bob"), system.client("rival", "eve"));
    let body = json!({"metadata": {"topic": "leases"}, "items": [message("user", "one"), message("assistant", "two")]});
    let conversation = post(&ada, CONVERSATIONS, body).await;
    assert_eq!(
        (&conversation["object"], &conversation["metadata"]["topic"]),
        (&json!("conversation"), &json!("leases"))
    );
    let own = format!("{CONVERSATIONS}/{}", conversation["id"].as_str().unwrap());
    let items = format!("{own}/items");
    assert_eq!(ada.get(&own).await.json(), conversation);
    let updated = post(&ada, &own, json!({"metadata": {"topic": "fences"}})).await;
    assert_eq!(updated["created_at"], conversation["created_at"]);
    assert_eq!(ada.get(&own).await.json()["metadata"], json!({"topic": "fences"}));

    let added =
        post(&ada, &items, json!({"items": [message("user", "three"), message("assistant", "four")]})).await;
    assert_eq!((texts(&added), &added["has_more"]), (vec!["three", "four"], &json!(false)));
    let all = ["one", "two", "three", "four"];
    assert_eq!(texts(&ada.get(&format!("{items}?order=asc")).await.json()), all);
    for (order, mut expected) in [("asc", all.to_vec()), ("desc", all.to_vec())] {
        if order == "desc" {
            expected.reverse();
        }
        let (mut paged, mut after) = (Vec::new(), String::new());
        loop {
            let page = ada.get(&format!("{items}?order={order}&limit=3{after}")).await.json();
            paged.extend(texts(&page).into_iter().map(str::to_owned));
            if page["has_more"] != true {
                break;
            }
            after = format!("&after={}", page["last_id"].as_str().unwrap());
        }
        assert_eq!(paged, expected, "{order}");
    }
    let last = format!("{items}/{}", added["last_id"].as_str().unwrap());
    assert_eq!(ada.get(&last).await.json(), added["data"][1]);
    let popped = ada.send(Method::DELETE, &last, None).await;
    assert_eq!((popped.status, &popped.json()["id"]), (200, &conversation["id"]), "{}", popped.text);
    assert_eq!(ada.get(&last).await.status, 404);
    assert_eq!(texts(&ada.get(&items).await.json()), ["three", "two", "one"]);

    for client in [&bob, &eve] {
        for path in [&own, &items, &last] {
            assert_eq!(error(&client.get(path).await).0, 404, "{path}");
        }
        assert_eq!(
            client.post(&items, json!({"items": [message("user", "x")]}).to_string()).await.status,
            404
        );
    }
    let deleted = ada.send(Method::DELETE, &own, None).await;
    assert_eq!((deleted.status, &deleted.json()["deleted"]), (200, &json!(true)), "{}", deleted.text);
    assert_eq!((ada.get(&own).await.status, ada.get(&items).await.status), (404, 404));
}

#[tokio::test]
async fn response_takes_over_the_items_of_its_conversation() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let items = json!([message("user", "My name is Ada."), message("assistant", "Noted.")]);
    let conversation = post(&ada, CONVERSATIONS, json!({"items": items})).await;
    let place = json!({"conversation": conversation["id"]});
    let first = created(&ada, &with(request("Who am I? [[script: say \"Ada.\"]]"), &place)).await;
    assert_eq!(text(&first), "Ada.");
    let sent = system.model_calls()[0].to_string();
    assert!(
        sent.contains("My name is Ada.") && sent.contains("Noted.") && sent.contains("Who am I?"),
        "{sent}"
    );
    let list = format!("{CONVERSATIONS}/{}/items", conversation["id"].as_str().unwrap());
    post(&ada, &list, json!({"items": [message("user", "I live in Bern.")]})).await;
    let listed = ada.get(&format!("{list}?order=asc")).await.json();
    assert_eq!(*texts(&listed).last().unwrap(), "I live in Bern.");
    created(&ada, &with(request("Where do I live?"), &place)).await;
    let sent = system.model_calls()[1].to_string();
    assert_eq!(sent.matches("I live in Bern.").count(), 1, "{sent}");
    let listed = ada.get(&format!("{list}?order=asc")).await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 4, "two turns, and nothing is left over: {listed}");
    assert_eq!(ada.get(&path(&first)).await.status, 200);
}

#[tokio::test]
async fn files_and_conversations_do_not_see_each_other() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let conversation = post(&ada, CONVERSATIONS, json!({"items": [message("user", "one")]})).await;
    super::upload(&ada, "a.txt", b"content").await;
    let files = ada.get("/v1/files").await.json();
    assert_eq!(files["data"].as_array().unwrap().len(), 1, "{files}");
    let list = format!("{CONVERSATIONS}/{}/items", conversation["id"].as_str().unwrap());
    assert_eq!(texts(&ada.get(&list).await.json()), ["one"]);
}
