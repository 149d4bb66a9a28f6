//! Documents for the agents of an org: uploads, status, deletion, and what turns find.

use std::time::{Duration, Instant};

use contracts::paths::{AGENTS, KNOWLEDGE};
use local::{Function, Options, token::Identity};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    agents::{editor, put},
    index_documents::pdf,
    index_secrets::token,
    support::{Answer, Client, LEASE, PATIENCE, System, id, options, said, turn},
};

/// Starts a system whose vector database is built, which takes minutes in a new checkout.
async fn system(options: Options) -> System {
    let system = System::with(options).await;
    system.cloud.qdrant().await.unwrap();
    system
}

async fn upload(client: &Client, document: &Value) -> Answer {
    client.send(Method::POST, KNOWLEDGE, Some(document.to_string())).await
}

fn path(document: &Value) -> String {
    format!("{KNOWLEDGE}/{}", document["Id"].as_str().unwrap())
}

/// Waits until a document has a status that is final.
async fn settled(client: &Client, document: &Value) -> Value {
    let began = Instant::now();
    loop {
        let read = client.get(&path(document)).await.result();
        if !["pending", "indexing"].contains(&read["Status"].as_str().unwrap()) {
            return read;
        }
        assert!(began.elapsed() < PATIENCE * 4, "{read}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits until a document is deleted.
async fn deleted(client: &Client, document: &Value) {
    let began = Instant::now();
    while client.get(&path(document)).await.status != 404 {
        assert!(began.elapsed() < PATIENCE * 2);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn ready(client: &Client, document: &Value) -> Value {
    let uploaded = upload(client, document).await.result();
    let settled = settled(client, &uploaded).await;
    assert_eq!(settled["Status"], "ready", "{settled}");
    settled
}

/// Returns the message of a turn to the model.
async fn asked(system: &System, client: &Client, request: &Value) -> String {
    client.execute(request).await.result();
    said(&system.last_call()).to_owned()
}

fn base64(bytes: &[u8]) -> String {
    use base64::{Engine, prelude::BASE64_STANDARD};
    BASE64_STANDARD.encode(bytes)
}

const QUESTION: &str = "Which badge opens the north door?";

/// Uploads a document, and deletes it once it is indexed.
pub async fn upload_and_delete(system: &System) {
    system.cloud.qdrant().await.unwrap();
    let editor = editor(system, "acme");
    let document = ready(&editor, &json!({"Name": "a.md", "Text": "# A\n\nSome text."})).await;
    editor.send(Method::DELETE, &path(&document), None).await.result();
    deleted(&editor, &document).await;
}

#[tokio::test]
async fn document_is_found_by_turns_until_it_is_replaced_and_deleted() {
    let system = system(options()).await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    let pages = pdf(&["Visitors wait in the lobby.", "Blue badges open the north door."]);
    let document = json!({"Name": "guides/handbook.pdf", "ContentBase64": base64(pages.as_bytes())});
    let first = ready(&eddie, &document).await;
    assert_eq!((&first["Chunks"], &first["UploadedBy"]["Id"]), (&json!(2), &json!("eddie")), "{first}");

    let told = asked(&system, &ada, &turn(QUESTION)).await;
    assert!(told.contains("Path: guides/handbook.pdf\n") && told.contains("Page: 2\n"), "{told}");
    assert!(told.contains("Blue badges open"), "{told}");
    let other = system.client("globex", "bob");
    assert!(!asked(&system, &other, &turn(QUESTION)).await.contains("Blue badges"));

    // The same document again changes nothing, and another content of the name replaces it.
    let again = upload(&eddie, &document).await.result();
    assert_eq!(again, first);
    let changed = pdf(&["Green badges open the north door."]);
    let changed = json!({"Name": "guides/handbook.pdf", "ContentBase64": base64(changed.as_bytes())});
    let second = ready(&eddie, &changed).await;
    assert_eq!((&second["Id"], &second["Chunks"]), (&first["Id"], &json!(1)));
    let told = asked(&system, &ada, &turn(QUESTION)).await;
    assert!(told.contains("Green badges") && !told.contains("Blue badges"), "{told}");

    let deleting = eddie.send(Method::DELETE, &path(&first), None).await.result();
    assert_eq!(deleting["Status"], "deleting");
    deleted(&eddie, &first).await;
    assert!(!asked(&system, &ada, &turn(QUESTION)).await.contains("badges open"));
    assert_eq!(eddie.get(KNOWLEDGE).await.result()["Items"], json!([]));
    let left = system.cloud.s3().list_objects_v2().bucket(system.cloud.bucket()).send().await.unwrap();
    let keys = left.contents().iter().filter_map(|object| object.key());
    assert_eq!(keys.filter(|key| key.contains("!knowledge")).count(), 0);
}

#[tokio::test]
async fn document_of_some_agents_and_attributes_is_found_in_their_scope() {
    let system = system(options()).await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    for agent in ["support", "sales"] {
        put(&eddie, &AGENTS.context(agent), &json!({"Name": agent})).await.result();
    }
    let document = json!({
        "Name": "badges.md", "Text": "# Badges\n\nBlue badges open the north door.\n",
        "AgentContextIds": ["support"],
        "Attributes": [{"Key": "Team", "Values": ["facilities"]}, {"Key": "Years", "Values": [2025, 2026]}],
    });
    let stored = ready(&eddie, &document).await;
    assert_eq!(stored["Attributes"], document["Attributes"]);
    let of = |agent: Option<&str>, key: &str, value: Value| {
        let mut request = turn(QUESTION);
        if let Some(agent) = agent {
            request["AgentContextId"] = json!(agent);
        }
        request["RagScope"] = json!({"Conditions": [{"Key": key, "Operator": "==", "Values": [value]}]});
        request
    };
    for (request, is_found) in [
        (of(Some("support"), "Team", json!("facilities")), true),
        (of(Some("support"), "Years", json!(2026)), true),
        (of(Some("support"), "Years", json!(2024)), false),
        (of(Some("sales"), "Team", json!("facilities")), false),
        (of(None, "AgentContextIds", json!("support")), false),
    ] {
        let told = asked(&system, &ada, &request).await;
        assert_eq!(told.contains("Blue badges"), is_found, "{request}: {told}");
    }
}

#[tokio::test]
async fn invalid_uploads_are_refused_by_member_and_leave_no_trace() {
    let system = system(options()).await;
    let (eddie, ada) = (editor(&system, "acme"), system.client("acme", "ada"));
    let valid = json!({"Name": "a.md", "Text": "Hello."});
    assert_eq!(upload(&ada, &valid).await.status, 403);
    assert_eq!(ada.get(KNOWLEDGE).await.status, 403);
    for (body, code, at) in [
        (json!({"Text": "x"}), "MemberRequired", "Name"),
        (json!({"Name": "../a.md", "Text": "x"}), "MemberInvalid", "Name"),
        (json!({"Name": "a.md"}), "MemberRequired", "Text"),
        (json!({"Name": "a.md", "ContentBase64": "!"}), "MemberInvalid", "ContentBase64"),
        (json!({"Name": "a.md", "FileId": "file-x"}), "MemberInvalid", "FileId"),
        (json!({"Name": "a.md", "Text": "x", "Colour": 1}), "MemberUnknown", "Colour"),
        (
            json!({"Name": "a.md", "Text": "x", "Attributes": [{"Key": "org-id", "Values": ["globex"]}]}),
            "MemberInvalid",
            "Attributes[0].Key",
        ),
        (
            json!({"Name": "a.md", "Text": "x", "AgentContextIds": [""]}),
            "MemberInvalid",
            "AgentContextIds[0]",
        ),
    ] {
        let refused = upload(&eddie, &body).await;
        let error = &refused.errors()[0];
        assert_eq!(
            (refused.status, &error["ErrorCode"], &error["Details"]),
            (400, &json!(code), &json!(at)),
            "{body}"
        );
    }
    assert_eq!(eddie.get(KNOWLEDGE).await.result()["Items"], json!([]));
    for method in [Method::GET, Method::DELETE] {
        let missing = eddie.send(method, &format!("{KNOWLEDGE}/{}", id()), None).await;
        assert_eq!((missing.status, missing.error().as_str()), (404, "KnowledgeNotFound"));
    }
}

#[tokio::test]
async fn unreadable_documents_fail_by_their_limits_with_a_reason() {
    let system = system(options()).await;
    let eddie = editor(&system, "acme");
    let nested = format!("%PDF-1.4\n1 0 obj{}\nendobj\ntrailer<</Root 1 0 R>>", "[".repeat(2_000_000));
    let secret = format!("The key is {}.", token());
    for (name, content, reason) in [
        ("nested.pdf", nested.as_bytes(), "It exceeds the limits of a document."),
        ("not.docx", b"text", "It is not a valid document."),
        ("scan.pdf", pdf(&[""]).as_bytes(), "It has no text."),
        ("picture.png", b"\x89PNG\0\0", "It is not text."),
        ("keys.md", secret.as_bytes(), "It may hold a secret"),
    ] {
        let uploaded =
            upload(&eddie, &json!({"Name": name, "ContentBase64": base64(content)})).await.result();
        let failed = settled(&eddie, &uploaded).await;
        assert_eq!(failed["Status"], "failed", "{failed}");
        assert!(failed["StatusReason"].as_str().unwrap().starts_with(reason), "{failed}");
    }
    // A document that was found before isn't any more.
    let fine = json!({"Name": "a.md", "Text": "Blue badges open the north door."});
    ready(&eddie, &fine).await;
    let broken = json!({"Name": "a.md", "ContentBase64": base64(b"\x89PNG\0\0")});
    let uploaded = upload(&eddie, &broken).await.result();
    assert_eq!(settled(&eddie, &uploaded).await["Status"], "failed");
    let ada = system.client("acme", "ada");
    assert!(!asked(&system, &ada, &turn(QUESTION)).await.contains("Blue badges"));
}

#[tokio::test]
async fn crash_and_repeated_messages_index_a_document_once() {
    let system = system(Options { lease: Some(LEASE), ..options() }).await;
    let eddie = editor(&system, "acme");
    system.cloud.pause_indexer().await;
    let document = json!({"Name": "a.md", "Text": "Blue badges open the north door."});
    let uploaded = upload(&eddie, &document).await.result();
    assert_eq!(uploaded["Status"], "pending");
    let queue = &system.cloud.endpoints().knowledge_queue;
    let body = json!({"Org": "acme", "Document": uploaded["Id"]}).to_string();
    for body in [body.as_str(), body.as_str(), "not json"] {
        system.cloud.sqs().send_message().queue_url(queue).message_body(body).send().await.unwrap();
    }
    system.cloud.resume_indexer().await;
    let began = Instant::now();
    while system.cloud.last_delivery(Function::KnowledgeIndexer).is_none() {
        assert!(began.elapsed() < PATIENCE * 4);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    system.cloud.crash(Function::KnowledgeIndexer);
    assert_eq!(settled(&eddie, &uploaded).await["Status"], "ready");
    let is_handled = |line: &Value| line["status"] == "ready";
    let handled = system.logged(Function::KnowledgeIndexer, "document handled", is_handled).await;
    assert_eq!(handled.len(), 1, "{handled:?}");
}

/// A message that failed five times waits in a dead-letter queue of its own.
#[tokio::test]
async fn dead_letter_of_a_document_has_a_reason_and_is_redriven() {
    let system = system(options()).await;
    let eddie = editor(&system, "acme");
    system.cloud.pause_indexer().await;
    let document = json!({"Name": "a.md", "Text": "Blue badges open the north door."});
    let uploaded = upload(&eddie, &document).await.result();
    let endpoints = system.cloud.endpoints().clone();
    let sqs = system.cloud.sqs();
    sqs.purge_queue().queue_url(&endpoints.knowledge_queue).send().await.unwrap();
    let bury = async |body: String| {
        let queue = &endpoints.knowledge_dead_letter_queue;
        sqs.send_message().queue_url(queue).message_body(body).send().await.unwrap().message_id.unwrap()
    };
    let pending = bury(json!({"Org": "acme", "Document": uploaded["Id"]}).to_string()).await;
    let gone = bury(json!({"Org": "acme", "Document": "0".repeat(32)}).to_string()).await;
    let foreign = bury("not json".to_owned()).await;
    let report = system.admin(&["queue"]).await;
    assert!(report.contains("dead letters    3 waiting, 0 delayed, 0 in flight\n"), "{report}");
    let listed = system.admin(&["dead-letters", "list"]).await;
    for (id, reason) in [
        (&pending, "its document is not yet indexed or deleted"),
        (&gone, "its document is deleted"),
        (&foreign, "not a message of its queue"),
    ] {
        let mut lines = listed.lines().skip_while(|line| !line.starts_with(id.as_str())).skip(1);
        let line = lines.next().unwrap_or_default();
        assert!(line.starts_with(&format!("  {reason}")), "{id}: {listed}");
    }
    let subject = format!("  org acme  document {}\n", uploaded["Id"].as_str().unwrap());
    assert!(listed.contains(&subject), "{listed}");

    assert_eq!(system.admin(&["dead-letters", "drop"]).await, "Messages deleted: 1.\n");
    let redrive = ["dead-letters", "redrive", "--org", "acme", "--reason", "The index is back."];
    assert_eq!(system.admin(&redrive).await, "Messages moved back: 1.\n");
    system.cloud.resume_indexer().await;
    assert_eq!(settled(&eddie, &uploaded).await["Status"], "ready");
    let is_redrive = |line: &Value| line["action"] == "redrive";
    let audited = system.logged(Function::KnowledgeIndexer, "audit", is_redrive).await;
    assert_eq!(
        (&audited[0]["reason"], &audited[0]["document"], &audited[0]["operator"]),
        (&json!("The index is back."), &uploaded["Id"], &json!(true))
    );
    let left = system.admin(&["dead-letters", "list"]).await;
    assert!(left.starts_with(&foreign) && left.lines().count() == 2, "{left}");
}

#[tokio::test]
async fn operator_may_upload_and_pages_list_every_document() {
    let system = system(options()).await;
    let operator = system.identified(&Identity { operator: true, ..Identity::user("acme", "olga") });
    system.cloud.pause_indexer().await;
    for name in ["a.md", "b.md", "c.md"] {
        upload(&operator, &json!({"Name": name, "Text": "Hello."})).await.result();
    }
    let first = operator.get(&format!("{KNOWLEDGE}?pageSize=2")).await.result();
    let token = first["ContinuationToken"].as_str().unwrap();
    let second = operator.get(&format!("{KNOWLEDGE}?pageSize=2&continuationToken={token}")).await.result();
    let items = |page: &Value| page["Items"].as_array().unwrap().clone();
    let mut names: Vec<String> = [items(&first), items(&second)]
        .concat()
        .iter()
        .map(|item| item["Name"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["a.md", "b.md", "c.md"]);
}
