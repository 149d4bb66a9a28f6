//! `store: false`: the turn is answered, and nothing of its content is left.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use contracts::paths::{ORG_SETTINGS, USAGE};
use local::{Data, Options};
use reqwest::Method;
use serde_json::{Value, json};

use super::{create, created, error, path, request, text, weather, with};
use crate::{
    export::operator,
    support::{Client, PATIENCE, System, id, options},
};

const CHATS: &str = "/v1/chat/completions";

async fn system(data: &Path) -> System {
    let environment = [("PURGE_RECHECK_SECONDS".to_owned(), "1".to_owned())].into();
    let sweep = Some(Duration::from_secs(1));
    System::with(Options { data: Data::Folder(data.to_owned()), environment, sweep, ..options() }).await
}

/// Waits until a response is gone.
async fn until_gone(client: &Client, response: &Value) {
    let answer = client.until(&path(response), PATIENCE, |answer| answer.status == 404).await;
    assert_eq!(answer.status, 404, "{}", answer.text);
}

/// Waits until no item or object of these sessions has content: only tombstones and purge records stay.
async fn until_purged(system: &System, word: &str) {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let items: Vec<String> = system.items().await.into_iter().map(|item| format!("{item:?}")).collect();
        let left: Vec<&String> = items.iter().filter(|item| item.contains(word)).collect();
        if left.is_empty() && system.versions().await.is_empty() {
            return;
        }
        assert!(Instant::now() < give_up, "{left:?} {:?}", system.versions().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Returns the files of a folder that contain a word.
fn files_with(folder: &Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.is_dir() {
            found.extend(files_with(&file, word));
        } else if std::fs::read(&file).unwrap().windows(word.len()).any(|bytes| bytes == word.as_bytes()) {
            found.push(file.display().to_string());
        }
    }
    found
}

/// Runs a turn of each kind, with one word in everything: prompt, instructions, answer, arguments and outputs.
async fn run_unstored_turns(folder: &Path, word: &str) {
    let system = system(folder).await;
    let ada = system.client("acme", "ada");
    let unstored = |input: &str| with(request(input), &json!({"store": false, "instructions": word}));
    let script = format!("{word} [[script: say \"The answer is {word}.\"]]");

    let response = created(&ada, &unstored(&script)).await;
    assert_eq!((text(&response), &response["store"]), (format!("The answer is {word}."), &json!(false)));
    assert!(response["usage"]["total_tokens"].as_u64().unwrap() > 0);
    let streamed = create(&ada, &with(unstored(&script), &json!({"stream": true}))).await;
    assert!(streamed.text.contains("response.completed"), "{}", streamed.text);
    let chat =
        json!({"model": "scripted", "store": false, "messages": [{"role": "user", "content": script}]});
    let chat = ada.post(CHATS, chat.to_string()).await;
    assert!(chat.status == 200 && chat.text.contains(word), "{}", chat.text);

    let script = format!(
        "{word} [[script: say \"{word}\"; call get_weather {{\"city\":\"{word}\"}}; then; say \"It is {word}.\"]]"
    );
    let calling = with(unstored(&script), &json!({"tools": [weather()]}));
    let called = created(&ada, &calling).await;
    assert_eq!(ada.get(&path(&called)).await.status, 200, "the turn waits for its tool");
    let call =
        called["output"].as_array().unwrap().iter().find(|item| item["type"] == "function_call").unwrap();
    let output = json!({"type": "function_call_output", "call_id": call["call_id"], "output": word});
    let resume =
        json!({"model": "scripted", "store": false, "previous_response_id": called["id"], "input": [output]});
    let resumed = created(&ada, &resume).await;
    assert_eq!(text(&resumed), format!("It is {word}."));

    for response in [&response, &called, &resumed] {
        until_gone(&ada, response).await;
    }
    let next = with(request("And?"), &json!({"previous_response_id": response["id"]}));
    let expected = (400, "previous_response_id".to_owned(), "previous_response_not_found".to_owned());
    assert_eq!(error(&create(&ada, &next).await), expected);
    until_purged(&system, word).await;
    let is_complete = |answer: &crate::support::Answer| answer.json()["Result"]["Total"]["Turns"] == 4;
    let total = operator(&system, "acme").until(USAGE, PATIENCE, is_complete).await.result()["Total"].clone();
    assert_eq!(total["Turns"], 4, "usage stays: {total}");
    assert!(total["Usage"]["TotalTokens"].as_u64().unwrap() > 0);
    assert_eq!(ada.get("/api/ai/agent/sessions").await.result()["Items"], json!([]));
    system.cloud.shutdown().await;
}

#[tokio::test]
async fn unstored_turns_leave_no_content_in_the_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let word = format!("secret{}", id());
    run_unstored_turns(folder.path(), &word).await;
    // SQLite removes its journal with its last connection, which belongs to a task that may end a little later.
    let give_up = Instant::now() + PATIENCE;
    while !files_with(folder.path(), &word).is_empty() && Instant::now() < give_up {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(files_with(folder.path(), &word), Vec::<String>::new());
    assert!(!files_with(folder.path(), "TurnCount").is_empty(), "the tombstones stay");
}

#[tokio::test]
async fn unstored_turn_continues_a_stored_response_in_a_fork() {
    let folder = tempfile::tempdir().unwrap();
    let system = system(folder.path()).await;
    let ada = system.client("acme", "ada");
    let stored = created(&ada, &request("My name is Ada. [[script: say \"Noted.\"]]")).await;
    let next = |store: bool| {
        with(request("Who am I?"), &json!({"previous_response_id": stored["id"], "store": store}))
    };
    let unstored = created(&ada, &next(false)).await;
    let answered_before = with(request("More"), &json!({"previous_response_id": unstored["id"]}));
    let expected = (400, "previous_response_id".to_owned(), "previous_response_not_found".to_owned());
    assert_eq!(error(&create(&ada, &answered_before).await), expected, "neither before nor after its purge");
    until_gone(&ada, &unstored).await;
    assert_eq!(ada.get(&path(&stored)).await.status, 200, "the stored response stays");
    assert_eq!(created(&ada, &next(true)).await["previous_response_id"], stored["id"]);
}

#[tokio::test]
async fn org_may_require_storage() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let settings = json!({"MandatoryStorage": true}).to_string();
    operator(&system, "acme").send(Method::PUT, ORG_SETTINGS, Some(settings)).await.result();
    let refused = create(&ada, &with(request("Hi"), &json!({"store": false}))).await;
    assert_eq!((refused.status, error(&refused).1.as_str()), (400, "store"), "{}", refused.text);
    created(&ada, &with(request("Hi"), &json!({"store": true}))).await;
    created(&system.client("rival", "eve"), &with(request("Hi"), &json!({"store": false}))).await;
    assert_eq!(system.model_calls().len(), 2);
}
