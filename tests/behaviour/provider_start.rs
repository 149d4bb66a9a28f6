//! A provider of models is tried when the program starts, and its trouble is told in the terminal.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::support::{PATIENCE, System};

/// The command with an environment of its own.
pub(crate) fn aptix(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aptix"));
    for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENROUTER_API_KEY"] {
        command.env_remove(name);
    }
    command.args(arguments).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
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
    let mut out = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut told = BufReader::new(running.stderr.take().unwrap()).lines();
    let line = async {
        loop {
            let line = out.next_line().await.unwrap().expect("a line to paste");
            if line.starts_with("curl ") {
                return line;
            }
        }
    };
    let line = tokio::time::timeout(PATIENCE, line).await.expect("it starts");
    let line = line.replace("Hello! What are you?", "Hello [[script: status 500]]");
    let asked = Command::new("sh").args(["-c", &line]).output().await.unwrap();
    let answer = String::from_utf8(asked.stdout).unwrap();
    assert!(answer.contains("ModelUnavailable"), "{answer}");
    let trouble = tokio::time::timeout(Duration::from_secs(10), told.next_line()).await;
    let trouble = trouble.expect("a line").unwrap().expect("a line");
    assert_eq!(trouble, "[execute] model call failed, the model provider is unavailable, 500, server_error");
    assert_eq!(upstream.model_calls().len(), 1, "the setting of the shell holds");
    running.kill().await.unwrap();
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
