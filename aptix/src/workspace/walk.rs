//! What files there are, and where a text is in them. What git ignores is left out.

use std::path::PathBuf;

use ignore::WalkBuilder;
use regex::RegexBuilder;
use serde_json::{Value, json};

use super::{Error, Workspace, inside, plain};

/// How many files one call lists.
const MOST_FILES: usize = 1_000;
/// How many files one call looks into.
const MOST_SEARCHED: usize = 20_000;
/// How many lines one call finds.
const MOST_LINES: usize = 200;
/// How much of a line is shown, in characters.
const MOST_OF_LINE: usize = 300;
/// How large an expression may be once it is compiled, in bytes.
const LARGEST_PATTERN: usize = 1 << 20;

impl Workspace {
    pub(super) fn list(&self, path: &str) -> Result<Value, Error> {
        let mut files: Vec<String> = self.files(path)?.take(MOST_FILES + 1).collect();
        let is_cut = files.len() > MOST_FILES;
        files.truncate(MOST_FILES);
        Ok(json!({ "files": files, "more": is_cut }))
    }

    pub(super) fn search(&self, pattern: &str, path: &str) -> Result<Value, Error> {
        let pattern = RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build();
        let pattern = pattern.map_err(|error| Error::Pattern(error.to_string()))?;
        let mut found = Vec::new();
        let mut is_cut = false;
        for file in self.files(path)?.take(MOST_SEARCHED) {
            // What is no text, or too large, has no lines.
            let Ok(text) = self.text(&file) else { continue };
            let lines = text.lines().zip(1_u64..).filter(|(line, _)| pattern.is_match(line));
            for (line, number) in lines {
                if found.len() == MOST_LINES {
                    is_cut = true;
                    break;
                }
                let text: String = line.chars().take(MOST_OF_LINE).collect();
                found.push(json!({ "path": file, "line": number, "text": text }));
            }
            if is_cut {
                break;
            }
        }
        Ok(json!({ "matches": found, "more": is_cut }))
    }

    /// The files below a folder, in their order, with paths relative to the root.
    fn files(&self, path: &str) -> Result<impl Iterator<Item = String> + use<>, Error> {
        let folder = if path.is_empty() { "." } else { path };
        let told = |error: std::io::Error| Error::File { path: path.to_owned(), why: plain(&error) };
        // Where it leads, links followed, and not out of the workspace.
        let folder = self.dir.canonicalize(inside(folder)?).map_err(told)?;
        let root: PathBuf = self.root.clone();
        let walk = WalkBuilder::new(root.join(folder))
            .hidden(false)
            .require_git(false)
            .follow_links(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .sort_by_file_name(Ord::cmp)
            .build();
        let files =
            walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        Ok(files.filter_map(move |entry| {
            let relative = entry.path().strip_prefix(&root).ok()?;
            Some(relative.to_str()?.replace(std::path::MAIN_SEPARATOR, "/"))
        }))
    }
}
