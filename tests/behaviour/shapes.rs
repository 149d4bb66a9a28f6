//! The three calling shapes, one turn (DD-001), and what an answer may not embed (AGN-033 §6.1).

use contracts::{
    paths::{self, EXECUTE},
    request::limits::{MAX_BODY_BYTES, MAX_ESCAPED_BODY_BYTES, TOO_LARGE_FOR_GATEWAY, escaped_len},
};
use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, Client, PATIENCE, System, id, turn, turn_path, workspace_turn};

async fn stored_instruction(client: &Client, session: &str, turn: &str) -> serde_json::Value {
    let path = paths::INSTRUCTION.fill(&session.parse().unwrap(), &turn.parse().unwrap());
    let link = client.raw(Method::GET, &path, &[("accept", "application/json")], Vec::new()).await.result();
    let text = reqwest::get(link["Url"].as_str().unwrap()).await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn plain_text_request_with_ids_in_headers_gets_plain_text() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (session, turn) = (id(), id());
    let headers = [
        ("content-type", "text/plain"),
        ("accept", "text/plain"),
        ("x-aptix-session-id", session.as_str()),
        ("x-aptix-turn-id", turn.as_str()),
        ("x-aptix-repo", "aptix"),
    ];
    let answer = ada.raw(Method::POST, EXECUTE, &headers, b"Explain leases".to_vec()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert!(answer.text.contains("Explain leases") && !answer.text.starts_with('{'), "{}", answer.text);
    assert_eq!(stored_instruction(&ada, &session, &turn).await["Repo"], "aptix");

    // The JSON shape of the same turn is the same request: it replays.
    let same =
        json!({"SessionId": session, "TurnId": turn, "Instruction": "Explain leases", "Repo": "aptix"});
    assert_eq!(ada.execute(&same).await.result()["PrimaryOutputText"], answer.text);
    assert_eq!(system.model_calls().len(), 1);

    let refused = ada.raw(Method::POST, EXECUTE, &headers[..2], b"Explain leases".to_vec()).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("SessionId") && refused.text.contains("TurnId"), "{}", refused.text);
    assert_eq!(refused.text.lines().count(), 1);
}

/// A caller of plain text learns of files and warnings, and is never asked to run tools that it didn't choose.
#[tokio::test]
async fn plain_text_answer_has_files_and_warnings_and_needs_no_tools() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let ask = async |instruction: &str| {
        let (session, turn) = (id(), id());
        let headers = [
            ("content-type", "text/plain"),
            ("accept", "text/plain"),
            ("x-aptix-session-id", session.as_str()),
            ("x-aptix-turn-id", turn.as_str()),
        ];
        ada.raw(Method::POST, EXECUTE, &headers, instruction.as_bytes().to_vec()).await
    };
    let file = json!({
        "name": "a.txt", "media_type": "text/plain", "contents": "abc", "encoding": "utf8", "description": null,
    });
    let published =
        ask(&format!("Publish [[script: call publish_file {file}; then; say \"There.\"; incomplete]]")).await;
    assert!(published.text.starts_with("There.\n\nFile: a.txt (text/plain, 3 bytes) "), "{}", published.text);
    assert!(published.text.lines().last().unwrap().starts_with("Warning: "), "{}", published.text);

    let asked =
        ask("Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"I can't read it.\"]]")
            .await;
    assert_eq!((asked.status, asked.text.as_str()), (200, "I can't read it."));
}

#[tokio::test]
async fn multipart_form_files_become_artifacts() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (session, turn) = (id(), id());
    let form = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"SessionId\"\r\n\r\n{session}\r\n\
         --XX\r\nContent-Disposition: form-data; name=\"TurnId\"\r\n\r\n{turn}\r\n\
         --XX\r\nContent-Disposition: form-data; name=\"Instruction\"\r\n\r\nRead this\r\n\
         --XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"src/main.rs\"\r\n\
         Content-Type: text/x-rust\r\n\r\nfn main() {{}}\n\r\n--XX--\r\n"
    );
    let headers = [("content-type", "multipart/form-data; boundary=XX")];
    ada.raw(Method::POST, EXECUTE, &headers, form.into_bytes()).await.result();
    let stored = stored_instruction(&ada, &session, &turn).await;
    assert_eq!(stored["Instruction"], "Read this");
    let artifact = &stored["InputArtifacts"][0];
    assert_eq!((&artifact["RelativePath"], &artifact["Origin"]), (&json!("src/main.rs"), &json!("user")));

    let broken = ada.raw(Method::POST, EXECUTE, &headers, b"--XX\r\nnonsense".to_vec()).await;
    assert_eq!((broken.status, broken.error().as_str()), (400, "BodyNotMultipart"));
}

#[tokio::test]
async fn unsupported_content_type_is_refused() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for headers in [&[("content-type", "application/xml")][..], &[]] {
        let refused = ada.raw(Method::POST, EXECUTE, headers, b"<turn/>".to_vec()).await;
        assert_eq!((refused.status, refused.error().as_str()), (415, "UnsupportedMediaType"), "{headers:?}");
    }
    assert!(system.has_no_trace().await);
}

#[tokio::test]
async fn compressed_body_is_refused_by_its_encoding() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let body = turn("hello").to_string();
    for path in [EXECUTE, paths::TOOL_RESULTS] {
        for coding in ["gzip", "br", "identity, gzip", "gzïp"] {
            let headers = [("content-type", "application/json"), ("content-encoding", coding)];
            let refused = ada.raw(Method::POST, path, &headers, body.clone().into_bytes()).await;
            assert_eq!((refused.status, refused.error().as_str()), (415, "UnsupportedMediaType"), "{coding}");
            assert_eq!(refused.errors()[0]["Details"], "Content-Encoding");
        }
    }
    assert!(system.has_no_trace().await);
    let headers = [("content-type", "application/json"), ("content-encoding", "Identity")];
    ada.raw(Method::POST, EXECUTE, &headers, body.into_bytes()).await.result();
}

#[tokio::test]
async fn tool_results_are_answered_in_plain_text_on_request() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request =
        workspace_turn("Read [[script: call workspace_read_file {\"path\":\"a\"}; then; say \"Read it.\"]]");
    let calls = ada.execute(&request).await.result();
    let results = json!({
        "SessionId": request["SessionId"], "TurnId": request["TurnId"],
        "ToolResults": [{ "ToolCallId": calls["ToolCalls"][0]["ToolCallId"], "ExecutionMs": 1, "ResultJson": "{}" }],
    });
    let headers = [("content-type", "application/json"), ("accept", "text/plain")];
    let wrong = ada.raw(Method::POST, paths::TOOL_RESULTS, &headers, b"{}".to_vec()).await;
    assert_eq!((wrong.status, wrong.header("content-type")), (400, Some("text/plain; charset=utf-8")));
    assert!(wrong.text.starts_with("MemberRequired: "), "{}", wrong.text);
    let answer = ada.raw(Method::POST, paths::TOOL_RESULTS, &headers, results.to_string().into_bytes()).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert_eq!(answer.text, "Read it.");
}

#[tokio::test]
async fn file_written_in_the_answer_is_stored_and_linked() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let base64 = "QUJD".repeat(300);
    let sent = turn(&format!("Draw [[script: say \"Here: data:text/plain;base64,{base64} done.\"]]"));
    let answer = ada.execute(&sent).await.result();
    let text = answer["PrimaryOutputText"].as_str().unwrap();
    assert!(!text.contains("base64") && text.starts_with("Here: [") && text.ends_with(" done."), "{text}");
    let file = &answer["Files"][0];
    assert_eq!((file["MimeType"].as_str(), file["SizeBytes"].as_u64()), (Some("text/plain"), Some(900)));
    let url = file["Url"].as_str().unwrap();
    assert!(url.starts_with(turn_path(&sent).trim_start_matches('/')) && text.contains(url));
    let link = ada.until(url, PATIENCE, |answer: &Answer| answer.status == 302).await;
    let bytes = reqwest::get(link.header("location").unwrap()).await.unwrap().bytes().await.unwrap();
    assert_eq!(bytes.as_ref(), "ABC".repeat(300).as_bytes());
}

#[tokio::test]
async fn oversized_request_is_refused() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let large = turn(&"x".repeat(4 * 1024 * 1024));
    let refused = ada.execute(&large).await;
    assert_eq!((refused.status, refused.error().as_str()), (413, "PayloadTooLarge"));
    assert!(system.has_no_trace().await);
}

#[tokio::test]
async fn dense_json_below_4_mib_is_told_the_limit_it_exceeds() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    // A quote takes two bytes in the body, and four in the event.
    let dense = |quotes: usize| json!({"SessionId": "dense", "Contents": "\"".repeat(quotes)}).to_string();
    let fits = dense(MAX_ESCAPED_BODY_BYTES / 4 - 100);
    assert!(escaped_len(&fits) <= MAX_ESCAPED_BODY_BYTES);
    let answer = ada.post(EXECUTE, fits).await;
    assert_eq!(answer.status, 400, "it reaches the function, which misses members: {}", answer.text);
    let exceeds = dense(1_600_000);
    assert!(exceeds.len() < MAX_BODY_BYTES && escaped_len(&exceeds) > 6 * 1024 * 1024);
    let refused = ada.post(EXECUTE, exceeds).await;
    assert_eq!((refused.status, refused.error().as_str()), (413, "PayloadTooLarge"));
    assert_eq!(refused.errors()[0]["Message"], TOO_LARGE_FOR_GATEWAY);
    assert!(system.has_no_trace().await);
}
