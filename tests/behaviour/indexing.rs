//! `local index` and `local search`: a folder becomes points, stays current, and is found by its own org alone.

use std::{
    fs,
    path::Path,
    process::{Output, Stdio},
    time::{Duration, Instant},
};

use local::{Data, Options};
use qdrant_client::qdrant::DeleteFieldIndexCollectionBuilder;
use retrieval::connection::Clients;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use crate::support::{PATIENCE, System, options, said, turn};

/// A command without service addresses in its environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aptix"));
    for variable in ["QDRANT_URL", "EMBEDDING_BASE_URL", "OPENAI_BASE_URL", "EMBEDDING_MODEL"] {
        command.env_remove(variable);
    }
    command.args(arguments);
    command
}

/// Runs a command and returns its output.
async fn local(arguments: &[&str]) -> Output {
    command(arguments).output().await.expect("it runs")
}

async fn told(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = local(arguments).await;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

impl System {
    pub(crate) fn folder(&self) -> &str {
        self.cloud.data_folder().to_str().unwrap()
    }

    pub(crate) async fn index(&self, folder: &Path, org: &str) -> String {
        self.index_with(folder, org, &[]).await
    }

    pub(crate) async fn index_with(&self, folder: &Path, org: &str, options: &[&str]) -> String {
        let arguments =
            ["index", folder.to_str().unwrap(), "--org", org, "--repo", "core", "--data", self.folder()];
        told(&[&arguments, options].concat()).await
    }

    pub(crate) async fn search(&self, question: &str, org: &str) -> String {
        told(&["search", question, "--org", org, "--data", self.folder()]).await
    }

    fn embedded(&self) -> usize {
        self.cloud.model().expect("the mock model").embeddings().texts
    }
}

pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

#[tokio::test]
async fn folder_is_indexed_once_for_its_org_and_updated() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[
            (
                "src/lease.rs",
                "//! Leases of running turns.\n\nfn renew_lease(turn: &Turn) {\n    turn.extend();\n}\n",
            ),
            ("src/parser.py", "def parse_header(line):\n    return line.split(':')\n"),
            ("docs/guide.md", "# Guide\n\n## Deploying\n\nRun the deployment from the pipeline.\n"),
            (".env", "KEY=secret\n"),
            (".gitignore", "/out\n"),
            ("out/built.rs", "fn built() {}\n"),
        ],
    );
    system.client("acme", "ada").execute(&turn("Hello.")).await.result();
    assert!(!said(&system.last_call()).contains("[CONTEXT]"));
    let first = system.index(folder.path(), "acme").await;
    assert!(first.starts_with("4 files indexed, 0 unchanged, 0 deleted, 1 skipped"), "{first}");
    assert!(first.contains("may hold a secret: 1"), "{first}");

    let found = system.search("How is the lease of a turn renewed?", "acme").await;
    assert!(found.starts_with("src/lease.rs:1-5  "), "{found}");
    assert!(!found.contains("secret") && !found.contains("built"), "{found}");
    let found = system.search("Where is the deployment started?", "acme").await;
    assert!(found.starts_with("docs/guide.md:"), "{found}");
    assert_eq!(system.search("How is the lease of a turn renewed?", "other").await, "No results.\n");

    // A turn is told the same, though its functions ran before there was anything to search.
    let ada = system.client("acme", "ada");
    ada.execute(&turn("How is the lease of a turn renewed?")).await.result();
    let call = said(&system.last_call());
    assert!(call.contains("[CONTEXT]") && call.contains("Path: src/lease.rs"), "{call}");
    system.client("other", "eve").execute(&turn("How is the lease renewed?")).await.result();
    assert!(!said(&system.last_call()).contains("lease.rs"));

    // Nothing changed: nothing is sent.
    let before = system.embedded();
    let second = system.index(folder.path(), "acme").await;
    assert!(second.starts_with("0 files indexed, 4 unchanged, 0 deleted, 1 skipped; 0 chunks"), "{second}");
    assert_eq!(system.embedded(), before);

    write(folder.path(), &[("src/parser.py", "def read_cookie(jar):\n    return jar.cookie\n")]);
    fs::remove_file(folder.path().join("docs/guide.md")).unwrap();
    let third = system.index(folder.path(), "acme").await;
    assert!(
        third.starts_with("1 files indexed, 2 unchanged, 1 deleted, 1 skipped; 1 chunks stored, 1 deleted"),
        "{third}"
    );
    let found = system.search("read the cookie", "acme").await;
    assert!(found.starts_with("src/parser.py:1-2  "), "{found}");
    let found = system.search("Where is the deployment started?", "acme").await;
    assert!(!found.contains("guide.md") && !found.contains("parse_header"), "{found}");

    // Another org's repository of the same name is another one, also where the org's name is a part of the other's.
    for org in ["other", "acme corp", "acme corp west"] {
        let other = system.index(folder.path(), org).await;
        assert!(other.starts_with("3 files indexed, 0 unchanged, 0 deleted"), "{other}");
    }
    let again = system.index(folder.path(), "acme corp").await;
    assert!(again.starts_with("0 files indexed, 3 unchanged, 0 deleted"), "{again}");
    let found = system.search("read the cookie", "acme").await;
    assert_eq!(found.matches("parser.py").count(), 1, "{found}");
}

#[tokio::test]
async fn run_without_changes_adds_missing_payload_indexes() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("src/lease.rs", "fn renew_lease() {}\n")]);
    system.index(folder.path(), "acme").await;
    let database = system.database().await;
    let index = DeleteFieldIndexCollectionBuilder::new("sources", "LineStart").wait(true).build();
    let drop = |qdrant: Clients| {
        let index = index.clone();
        async move { qdrant.points().delete_field_index(index).await }
    };
    database.call(drop).await.unwrap();
    let schema = async || database.collection("sources").await.unwrap().payload_schema;
    assert!(!schema().await.contains_key("LineStart"));
    system.index(folder.path(), "acme").await;
    assert!(schema().await.contains_key("LineStart"));
}

#[tokio::test]
async fn watched_folder_is_reindexed_on_change() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("src/lease.rs", "fn renew_lease() {}\n"), ("src/turn.rs", "fn end_turn() {}\n")]);
    let mut watching = command(&["index", folder.path().to_str().unwrap(), "--watch"])
        .args(["--org", "acme", "--repo", "core", "--data", system.folder()])
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut told = BufReader::new(watching.stderr.take().unwrap()).lines();
    while !told.next_line().await.unwrap().expect("it watches").starts_with("Watching ") {}
    let found = system.search("renew the lease", "acme").await;
    assert!(found.starts_with("src/lease.rs:1-1  "), "{found}");

    write(folder.path(), &[("src/turn.rs", "fn read_cookie() {}\n")]);
    fs::remove_file(folder.path().join("src/lease.rs")).unwrap();
    let give_up = Instant::now() + PATIENCE;
    loop {
        let found = system.search("read the cookie", "acme").await;
        if found.starts_with("src/turn.rs:1-1  ") && found.contains("read_cookie") && !found.contains("lease")
        {
            break;
        }
        assert!(Instant::now() < give_up, "what changed is not found: {found}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn index_survives_restart_and_wrong_dimensions_name_the_fix() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(folder.path(), &[("src/lease.rs", "fn renew_lease() {}\n")]);
    let here = data.path().join("cloud");
    let arguments = ["--org", "acme", "--repo", "core", "--data", here.to_str().unwrap()];
    let index = async |more: &[&str]| {
        let all = [&["index", folder.path().to_str().unwrap()], &arguments[..], more].concat();
        local(&all).await
    };
    // No cloud runs: the command has one of its own.
    assert!(index(&[]).await.status.success());
    let refused = index(&["--model", "other", "--dimensions", "64"]).await;
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(error.contains("1536 dimensions") && error.contains("makes 64"), "{error}");

    let system = System::with(Options { data: Data::Folder(here), ..options() }).await;
    let found = system.search("renew the lease", "acme").await;
    assert!(found.starts_with("src/lease.rs:1-1  "), "{found}");
}

#[tokio::test]
async fn repository_is_emptied_by_remove_and_reindexed_for_new_chunk_size() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("src/lease.rs", &"fn renew_lease() {}\n".repeat(40))]);
    let dry = system.index_with(folder.path(), "acme", &["--dry-run", "--price", "100"]).await;
    assert!(dry.starts_with("Nothing was changed. A run would give: 1 files indexed"), "{dry}");
    assert!(dry.contains("1 chunks stored") && dry.contains("$0.0"), "{dry}");
    assert_eq!(system.embedded(), 0);

    system.index(folder.path(), "acme").await;
    let smaller = system.index_with(folder.path(), "acme", &["--chunk-size", "200"]).await;
    assert!(smaller.starts_with("1 files indexed, 0 unchanged"), "{smaller}");
    let again = system.index_with(folder.path(), "acme", &["--chunk-size", "200"]).await;
    assert!(again.starts_with("0 files indexed, 1 unchanged"), "{again}");

    fs::remove_dir_all(folder.path().join("src")).unwrap();
    let root = folder.path().to_str().unwrap();
    let emptied = ["index", root, "--org", "acme", "--repo", "core", "--data", system.folder()];
    let refused = local(&emptied).await;
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && error.contains("Pass --remove"), "{error}");
    assert!(system.search("renew the lease", "acme").await.starts_with("src/lease.rs:"));
    let removed = system.index_with(folder.path(), "acme", &["--remove"]).await;
    assert!(removed.starts_with("0 files indexed, 0 unchanged, 1 deleted"), "{removed}");
    assert_eq!(system.search("renew the lease", "acme").await, "No results.\n");
}

#[tokio::test]
async fn search_names_the_repository_and_takes_a_scope() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("README.md", "# Leases\n\n## Renewal\n\nA lease is renewed.\n")]);
    for repo in ["core", "site"] {
        let arguments = ["--org", "acme", "--repo", repo, "--data", system.folder()];
        told(&[&["index", folder.path().to_str().unwrap()], &arguments[..]].concat()).await;
    }
    let search = async |options: &[&str]| {
        let arguments = ["search", "How is a lease renewed?", "--org", "acme", "--data", system.folder()];
        told(&[&arguments, options].concat()).await
    };
    let both = search(&[]).await;
    assert!(both.contains("  core  Leases") && both.contains("  site  Leases"), "{both}");
    let scope = r#"{"Conditions":[{"Key":"Repo","Operator":"!=","Values":["core"]}]}"#;
    for options in [["--json", "--repo", "site"], ["--json", "--scope", scope]] {
        let found: serde_json::Value = serde_json::from_str(&search(&options).await).unwrap();
        let [chunk] = found["Chunks"].as_array().unwrap().as_slice() else { panic!("{found}") };
        let origin = [&chunk["Repo"], &chunk["Path"], &chunk["Section"]];
        assert_eq!(origin, ["site", "README.md", "Leases"], "{found}");
        assert!(chunk["Score"].as_f64().is_some_and(|score| (0.2..=1.0).contains(&score)), "{found}");
    }
    let refused = async |options: &[&str]| {
        let arguments = ["search", "?", "--org", "acme", "--data", system.folder()];
        String::from_utf8(local(&[&arguments, options].concat()).await.stderr).unwrap()
    };
    assert!(refused(&["--repo", " "]).await.contains("the repository's name is empty"));
    assert!(refused(&["--scope", r#"{"Conditions":[{}]}"#]).await.contains("Conditions[0].Key"));
    let down = refused(&["--provider", "http://key@127.0.0.1:1/v1?token=x"]).await;
    assert!(down.contains("The embedding provider at http://127.0.0.1:1/v1 failed"), "{down}");
}

#[tokio::test]
async fn evaluation_reports_the_hit_rate_and_the_misses() {
    let folder = tempfile::tempdir().unwrap();
    let questions = r#"{"Question":"Where is the lease renewed?","Path":"src/lease.rs","Text":"fn renew_lease()"}
{"Question":"Where is the header parsed?","Path":"src/missing.rs","Lines":[1,2]}
"#;
    write(
        folder.path(),
        &[
            ("src/lease.rs", "fn renew_lease() {}\n"),
            ("src/parser.rs", "fn parse_header() {}\n"),
            ("questions.jsonl", questions),
        ],
    );
    let at = |path: &str| folder.path().join(path).to_str().unwrap().to_owned();
    let (root, file) = (folder.path().to_str().unwrap().to_owned(), at("questions.jsonl"));
    let told = told(&["evaluate", &root, &file, "--min-hit-rate", "50"]).await;
    let table = "            @1    @8   @12\nturn         1     1     1\nterms        1     1     1\n";
    assert!(told.contains("Passage hits for 2 questions:") && told.contains(table), "{told}");
    assert!(told.contains("src/missing.rs was not retrieved; the top result is src/parser.rs:1-1"), "{told}");
    assert!(!local(&["evaluate", &root, &file, "--min-hit-rate", "51"]).await.status.success());
}
