//! `aptix index` of files that nobody wrote by hand: the run goes on, says which files it split by lines, and a signal
//! ends it at any moment.

use std::{path::Path, time::Duration};

use crate::indexing::write;
use crate::support::System;

/// A file of every grammar and of every other splitter.
const EXTENSIONS: [&str; 13] =
    ["rs", "ts", "tsx", "js", "py", "go", "java", "c", "cpp", "cs", "md", "json", "yaml"];

/// Writes files in which parsers take long, and one that is like any other.
fn write_pathological(folder: &Path) {
    let lines = |text: &str, bytes: usize| format!("{}\n", text.repeat(100)).repeat(bytes / text.len() / 100);
    let texts = [
        ("parentheses", format!("x = {}1{}\n", lines("(", 5_000), ")".repeat(5_000))),
        ("brackets", format!("x = {}1{}\n", lines("[", 5_000), "]".repeat(5_000))),
        ("blocks", format!("{}{}\n", lines("if a {", 10_000), "}".repeat(1_600))),
        ("lists", (0..120).map(|depth| format!("{}- a\n", " ".repeat(2 * depth))).collect()),
        ("quotes", lines("> ", 10_000)),
        ("nests", format!("{}1{}\n", lines("{\"a\":[", 10_000), "]}".repeat(1_600))),
        ("string", format!("x = \"{}", lines("a b ", 30_000))),
        ("raw", lines("r#\"", 60_000)),
        ("comment", format!("/* {}", lines("a /* ", 30_000))),
        ("tokens", lines("a,", 60_000)),
        ("token", "a".repeat(100_000)),
    ];
    for extension in EXTENSIONS {
        for (name, text) in &texts {
            write(folder, &[(&format!("{name}.{extension}"), text)]);
        }
    }
    write(folder, &[("zz/lease.rs", "fn renew_lease() {}\n")]);
}

#[tokio::test]
async fn pathological_folder_is_indexed_and_fallbacks_are_listed() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    write_pathological(folder.path());
    let told = system.index(folder.path(), "acme").await;
    assert!(told.starts_with("132 files indexed, 0 unchanged, 0 deleted, 12 skipped"), "{told}");
    assert!(told.contains("Split by lines, too many syntax errors: "), "{told}");
    assert!(told.contains("\n  raw.rs"), "{told}");
    let found = system.search("renew the lease", "acme").await;
    assert!(found.starts_with("zz/lease.rs:1-1  "), "{found}");
}

#[cfg(unix)]
#[tokio::test]
async fn signal_ends_a_run_amid_pathological_files() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    write_pathological(folder.path());
    for (option, signal, status) in [("--force", "-TERM", 130), ("--watch", "-INT", 0)] {
        let mut run = crate::indexing::command(&["index", folder.path().to_str().unwrap(), option])
            .args(["--org", "acme", "--repo", "core", "--data", system.folder()])
            .stderr(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(run.try_wait().unwrap().is_none(), "the run is over before the signal");
        let id = run.id().unwrap().to_string();
        assert!(tokio::process::Command::new("kill").args([signal, &id]).status().await.unwrap().success());
        let exit = tokio::time::timeout(Duration::from_secs(1), run.wait()).await;
        let exit = exit.unwrap_or_else(|_| panic!("{option}: the run goes on")).unwrap();
        assert_eq!(exit.code(), Some(status), "{option}");
    }
}
