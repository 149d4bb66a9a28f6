//! Names, comments and documents against the writing rules of CONTRIBUTING.md.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Words that a doc comment must not open with.
const QUESTION_WORDS: [&str; 10] =
    ["What", "Whether", "How", "When", "Who", "Whom", "Whose", "Why", "Where", "That"];

/// The longest name of a test, in characters.
const MAX_TEST_NAME: usize = 70;

/// The longest README, in lines.
const MAX_README_LINES: usize = 140;

/// At most one doc comment in a hundred lines may open with a question word.
const MAX_QUESTION_PERCENT: usize = 1;

#[test]
fn doc_comments_open_with_a_noun_or_a_verb() {
    let (mut lines, mut offenders) = (0, Vec::new());
    for file in rust_files() {
        let mut inside = false;
        for (number, line) in text(&file).lines().enumerate() {
            let comment = doc_comment(line);
            if let Some(comment) = comment {
                lines += 1;
                let word: String = comment.chars().take_while(|c| c.is_alphabetic()).collect();
                if !inside && QUESTION_WORDS.contains(&word.as_str()) {
                    offenders.push(format!("{}:{}", file.display(), number + 1));
                }
            }
            inside = comment.is_some();
        }
    }
    assert!(lines > 5_000, "only {lines} doc lines were read");
    let most = lines * MAX_QUESTION_PERCENT / 100;
    assert!(offenders.len() <= most, "open with a noun or a verb:\n{}", offenders.join("\n"));
}

#[test]
fn test_names_are_short() {
    let mut offenders = Vec::new();
    for file in rust_files() {
        let mut is_test = false;
        for (number, line) in text(&file).lines().enumerate() {
            let line = line.trim_start();
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if is_test && !line.starts_with("#[") && !line.is_empty() {
                let name =
                    line.split("fn ").nth(1).and_then(|rest| rest.split('(').next()).unwrap_or_default();
                if name.len() > MAX_TEST_NAME {
                    offenders.push(format!("{}:{} {name}", file.display(), number + 1));
                }
                is_test = false;
            }
        }
    }
    assert!(offenders.is_empty(), "subject, situation, result:\n{}", offenders.join("\n"));
}

/// Every log line of the functions has a message from `contracts::log`, so that searches and alarms can rely on it.
#[test]
fn log_messages_are_constants() {
    let (mut calls, mut offenders) = (0, Vec::new());
    for file in rust_files() {
        let path = file.display().to_string();
        if !path.starts_with("shared/") && !path.starts_with("functions/") || path.contains("test") {
            continue;
        }
        let text = text(&file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for level in ["info", "warn", "error"] {
            for (at, call) in code.match_indices(&format!("tracing::{level}!(")) {
                calls += 1;
                let arguments = code[at + call.len()..].split(");").next().unwrap_or_default();
                let is_constant =
                    ["log::", "{message}", "self.message"].iter().any(|part| arguments.contains(part));
                if !is_constant {
                    let line = code[..at].lines().count();
                    offenders.push(format!("{path}:{line}"));
                }
            }
        }
    }
    assert!(calls > 50, "only {calls} calls were found");
    assert!(offenders.is_empty(), "use a constant of contracts::log:\n{}", offenders.join("\n"));
}

#[test]
fn documents_list_every_log_message() {
    let page = text(Path::new("docs/reference/logs.md"));
    let missing: Vec<&&str> =
        contracts::log::ALL.iter().filter(|message| !page.contains(&format!("| `{message}` |"))).collect();
    assert!(missing.is_empty(), "docs/reference/logs.md lacks {missing:?}");
}

#[test]
fn glossary_defines_each_term_once() {
    let glossary = text(Path::new("docs/start/glossary.md"));
    let mut terms: Vec<&str> =
        glossary.lines().filter_map(|line| line.strip_prefix("| **")?.split("**").next()).collect();
    let all = terms.len();
    assert!(all > 40, "only {all} terms were found");
    terms.sort_unstable();
    terms.dedup();
    assert_eq!(terms.len(), all, "a term is defined twice");
}

#[test]
fn readme_is_short_and_has_a_picture() {
    let readme = text(Path::new("README.md"));
    assert!(readme.lines().count() <= MAX_README_LINES, "{} lines", readme.lines().count());
    assert!(readme.contains("!["), "show the console");
}

/// Returns the text of a doc comment's line, if the line is one.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

fn rust_files() -> Vec<PathBuf> {
    tracked().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Returns the tracked files, relative to the root of the repository.
fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().expect("git runs");
    let listed = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let files: Vec<PathBuf> = listed
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect();
    assert!(files.len() > 500, "only {} files are tracked", files.len());
    files
}

fn text(file: &Path) -> String {
    String::from_utf8_lossy(&fs::read(root().join(file)).expect("a tracked file is there")).into_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
