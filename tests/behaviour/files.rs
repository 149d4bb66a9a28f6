//! Files and images that come with a user turn (AGN-034 §4.1 to §4.3, DD-002B).

use aws_sdk_dynamodb::types::AttributeValue;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use local::{Function, Options};
use serde_json::{Value, json};

use crate::support::{LEASE, System, options, turn, turn_in, turn_path};

const PNG: &[u8] = b"\x89PNG\r\n\x1A\nrest";
const PDF: &[u8] = b"%PDF-1.7\nrest";

fn text(path: &str, contents: &str) -> Value {
    let name = path.rsplit('/').next().unwrap();
    json!({"RelativePath": path, "FileName": name, "Contents": contents, "Origin": "ide"})
}

fn binary(path: &str, bytes: &[u8]) -> Value {
    let mut artifact = text(path, &STANDARD.encode(bytes));
    artifact["Encoding"] = json!("base64");
    artifact
}

fn with_files(mut turn: Value, files: &[Value]) -> Value {
    turn["InputArtifacts"] = json!(files);
    turn
}

/// The parts of the turn's own user message in a model call: the last one, after those of earlier turns.
fn parts(call: &Value) -> Vec<Value> {
    let input = call["input"].as_array().unwrap();
    let own = input.iter().rfind(|item| item["role"] == "user").unwrap();
    own["content"].as_array().unwrap().clone()
}

/// The `[ACTIVE_FILES]` part of a model call, if it has one.
fn files_block(call: &Value) -> Option<String> {
    let texts = parts(call);
    let mut texts = texts.iter().filter_map(|part| part["text"].as_str());
    texts.find(|text| text.starts_with("[ACTIVE_FILES]\n")).map(str::to_owned)
}

fn refs(turn: &Value) -> Vec<(String, bool, bool, bool)> {
    let refs = turn["ActiveFileRefs"].as_array().unwrap().iter();
    refs.map(|one| {
        let flag = |name: &str| one[name].as_bool().unwrap();
        let path = one["Path"].as_str().unwrap().to_owned();
        (path, flag("IsTouched"), flag("WasSentToLLM"), flag("WasTooLargeToSend"))
    })
    .collect()
}

#[tokio::test]
async fn text_file_is_sent_first_and_touched_if_it_returns_changed() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let (kept, first) = (text("src/kept.rs", "fn kept() {}\n"), text("src/a.rs", "fn a() {}\n"));
    let request = with_files(
        turn("Read [[script: call agent_list_modes {}; then; say \"Read.\"]]"),
        &[first, kept.clone()],
    );
    let answer = ada.execute(&request).await.result();
    assert!(answer.get("UserWarnings").is_none_or(|warnings| *warnings == json!([])), "{answer}");
    let calls = system.model_calls();
    let block = files_block(&calls[0]).unwrap();
    assert!(block.contains("Path: src/a.rs\n") && block.contains("```\nfn a() {}\n```"), "{block}");
    assert_eq!(parts(&calls[0])[1]["text"], json!(block), "it follows the instruction");
    assert_eq!((calls.len(), files_block(&calls[1])), (2, None), "a tool round does not send it again");

    let next = turn_in(request["SessionId"].as_str().unwrap(), "Again");
    let next = with_files(next, &[text("src/a.rs", "fn b() {}\n"), kept, text("new.rs", "")]);
    ada.execute(&next).await.result();
    let read = ada.get(&turn_path(&next)).await.result();
    let expected = [
        ("src/a.rs".to_owned(), true, true, false),
        ("src/kept.rs".to_owned(), false, true, false),
        ("new.rs".to_owned(), false, true, false),
    ];
    assert_eq!(refs(&read), expected);
    let one = &read["ActiveFileRefs"][0];
    let hash = contracts::ContentHash::hash_text("fn b() {}\n").to_string();
    assert_eq!((one["SizeBytes"].as_u64(), one["ContentHash"].as_str()), (Some(10), Some(hash.as_str())));
    let calls = system.model_calls();
    let block = files_block(&calls[2]).unwrap();
    assert!(calls[2]["previous_response_id"].is_string());
    assert_eq!(block.matches("Changed: since the previous turn").count(), 1, "{block}");
    assert!(refs(&ada.get(&turn_path(&request)).await.result()).iter().all(|one| !one.1));
}

#[tokio::test]
async fn oversized_file_is_omitted_with_warning_and_stays_stored() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let large = "x".repeat(60_000);
    let some = |path: &str| text(path, &"y".repeat(45_000));
    let files = [text("large.txt", &large), some("1.txt"), some("2.txt"), some("3.txt"), some("4.txt")];
    let request = with_files(turn("Read"), &files);
    let answer = ada.execute(&request).await.result();
    let warnings: Vec<&str> =
        answer["UserWarnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].starts_with("large.txt ") && warnings[0].contains("one file may have 16000"),
        "{warnings:?}"
    );
    assert!(warnings[1].starts_with("4.txt ") && warnings[1].contains("48000 tokens"), "{warnings:?}");
    let read = ada.get(&turn_path(&request)).await.result();
    let sent: Vec<_> = refs(&read).into_iter().map(|(_, _, sent, too_large)| (sent, too_large)).collect();
    assert_eq!(sent, [(false, true), (true, false), (true, false), (true, false), (false, true)]);
    let block = files_block(&system.model_calls()[0]).unwrap();
    assert!(!block.contains("xxx") && !block.contains("large.txt"));
    let link = ada.get(&format!("{}/payloads/instruction", turn_path(&request))).await;
    let stored = reqwest::get(link.header("location").unwrap()).await.unwrap().text().await.unwrap();
    assert!(stored.contains(&large), "the instruction's payload has it all the same");
}

#[tokio::test]
async fn images_and_documents_are_parts_and_binaries_are_only_named() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let files = [binary("shot.png", PNG), binary("docs/plan.pdf", PDF), binary("a.bin", b"\0\x01secret")];
    let mut request = with_files(turn("Look"), &files);
    request["ClipboardImages"] =
        json!([{"Id": "shot 7", "MimeType": "image/png", "DataBase64": STANDARD.encode(PNG)}]);
    let answer = ada.execute(&request).await.result();
    let call = &system.model_calls()[0];
    let parts = parts(call);
    let types: Vec<&str> = parts.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["input_text", "input_text", "input_image", "input_file", "input_image"]);
    let png = format!("data:image/png;base64,{}", STANDARD.encode(PNG));
    let pdf = format!("data:application/pdf;base64,{}", STANDARD.encode(PDF));
    assert_eq!((&parts[2]["image_url"], &parts[4]["image_url"]), (&json!(png), &json!(png)));
    assert_eq!(parts[3], json!({"type": "input_file", "filename": "plan.pdf", "file_data": pdf}));
    let block = files_block(call).unwrap();
    let contents: Vec<&str> = block.lines().filter(|line| line.starts_with("Contents: ")).collect();
    let (attached, unreadable) = ("Contents: attached", "Contents: not readable");
    assert_eq!(contents, [attached, attached, unreadable, attached]);
    assert!(block.contains("Path: docs/plan.pdf\nFileName: plan.pdf\nOrigin: ide\n"), "{block}");
    assert!(block.contains("=== PASTED IMAGE 1 ===\nId: shot 7\n"), "{block}");
    assert!(!call.to_string().contains("secret") && !call.to_string().contains(&STANDARD.encode(b"\0\x01s")));
    let warnings = answer["UserWarnings"].as_array().unwrap();
    assert!(warnings.len() == 1 && warnings[0].as_str().unwrap().starts_with("a.bin "), "{warnings:?}");
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!(refs(&read)[2], ("a.bin".to_owned(), false, false, false));
}

#[tokio::test]
async fn request_with_files_only_points_to_them() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut request = with_files(turn(""), &[text("a.txt", "Words.")]);
    request.as_object_mut().unwrap().remove("Instruction");
    ada.execute(&request).await.result();
    let parts = parts(&system.model_calls()[0]);
    let said = parts[0]["text"].as_str().unwrap();
    assert!(said.ends_with(llm::prompt::FILES_ONLY), "{said}");
    assert!(parts[1]["text"].as_str().unwrap().contains("Words."));
}

#[tokio::test]
async fn a_takeover_sends_the_same_files_and_warns_once() {
    let system = System::with(Options { lease: Some(LEASE), ..options() }).await;
    let ada = system.client("acme", "ada");
    let before = with_files(turn("First"), &[text("a.txt", "old")]);
    ada.execute(&before).await.result();
    let request =
        turn_in(before["SessionId"].as_str().unwrap(), "Slow [[script: delay 700ms; say \"Done.\"]]");
    let request = with_files(request, &[text("a.txt", "new"), binary("b.bin", b"\0")]);
    let crash = async {
        system.model_called(2).await;
        system.cloud.crash(Function::Execute);
    };
    let (broken, ()) = futures::join!(ada.execute(&request), crash);
    assert_eq!(broken.status, 502);
    let answer = ada.execute(&request).await.result();
    assert_eq!(answer["UserWarnings"].as_array().unwrap().len(), 1, "{answer}");
    let calls = system.model_calls();
    let (first, again) = (files_block(&calls[1]).unwrap(), files_block(&calls[2]).unwrap());
    assert_eq!((calls.len(), &first), (3, &again));
    assert!(again.contains("Changed: since the previous turn"), "{again}");
}

#[tokio::test]
async fn lost_chain_is_rebuilt_with_the_files() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let before = turn("First");
    ada.execute(&before).await.result();
    let request = turn_in(before["SessionId"].as_str().unwrap(), "Go on [[script: forget; say \"Anew.\"]]");
    let request = with_files(request, &[text("a.txt", "Words.")]);
    assert_eq!(ada.execute(&request).await.result()["PrimaryOutputText"], "Anew.");
    let calls = system.model_calls();
    assert!(calls[1]["previous_response_id"].is_string() && calls[2].get("previous_response_id").is_none());
    assert_eq!(files_block(&calls[1]).unwrap(), files_block(&calls[2]).unwrap());
}

/// Returns the bytes that an attribute adds to an item's size, without names.
fn size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len(),
        AttributeValue::L(list) => list.iter().map(|value| size(value) + 1).sum(),
        AttributeValue::M(map) => map.iter().map(|(name, value)| name.len() + size(value) + 1).sum(),
        _ => 1,
    }
}

#[tokio::test]
async fn maximum_files_with_longest_paths_keep_items_small() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let files: Vec<Value> =
        (0..64).map(|number| text(&format!("{}/{number}", "語".repeat(1_000)), "x")).collect();
    let request = with_files(turn("Read"), &files);
    ada.execute(&request).await.result();
    assert_eq!(refs(&ada.get(&turn_path(&request)).await.result()).len(), 64);
    for item in system.items().await {
        let bytes: usize = item.iter().map(|(name, value)| name.len() + size(value)).sum();
        assert!(bytes < 100_000, "{:?} has {bytes}", item["SK"]);
    }
}
