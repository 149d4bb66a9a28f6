//! `aptix chat` as people use it: typed at a terminal, and in a pipe.

use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use local::Options;
use local::token::Identity;
use rexpect::session::PtySession;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::support::{PATIENCE, System, options, session_path, turn, turn_in};

const PATCH: &str = r"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n";

/// The command, with a home of its own.
fn chat(system: &System, url: &str, home: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aptix"));
    let token = system.cloud.token(&Identity::user("acme", "ada")).expect("a token");
    command.arg("chat").env("APTIX_URL", url).env("APTIX_TOKEN", token);
    command.env("HOME", home.path()).env("TERM", "xterm").env("NO_COLOR", "1");
    command
}

/// Types what `typed` does, on a thread that may wait.
async fn at_a_terminal(command: Command, typed: impl FnOnce(&mut PtySession) + Send + 'static) {
    let patience = u64::try_from(PATIENCE.as_millis()).unwrap();
    let talk = move || {
        let mut terminal = rexpect::session::spawn_command(command, Some(patience)).expect("it starts");
        typed(&mut terminal);
    };
    tokio::task::spawn_blocking(talk).await.unwrap();
}

fn says(terminal: &mut PtySession, text: &str) {
    terminal.exp_string(text).unwrap_or_else(|error| panic!("{text:?} was not shown: {error}"));
}

fn types(terminal: &mut PtySession, line: &str) {
    says(terminal, "> ");
    terminal.send_line(line).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_runs_at_a_terminal() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    at_a_terminal(chat(&system, system.cloud.url(), &home), |terminal| {
        types(terminal, "Hello there");
        says(terminal, "You said: \"Hello there\"");
        types(terminal, "And now?");
        says(terminal, "One turn of this chain came before");
        types(terminal, "/sessions");
        says(terminal, "Hello there");
        types(terminal, "/usage");
        says(terminal, "2 turns");
        types(terminal, "/nothing");
        says(terminal, "Unknown command /nothing");
        types(terminal, "/new");
        types(terminal, "Once more");
        says(terminal, "the first turn of its chain");
        types(terminal, "/retry");
        says(terminal, "the first turn of its chain");
        types(terminal, "/sessions");
        types(terminal, "/open 2");
        says(terminal, "One turn of this chain came before");
        types(terminal, "/quit");
        terminal.exp_eof().unwrap();
    })
    .await;
    let sessions = system.client("acme", "ada").get("/api/ai/agent/sessions").await;
    assert_eq!(sessions.result()["Items"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn opened_session_shows_partial_answers_and_mode_changes() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    let ada = system.client("acme", "ada");
    let fails = turn("Look [[script: say \"Half an answer\"; cut after 6 events]]");
    ada.execute(&fails).await;
    let change = json!({"mode": "ddr_authoring", "branch": false, "reason": "r"});
    let changes = turn_in(
        fails["SessionId"].as_str().unwrap(),
        &format!("Change [[script: call agent_change_mode {change}; then; say \"So.\"]]"),
    );
    ada.execute(&changes).await.result();
    let changed = ada.get(&session_path(&fails)).await.result()["ModeHistory"][0]["TimeStamp"].clone();
    at_a_terminal(chat(&system, system.cloud.url(), &home), move |terminal| {
        types(terminal, "/sessions");
        types(terminal, "/open 1");
        says(terminal, "Half an");
        says(terminal, "So.");
        types(terminal, "/mode");
        says(terminal, changed.as_str().unwrap());
        types(terminal, "/mode no_such_mode");
        says(terminal, "The mode is still ddr_authoring. Check the name no_such_mode.");
        types(terminal, "/quit");
        terminal.exp_eof().unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_is_shown_refused_and_accepted() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    let workspace = home.path().join("work");
    std::fs::create_dir(&workspace).unwrap();
    std::fs::write(workspace.join("a.txt"), "one\n").unwrap();
    let mut command = chat(&system, system.cloud.url(), &home);
    command.arg("--workspace").arg(&workspace);
    let file = workspace.join("a.txt");
    at_a_terminal(command, move |terminal| {
        let ask = format!(
            "[[script: call workspace_read_file {{\"path\":\"a.txt\"}}; \
             call workspace_write_patch {{\"path\":\"a.txt\",\"patch\":\"{PATCH}\"}}; then; say \"Well.\"]]"
        );
        types(terminal, &ask);
        says(terminal, "reads a.txt");
        says(terminal, "+two");
        says(terminal, "Change a.txt?");
        terminal.send_line("n").unwrap();
        says(terminal, "declined");
        says(terminal, "Well.");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
        types(terminal, &ask);
        says(terminal, "Change a.txt?");
        terminal.send_line("y").unwrap();
        says(terminal, "Well.");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
        // It no longer fits: nobody is asked.
        types(terminal, &ask);
        says(terminal, "the patch does not apply");
        says(terminal, "Well.");
        types(terminal, "/quit");
        terminal.exp_eof().unwrap();
    })
    .await;
    let told = system.model_calls().iter().map(Value::to_string).collect::<String>();
    for said in [r#"{\"text\":\"one\\n\"}"#, "The user declined this patch.", r#"{\"applied\":true}"#] {
        assert!(told.contains(said) || told.contains(&said.replace('\\', "\\\\\\")), "{said}");
    }
}

/// The command on a new workspace folder with these files.
fn chat_on(system: &System, home: &TempDir, files: &[(&str, &str)]) -> Command {
    let workspace = home.path().join("work");
    std::fs::create_dir(&workspace).unwrap();
    for (name, text) in files {
        std::fs::write(workspace.join(name), text).unwrap();
    }
    let mut command = chat(system, system.cloud.url(), home);
    command.arg("--workspace").arg(workspace);
    command
}

/// Instruction that makes the mock model send a patch.
fn patch_call(path: &str, patch: &str) -> String {
    // Only ASCII can be typed.
    let arguments: String = json!({ "path": path, "patch": patch })
        .to_string()
        .chars()
        .map(
            |letter| if letter.is_ascii() { letter.to_string() } else { format!("\\u{:04x}", letter as u32) },
        )
        .collect();
    format!("[[script: call workspace_write_patch {arguments}; then; say \"Well.\"]]")
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_patch_and_path_are_shown_escaped() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    let command = chat_on(&system, &home, &[("a.txt", "one\n")]);
    let workspace = home.path().join("work");
    at_a_terminal(command, move |terminal| {
        let header = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n";
        // Escape sequences that erase the line, a carriage return, and reordered and invisible text.
        let forged = format!("{header}-one\n+evil\r\u{1b}[2K+good \u{202e}txt\u{200b}\n");
        types(terminal, &patch_call("a.txt", &forged));
        says(terminal, r"+evil\u{d}\u{1b}[2K+good \u{202e}txt\u{200b}");
        says(terminal, "4 control or invisible characters");
        says(terminal, "Change a.txt?");
        terminal.send_line("y").unwrap();
        says(terminal, "Well.");
        let applied = std::fs::read_to_string(workspace.join("a.txt")).unwrap();
        assert_eq!(applied, "evil\r\u{1b}[2K+good \u{202e}txt\u{200b}\n");
        // A path that pretends to be another question.
        let new = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n";
        types(terminal, &patch_call("b\r\u{1b}[2K\nChange a.txt? [y]es", new));
        says(terminal, r#"Create "b\u{d}\u{1b}[2K\nChange a.txt? [y]es"?"#);
        terminal.send_line("n").unwrap();
        says(terminal, "Well.");
        // Text behind the hunk that the reader would take for the change.
        types(terminal, &patch_call("a.txt", &format!("{header}-evil\n+two\n+three\n")));
        says(terminal, "belongs to no hunk");
        says(terminal, "Well.");
        types(terminal, "/quit");
        terminal.exp_eof().unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_patch_is_shown_by_pages_before_the_question() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    let command = chat_on(&system, &home, &[]);
    let file = home.path().join("work/a.txt");
    let lines: String = (1..=60).map(|line| format!("+line{line}\n")).collect();
    let patch = format!("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,60 @@\n{lines}");
    at_a_terminal(command, move |terminal| {
        types(terminal, &patch_call("a.txt", &patch));
        says(terminal, "of 61 lines shown. Enter for more");
        terminal.send_line("").unwrap();
        says(terminal, "of 61 lines shown. Enter for more");
        terminal.send_line("n").unwrap();
        says(terminal, "declined");
        says(terminal, "Well.");
        types(terminal, "/quit");
        terminal.exp_eof().unwrap();
    })
    .await;
    assert!(!file.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn protected_files_need_approval_despite_yes() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    let mut command = chat_on(&system, &home, &[("a.txt", "one\n"), (".env", "KEY=secret-value\n")]);
    command.arg("--yes");
    let workspace = home.path().join("work");
    at_a_terminal(command, move |terminal| {
        types(terminal, &patch_call("a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"));
        // The typed line has the answer's word too, so the file shows that the patch was applied.
        let deadline = std::time::Instant::now() + PATIENCE;
        while std::fs::read_to_string(workspace.join("a.txt")).unwrap() != "two\n" {
            assert!(std::time::Instant::now() < deadline, "the patch was not applied");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let hook = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+#!/bin/sh\n";
        types(terminal, &patch_call(".git/hooks/post-commit", hook));
        says(terminal, "Create .git/hooks/post-commit, a file of Git itself? [y]es, [n]o:");
        terminal.send_line("a").unwrap();
        says(terminal, "a file of Git itself?");
        terminal.send_line("n").unwrap();
        says(terminal, "Well.");
        assert!(!workspace.join(".git").exists());
        types(terminal, "[[script: call workspace_read_file {\"path\":\".env\"}; then; say \"Well.\"]]");
        says(terminal, "Send .env, a file that may hold secrets, to the model?");
        terminal.send_line("n").unwrap();
        says(terminal, "Well.");
        types(terminal, "/quit");
        terminal.exp_eof().unwrap();
    })
    .await;
    assert!(!system.model_calls().iter().any(|call| call.to_string().contains("secret-value")));
    // Without a terminal, nobody can be asked.
    let read = "[[script: call workspace_read_file {\"path\":\".env\"}; then; say \"Well.\"]]";
    let mut command = chat(&system, system.cloud.url(), &home);
    command.arg("--workspace").arg(home.path().join("work")).arg("--yes");
    let done = piped(command, &[read], "").await;
    assert!(String::from_utf8_lossy(&done.stderr).contains("can't ask for approval"));
    assert!(!system.model_calls().iter().any(|call| call.to_string().contains("secret-value")));
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_is_named_at_once() {
    // Less space than this is left on every disk.
    let options = Options { min_free_bytes: u64::MAX, ..options() };
    let (system, home) = (System::with(options).await, tempfile::tempdir().unwrap());
    at_a_terminal(chat(&system, system.cloud.url(), &home), |terminal| {
        types(terminal, "Hello there");
        says(terminal, "The local cloud's disk is full.");
        terminal.send_control('c').unwrap();
        says(terminal, "Press Ctrl-C again to quit");
        terminal.send_control('c').unwrap();
        terminal.exp_eof().unwrap();
    })
    .await;
    let ada = system.client("acme", "ada");
    let refused = ada.execute(&turn("Hello")).await;
    assert_eq!((refused.status, refused.error().as_str()), (503, "StorageUnavailable"));
    assert!(refused.text.contains("disk is full"), "{}", refused.text);
    assert_eq!(ada.get("/api/ai/agent/sessions").await.status, 200, "reads need no space");
    assert!(system.model_calls().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn link_of_a_long_value_can_be_opened() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    // Long Base64 in an answer becomes a file.
    let script = format!("[[script: say \"Here {} done.\"]]", "QUJD".repeat(300));
    let done = piped(chat(&system, system.cloud.url(), &home), &[&script], "").await;
    let shown = String::from_utf8_lossy(&done.stderr).into_owned();
    let prefix = format!("{}/api/ai/agent/", system.cloud.url());
    let link = shown.split_whitespace().find(|word| word.starts_with(&prefix));
    let path = link.unwrap_or_else(|| panic!("no link: {shown}")).strip_prefix(system.cloud.url()).unwrap();
    assert_eq!(system.client("acme", "ada").get(path).await.status, 302, "{path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_with_control_characters_is_escaped_with_a_warning() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    let done =
        piped(chat(&system, system.cloud.url(), &home), &["[[script: say \"A\\u202eB\\u001b[2K\"]]"], "")
            .await;
    assert_eq!(String::from_utf8_lossy(&done.stdout), "A\\u{202e}B\\u{1b}[2K\n");
    let warning = "The answer contains 2 control or invisible characters";
    assert!(String::from_utf8_lossy(&done.stderr).contains(warning));
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_stops_the_turn_and_twice_leaves() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    at_a_terminal(chat(&system, system.cloud.url(), &home), |terminal| {
        types(terminal, "[[script: pace 50ms; words 1000]]");
        says(terminal, "word9 ");
        terminal.send_control('c').unwrap();
        says(terminal, "Stopped.");
        says(terminal, "> ");
        terminal.send_control('c').unwrap();
        says(terminal, "Press Ctrl-C again to quit");
        terminal.send_control('c').unwrap();
        terminal.exp_eof().unwrap();
    })
    .await;
    let client = system.client("acme", "ada");
    let sessions = client.get("/api/ai/agent/sessions").await.result();
    let session = sessions["Items"][0]["Id"].as_str().unwrap().to_owned();
    let turn = client.get(&format!("/api/ai/agent/sessions/{session}/turns/last")).await.result();
    assert_eq!(turn["Status"]["Id"], "failed");
    assert_eq!(turn["CancelledByUserId"], "ada");
}

/// A way to the API that breaks once, after so many bytes.
async fn breaks_once(url: &str, after: usize) -> (String, Arc<AtomicUsize>) {
    let api = url.strip_prefix("http://").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let way = format!("http://{}", listener.local_addr().unwrap());
    let broken = Arc::new(AtomicUsize::new(0));
    let counted = broken.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (api, broken) = (api.clone(), counted.clone());
            tokio::spawn(async move {
                let Ok(server) = TcpStream::connect(api).await else { return };
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let up = tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
                let mut passed = 0;
                let mut piece = [0; 256];
                while let Ok(count @ 1..) = tokio::io::AsyncReadExt::read(&mut from_server, &mut piece).await
                {
                    passed += count;
                    if passed > after && broken.fetch_add(1, Ordering::SeqCst) == 0 {
                        break;
                    }
                    if to_client.write_all(&piece[..count]).await.is_err() {
                        break;
                    }
                }
                up.abort();
            });
        }
    });
    (way, broken)
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_connection_is_resumed_automatically() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    let (way, broken) = breaks_once(system.cloud.url(), 1_500).await;
    at_a_terminal(chat(&system, &way, &home), |terminal| {
        types(terminal, "[[script: pace 20ms; words 60]]");
        says(terminal, "word60");
        types(terminal, "/quit");
        terminal.exp_eof().unwrap();
    })
    .await;
    assert!(broken.load(Ordering::SeqCst) > 0, "the connection was not cut");
    assert_eq!(system.model_calls().len(), 1, "the model is asked once");
}

/// One question, with what comes through a pipe.
async fn piped(mut command: Command, arguments: &[&str], input: &'static str) -> Output {
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ask = move || {
        let mut running = command.spawn().expect("it starts");
        let mut pipe = running.stdin.take().unwrap();
        std::io::Write::write_all(&mut pipe, input.as_bytes()).unwrap();
        drop(pipe);
        running.wait_with_output().unwrap()
    };
    tokio::task::spawn_blocking(ask).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn single_question_runs_in_a_pipe() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    let url = system.cloud.url();
    let done = piped(chat(&system, url, &home), &["Review", "[[script: say \"Fine.\"]]"], "a diff\n").await;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "Fine.\n");
    assert!(system.model_calls()[0].to_string().contains("a diff"), "what was piped goes along");
    let done = piped(chat(&system, url, &home), &[], "[[script: status 400 code x]]").await;
    assert_eq!((done.status.code(), done.stdout), (Some(1), Vec::new()));
    assert!(String::from_utf8_lossy(&done.stderr).contains("ModelRejected"));
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_setup_is_reported_before_the_first_request() {
    let (system, home) = (System::start().await, tempfile::tempdir().unwrap());
    for (arguments, why) in [
        (&["--workspace", "/nowhere", "x"][..], "--workspace /nowhere"),
        (&["--attach", "/nowhere", "x"], "/nowhere: No such file"),
        (&["--yes", "x"], "--workspace"),
        (&["--api-url", "nonsense", "x"], "invalid API URL"),
    ] {
        let done = piped(chat(&system, system.cloud.url(), &home), arguments, "").await;
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && told.contains(why), "{arguments:?}: {told}");
    }
    let mut command = chat(&system, system.cloud.url(), &home);
    command.env("APTIX_TOKEN", "wrong");
    let done = piped(command, &["x"], "").await;
    assert!(String::from_utf8_lossy(&done.stderr).contains("Unauthenticated"));
    assert_eq!(json!(system.model_calls()), json!([]));
}
