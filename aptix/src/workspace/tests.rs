use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::folder::MAX_FILE_BYTES;
use super::*;

/// A workspace, and next to it a file outside of it.
fn workspace() -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("work");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(folder.path().join("secret.txt"), "outside\n").unwrap();
    fs::write(root.join("src/lib.rs"), "one\ntwo\nthree\n").unwrap();
    fs::write(root.join("notes.md"), "two words\n").unwrap();
    fs::write(root.join(".gitignore"), "ignored.txt\n").unwrap();
    fs::write(root.join("ignored.txt"), "two\n").unwrap();
    let workspace = Workspace::open(&root).unwrap();
    (folder, workspace)
}

fn call(workspace: &Workspace, name: &str, arguments: Value) -> Result<Value, String> {
    let call = Call::parse(name, &arguments.to_string()).map_err(|error| error.to_string())?;
    workspace.read_only(&call).map_err(|error| error.to_string())
}

const PATCH: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

#[test]
fn files_are_read_listed_and_searched() {
    let (_folder, workspace) = workspace();
    let read = call(&workspace, "workspace_read_file", json!({"path": "src/lib.rs"}));
    assert_eq!(read, Ok(json!({"text": "one\ntwo\nthree\n"})));
    let listed = call(&workspace, "workspace_list_files", json!({"path": ""})).unwrap();
    assert_eq!(listed, json!({"files": [".gitignore", "notes.md", "src/lib.rs"], "more": false}));
    let listed = call(&workspace, "workspace_list_files", json!({"path": "src"})).unwrap();
    assert_eq!(listed["files"], json!(["src/lib.rs"]));
    let found = call(&workspace, "workspace_search_text", json!({"pattern": "^two", "path": "."})).unwrap();
    let at = |path, line, text| json!({"path": path, "line": line, "text": text});
    assert_eq!(found["matches"], json!([at("notes.md", 1, "two words"), at("src/lib.rs", 2, "two")]));
}

#[test]
fn no_path_escapes_workspace() {
    let (folder, workspace) = workspace();
    let outside = folder.path().join("secret.txt");
    let mut paths = vec!["../secret.txt", "src/../../secret.txt", "", outside.to_str().unwrap()];
    #[cfg(unix)]
    {
        let root = folder.path().join("work");
        std::os::unix::fs::symlink("../secret.txt", root.join("link.txt")).unwrap();
        std::os::unix::fs::symlink(folder.path(), root.join("up")).unwrap();
        paths.extend(["link.txt", "up/secret.txt"]);
    }
    for path in paths {
        let read = call(&workspace, "workspace_read_file", json!({"path": path}));
        assert!(read.is_err(), "{path}");
        let new = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n";
        let deletion = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-outside\n";
        let written = workspace.prepare_change(path, new).and_then(|change| workspace.write(&change));
        assert!(written.is_err(), "{path}");
        assert!(workspace.prepare_change(path, deletion).is_err(), "{path}");
        if !path.is_empty() {
            let listed = call(&workspace, "workspace_list_files", json!({"path": path}));
            assert!(listed.is_err(), "{path}: {listed:?}");
        }
    }
    let new = "--- /dev/null\n+++ b/deep.txt\n@@ -0,0 +1 @@\n+x\n";
    let deep = workspace.prepare_change("up/new/deep.txt", new).and_then(|change| workspace.write(&change));
    assert!(deep.is_err() || !cfg!(unix));
    assert_eq!(fs::read_to_string(outside).unwrap(), "outside\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    let found = call(&workspace, "workspace_search_text", json!({"pattern": "outside", "path": ""})).unwrap();
    assert_eq!(found["matches"], json!([]));
}

#[test]
fn patch_changes_creates_and_deletes_files() {
    let (folder, workspace) = workspace();
    let root = folder.path().join("work");
    let apply = |path: &str, patch: &str| {
        let change = workspace.prepare_change(path, patch)?;
        workspace.write(&change)
    };
    apply("src/lib.rs", PATCH).unwrap();
    assert_eq!(fs::read_to_string(root.join("src/lib.rs")).unwrap(), "one\n2\nthree\n");
    apply("new/deep.txt", "--- /dev/null\n+++ b/new/deep.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n").unwrap();
    assert_eq!(fs::read_to_string(root.join("new/deep.txt")).unwrap(), "a\nb\n");
    apply("notes.md", "--- a/notes.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-two words\n").unwrap();
    assert!(!root.join("notes.md").exists());
    assert_eq!(fs::read_dir(root.join("src")).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn patch_that_does_not_apply_changes_nothing() {
    let (folder, workspace) = workspace();
    for (path, patch, why) in [
        ("notes.md", PATCH, "the patch does not apply"),
        ("src/lib.rs", "no diff at all", "no hunk"),
        ("missing.rs", PATCH, "no such file"),
        ("src/lib.rs", "--- /dev/null\n+++ b/src/lib.rs\n@@ -0,0 +1 @@\n+x\n", "already exists"),
    ] {
        let refused = workspace.prepare_change(path, patch).unwrap_err().to_string();
        assert!(refused.contains(why), "{path}: {refused}");
    }
    let contents = fs::read_to_string(folder.path().join("work/src/lib.rs")).unwrap();
    assert_eq!(contents, "one\ntwo\nthree\n");
}

#[test]
#[cfg(unix)]
fn patched_file_keeps_permissions_and_links() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, workspace) = workspace();
    let root = folder.path().join("work");
    fs::set_permissions(root.join("src/lib.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("src/lib.rs", root.join("link.rs")).unwrap();
    let change = workspace.prepare_change("link.rs", PATCH).unwrap();
    workspace.write(&change).unwrap();
    assert!(fs::symlink_metadata(root.join("link.rs")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(root.join("src/lib.rs")).unwrap(), "one\n2\nthree\n");
    assert_eq!(fs::metadata(root.join("src/lib.rs")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn invalid_tool_calls_are_refused() {
    let (_folder, workspace) = workspace();
    for (name, arguments, why) in [
        ("rm", json!({}), "this client has no tool rm"),
        ("workspace_read_file", json!({"path": 1}), "invalid arguments for workspace_read_file"),
        ("workspace_search_text", json!({"pattern": "(", "path": ""}), "not a valid regular expression"),
    ] {
        let refused = call(&workspace, name, arguments).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    let large = vec![b'x'; usize::try_from(MAX_FILE_BYTES).unwrap() + 1];
    fs::write(workspace.root.join("large.txt"), large).unwrap();
    fs::write(Path::new(&workspace.root).join("binary"), [0, 159, 146, 150]).unwrap();
    for (path, why) in [("large.txt", "larger than"), ("binary", "not a text file"), ("src", "not a file")] {
        let refused = call(&workspace, "workspace_read_file", json!({"path": path})).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

/// A workspace with a file, and the result of patching the file.
fn patched(before: &str, patch: &str) -> Result<(String, String), String> {
    let (folder, workspace) = workspace();
    let file = folder.path().join("work/file.txt");
    fs::write(&file, before).unwrap();
    let change = workspace.prepare_change("file.txt", patch).map_err(|error| error.to_string())?;
    workspace.write(&change).map_err(|error| error.to_string())?;
    Ok((change.hunks, fs::read_to_string(file).unwrap_or_default()))
}

#[test]
fn text_that_belongs_to_no_hunk_is_refused() {
    let header = "--- a/file.txt\n+++ b/file.txt\n";
    let hunk = "@@ -1 +1 @@\n-one\n+two\n";
    let git = "diff --git a/file.txt b/file.txt\nindex 1..2 100644\n";
    assert_eq!(patched("one\n", &format!("{git}{header}{hunk}\n")).unwrap().1, "two\n");
    for (patch, line) in [
        (format!("{header}{hunk}+three\n"), 6),
        (format!("{header}{hunk}-x\n\n+y\n"), 6),
        (format!("{header}{hunk}This only adds a comment.\n"), 6),
        (format!("{header}{hunk}--- a/b.txt\n+++ b/b.txt\n"), 6),
        (format!("rename from a\n{header}{hunk}"), 1),
    ] {
        let refused = patched("one\n", &patch).unwrap_err();
        assert!(
            refused.contains(&format!("line {line} of the patch belongs to no hunk")),
            "{patch}: {refused}"
        );
    }
}

#[test]
fn shown_hunks_are_the_applied_change() {
    // The header lies about the line.
    let patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn harmless()\n three\n-four\n+4\n";
    let (hunks, after) = patched("one\ntwo\nthree\nfour\n", patch).unwrap();
    assert_eq!(hunks, "@@ -3,2 +3,2 @@\n three\n-four\n+4\n");
    assert_eq!(after, "one\ntwo\nthree\n4\n");
    // Carriage returns are kept, and part of the match.
    let patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\r\n+1\r2\r\n two\r\n";
    let (hunks, after) = patched("one\r\ntwo\r\n", patch).unwrap();
    assert_eq!((hunks.matches('\r').count(), after.as_str()), (4, "1\r2\r\ntwo\r\n"));
    assert!(patched("one\ntwo\n", patch).unwrap_err().contains("does not apply"));
    // A missing line break at the end is shown.
    let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n\\ No newline at end of file\n";
    let (hunks, after) = patched("one\n", patch).unwrap();
    assert!(hunks.ends_with("+two\n\\ No newline at end of file\n"));
    assert_eq!(after, "two");
    assert!(patched("one\nrest\n", patch).unwrap_err().contains("does not apply"));
    // A deletion removes every line that the file has.
    let deletion = "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n";
    assert!(patched("one\nrest\n", deletion).unwrap_err().contains("does not remove all"));
    assert_eq!(patched("one\n", deletion).unwrap().1, "");
}

#[test]
fn hunks_apply_in_order_at_shifted_lines() {
    let before: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let patch = "--- a/x\n+++ b/x\n@@ -2,2 +2,3 @@\n 2\n+2.5\n 3\n@@ -10,0 +12,1 @@\n+10.5\n@@ -19,2 +20,1 @@\n-19\n 20\n";
    let (hunks, after) = patched(&before, patch).unwrap();
    let expected = before.replace("3\n4", "2.5\n3\n4").replace("11\n", "10.5\n11\n").replace("19\n", "");
    assert_eq!(after, expected);
    assert!(hunks.contains("@@ -10,0 +12,1 @@\n") && hunks.contains("@@ -19,2 +21,1 @@\n"), "{hunks}");
}

#[test]
fn change_is_refused_if_the_file_changed_before_approval() {
    let (folder, workspace) = workspace();
    let file = folder.path().join("work/src/lib.rs");
    let change = workspace.prepare_change("src/lib.rs", PATCH).unwrap();
    fs::write(&file, "one\ntwo\nthree\nfour\n").unwrap();
    assert!(workspace.write(&change).unwrap_err().to_string().contains("changed before"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\nfour\n");
}

#[test]
#[cfg(unix)]
fn names_in_workspace_are_no_temporary_files() {
    let (folder, workspace) = workspace();
    let root = folder.path().join("work");
    fs::write(root.join("src/victim"), "precious\n").unwrap();
    std::os::unix::fs::symlink("victim", root.join("src/.aptix-patch")).unwrap();
    let change = workspace.prepare_change("src/lib.rs", PATCH).unwrap();
    workspace.write(&change).unwrap();
    assert_eq!(fs::read_to_string(root.join("src/victim")).unwrap(), "precious\n");
    assert_eq!(fs::read_to_string(root.join("src/lib.rs")).unwrap(), "one\n2\nthree\n");
    assert!(fs::symlink_metadata(root.join("src/lib.rs")).unwrap().is_file());
}

#[test]
#[cfg(unix)]
fn pipes_are_refused_without_opening_them() {
    let (folder, workspace) = workspace();
    let pipe = folder.path().join("work/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let read = call(&workspace, "workspace_read_file", json!({"path": "pipe"}));
    assert!(read.unwrap_err().contains("not a file"));
    assert!(workspace.prepare_change("pipe", PATCH).unwrap_err().to_string().contains("not a file"));
    call(&workspace, "workspace_search_text", json!({"pattern": "x", "path": ""})).unwrap();
}

#[test]
#[cfg(unix)]
fn links_to_protected_files_are_protected() {
    let (folder, workspace) = workspace();
    let root = folder.path().join("work");
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::write(root.join(".env"), "KEY=two\n").unwrap();
    std::os::unix::fs::symlink(".env", root.join("notes.txt")).unwrap();
    std::os::unix::fs::symlink(".git", root.join("docs")).unwrap();
    for (path, protection) in [
        ("notes.txt", Some(Protection::Secret)),
        ("docs/hooks/post-commit", Some(Protection::Git)),
        (".gitignore", Some(Protection::Hidden)),
        ("src/lib.rs", None),
    ] {
        assert_eq!(workspace.protection(path).unwrap(), protection, "{path}");
    }
    let found = call(&workspace, "workspace_search_text", json!({"pattern": "KEY", "path": ""})).unwrap();
    assert_eq!(found["matches"], json!([]));
}
