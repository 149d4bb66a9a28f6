//! Finds the indexable files of a folder, and the reasons to skip the others.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::secrets::{self, AllowedSecrets, Finding};

/// Rules for files to skip, in addition to the folder's own ignore files.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The maximum size of a file, in bytes.
    pub max_file_bytes: u64,
    /// Files to skip, by their path below the folder.
    pub exclude: Vec<String>,
    /// Files to index even if they may hold a secret.
    pub allowed_secrets: AllowedSecrets,
}

impl Default for Rules {
    fn default() -> Self {
        Self { max_file_bytes: 1 << 20, exclude: Vec::new(), allowed_secrets: AllowedSecrets::default() }
    }
}

/// A file below the folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceFile {
    /// Its path below the folder, with `/`.
    pub path: String,
    /// Its path in the file system.
    pub location: PathBuf,
}

/// The reason to skip a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It exceeds the size limit of the rules.
    TooLarge,
    /// It isn't text.
    Binary,
    /// It is generated: a lock file, minified code, or a file whose first lines mark it as generated.
    Generated,
    /// It may hold a secret, and embedding would send it to a provider.
    Secret(Finding),
    /// It is empty.
    Empty,
    /// It is unreadable.
    Unreadable,
    /// The rules exclude it.
    Excluded,
}

impl SkipReason {
    /// Returns the reason as a short text.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "too large",
            Self::Binary => "not text",
            Self::Generated => "generated",
            Self::Secret(_) => "may hold a secret",
            Self::Empty => "empty",
            Self::Unreadable => "unreadable",
            Self::Excluded => "excluded",
        }
    }
}

/// Lists every file below the folder that isn't ignored, ordered by path. Hidden files are included, but not the
/// version control's own.
///
/// # Errors
/// Fails if the folder can't be read.
pub fn walk(folder: &Path) -> io::Result<Vec<SourceFile>> {
    // The walk itself would report a missing folder as empty.
    fs::read_dir(folder)?;
    let mut files = Vec::new();
    let walk = WalkBuilder::new(folder)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | ".hg" | ".svn")))
        .build();
    for entry in walk {
        let entry = entry.map_err(io::Error::other)?;
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && let Ok(below) = entry.path().strip_prefix(folder)
            && let Some(path) = with_slashes(below)
        {
            files.push(SourceFile { path, location: entry.path().to_owned() });
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the path with `/`, or `None` if it isn't UTF-8, which a payload can't hold.
fn with_slashes(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

/// Reads the text of a file to index.
///
/// # Errors
/// Returns the reason to skip the file.
pub fn read(file: &SourceFile, rules: &Rules) -> Result<String, SkipReason> {
    if rules.exclude.contains(&file.path) {
        return Err(SkipReason::Excluded);
    }
    let name = file.path.rsplit('/').next().unwrap_or_default().to_lowercase();
    let checks_secrets = !rules.allowed_secrets.contains(&file.path);
    if checks_secrets && let Some(finding) = secrets::find_in_name(&file.path) {
        return Err(SkipReason::Secret(finding));
    }
    if is_generated_name(&name) {
        return Err(SkipReason::Generated);
    }
    let bytes = read_bytes(&file.location, rules.max_file_bytes)?;
    if bytes.contains(&0) {
        return Err(SkipReason::Binary);
    }
    let text = String::from_utf8(bytes).map_err(|_| SkipReason::Binary)?;
    if text.trim().is_empty() {
        return Err(SkipReason::Empty);
    }
    if has_generated_marker(&text) {
        return Err(SkipReason::Generated);
    }
    if checks_secrets && let Some(finding) = secrets::find_in_text(&file.path, &text) {
        return Err(SkipReason::Secret(finding));
    }
    // Certificates without a private key.
    if name.ends_with(".pem") {
        return Err(SkipReason::Binary);
    }
    Ok(text)
}

/// Reads a file of at most this size, also if it grows meanwhile.
fn read_bytes(location: &Path, max: u64) -> Result<Vec<u8>, SkipReason> {
    let file = fs::File::open(location).map_err(|_| SkipReason::Unreadable)?;
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(|_| SkipReason::Unreadable)?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if length > max { Err(SkipReason::TooLarge) } else { Ok(bytes) }
}

fn is_generated_name(name: &str) -> bool {
    let locks = ["cargo.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "go.sum"];
    let extensions = [".min.js", ".min.css", ".map", ".snap", ".designer.cs", ".g.cs", ".pb.go", "_pb2.py"];
    locks.contains(&name) || extensions.iter().any(|ending| name.ends_with(ending))
}

/// Returns true if the first lines have a tool's marker, or if a line is too long to be written by hand.
fn has_generated_marker(text: &str) -> bool {
    const LONGEST_LINE: usize = 20_000;
    let marked = text.lines().take(5).any(|line| {
        let line = line.to_lowercase();
        // The marker must begin the comment, so that a comment about markers doesn't count.
        let words = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '@');
        words.starts_with("@generated")
            || words.starts_with("code generated")
            || words.starts_with("<auto-generated")
            || words.starts_with("auto-generated")
            || words.starts_with("this file is generated")
            || words.starts_with("this file was automatically generated")
    });
    marked || text.lines().any(|line| line.len() > LONGEST_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        folder
    }

    #[test]
    fn walk_skips_ignored_and_lists_hidden_files() {
        let folder = folder(&[
            (".gitignore", b"/out\n"),
            ("out/a.txt", b"a"),
            (".github/ci.yml", b"on: push"),
            (".git/config", b"x"),
            ("src/b.rs", b"fn b() {}"),
        ]);
        let paths: Vec<String> = walk(folder.path()).unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, [".github/ci.yml", ".gitignore", "src/b.rs"]);
        assert!(walk(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn read_reports_the_skip_reason() {
        let long = "x".repeat(30_000);
        let files: [(&str, &[u8], Option<SkipReason>); 12] = [
            ("a.rs", b"fn a() {}", None),
            ("big.txt", &[b'a'; 200], Some(SkipReason::TooLarge)),
            ("image.png", b"\x89PNG\0", Some(SkipReason::Binary)),
            ("latin.txt", b"caf\xe9", Some(SkipReason::Binary)),
            ("Cargo.lock", b"x", Some(SkipReason::Generated)),
            ("g.go", b"// Code generated by x. DO NOT EDIT.\n", Some(SkipReason::Generated)),
            (".env", b"KEY=1", Some(SkipReason::Secret(Finding::Name("*.env")))),
            (".env.example", b"KEY=", None),
            ("server.key", b"x", Some(SkipReason::Secret(Finding::Name("*.key")))),
            ("public.pem", b"-----BEGIN CERTIFICATE-----", Some(SkipReason::Binary)),
            ("empty.rs", b" \n", Some(SkipReason::Empty)),
            ("not.rs", b"fn not() {}", Some(SkipReason::Excluded)),
        ];
        let folder = folder(&files.map(|(path, bytes, _)| (path, bytes)));
        let rules = Rules { max_file_bytes: 100, exclude: vec!["not.rs".to_owned()], ..Rules::default() };
        for (path, _, skip) in files {
            let file = SourceFile { path: path.to_owned(), location: folder.path().join(path) };
            assert_eq!(read(&file, &rules).err(), skip, "{path}");
        }
        assert!(has_generated_marker(&long));
        assert!(!has_generated_marker("//! How files that say \"code generated\" are told apart.\n"));
    }

    #[test]
    fn secrets_are_seen_in_at_most_one_of_200_files_of_this_repository() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let files = walk(Path::new(root)).unwrap();
        let refused: Vec<&str> = files
            .iter()
            .filter(|file| matches!(read(file, &Rules::default()), Err(SkipReason::Secret(_))))
            .map(|file| file.path.as_str())
            .collect();
        assert!(refused.len() * 200 <= files.len(), "{refused:?} of {}", files.len());
    }
}
