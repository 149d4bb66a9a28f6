use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::change::TEMP_FILE;
use super::folder::MAX_FILE_BYTES;
use super::patch::Change;
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
        let written = workspace.prepare_change(path, new).and_then(|change| workspace.write(path, &change));
        assert!(written.is_err(), "{path}");
        assert!(workspace.prepare_change(path, deletion).is_err(), "{path}");
        if !path.is_empty() {
            let listed = call(&workspace, "workspace_list_files", json!({"path": path}));
            assert!(listed.is_err(), "{path}: {listed:?}");
        }
    }
    let deep = workspace.write("up/new/deep.txt", &Change::Write(String::new()));
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
        workspace.write(path, &change)
    };
    apply("src/lib.rs", PATCH).unwrap();
    assert_eq!(fs::read_to_string(root.join("src/lib.rs")).unwrap(), "one\n2\nthree\n");
    apply("new/deep.txt", "--- /dev/null\n+++ b/new/deep.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n").unwrap();
    assert_eq!(fs::read_to_string(root.join("new/deep.txt")).unwrap(), "a\nb\n");
    apply("notes.md", "--- a/notes.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-two words\n").unwrap();
    assert!(!root.join("notes.md").exists());
    assert!(!root.join("src").join(TEMP_FILE).exists());
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
    workspace.write("link.rs", &change).unwrap();
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
