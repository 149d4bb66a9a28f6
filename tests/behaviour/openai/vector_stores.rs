//! `/v1/vector_stores`, and `file_search` as a tool of a response.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::{created, error, events, files, path, request, text, upload, with};
use crate::{
    agents::editor,
    support::{Answer, Client, PATIENCE, System, options, said, turn},
};

const STORES: &str = "/v1/vector_stores";
const QUESTION: &str = "Which badge opens the north door?";
const BADGES: &[u8] = b"# Badges\n\nBlue badges open the north door.\n";

/// Starts a system whose vector database is built, which takes minutes in a new checkout.
async fn system() -> System {
    let system = System::with(options()).await;
    system.cloud.qdrant().await.unwrap();
    system
}

async fn post(client: &Client, path: &str, body: &Value) -> Answer {
    client.post(path, body.to_string()).await
}

/// Sends a request that must succeed.
async fn posted(client: &Client, path: &str, body: &Value) -> Value {
    let answer = post(client, path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn store_path(store: &Value) -> String {
    format!("{STORES}/{}", store["id"].as_str().unwrap())
}

fn file_path(store: &Value, file: &Value) -> String {
    format!("{}/files/{}", store_path(store), file["id"].as_str().unwrap())
}

/// Waits until a file is indexed.
async fn indexed(client: &Client, store: &Value, file: &Value) -> Value {
    let began = Instant::now();
    loop {
        let read = client.get(&file_path(store, file)).await.json();
        if read["status"] != "in_progress" {
            return read;
        }
        assert!(began.elapsed() < PATIENCE * 4, "{read}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Creates a vector store with a file.
async fn store_with(client: &Client, name: &str, content: &[u8]) -> (Value, Value) {
    let file = upload(client, name, content).await;
    let store = posted(client, STORES, &json!({"name": name, "file_ids": [file["id"]]})).await;
    let read = indexed(client, &store, &file).await;
    assert_eq!(read["status"], "completed", "{read}");
    (store, file)
}

fn search_in(store: &Value) -> Value {
    json!({"tools": [{"type": "file_search", "vector_store_ids": [store["id"]]}]})
}

#[tokio::test]
async fn file_of_a_store_is_searched_until_it_is_removed() {
    let system = system().await;
    let eddie = editor(&system, "acme");
    let (store, file) = store_with(&eddie, "badges.md", BADGES).await;
    let read = eddie.get(&store_path(&store)).await.json();
    assert_eq!((&read["object"], &read["status"]), (&json!("vector_store"), &json!("completed")));
    assert_eq!((&read["file_counts"]["completed"], &read["usage_bytes"]), (&json!(1), &json!(BADGES.len())));

    // Every user of the org may search, and nobody else learns that the store exists.
    let search = format!("{}/search", store_path(&store));
    let found = posted(&system.client("acme", "ada"), &search, &json!({"query": QUESTION})).await;
    assert_eq!(found["object"], "vector_store.search_results.page");
    let result = &found["data"][0];
    assert_eq!((&result["file_id"], &result["filename"]), (&file["id"], &json!("badges.md")), "{found}");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("Blue badges"), "{found}");
    let strict = json!({"query": QUESTION, "ranking_options": {"score_threshold": 1.0}});
    assert_eq!(posted(&eddie, &search, &strict).await["data"], json!([]));
    let other = post(&system.client("rival", "bob"), &search, &json!({"query": QUESTION})).await;
    assert_eq!(error(&other), (404, "vector_store_id".to_owned(), "not_found".to_owned()));

    let removed = eddie.send(Method::DELETE, &file_path(&store, &file), None).await.json();
    assert_eq!(removed["object"], "vector_store.file.deleted");
    assert_eq!(eddie.get(&file_path(&store, &file)).await.status, 404);
    let began = Instant::now();
    while posted(&eddie, &search, &json!({"query": QUESTION})).await["data"] != json!([]) {
        assert!(began.elapsed() < PATIENCE * 2);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(eddie.get(&files::path_of(&file)).await.status, 200, "the file itself stays");
}

#[tokio::test]
async fn stores_are_listed_changed_and_deleted_with_their_documents() {
    let system = system().await;
    let eddie = editor(&system, "acme");
    let first = posted(&eddie, STORES, &json!({"name": "first"})).await;
    let (second, file) = store_with(&eddie, "badges.md", BADGES).await;
    let names = async |query: &str| -> Vec<String> {
        let list = eddie.get(&format!("{STORES}{query}")).await.json();
        let stores = list["data"].as_array().unwrap().iter();
        stores.map(|store| store["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("").await, ["badges.md", "first"]);
    assert_eq!(names("?order=asc&limit=1").await, ["first"]);
    let change = json!({"name": "renamed", "metadata": {"team": "blue"}});
    let changed = posted(&eddie, &store_path(&first), &change).await;
    assert_eq!((&changed["name"], &changed["metadata"]["team"]), (&json!("renamed"), &json!("blue")));

    let list = eddie.get(&format!("{}/files?filter=completed", store_path(&second))).await.json();
    assert_eq!((&list["data"][0]["id"], &list["data"][0]["status"]), (&file["id"], &json!("completed")));
    let deleted = eddie.send(Method::DELETE, &store_path(&second), None).await.json();
    assert_eq!((&deleted["object"], &deleted["deleted"]), (&json!("vector_store.deleted"), &json!(true)));
    assert_eq!(eddie.get(&store_path(&second)).await.status, 404);
    let began = Instant::now();
    while eddie.get(contracts::paths::KNOWLEDGE).await.result()["Items"] != json!([]) {
        assert!(began.elapsed() < PATIENCE * 2);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(names("").await, ["renamed"]);
}

#[tokio::test]
async fn file_search_limits_a_response_to_its_stores_and_cites_files() {
    let system = system().await;
    let eddie = editor(&system, "acme");
    let (store, file) = store_with(&eddie, "badges.md", BADGES).await;
    let (other, _) = store_with(&eddie, "old.md", b"# Badges\n\nRed badges open the north door.\n").await;

    let asked = with(
        request(&format!("{QUESTION} [[script: say \"Blue ones.\"]]")),
        &with(search_in(&store), &json!({"include": ["file_search_call.results"]})),
    );
    let response = created(&eddie, &asked).await;
    let told = said(&system.last_call());
    assert!(told.contains("Blue badges") && !told.contains("Red badges"), "{told}");
    let (call, message) = (&response["output"][0], &response["output"][1]);
    assert_eq!((&call["type"], &call["status"]), (&json!("file_search_call"), &json!("completed")));
    assert!(call["queries"][0].as_str().unwrap().starts_with(QUESTION), "{call}");
    assert_eq!(call["results"][0]["file_id"], file["id"], "{call}");
    assert!(call["results"][0]["score"].is_number(), "{call}");
    let citation = &message["content"][0]["annotations"][0];
    assert_eq!((&citation["type"], &citation["file_id"]), (&json!("file_citation"), &file["id"]));
    assert_eq!((&citation["filename"], &citation["index"]), (&json!("badges.md"), &json!(10)));
    assert_eq!(text(&response), "Blue ones.");

    // Reading it again shows the same, with the results only if they are asked for.
    let read = eddie.get(&path(&response)).await.json();
    assert_eq!(read["output"][1], *message);
    assert_eq!(read["output"][0]["results"], Value::Null);
    let included = eddie.get(&format!("{}?include[]=file_search_call.results", path(&response))).await.json();
    assert_eq!(included["output"], response["output"]);

    let streamed = with(asked, &json!({"stream": true}));
    let answer = eddie.post(super::RESPONSES, streamed.to_string()).await;
    let events = events(&answer.text);
    let kinds = super::kinds(&events);
    assert_eq!(
        kinds[2..7],
        [
            "output_item.added",
            "file_search_call.in_progress",
            "file_search_call.searching",
            "file_search_call.completed",
            "output_item.done"
        ]
    );
    let added = events.iter().find(|event| event["type"] == "response.output_text.annotation.added").unwrap();
    assert_eq!((&added["output_index"], &added["annotation"]), (&json!(1), citation));
    let last = &events.last().unwrap()["response"];
    assert_eq!(last["output"][0]["results"], call["results"]);

    // Several stores are searched together. Any other turn finds the documents of all stores.
    let both = json!({"tools": [{"type": "file_search", "vector_store_ids": [store["id"], other["id"]]}]});
    created(&eddie, &with(request(QUESTION), &both)).await;
    let told = said(&system.last_call());
    assert!(told.contains("Blue badges") && told.contains("Red badges"), "{told}");
    eddie.execute(&turn(QUESTION)).await.result();
    assert!(said(&system.last_call()).contains("Red badges"));
}

#[tokio::test]
async fn invalid_requests_about_stores_are_refused_and_leave_nothing() {
    let system = system().await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    assert_eq!(post(&ada, STORES, &json!({"name": "mine"})).await.status, 403);
    assert_eq!(ada.get(STORES).await.status, 403);
    let unknown = json!({"name": "a", "file_ids": ["file-bi8xLzIvdmlzaW9uL2E"]});
    let refused = error(&post(&eddie, STORES, &unknown).await);
    assert_eq!((refused.0, refused.2.as_str()), (400, "file_not_found"));
    assert_eq!(eddie.get(STORES).await.json()["data"], json!([]), "no store is left behind");

    let store = posted(&eddie, STORES, &json!({})).await;
    let files = format!("{}/files", store_path(&store));
    // A file is its user's.
    let foreign = upload(&ada, "a.md", b"# A").await;
    let refused = error(&post(&eddie, &files, &json!({"file_id": foreign["id"]})).await);
    assert_eq!(refused, (400, "file_id".to_owned(), "file_not_found".to_owned()));
    let own = upload(&eddie, "a.md", b"# A").await;
    let reserved = json!({"file_id": own["id"], "attributes": {"VectorStoreId": "vs_1"}});
    assert_eq!(post(&eddie, &files, &reserved).await.status, 400);
    assert_eq!(eddie.get(&files).await.json()["data"], json!([]));

    let missing = json!({"id": format!("vs_{}", "0".repeat(32))});
    assert_eq!(eddie.get(&store_path(&missing)).await.status, 404);
    let answer = super::create(&eddie, &with(request("Hi"), &search_in(&missing))).await;
    assert_eq!(error(&answer), (404, "tools".to_owned(), "not_found".to_owned()));
    let none = json!({"tools": [{"type": "file_search", "vector_store_ids": []}]});
    let answer = super::create(&eddie, &with(request("Hi"), &none)).await;
    let param = "tools[0].vector_store_ids".to_owned();
    assert_eq!(error(&answer), (400, param, "invalid_value".to_owned()));
}
