//! `GET …/turns/{TurnId}/payloads/…`.

use contracts::{ContentHash, FileAddress};
use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::support::{Answer, Client, System, session_path, turn, turn_in, turn_path};

/// The answer to a turn that publishes these files.
async fn published(client: &Client, files: &[Value]) -> (Value, Value) {
    let calls: String = files.iter().map(|file| format!("call publish_file {file}; ")).collect();
    let mut request = turn(&format!("Publish [[script: {calls}then; say \"There.\"]]"));
    (request["SessionId"], request["TurnId"]) = (json!("s"), json!("t"));
    let answer = client.execute(&request).await.result();
    (request, answer)
}

fn file(name: &str, media_type: &str, contents: &str) -> Value {
    json!({ "name": name, "media_type": media_type, "contents": contents, "encoding": "utf8", "description": null })
}

/// Follows a payload's link and returns its content.
async fn fetched(link: &Answer) -> reqwest::Response {
    assert_eq!(link.status, 302, "{}", link.text);
    reqwest::get(link.header("location").unwrap()).await.unwrap()
}

#[tokio::test]
async fn text_has_one_hash_in_model_answer_download_and_upload() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let text = format!("# Hi\r\n{}\r\nend", "x".repeat(600));
    let (published_text, published_bytes) = (
        file("a.md", "text/markdown", &text),
        json!({
            "name": "b.bin", "media_type": "application/octet-stream", "contents": "/wD/", "encoding": "base64",
            "description": null,
        }),
    );
    let hashed = json!({ "text": text });
    let request = turn(&format!(
        "Publish [[script: call publish_file {published_text}; call publish_file {published_bytes}; \
         call code_hash_normalized {hashed}; then; say \"There.\"]]"
    ));
    let answer = ada.execute(&request).await.result();
    let (hash, of_bytes) = (ContentHash::hash_text(&text), ContentHash::hash_bytes(&[0xFF, 0, 0xFF]));
    assert_eq!(answer["Files"][0]["ContentHash"], hash.to_string(), "{answer}");
    assert_eq!(answer["Files"][1]["ContentHash"], of_bytes.to_string());
    let told: Vec<String> = answer["ToolResults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let result: Value = serde_json::from_str(result["ResultJson"].as_str().unwrap()).unwrap();
            result["hash"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(told, [hash, of_bytes, hash].map(|hash| hash.to_string()), "what the model is told");

    let link = ada.get(answer["Files"][0]["Url"].as_str().unwrap()).await;
    let downloaded = fetched(&link).await.text().await.unwrap();
    assert_eq!(downloaded, text, "to the byte");
    let mut back = turn_in(request["SessionId"].as_str().unwrap(), "And back");
    back["InputArtifacts"] =
        json!([{ "RelativePath": "a.md", "FileName": "a.md", "Contents": downloaded, "Origin": "user" }]);
    ada.execute(&back).await.result();
    let read = ada.get(&turn_path(&back)).await.result();
    assert_eq!(read["ActiveFileRefs"][0]["ContentHash"], hash.to_string());
}

#[tokio::test]
async fn link_resolves_against_api_base_with_its_type_and_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let page = file("Übersicht 1.html", "text/html", "<script>alert(1)</script>");
    let (request, answer) = published(&ada, &[page]).await;
    let url = answer["Files"][0]["Url"].as_str().unwrap();
    let base = Url::parse("https://api.example/live/").unwrap();
    let resolved = base.join(url).unwrap();
    let path = format!("/live{}/payloads/files/", turn_path(&request));
    assert!(resolved.path().starts_with(&path), "{resolved}");

    let file = fetched(&ada.get(url).await).await;
    let header = |name: &str| file.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/html");
    // Nothing that a model wrote is shown as a page of ours.
    assert_eq!(
        header("content-disposition"),
        "attachment; filename=\"_bersicht_1.html\"; filename*=UTF-8''%C3%9Cbersicht_1.html"
    );
    assert_eq!(file.text().await.unwrap(), "<script>alert(1)</script>");
}

#[tokio::test]
async fn missing_file_is_an_api_404_not_an_s3_error() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (request, answer) = published(&ada, &[file("a.txt", "text/plain", "a")]).await;
    let url = answer["Files"][0]["Url"].as_str().unwrap();
    let other = "0".repeat(64);
    let hash = url.rsplit('/').nth(1).unwrap();
    let long = "x".repeat(3_000);
    for unknown in [
        url.replace("a.txt", "b.txt"),
        url.replace(hash, &other),
        url.replace(hash, "nonsense"),
        url.replace("a.txt", &long),
        url.replace("a.txt", "%2E%2E%2Fa.txt"),
        format!("{}/payloads/files", turn_path(&request)),
    ] {
        let accepts: [&[(&str, &str)]; 2] = [&[], &[("accept", "application/json")]];
        for accept in accepts {
            let refused = ada.raw(Method::GET, &unknown, accept, Vec::new()).await;
            assert_eq!(refused.status, 404, "{unknown}: {}", refused.text);
            assert!(["PayloadNotFound", "RouteNotFound"].contains(&refused.error().as_str()), "{unknown}");
        }
    }
}

#[tokio::test]
async fn link_can_be_followed_by_pages_of_this_machine_alone() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    let link = ada.get(&format!("{}/payloads/answer", turn_path(&request))).await;
    let link = link.header("location").unwrap();
    let http = reqwest::Client::new();
    // The console's page, a page of another port, and what a browser sends after it was led to another origin.
    for origin in [system.cloud.url(), "http://localhost:8000", "null"] {
        let answer = http.get(link).header("origin", origin).send().await.unwrap();
        assert_eq!(answer.headers()["access-control-allow-origin"], origin);
        assert!(answer.status().is_success());
    }
    let refused = http.get(link).header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(refused.status(), 403);
    assert!(!refused.headers().contains_key("access-control-allow-origin"));
    // Without the link's signature, no page can read.
    let (unsigned, _) = link.split_once('?').unwrap();
    let refused = http.get(unsigned).header("origin", system.cloud.url()).send().await.unwrap();
    assert_eq!(refused.status(), 403);
    assert!(!refused.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn instruction_and_answer_are_read_through_short_lived_links() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let long = format!("{} end", "word ".repeat(2_000));
    let request = turn(&long);
    let answer = ada.execute(&request).await.result();
    let path = turn_path(&request);
    let read = ada.get(&path).await.result();
    assert_eq!(read["InstructionSummary"].as_str().unwrap().chars().count(), 1_024);

    let http = reqwest::Client::new();
    let instruction = ada.get(read["FullInstructionUrl"].as_str().unwrap()).await;
    assert_eq!(instruction.status, 302);
    let stored: serde_json::Value = serde_json::from_str(
        &http.get(instruction.header("location").unwrap()).send().await.unwrap().text().await.unwrap(),
    )
    .unwrap();
    assert_eq!(stored["Instruction"], long);

    let link = ada.get(read["FullAgentAnswerUrl"].as_str().unwrap()).await;
    let text = http.get(link.header("location").unwrap()).send().await.unwrap().text().await.unwrap();
    assert_eq!(text, answer["PrimaryOutputText"].as_str().unwrap());

    let tampered = link.header("location").unwrap().replace("X-Amz-Expires=300", "X-Amz-Expires=3000");
    assert_eq!(http.get(tampered).send().await.unwrap().status(), 403);
    assert_eq!(ada.get(&format!("{path}/payloads/llm-request")).await.status, 404);
}

#[tokio::test]
async fn inline_payload_has_its_type_hash_size_and_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let binary = json!({
        "name": "b.bin", "media_type": "application/octet-stream", "contents": "/wD/", "encoding": "base64",
        "description": null,
    });
    let (request, answer) = published(&ada, &[file("ü.md", "text/markdown", "# Hi\r\n"), binary]).await;
    let inline = async |path: &str| ada.get(&format!("{path}?inline=true")).await;

    let told = inline(&format!("{}/payloads/answer", turn_path(&request))).await;
    let value = told.result();
    let text = answer["PrimaryOutputText"].as_str().unwrap();
    assert_eq!(
        value,
        json!({
            "Name": "answer.md", "MimeType": "text/markdown; charset=utf-8", "SizeBytes": text.len(),
            "Sha256": FileAddress::hash_bytes(text.as_bytes()).to_string(), "Text": text,
        })
    );
    assert_eq!(told.header("cache-control"), Some("private, max-age=31536000, immutable"));
    let had = [("if-none-match", told.header("etag").unwrap())];
    let path = format!("{}/payloads/answer?inline=true", turn_path(&request));
    assert_eq!(ada.raw(Method::GET, &path, &had, Vec::new()).await.status, 304);

    let instruction = inline(&format!("{}/payloads/instruction", turn_path(&request))).await.result();
    assert_eq!(instruction["Name"], "instruction.json");
    let asked: Value = serde_json::from_str(instruction["Text"].as_str().unwrap()).unwrap();
    assert_eq!(asked["Instruction"], request["Instruction"]);

    let (text, bytes) = (&answer["Files"][0], &answer["Files"][1]);
    let of_text = inline(text["Url"].as_str().unwrap()).await.result();
    assert_eq!((&of_text["Name"], &of_text["MimeType"]), (&json!("ü.md"), &json!("text/markdown")));
    assert_eq!((&of_text["Text"], of_text.get("Base64")), (&json!("# Hi\r\n"), None));
    let of_bytes = inline(bytes["Url"].as_str().unwrap()).await.result();
    assert_eq!((&of_bytes["Base64"], of_bytes.get("Text")), (&json!("/wD/"), None));
    assert!(bytes["Url"].as_str().unwrap().contains(of_bytes["Sha256"].as_str().unwrap()));

    let unknown = inline(&text["Url"].as_str().unwrap().replace(".md", ".txt")).await;
    assert_eq!((unknown.status, unknown.error().as_str()), (404, "PayloadNotFound"));
    let wrong = ada.get(&format!("{}/payloads/answer?inline=yes", turn_path(&request))).await;
    assert_eq!((wrong.status, wrong.error().as_str()), (400, "ParameterInvalid"));
}

#[tokio::test]
async fn answer_object_is_created_on_first_link_inline_or_export() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let answers = async || {
        let objects = system.objects().await;
        objects.into_iter().filter(|key| key.ends_with("/answer.md")).collect::<Vec<_>>()
    };
    let asked = [0, 1, 2].map(|_| turn("hello"));
    let mut told = Vec::new();
    for request in &asked {
        let answer = ada.execute(request).await.result();
        told.push(answer["PrimaryOutputText"].as_str().unwrap().to_owned());
        system
            .until_attribute(&format!("TURN#{}", request["TurnId"].as_str().unwrap()), "Status", "completed")
            .await;
    }
    assert_eq!(answers().await, [""; 0], "nobody asked");

    let path = format!("{}/payloads/answer", turn_path(&asked[0]));
    let foreign = system.client("other", "eve").get(&path).await;
    assert_eq!((foreign.status, answers().await), (404, Vec::new()), "another org's question makes nothing");
    let links = [ada.get(&path).await, ada.get(&path).await];
    for link in &links {
        assert_eq!(fetched(link).await.text().await.unwrap(), told[0]);
    }
    assert_eq!(answers().await.len(), 1);
    let inline = ada.get(&format!("{}/payloads/answer?inline=true", turn_path(&asked[1]))).await.result();
    assert_eq!((&inline["Text"], answers().await.len()), (&json!(told[1]), 2));
    let document = ada.get(&format!("{}/export", session_path(&asked[2]))).await.json();
    let payloads = document["Turns"][0]["Payloads"].as_array().unwrap();
    let answer = payloads.iter().find(|payload| payload["Kind"] == "answer").unwrap();
    assert_eq!((&answer["Text"], answers().await.len()), (&json!(told[2]), 3));
}

#[tokio::test]
async fn payload_too_large_to_inline_is_refused_and_read_by_link() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("hello");
    ada.execute(&request).await.result();
    let path = format!("{}/payloads/answer", turn_path(&request));
    assert_eq!(ada.get(&path).await.status, 302);
    let key = system.object(|key| key.ends_with("/answer.md")).await;
    let put = system.cloud.s3().put_object().bucket(system.cloud.bucket()).key(key);
    put.body(vec![b'x'; 4 * 1024 * 1024 + 1].into()).send().await.unwrap();
    let refused = ada.get(&format!("{path}?inline=true")).await;
    assert_eq!((refused.status, refused.error().as_str()), (413, "InlineTooLarge"));
    assert_eq!(refused.errors()[0]["Details"], "inline");
    let length = fetched(&ada.get(&path).await).await.content_length().unwrap();
    assert!(length == 4 * 1024 * 1024 + 1 && refused.text.contains(&length.to_string()), "{length}");
}
