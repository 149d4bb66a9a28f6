//! Provider deviations as turns encounter them (docs/guides/providers.md).

use std::time::{Duration, Instant};

use local::Function;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Client, System, answer_text, final_text_and_result, line, mock_profile, options, turn, turn_in, turn_path,
};

async fn refused(client: &Client, instruction: &str) -> Value {
    let answer = client.execute(&turn(instruction)).await;
    let error = answer.errors().remove(0);
    assert_eq!(error["SystemError"], answer.status >= 500, "{error}");
    error
}

#[tokio::test]
async fn each_provider_refusal_has_its_own_code() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for (script, code) in [
        ("status 403 message \"Your input was flagged.\"", "ModelContentFiltered"),
        ("status 403", "ModelMisconfigured"),
        ("status 404 param model", "ModelNotFound"),
        ("status 404", "ModelRejected"),
        ("status 400 code image_too_large", "ModelAttachmentRefused"),
        ("status 400 code invalid_prompt", "ModelRejected"),
        ("fail bio_policy", "ModelContentFiltered"),
        ("fail invalid_image_format", "ModelAttachmentRefused"),
    ] {
        let error = refused(&ada, &format!("[[script: {script}]]")).await;
        assert_eq!(error["ErrorCode"], code, "{script}");
    }
}

#[tokio::test]
async fn second_turn_works_with_every_provider() {
    for provider in ["openai", "openai-zdr", "azure", "openrouter", "vllm", "ollama", "lmstudio", "llamacpp"]
    {
        let system = System::with(mock_profile(provider)).await;
        let ada = system.client("acme", "ada");
        ada.execute(&turn_in("s", "First [[script: say \"One.\"]]")).await.result();
        let second = ada.execute(&turn_in("s", "Second [[script: say \"Two.\"]]")).await.result();
        assert_eq!(second["PrimaryOutputText"], "Two.", "{provider}");
        system.cloud.shutdown().await;
    }
}

#[tokio::test]
async fn retry_after_reaches_the_client() {
    let mut options = options();
    options.environment.insert("OPENAI_RETRIES".to_owned(), "0".to_owned());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    for (script, wait) in [
        ("status 429 retry-after 20", Some("20")),
        ("status 503 retry-after-ms 1500", Some("2")),
        ("status 429 retry-after 999999", Some("3600")),
        ("status 429", None),
    ] {
        let request = turn(&format!("[[script: {script}]]"));
        for answer in [ada.execute(&request).await, ada.execute(&request).await] {
            assert_eq!((answer.status, answer.header("retry-after")), (503, wait), "{script}");
            let details = wait.map_or(Value::Null, |wait| json!(format!("Retry-After: {wait}")));
            assert_eq!(answer.errors()[0]["Details"], details, "{script}");
        }
    }
}

#[tokio::test]
async fn operator_sees_error_codes_but_no_error_text() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let script = "[[script: status 400 code invalid_value param tools[0].name message \"Xanadu sk-marker\" \
                  header x-request-id \"req_0123456789\"]]";
    let script = script.replace("tools[0].name", "tools.name");
    ada.execute(&turn(&script)).await;
    let lines = system.logged(Function::Execute, "model call failed", |_| true).await;
    let failed = line(&lines, "model call failed");
    assert_eq!(
        [&failed["status"], &failed["code"], &failed["param"], &failed["provider_request_id"]],
        [&json!(400), &json!("invalid_value"), &json!("tools.name"), &json!("req_0123456789")]
    );
    let log = std::fs::read_to_string(system.cloud.log_file(Function::Execute)).unwrap();
    assert!(!log.contains("Xanadu") && !log.contains("sk-marker"));
}

#[tokio::test]
async fn malformed_detail_does_not_discard_an_answer() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    for quirk in
        ["no usage", "quirk odd-usage", "quirk no-id", "quirk no-type", "quirk no-blank-line", "quirk json"]
    {
        let answer = ada.execute(&turn(&format!("[[script: say \"Hello.\"; {quirk}]]"))).await.result();
        assert_eq!(answer["PrimaryOutputText"], "Hello.", "{quirk}");
    }
    for quirk in ["object-arguments", "no-call-id", "same-call-id", "null-content"] {
        let script = format!(
            "[[script: call code_hash_normalized {{\"text\":\"a\"}}; call code_hash_normalized {{\"text\":\"b\"}}; \
             quirk {quirk}; then; say \"Done.\"]]"
        );
        let answer = ada.execute(&turn(&script)).await.result();
        assert_eq!(answer["ToolResults"].as_array().map(Vec::len), Some(2), "{quirk}: {answer}");
    }
    assert_eq!(
        system.model_calls().iter().filter(|call| call["stream"] == true).count(),
        system.model_calls().len()
    );
}

#[tokio::test]
async fn answer_cut_off_by_max_tokens_is_shown_with_a_warning() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn_in("s", "[[script: say \"Half\"; incomplete; as \"scripted-2026\"]]");
    let answer = ada.execute(&request).await.result();
    assert_eq!(answer["PrimaryOutputText"], "Half");
    assert!(answer["UserWarnings"].to_string().contains("most tokens"), "{answer}");
    let read = ada.get(&turn_path(&request)).await.result();
    assert_eq!(read["OpenAIModel"], "scripted-2026", "the model's own name: {read}");
    let next = ada.execute(&turn_in("s", "Go on [[script: say \"And half.\"]]")).await.result();
    assert_eq!(next["PrimaryOutputText"], "And half.");
    assert!(next.get("UserWarnings").is_none(), "no other model answered: {next}");
}

#[tokio::test]
async fn empty_reply_is_retried_once_then_fails_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let answer = ada.execute(&turn("[[script: quirk nothing]]")).await;
    assert_eq!((answer.status, answer.error().as_str()), (502, "ModelReplyEmpty"));
    assert_eq!(system.model_calls().len(), 2);
}

#[tokio::test]
async fn stream_ends_with_the_text_of_the_response() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let request = turn("[[script: say \"Shown.\"; finally \"Meant.\"]]");
    let events =
        ada.execute_streaming(&request, None).await.unwrap_or_else(|_| panic!("a stream")).rest().await;
    let (text, result) = final_text_and_result(&events);
    assert_eq!((text.as_str(), answer_text(&result).as_str()), ("Meant.", "Meant."));
    let path = format!("{}/stream", turn_path(&request));
    let again =
        ada.stream(Method::GET, &path, None, None).await.unwrap_or_else(|_| panic!("a stream")).rest().await;
    assert_eq!(final_text_and_result(&again).0, "Meant.");
}

#[tokio::test]
async fn failing_provider_opens_the_circuit_breaker() {
    let mut options = options();
    options.concurrency = 1;
    for (name, value) in
        [("OPENAI_RETRIES", "0"), ("OPENAI_BREAKER_FAILURES", "2"), ("OPENAI_BREAKER_PAUSE_SECONDS", "600")]
    {
        options.environment.insert(name.to_owned(), value.to_owned());
    }
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    for _ in 0..2 {
        assert_eq!(ada.execute(&turn("[[script: status 503]]")).await.error(), "ModelUnavailable");
    }
    let refused = ada.execute(&turn("Hello.")).await;
    assert_eq!(refused.error(), "ModelUnavailable");
    let wait: u64 = refused.header("retry-after").and_then(|wait| wait.parse().ok()).expect("a wait");
    assert!((1..=600).contains(&wait), "{wait}");
    assert_eq!(system.model_calls().len(), 2, "it was not asked");
}

#[tokio::test]
async fn provider_timeouts_follow_the_settings() {
    for (setting, script) in [
        ("OPENAI_FIRST_BYTE_TIMEOUT_SECONDS", "delay 100s; say \"Late.\""),
        ("OPENAI_FIRST_BYTE_TIMEOUT_SECONDS", "silent"),
        ("OPENAI_IDLE_TIMEOUT_SECONDS", "say \"Now\"; hang 100s; say \" and then.\""),
        ("OPENAI_TOTAL_TIMEOUT_SECONDS", "pace 500ms; words 200"),
    ] {
        let mut options = options();
        for (name, value) in [("OPENAI_RETRIES", "0"), (setting, "2")] {
            options.environment.insert(name.to_owned(), value.to_owned());
        }
        let system = System::with(options).await;
        let began = Instant::now();
        let answer = system.client("acme", "ada").execute(&turn(&format!("[[script: {script}]]"))).await;
        assert_eq!(answer.error(), "ModelTimedOut", "{setting}");
        assert!(began.elapsed() < Duration::from_secs(60), "{setting}");
    }
}

#[tokio::test]
#[should_panic(expected = "requests that no provider takes")]
async fn invalid_provider_request_fails_the_test_that_sends_it() {
    let system = System::start().await;
    let url = format!("{}/responses", system.cloud.endpoints().model);
    let body =
        json!({"model": "gpt-5", "input": "Hello.", "tools": [{"type": "function", "name": "no name"}]});
    let request = reqwest::Client::new().post(url).bearer_auth("key").body(body.to_string());
    assert_eq!(request.send().await.unwrap().status(), 400);
}
