//! `aptix index` of a folder with secrets: none is embedded or stored, and all are listed.

use std::fs;

use crate::indexing::write;
use crate::support::System;

#[path = "../../shared/indexing/src/secrets/planted.rs"]
mod planted;

/// A token of a provider, put together so that no scanner reports this file.
pub(crate) fn token() -> String {
    ["ghp", "_", &"A1b2C3d4E5f6".repeat(3)].concat()
}

impl System {
    /// Returns the texts of all points, and their paths.
    async fn stored(&self) -> String {
        self.points("sources").await.iter().map(ToString::to_string).collect()
    }
}

#[tokio::test]
async fn planted_secrets_are_listed_and_never_embedded() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    let notebook = format!("{{\"cells\": [{{\"source\": [\"key = \\\"{}\\\"\\n\"]}}]}}", token());
    write(
        folder.path(),
        &[
            ("prod.env", "A=1\n"),
            ("scripts/deploy.sh", &format!("#!/bin/sh\n\nexport TOKEN={}\n", token())),
            ("renamed.txt", &format!("token {}\n", token())),
            ("train.ipynb", &notebook),
            ("src/lease.rs", "fn renew_lease() {}\n"),
            (".gitignore", "/outside\n"),
            ("outside/plain.txt", &token()),
        ],
    );
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("outside/plain.txt"), folder.path().join("link.txt"))
        .unwrap();
    let told = system.index(folder.path(), "acme").await;
    let skipped = if cfg!(unix) { 5 } else { 4 };
    assert!(
        told.starts_with(&format!("2 files indexed, 0 unchanged, 0 deleted, {skipped} skipped")),
        "{told}"
    );
    assert!(told.contains("may hold a secret: 4. Index one with --allow-secret PATH."), "{told}");
    for refused in [
        "prod.env (name *.env)",
        "scripts/deploy.sh (secret-setting in line 3)",
        "renamed.txt",
        "train.ipynb",
    ] {
        assert!(told.contains(&format!("\n  {refused}")), "{refused}: {told}");
    }
    assert!(!told.contains(&token()), "{told}");
    let stored = system.stored().await;
    assert!(stored.contains("renew_lease") && !stored.contains(&token()), "{stored}");
}

#[tokio::test]
async fn sixty_planted_secrets_are_listed_and_none_is_stored() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<(String, String)> = [(7, "a"), (11, "b")]
        .into_iter()
        .flat_map(|(seed, below)| {
            planted::planted(seed).into_iter().map(move |(path, text)| (format!("{below}/{path}"), text))
        })
        .chain([("plain.txt".to_owned(), "Some notes.\n".to_owned())])
        .collect();
    write(
        folder.path(),
        &files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>(),
    );
    let told = system.index(folder.path(), "acme").await;
    assert!(told.starts_with("1 files indexed, 0 unchanged, 0 deleted, 60 skipped"), "{told}");
    for (path, _) in files.iter().filter(|(path, _)| path != "plain.txt") {
        assert!(told.contains(&format!("\n  {path} (")), "{path}: {told}");
    }
    let points = system.points("sources").await;
    assert_eq!(points.len(), 1, "{points:?}");
}

#[tokio::test]
async fn indexed_file_that_gets_a_secret_is_removed_unless_allowed() {
    let system = System::start().await;
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("a.txt", "Some notes.\n"), ("b.txt", "Other notes.\n")]);
    system.index(folder.path(), "acme").await;
    fs::write(folder.path().join("a.txt"), format!("The token is {}\n", token())).unwrap();

    let allowed = system.index_with(folder.path(), "acme", &["--allow-secret", "a.txt"]).await;
    assert!(allowed.starts_with("1 files indexed, 1 unchanged, 0 deleted, 0 skipped"), "{allowed}");
    assert!(system.stored().await.contains(&token()));

    let told = system.index(folder.path(), "acme").await;
    assert!(
        told.starts_with("0 files indexed, 1 unchanged, 1 deleted, 1 skipped; 0 chunks stored, 1 deleted"),
        "{told}"
    );
    let stored = system.stored().await;
    assert!(!stored.contains("a.txt") && stored.contains("b.txt"), "{stored}");
}
