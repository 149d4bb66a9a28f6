//! A provider of models is tried when the program starts, and its trouble is told in the terminal.

use std::process::Stdio;
use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::{NamedProvider, PATIENCE, System, serve};

/// The command with an environment of its own.
pub(crate) fn aptix(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aptix"));
    for name in [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_MODEL",
        "OPENAI_WIRE",
        "OPENROUTER_API_KEY",
        "AWS_PROFILE",
    ] {
        command.env_remove(name);
    }
    for name in ["REGION", "DEFAULT_REGION", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"] {
        command.env_remove(format!("AWS_{name}"));
    }
    // Nothing is registered there, so that a command finds only clouds in its own folder.
    command.env("XDG_STATE_HOME", "/dev/null/none");
    command.args(arguments).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs the command until it fails. Returns its errors.
pub(crate) async fn stderr_of(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let done = tokio::time::timeout(PATIENCE, aptix(arguments, environment).output()).await;
    let done = done.expect("an end").unwrap();
    assert!(!done.status.success(), "{arguments:?}");
    String::from_utf8(done.stderr).unwrap()
}

/// Waits for the command to paste that a starting cloud prints.
pub(crate) async fn curl_line(running: &mut Child) -> String {
    let mut out = BufReader::new(running.stdout.take().unwrap()).lines();
    let line = async {
        loop {
            let line = out.next_line().await.unwrap().expect("a line to paste");
            if line.starts_with("curl ") {
                return line;
            }
        }
    };
    tokio::time::timeout(PATIENCE, line).await.expect("it starts")
}

#[tokio::test]
async fn fatal_provider_problem_ends_the_start_with_one_line() {
    let upstream = System::start().await;
    let url = upstream.cloud.endpoints().model.as_str();
    let nobody = "http://127.0.0.1:1/v1";
    for (arguments, key, why) in [
        (&["--model-base-url", url][..], "invalid-sk", "rejected the key (401 invalid_api_key)"),
        (&["--model-base-url", url, "--model-name", "gpt-9"], "sk", "has no model \"gpt-9\""),
        (&["--provider", "vllm", "--model-base-url", nobody], "", "Can't reach the model provider"),
        (&["--model-name", "gpt-5"], "", "--model-name has no effect"),
        (&["--provider", "openrouter"], "", "OPENROUTER_API_KEY"),
        (&["--model-base-url", "localhost:8000/v1"], "", "has no scheme. Use http://localhost:8000/v1"),
        (&["--model-base-url", "ftp://h/v1"], "", "ftp://h/v1 is not an http or https URL"),
    ] {
        let all = [&["--ephemeral", "--port", "0"], arguments].concat();
        let done = aptix(&all, &[("OPENAI_API_KEY", key)]).output().await.unwrap();
        let told = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success() && told.contains(why), "{arguments:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(!told.contains("invalid-sk"), "the key is nobody's to read: {told}");
    }
    assert!(upstream.model_calls().is_empty());
}

#[tokio::test]
async fn reachable_provider_starts_and_later_failures_are_shown() {
    let upstream = System::start().await;
    let url = upstream.cloud.endpoints().model.clone();
    let arguments = ["--ephemeral", "--port", "0", "--model-base-url", &url, "--model-name", "scripted"];
    // A setting of the functions that this shell has.
    let environment = [("OPENAI_API_KEY", "sk"), ("OPENAI_RETRIES", "0")];
    let mut running = aptix(&arguments, &environment).spawn().unwrap();
    let mut told = BufReader::new(running.stderr.take().unwrap()).lines();
    let line = curl_line(&mut running).await;
    let line = line.replace("Hello! What are you?", "Hello [[script: status 500]]");
    let asked = Command::new("sh").args(["-c", &line]).output().await.unwrap();
    let answer = String::from_utf8(asked.stdout).unwrap();
    assert!(answer.contains("ModelUnavailable"), "{answer}");
    let trouble = tokio::time::timeout(Duration::from_secs(10), told.next_line()).await;
    let trouble = trouble.expect("a line").unwrap().expect("a line");
    let expected = format!(
        "[execute] model call failed, the model provider is unavailable, 500, server_error: {url}/responses answered 500: "
    );
    assert!(trouble.starts_with(&expected), "{trouble}");
    assert!(answer.contains(&format!("{url}/responses answered 500: ")), "{answer}");
    assert_eq!(upstream.model_calls().len(), 1, "the setting of the shell holds");
    running.kill().await.unwrap();
}

/// The start is checked against the endpoint that turns call: a model list alone says nothing about it.
#[tokio::test]
async fn start_probes_the_endpoint_that_turns_call() {
    let listed = || get(|| async { Json(json!({"data": [{"id": "m"}]})) });
    let unknown = || async { (StatusCode::NOT_FOUND, "404 page not found") };
    let forbidden = || async {
        let message = "The key sk-marker-0123456789 may not call m.";
        (StatusCode::FORBIDDEN, Json(json!({"error": {"code": "access_denied", "message": message}})))
    };
    let other_model = || async {
        (
            StatusCode::NOT_FOUND,
            Json(json!({"error": {"message": "model 'm' is not loaded", "code": "model_not_found"}})),
        )
    };
    let operation =
        || async { r#"{"Output":{"__type":"com.amazon.coral.service#UnknownOperationException"}}"# };
    let spent = || async {
        let error = json!({"code": "insufficient_quota", "message": "You exceeded your current quota."});
        (StatusCode::TOO_MANY_REQUESTS, Json(json!({"error": error})))
    };
    let keyless = || async { (StatusCode::UNAUTHORIZED, "No key.") };
    let route = |method| Router::new().route("/v1/models", listed()).route("/v1/responses", method);
    for (router, why) in [
        (route(post(keyless)), "rejected the key (401 unauthorized)"),
        (Router::new().route("/v1/models", listed()), "has no Responses API at this base URL."),
        (route(post(unknown)), "/v1/responses answered 404: 404 page not found"),
        (route(get(unknown)), "/v1/responses answered 405."),
        (route(post(operation)), "answered 200: UnknownOperationException"),
        (route(post(forbidden)), "rejected the key (403 access_denied)"),
        (route(post(forbidden)), "answered 403: The key … may not call m."),
        (route(post(other_model)), "doesn't know the model \"m\""),
        (route(post(spent)), "The provider's quota is used up."),
    ] {
        let server = serve(router).await;
        let url = format!("{server}/v1");
        let arguments = ["--ephemeral", "--port", "0", "--model-base-url", &url, "--model-name", "m"];
        let told = stderr_of(&arguments, &[("OPENAI_API_KEY", "sk-marker-0123456789")]).await;
        assert!(told.contains(why) && told.lines().count() == 1, "{why}: {told}");
        assert!(!told.contains("marker"), "{told}");
    }
    let url = format!("{}/v1", serve(route(post(keyless))).await);
    let told =
        stderr_of(&["--ephemeral", "--port", "0", "--model-base-url", &url, "--model-name", "m"], &[]).await;
    assert!(told.contains("The provider needs a key. Set OPENAI_API_KEY"), "{told}");
}

#[tokio::test]
async fn start_probes_the_operation_of_each_wire() {
    let listed = || get(|| async { Json(json!({"data": [{"id": "m"}], "has_more": false})) });
    let typed = |kind: &str, message: &str| {
        Json(json!({"type": "error", "error": {"type": kind, "message": message}}))
    };
    let refused = move || async move { (StatusCode::UNAUTHORIZED, typed("authentication_error", "Key.")) };
    let other_model = move || async move { (StatusCode::NOT_FOUND, typed("not_found_error", "model: m")) };
    let spent = move || async move {
        (StatusCode::BAD_REQUEST, typed("invalid_request_error", "Your credit balance is too low."))
    };
    // Google's layout.
    let invalid = || async {
        let error = json!({"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"});
        (StatusCode::BAD_REQUEST, Json(json!([{"error": error}])))
    };
    for (wire, path, api) in [
        ("chat-completions", "/v1/chat/completions", "The provider has no Chat Completions API"),
        ("anthropic-messages", "/v1/messages", "The provider has no Messages API"),
        ("bedrock-converse", "/v1/model/m/converse-stream", "The provider has no Converse API"),
    ] {
        let route = |method| Router::new().route("/v1/models", listed()).route(path, method);
        for (router, why) in [
            (Router::new().route("/v1/models", listed()), api),
            (route(get(refused)), &format!("{path} answered 405.")),
            (route(post(refused)), "rejected the key (401 authentication_error)"),
            (route(post(other_model)), "doesn't know the model \"m\""),
            (route(post(spent)), "The provider's quota is used up."),
            (route(post(invalid)), "rejected the key (400"),
        ] {
            let url = format!("{}/v1", serve(router).await);
            let arguments = ["--ephemeral", "--port", "0", "--model-base-url", &url, "--model-wire", wire];
            let arguments = [&arguments[..], &["--model-name", "m"]].concat();
            let told = stderr_of(&arguments, &[("OPENAI_API_KEY", "sk")]).await;
            assert!(told.contains(why) && told.lines().count() == 1, "{wire}, {why}: {told}");
        }
        let provider = NamedProvider::with_profile("openai").await;
        let arguments = ["--ephemeral", "--port", "0", "--model-base-url", provider.base.as_str()];
        let arguments = [&arguments[..], &["--model-wire", wire, "--model-name"]].concat();
        let key = [("OPENAI_API_KEY", "sk")];
        let told = stderr_of(&[&arguments[..], &["gpt-9"]].concat(), &key).await;
        assert!(told.contains("has no model \"gpt-9\""), "{told}");
        let mut running = aptix(&[&arguments[..], &["scripted"]].concat(), &key).spawn().unwrap();
        curl_line(&mut running).await;
        running.kill().await.unwrap();
        assert!(provider.calls().is_empty(), "a probe is no call");
        assert_eq!(provider.invalid_requests(), [] as [&str; 0], "{wire}");
    }
}

#[tokio::test]
async fn commands_follow_shell_conventions() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let token = aptix(&["token", "--org", "o", "--user", "u", "--data", data], &[]).output().await.unwrap();
    let told = String::from_utf8(token.stderr).unwrap();
    assert!(!token.status.success() && told.contains("No local cloud was ever started"), "{told}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made there");

    // A reader that has read enough.
    let program = env!("CARGO_BIN_EXE_aptix");
    let piped = format!("set -o pipefail; '{program}' openapi | head -n 1");
    let done = Command::new("bash").args(["-c", &piped]).output().await.unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let done = aptix(&["--ephemeral", "--port", &port], &[]).output().await.unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && told.contains("--port"), "{told}");
}
