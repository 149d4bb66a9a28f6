//! `/v1/files`: files that are uploaded once and named in requests.

use base64::{Engine, engine::general_purpose::STANDARD};
use futures::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Value, json};

use super::{create, created, error, path, requests::PNG, text};
use crate::support::{Answer, Client, System};

const FILES: &str = "/v1/files";

/// A field of a form: its name, the name of its file, and its content.
type Field<'a> = (&'a str, Option<&'a str>, &'a [u8]);

fn file<'a>(name: &'a str, content: &'a [u8]) -> Field<'a> {
    ("file", Some(name), content)
}

fn purpose(name: &str) -> Field<'_> {
    ("purpose", None, name.as_bytes())
}

/// Sends a form.
async fn post_form(client: &Client, fields: &[Field<'_>]) -> Answer {
    let mut body = Vec::new();
    for (name, file, content) in fields {
        let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
        let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend([head.as_bytes(), content, b"\r\n"].concat());
    }
    body.extend(b"--b--\r\n");
    let headers = [("content-type", "multipart/form-data; boundary=b")];
    client.raw(Method::POST, FILES, &headers, body).await
}

/// Uploads a file, which must succeed.
pub(crate) async fn upload(client: &Client, name: &str, content: &[u8]) -> Value {
    let answer = post_form(client, &[purpose("user_data"), file(name, content)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

pub(super) fn path_of(file: &Value) -> String {
    format!("{FILES}/{}", file["id"].as_str().unwrap())
}

async fn names(client: &Client, query: &str) -> Vec<String> {
    let list = client.get(&format!("{FILES}{query}")).await.json();
    assert_eq!(list["object"], "list", "{list}");
    let files = list["data"].as_array().unwrap().iter();
    files.map(|file| file["filename"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn file_is_its_users_until_it_is_deleted() {
    let system = System::start().await;
    let (ada, bob) = (system.client("acme", "ada"), system.client("acme", "bob"));
    let file = upload(&ada, "notes/ü.txt", "Größe".as_bytes()).await;
    assert_eq!((&file["object"], &file["filename"]), (&json!("file"), &json!("notes/ü.txt")));
    assert_eq!((&file["bytes"], &file["purpose"]), (&json!(7), &json!("user_data")));
    let lifetime = file["expires_at"].as_u64().unwrap() - file["created_at"].as_u64().unwrap();
    assert_eq!(lifetime, 30 * 24 * 60 * 60);
    assert_eq!(ada.get(&path_of(&file)).await.json(), file);
    let content = ada.get(&format!("{}/content", path_of(&file))).await;
    assert_eq!((content.status, content.text.as_str()), (200, "Größe"));
    assert_eq!(content.headers["content-disposition"], "attachment");
    assert_eq!(names(&ada, "").await, ["notes/ü.txt"]);
    assert_eq!(names(&ada, "?purpose=vision").await, [""; 0]);

    // Others don't learn that it exists.
    let use_of = json!({"model": "scripted", "input": [{"role": "user", "content": [
        {"type": "input_text", "text": "Read"}, {"type": "input_file", "file_id": file["id"]},
    ]}]});
    let unknown = (404, "id".to_owned(), "not_found".to_owned());
    for other in [&bob, &system.client("rival", "ada")] {
        assert_eq!(names(other, "").await, [""; 0]);
        for (method, path) in [
            (Method::GET, path_of(&file)),
            (Method::GET, format!("{}/content", path_of(&file))),
            (Method::DELETE, path_of(&file)),
        ] {
            assert_eq!(error(&other.send(method, &path, None).await), unknown, "{path}");
        }
        assert_eq!(error(&create(other, &use_of).await).2, "file_not_found");
    }

    let deleted = ada.send(Method::DELETE, &path_of(&file), None).await.json();
    assert_eq!(deleted, json!({"id": file["id"], "object": "file", "deleted": true}));
    assert_eq!(error(&ada.get(&path_of(&file)).await), unknown);
    assert_eq!(error(&ada.send(Method::DELETE, &path_of(&file), None).await), unknown);
    assert_eq!(error(&create(&ada, &use_of).await), (400, "input".to_owned(), "file_not_found".to_owned()));
    assert_eq!(names(&ada, "").await, [""; 0]);
    assert!(system.model_calls().is_empty());
}

#[tokio::test]
async fn named_files_reach_the_model() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let png = STANDARD.decode(PNG.split_once(',').unwrap().1).unwrap();
    let (image, notes) = (upload(&ada, "dot.png", &png).await, upload(&ada, "notes.txt", b"hello").await);
    let response = created(
        &ada,
        &json!({"model": "scripted", "input": [{"role": "user", "content": [
            {"type": "input_text", "text": "Look [[script: say \"Red.\"]]"},
            {"type": "input_image", "file_id": image["id"]},
            {"type": "input_file", "file_id": notes["id"]},
        ]}]}),
    )
    .await;
    assert_eq!(text(&response), "Red.");
    let chat = json!({"model": "scripted", "messages": [{"role": "user", "content": [
        {"type": "text", "text": "Read [[script: say \"Hello.\"]]"},
        {"type": "file", "file": {"file_id": notes["id"]}},
    ]}]});
    let completion = ada.post("/v1/chat/completions", chat.to_string()).await;
    assert_eq!(completion.json()["choices"][0]["message"]["content"], "Hello.", "{}", completion.text);
    let calls: Vec<String> = system.model_calls().iter().map(|call| call["input"].to_string()).collect();
    assert!(calls[0].contains(PNG), "the bytes are those that were uploaded");
    let has_notes =
        |call: &String| call.contains("notes.txt") && (call.contains("hello") || call.contains("aGVsbG8="));
    assert!(calls.iter().all(has_notes), "{calls:?}");

    // A turn keeps what it was asked with.
    for file in [&image, &notes] {
        ada.send(Method::DELETE, &path_of(file), None).await.json();
    }
    let items = ada.get(&format!("{}/input_items", path(&response))).await.json();
    assert_eq!(items["data"][0]["content"][1]["image_url"], PNG);

    let image_of_text = upload(&ada, "a.png", b"no image").await;
    let request = json!({"model": "scripted", "input": [{"role": "user", "content": [
        {"type": "input_image", "file_id": image_of_text["id"]},
    ]}]});
    assert_eq!(error(&create(&ada, &request).await).2, "invalid_value");
    let large = upload(&ada, "large.bin", &vec![b'a'; 2_000_000]).await;
    let other = upload(&ada, "other.bin", &vec![b'b'; 2_000_000]).await;
    let files = [&large, &other].map(|file| json!({"type": "input_file", "file_id": file["id"]}));
    let request = json!({"model": "scripted", "input": [{"role": "user", "content": files}]});
    assert_eq!(
        error(&create(&ada, &request).await),
        (413, "input".to_owned(), "request_too_large".to_owned())
    );
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn invalid_uploads_are_refused_and_not_stored() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (large, larger) = (vec![b'a'; 3_000_001], vec![0xff; 4_300_000]);
    let user_data = purpose("user_data");
    for (fields, expected) in [
        (vec![user_data], (400, "file", "missing_required_parameter")),
        (vec![file("a.txt", b"a")], (400, "purpose", "missing_required_parameter")),
        (vec![purpose("fine-tune"), file("a.txt", b"a")], (400, "purpose", "unsupported_parameter")),
        (vec![user_data, file("a.txt", b"")], (400, "file", "invalid_value")),
        (vec![user_data, file("../a.txt", b"a")], (400, "file", "invalid_value")),
        (vec![user_data, file("a.txt", &large)], (413, "file", "request_too_large")),
        (vec![user_data, file("a.txt", &larger)], (413, "", "request_too_large")),
    ] {
        let refused = post_form(&ada, &fields).await;
        let (status, param, code) = error(&refused);
        assert_eq!((status, param.as_str(), code.as_str()), expected, "{}", refused.text);
    }
    let json = ada.post(FILES, "{}".to_owned()).await;
    assert_eq!(error(&json), (415, "Content-Type".to_owned(), "invalid_content_type".to_owned()));
    assert_eq!(names(&ada, "").await, [""; 0]);
    assert_eq!(error(&ada.get(&format!("{FILES}?limit=0")).await).1, "limit");
}

#[tokio::test]
async fn user_has_at_most_100_files() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let uploads = (0..100).map(|number| {
        let ada = &ada;
        async move { upload(ada, &format!("{number}.txt"), b"text").await }
    });
    stream::iter(uploads).buffer_unordered(4).collect::<Vec<_>>().await;
    let one_more = post_form(&ada, &[purpose("vision"), file("a", b"a")]).await;
    assert_eq!(error(&one_more), (400, "file".to_owned(), "too_many_files".to_owned()));
    upload(&system.client("acme", "bob"), "his.txt", b"text").await;
    let all = names(&ada, "").await;
    assert_eq!(all.len(), 100);
    let page = ada.get(&format!("{FILES}?limit=60&order=asc")).await.json();
    assert_eq!((&page["has_more"], page["data"].as_array().unwrap().len()), (&json!(true), 60));
    let rest = format!("?limit=60&order=asc&after={}", page["last_id"].as_str().unwrap());
    assert_eq!(names(&ada, &rest).await.len(), 40);
    let first = page["data"][0].clone();
    ada.send(Method::DELETE, &path_of(&first), None).await.json();
    upload(&ada, "again.txt", b"text").await;
}
