//! Conventions of the command line: exit statuses, and errors that name the fix.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use local::Data;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::provider_start::{aptix, curl_line};
use crate::support::{PATIENCE, System, options, turn};

/// Runs the command. Returns its exit status, its output and its errors.
async fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let done = tokio::time::timeout(PATIENCE, aptix(arguments, &[]).output()).await.expect("an end").unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[tokio::test]
async fn invalid_options_exit_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    for (arguments, why) in [
        (&["search", "", "--org", "acme"][..], "the question is empty"),
        (&["search", " \n", "--org", "acme"], "the question is empty"),
        (&["index", "/no/such/folder", "--org", "acme", "--repo", "r", "--data", data], "is not a folder"),
        (&["chat", "--workspace", "/no/such/folder", "hi"], "--workspace /no/such/folder"),
        (&["chat", "--attach", "/no/such/file", "hi"], "/no/such/file"),
        (&["chat", "--api-url", "ftp://x", "--token", "t", "hi"], "must begin with https://"),
        (&["console", "--api-url", "ftp://x"], "not an http or https URL"),
        (&["--ephemeral", "--model-name", "m"], "--model-name has no effect"),
        (&["contexts", "list", "--org", "", "--data", data], "--org"),
        (&["init", data, "--name", "A b"], "Invalid agent name \"A b\""),
        (&["--no-such-option"], "--no-such-option"),
    ] {
        let (status, output, errors) = run(arguments).await;
        assert_eq!((status, output.as_str()), (Some(2), ""), "{arguments:?}: {errors}");
        assert!(errors.contains(why), "{arguments:?}: {errors}");
    }
}

/// A minimal container has no certificates. The local cloud needs none.
#[tokio::test]
async fn system_without_certificates_runs_the_local_cloud() {
    let folder = tempfile::tempdir().unwrap();
    let run = async |arguments: &[&str]| {
        let without = [("SSL_CERT_FILE", "/dev/null"), ("SSL_CERT_DIR", "/no/such/folder")];
        // `chat` starts a local cloud with its data in the current folder.
        let done = aptix(arguments, &without).current_dir(folder.path()).output();
        let done = tokio::time::timeout(PATIENCE, done).await.expect("an end").unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (status, output, errors) = run(&["demo"]).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("Stored session:"), "{output}");
    let (status, output, errors) = run(&["chat", "Hello there"]).await;
    assert_eq!(status, Some(0), "{errors}");
    assert!(output.contains("Hello there"), "{output}");
    let remote = ["chat", "--api-url", "https://api.example.com", "--token", "t", "hi"];
    let (status, _, errors) = run(&remote).await;
    assert_ne!(status, Some(0));
    assert!(errors.contains("no root certificates"), "{errors}");
}

#[tokio::test]
async fn project_is_created_once_and_its_contexts_are_valid() {
    let parent = tempfile::tempdir().unwrap();
    let project = parent.path().join("clerk");
    let system =
        System::with(local::Options { data: Data::Folder(parent.path().join("data")), ..options() }).await;
    for language in ["python", "javascript"] {
        let folder = project.join(language);
        let folder = folder.to_str().unwrap();
        let init = ["init", folder, "--name", "clerk", "--language", language];
        let (status, output, errors) = run(&init).await;
        assert_eq!(status, Some(0), "{errors}");
        assert!(output.contains("README.md has the next steps."), "{output}");
        let (status, _, errors) = run(&init).await;
        assert_eq!(status, Some(2), "{errors}");
        assert!(errors.contains("exists already"), "{errors}");
        let (contexts, data) = (format!("{folder}/contexts.json"), parent.path().join("data"));
        let put = ["contexts", "put", &contexts, "--org", "acme", "--data", data.to_str().unwrap()];
        let (status, _, errors) = run(&put).await;
        assert_eq!(status, Some(0), "{errors}");
    }
    system.cloud.shutdown().await;
}

#[tokio::test]
async fn completions_and_man_pages_name_the_commands() {
    for shell in ["bash", "fish", "zsh", "powershell", "elvish"] {
        let (status, script, errors) = run(&["completions", shell]).await;
        assert_eq!(status, Some(0), "{errors}");
        assert!(script.contains("aptix") && script.contains("contexts"), "{shell}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (status, _, errors) = run(&["man", folder.path().to_str().unwrap()]).await;
    assert_eq!(status, Some(0), "{errors}");
    for page in ["aptix.1", "aptix-chat.1", "aptix-contexts-put.1"] {
        assert!(folder.path().join(page).is_file(), "{page}");
    }
    assert!(!folder.path().join("aptix-function.1").exists(), "the hidden command has no page");
}

#[tokio::test]
async fn unreachable_api_is_reported_within_seconds() {
    let started = Instant::now();
    let (status, output, errors) =
        run(&["chat", "--api-url", "http://127.0.0.1:9", "--token", "t", "hi"]).await;
    assert_eq!((status, output.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains("an't reach the API at http://127.0.0.1:9"), "{errors}");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[tokio::test]
async fn setting_that_functions_refuse_ends_the_start() {
    let unknown = json!([{"Name": "a", "BaseUrl": "http://localhost/v1", "Key": "sk-marker"}]).to_string();
    let setting = format!("MODEL_PROVIDERS={unknown}");
    let (status, output, errors) = run(&["--ephemeral", "--port", "0", "--env", &setting]).await;
    assert_eq!((status, output.as_str()), (Some(1), ""), "{errors}");
    assert!(
        errors.starts_with("error: The functions don't start: MODEL_PROVIDERS[0]: unknown field `Key`"),
        "{errors}"
    );
    assert!(!errors.contains("sk-marker") && errors.lines().count() == 1, "{errors}");

    let two = ["--env", "LEASE_SECONDS=x", "--env", "OPENAI_RETRIES=-1"];
    let (status, _, errors) = run(&[&["--ephemeral", "--port", "0"][..], &two].concat()).await;
    assert_eq!(status, Some(1));
    assert!(
        errors.contains("LEASE_SECONDS must be") && errors.contains("OPENAI_RETRIES must be"),
        "{errors}"
    );
}

#[tokio::test]
async fn built_in_contexts_are_shown_and_byte_order_mark_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let system =
        System::with(local::Options { data: Data::Folder(folder.path().to_owned()), ..options() }).await;
    let (status, output, errors) =
        run(&["contexts", "get", "default", "--org", "acme", "--data", data]).await;
    assert_eq!(status, Some(0), "{errors}");
    let shown: Value = serde_json::from_str(&output).unwrap();
    let kinds: Vec<_> = shown.as_array().unwrap().iter().map(|one| (&one["Kind"], &one["Id"])).collect();
    assert_eq!(kinds, [(&json!("agent"), &json!("default")), (&json!("conversation"), &json!("default"))]);

    let file = folder.path().join("bom.json");
    let context = json!({ "Kind": "conversation", "Id": "brief", "Name": "Brief", "System": "Be brief." });
    std::fs::write(&file, format!("\u{feff}{context}")).unwrap();
    let put = ["contexts", "put", file.to_str().unwrap(), "--org", "acme", "--data", data];
    let (status, output, errors) = run(&put).await;
    assert_eq!((status, output.as_str()), (Some(0), "Saved for acme: conversation brief\n"), "{errors}");
    system.cloud.shutdown().await;
}

/// A new user has a running local cloud, and neither a token nor an option.
#[tokio::test]
async fn documents_are_edited_on_local_cloud_without_token() {
    let folder = tempfile::tempdir().unwrap();
    let run = async |arguments: &[&str]| {
        let done = aptix(arguments, &[]).current_dir(folder.path()).output();
        let done = tokio::time::timeout(PATIENCE, done).await.expect("an end").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let write = |content: &Value| std::fs::write(folder.path().join("f.json"), content.to_string()).unwrap();
    write(&json!({"Budgets": []}));
    let (status, _, errors) = run(&["budgets", "put", "f.json"]).await;
    assert_eq!(status, Some(1));
    assert!(errors.contains("No local cloud is running on the data folder .local-cloud."), "{errors}");

    let data = Data::Folder(folder.path().join(".local-cloud"));
    let system = System::with(local::Options { data, ..options() }).await;
    let mode = json!({"Key": "d", "DisplayName": "", "Description": "d", "WhenToUse": "w", "Status": "active",
        "Version": "1"});
    for (command, document, name) in [
        ("agents", json!({"Id": "d", "Name": ""}), "Name"),
        ("conversations", json!({"Id": "d", "Name": "", "System": "Be brief."}), "Name"),
        ("modes", mode, "DisplayName"),
    ] {
        let named = |value: &str| {
            let mut document = document.clone();
            document[name] = json!(value);
            document
        };
        for (number, value) in [(1, "One"), (2, "Two")] {
            write(&named(value));
            let (status, output, errors) = run(&[command, "put", "f.json"]).await;
            assert_eq!(status, Some(0), "{command}: {errors}");
            assert!(output.starts_with(&format!("Saved d as {number}-")), "{command}: {output}");
        }
        let (_, listed, errors) = run(&[command, "list"]).await;
        assert!(
            listed.lines().any(|line| line.starts_with("d ") && line.ends_with("Two")),
            "{listed}{errors}"
        );
        let (_, history, errors) = run(&[command, "history", "d"]).await;
        assert_eq!(history.lines().count(), 2, "{history}{errors}");
        let (_, output, errors) = run(&[command, "rollback", "d", "1"]).await;
        assert!(output.contains("content of version 1, as 3-"), "{output}{errors}");
        let (_, shown, errors) = run(&[command, "get", "d"]).await;
        assert!(shown.contains("\"One\""), "{command}: {shown}{errors}");
        let (status, _, errors) = run(&[command, "get", "nobodys"]).await;
        assert!(status == Some(1) && errors.contains("NotFound") && errors.contains("nobodys"), "{errors}");
        let (status, _, errors) = run(&[command, "put", "f.json", "--if-match", "7-stale"]).await;
        assert!(status == Some(1) && errors.contains("exists, with the ETag 3-"), "{errors}");
        let mut wrong = named("Three");
        wrong["Nope"] = json!(1);
        write(&wrong);
        let (status, _, errors) = run(&[command, "put", "f.json"]).await;
        assert!(status == Some(1) && errors.contains("Nope"), "{command}: {errors}");
    }
    for (command, document, member) in [
        (&["budgets"][..], json!({"Budgets": []}), "Budgets"),
        (&["org-settings"], json!({"RetentionDays": 3}), "RetentionDays"),
        (&["admin", "org-settings"], json!({"RetentionDays": 4}), "RetentionDays"),
    ] {
        write(&document);
        let (status, _, errors) = run(&[command, &["put", "f.json"]].concat()).await;
        assert_eq!(status, Some(0), "{command:?}: {errors}");
        let (_, shown, errors) = run(&[command, &["get"]].concat()).await;
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()[member], document[member], "{errors}");
        let stale = run(&[command, &["put", "f.json", "--if-match", "stale"]].concat()).await;
        assert_eq!(stale.0, Some(0), "the same content again changes nothing: {}", stale.2);
        write(&json!({"Nope": 1}));
        let (status, _, errors) = run(&[command, &["put", "f.json"]].concat()).await;
        assert!(status == Some(1) && errors.contains("Nope"), "{command:?}: {errors}");
        let (status, _, errors) = run(&[command, &["put", "absent.json"]].concat()).await;
        assert!(status == Some(1) && errors.contains("Can't read absent.json"), "{command:?}: {errors}");
    }
    let (status, listed, errors) = run(&["agents", "list", "--org", "other"]).await;
    assert!(status == Some(0) && !listed.contains("Two") && listed.contains("built-in"), "{listed}{errors}");
    for command in [&["usage"][..], &["budgets", "use"], &["admin", "disable", "acme"], &["contexts", "list"]]
    {
        let (status, _, errors) = run(command).await;
        assert_eq!(status, Some(0), "{command:?}: {errors}");
    }
    system.cloud.shutdown().await;
}

/// Sessions and documents are managed without a token, by files and ids.
#[tokio::test]
async fn sessions_and_documents_are_managed_with_files() {
    let folder = tempfile::tempdir().unwrap();
    let run = async |arguments: &[&str]| {
        let done = aptix(arguments, &[]).current_dir(folder.path()).output();
        let done = tokio::time::timeout(PATIENCE, done).await.expect("an end").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let data = Data::Folder(folder.path().join(".local-cloud"));
    let system = System::with(local::Options { data, ..options() }).await;
    let (status, _, errors) = run(&["chat", "--session", "mistyped", "Hello"]).await;
    let reason = "No session mistyped is visible to you. List yours with `aptix sessions list`";
    assert!(status == Some(1) && errors.contains(reason), "{errors}");
    for (command, list) in [
        (&["sessions", "export", "mistyped"][..], "sessions"),
        (&["chat", "--agent", "mistyped", "Hello"], "agents"),
        (&["agents", "get", "mistyped"], "agents"),
    ] {
        let (status, _, errors) = run(command).await;
        let advice = format!("List yours with `aptix {list} list`.");
        assert!(status == Some(1) && errors.contains(&advice), "{command:?}: {errors}");
    }
    let (status, _, errors) = run(&["chat", "Hello there [[script: status 500]]"]).await;
    assert!(
        status == Some(1) && errors.contains("Run the command again.") && !errors.contains("/retry"),
        "{errors}"
    );
    let (status, _, errors) = run(&["chat", "Count the trees"]).await;
    assert_eq!(status, Some(0), "{errors}");

    let (_, listed, errors) = run(&["sessions", "list", "--search", "trees"]).await;
    let (id, rest) = listed.split_once("  ").unwrap();
    assert!(rest.contains("  1 turn  completed  Count the trees"), "{listed}{errors}");
    let (_, shown, errors) = run(&["sessions", "show", id]).await;
    assert!(shown.starts_with("# Count the trees\n> Count the trees\n"), "{shown}{errors}");
    let (_, exported, errors) = run(&["sessions", "export"]).await;
    assert_eq!(exported.lines().count(), 2, "{exported}{errors}");
    std::fs::write(folder.path().join("all.jsonl"), exported).unwrap();
    let (_, imported, errors) = run(&["sessions", "import", "all.jsonl", "--new-ids"]).await;
    assert_eq!(imported, "Imported 2 sessions, 2 turns.\n", "{errors}");
    let (_, deleted, errors) = run(&["sessions", "delete", id]).await;
    assert!(deleted.starts_with("Deleted "), "{deleted}{errors}");
    let (_, listed, _) = run(&["sessions", "list"]).await;
    assert!(listed.lines().count() == 3 && !listed.contains(id), "{listed}");

    let write = |system: &str| {
        let context = json!({"Kind": "conversation", "Id": "brief", "Name": "Brief", "System": system});
        std::fs::create_dir_all(folder.path().join("agents")).unwrap();
        std::fs::write(folder.path().join("agents/brief.json"), context.to_string()).unwrap();
    };
    write("Be brief.");
    let (_, output, errors) = run(&["agents", "apply", "agents", "--dry-run"]).await;
    assert!(
        output.contains("+  \"System\": \"Be brief.\"") && output.ends_with("1 change, not applied.\n"),
        "{output}{errors}"
    );
    let (status, _, errors) = run(&["agents", "apply", "agents"]).await;
    assert!(status == Some(2) && errors.contains("Pass --yes"), "{errors}");
    let (_, output, errors) = run(&["agents", "apply", "agents", "--yes"]).await;
    assert!(output.contains("Saved brief as 1-"), "{output}{errors}");
    let (_, output, errors) = run(&["agents", "apply", "agents", "--yes"]).await;
    assert_eq!(output, "Nothing to change.\n", "{errors}");
    write("Be briefer.");
    let (_, output, errors) = run(&["agents", "apply", "agents", "--yes"]).await;
    assert!(
        output.contains("-  \"System\": \"Be brief.\"") && output.contains("Saved brief as 2-"),
        "{output}{errors}"
    );
    let (_, output, errors) = run(&["agents", "pull", "pulled"]).await;
    assert!(output.contains("brief.conversation.json"), "{output}{errors}");
    let (_, output, errors) = run(&["agents", "apply", "pulled", "--yes"]).await;
    assert_eq!(output, "Nothing to change.\n", "{errors}");
    let (status, _, errors) = run(&["contexts", "delete", "brief"]).await;
    assert!(status == Some(2) && errors.contains("Pass --yes to delete."), "{errors}");
    let (status, _, errors) = run(&["contexts", "delete", "brieff"]).await;
    assert!(status == Some(1) && errors.contains("acme has no context \"brieff\""), "{errors}");
    let (_, output, errors) = run(&["contexts", "delete", "brief", "--yes"]).await;
    assert_eq!(output, "Deleted for acme: conversation brief\n", "{errors}");
    system.cloud.shutdown().await;
}

/// A user works in a folder of a project, in another folder, and with several clouds.
#[cfg(unix)]
#[tokio::test]
async fn commands_find_running_cloud_from_any_folder() {
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| {
        let path = root.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.canonicalize().unwrap()
    };
    let (state, first, second, elsewhere) =
        (folder("state"), folder("first/src"), folder("second"), folder("elsewhere"));
    let registry = [("XDG_STATE_HOME", state.to_str().unwrap())];
    let start = |project: &Path| aptix(&["--port", "0"], &registry).current_dir(project).spawn().unwrap();
    let run = async |at: &Path, arguments: &[&str], token: &str| {
        let command = aptix(arguments, &registry).env("APTIX_TOKEN", token).current_dir(at).output();
        let done = tokio::time::timeout(PATIENCE, command).await.expect("an end").unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let mut one = start(first.parent().unwrap());
    let line = curl_line(&mut one).await;
    let url = line
        .split_once("http://")
        .map(|(_, rest)| format!("http://{}", rest.split('/').next().unwrap()))
        .unwrap();

    let (status, token, errors) = run(&elsewhere, &["token", "--org", "acme", "--user", "ada"], "").await;
    assert_eq!(status, Some(0), "{errors}");
    for arguments in
        [&["agents", "list"][..], &["contexts", "list"], &["usage", "--api-url", &url], &["console"]]
    {
        let (status, _, errors) = run(&elsewhere, arguments, "").await;
        assert_eq!(status, Some(0), "{arguments:?}: {errors}");
    }
    let (status, _, errors) = run(&elsewhere, &["usage"], token.trim()).await;
    assert_eq!(status, Some(0), "{errors}");
    // A folder with the data of a cloud that doesn't run chooses the running one for every command.
    let stopped = folder("stopped/.local-cloud").parent().unwrap().to_owned();
    let (status, other, errors) = run(&stopped, &["token", "--org", "acme", "--user", "zoe"], "").await;
    assert_eq!(status, Some(0), "{errors}");
    let (status, _, errors) = run(&stopped, &["usage"], other.trim()).await;
    assert_eq!(status, Some(0), "{errors}");
    let (status, _, errors) = run(&elsewhere, &["usage"], "wrong").await;
    assert!(status == Some(1) && errors.contains("Unauthenticated"), "{errors}");
    let (status, _, errors) = run(&elsewhere, &["chat", "Hello there"], "").await;
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0, "nothing is started there");

    let mut two = start(&second);
    curl_line(&mut two).await;
    for arguments in [&["agents", "list"][..], &["chat", "Hello"]] {
        let (status, _, errors) = run(&elsewhere, arguments, "").await;
        assert_eq!(status, Some(1), "{errors}");
        let choice = format!("  {url}  --data {}", first.parent().unwrap().join(".local-cloud").display());
        assert!(errors.contains("Choose one with --data:") && errors.contains(&choice), "{errors}");
    }
    let (status, link, errors) = run(&first, &["console"], "").await;
    assert!(status == Some(0) && link.starts_with(&url), "{link}{errors}");

    one.kill().await.unwrap();
    two.kill().await.unwrap();
    let (status, _, errors) = run(&elsewhere, &["agents", "list"], "").await;
    assert!(status == Some(1) && errors.contains("No local cloud is running"), "{errors}");
    let (status, output, errors) = run(&elsewhere, &["chat", "Hello there"], "").await;
    assert!(status == Some(0) && !output.is_empty(), "{errors}");
    assert!(errors.contains("No local cloud was running. This is a local cloud on "), "{errors}");
}

/// Nothing listens at the address, so a file that was read ends in a failed connection.
#[tokio::test]
async fn json_files_may_begin_with_byte_order_mark() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bom.json");
    let file = file.to_str().unwrap();
    let api = ["--api-url", "http://127.0.0.1:1", "--token", "x"];
    for command in [&["budgets", "put"][..], &["admin", "org-settings", "put"], &["agents", "put"]] {
        let arguments = [command, &[file], &api].concat();
        std::fs::write(file, "\u{feff}{\"Kind\":\"agent\",\"Id\":\"a\",\"Budgets\":[]}").unwrap();
        let (status, _, errors) = run(&arguments).await;
        assert_eq!(status, Some(1), "{errors}");
        assert!(errors.contains("http://127.0.0.1:1"), "{command:?}: {errors}");
        std::fs::write(file, "{").unwrap();
        let (status, _, errors) = run(&arguments).await;
        let invalid = format!("Invalid JSON in {file}: EOF while parsing an object at line 1 column 1");
        assert_eq!((status, errors.trim()), (Some(1), format!("error: {invalid}").as_str()), "{command:?}");
    }
}

#[tokio::test]
async fn console_link_of_running_cloud_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let (status, _, errors) = run(&["console", "--data", data]).await;
    assert_eq!(status, Some(1));
    assert!(errors.contains("No local cloud is running"), "{errors}");
    let system =
        System::with(local::Options { data: Data::Folder(folder.path().to_owned()), ..options() }).await;
    let (status, output, errors) = run(&["console", "--data", data]).await;
    assert_eq!((status, output.trim()), (Some(0), system.cloud.console_url().as_str()), "{errors}");
}

/// Needs a file system of its own for the data folder, which Linux lets some users mount.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn full_disk_is_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display();
    let program = env!("CARGO_BIN_EXE_aptix");
    let mounted = format!("mount -t tmpfs -o size=24m,mode=700 aptix '{data}'");
    let probe = Command::new("unshare").args(["-rm", "sh", "-c", &mounted]).output().await;
    if !probe.is_ok_and(|probe| probe.status.success()) {
        println!("skipped: can't mount a file system");
        return;
    }
    // The disk fills up as soon as the cloud has started.
    let script = format!(
        "{mounted} && '{program}' --data '{data}' --port 0 & sleep 1; read line; \
         '{program}' token --org acme --user ada --data '{data}'; \
         dd if=/dev/zero of='{data}/filler' bs=64k 2>/dev/null; echo filled; wait"
    );
    let mut command = Command::new("unshare");
    // The processes end with this one.
    command.args(["-rm", "--fork", "--pid", "--kill-child", "sh", "-c", &script]);
    command.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut cloud = command.spawn().unwrap();
    let mut lines = BufReader::new(cloud.stdout.take().unwrap()).lines();
    let curl = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("a line to paste");
            if line.starts_with("curl ") {
                return line;
            }
        }
    };
    let curl = tokio::time::timeout(PATIENCE, curl).await.expect("a start");
    // The script goes on once its input ends.
    drop(cloud.stdin.take());
    let filled = async {
        let mut token = String::new();
        loop {
            match lines.next_line().await.unwrap() {
                Some(line) if line == "filled" => return token,
                Some(line) if line.starts_with("ey") => token = line,
                _ => {}
            }
        }
    };
    let token = tokio::time::timeout(PATIENCE, filled).await.expect("a full disk");
    let url = curl.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
    let request = reqwest::Client::new().post(url).bearer_auth(token).body(turn("hello").to_string());
    let started = Instant::now();
    let refused = request.header("content-type", "application/json").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    let refused: Value = serde_json::from_str(&refused.text().await.unwrap()).unwrap();
    assert_eq!(refused["Errors"][0]["ErrorCode"], "StorageUnavailable", "{refused}");
    assert!(refused["Errors"][0]["Message"].as_str().unwrap().contains("disk"), "{refused}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let mut reported = BufReader::new(cloud.stderr.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, reported.next_line()).await.unwrap().unwrap().unwrap();
    assert!(line.contains("The local cloud's disk is full."), "{line}");
    let _ = cloud.kill().await;
}
