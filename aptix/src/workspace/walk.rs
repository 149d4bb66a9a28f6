//! Lists and searches files. Files that git ignores are left out.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use regex::RegexBuilder;
use serde_json::{Value, json};

use super::error::{Error, io_reason};
use super::folder::{Workspace, relative_path};
use super::protection::Protection;

/// Files listed by one call, at most.
const MAX_FILES: usize = 1_000;
/// Files searched by one call, at most.
const MAX_SEARCHED_FILES: usize = 20_000;
/// Matching lines returned by one call, at most.
const MAX_MATCHES: usize = 200;
/// Length of a returned line in characters, at most.
const MAX_LINE_CHARS: usize = 300;
/// Size of a compiled pattern in bytes, at most.
const MAX_PATTERN_BYTES: usize = 1 << 20;

impl Workspace {
    pub(super) fn list(&self, path: &str) -> Result<Value, Error> {
        let mut files: Vec<String> = self.files(path)?.take(MAX_FILES + 1).collect();
        let is_truncated = files.len() > MAX_FILES;
        files.truncate(MAX_FILES);
        Ok(json!({ "files": files, "more": is_truncated }))
    }

    pub(super) fn search(&self, pattern: &str, path: &str) -> Result<Value, Error> {
        let pattern = RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build();
        let pattern = pattern.map_err(|error| Error::Pattern(error.to_string()))?;
        let mut found = Vec::new();
        let mut is_truncated = false;
        for file in self.files(path)?.take(MAX_SEARCHED_FILES) {
            // Files that may hold secrets are skipped, as are binary and oversized ones.
            if Protection::of(Path::new(&file)).is_some_and(Protection::covers_reads) {
                continue;
            }
            let Ok(text) = self.text(&file) else { continue };
            let lines = text.lines().zip(1_u64..).filter(|(line, _)| pattern.is_match(line));
            for (line, number) in lines {
                if found.len() == MAX_MATCHES {
                    is_truncated = true;
                    break;
                }
                let text: String = line.chars().take(MAX_LINE_CHARS).collect();
                found.push(json!({ "path": file, "line": number, "text": text }));
            }
            if is_truncated {
                break;
            }
        }
        Ok(json!({ "matches": found, "more": is_truncated }))
    }

    /// Returns the files below a folder in order, with paths relative to the root.
    fn files(&self, path: &str) -> Result<impl Iterator<Item = String> + use<>, Error> {
        let folder = if path.is_empty() { "." } else { path };
        let file_error =
            |error: std::io::Error| Error::File { path: path.to_owned(), why: io_reason(&error) };
        // Follow links, but not out of the workspace.
        let folder = self.dir.canonicalize(relative_path(folder)?).map_err(file_error)?;
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
