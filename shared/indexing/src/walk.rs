//! Finds the indexable files of a folder, and the reasons to skip the others.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use contracts::hash::ContentHash;

use crate::document_text::{self, DocumentText, MAX_DOCUMENT_BYTES, NoText};
use crate::encoding;
use crate::language::{self, SourceKind};
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
    /// The program that extracts the text of PDF and Office documents. `None` skips them.
    pub document_text: Option<DocumentText>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            max_file_bytes: 1 << 20,
            exclude: Vec::new(),
            allowed_secrets: AllowedSecrets::default(),
            document_text: None,
        }
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
    /// It is unreadable, or a folder that is.
    Unreadable,
    /// It is a symbolic link, which may lead out of the folder.
    SymbolicLink,
    /// Its name is not UTF-8, which a payload can't hold.
    NameNotUtf8,
    /// The rules exclude it.
    Excluded,
    /// It is a document whose text can't be extracted.
    Document(NoText),
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
            Self::SymbolicLink => "symbolic link",
            Self::NameNotUtf8 => "name is not UTF-8",
            Self::Excluded => "excluded",
            Self::Document(no_text) => no_text.reason(),
        }
    }
}

/// The entries below a folder.
#[derive(Debug, Default)]
pub struct Walk {
    /// The files, ordered by path.
    pub files: Vec<SourceFile>,
    /// The paths of other entries, with the reason to skip each.
    pub skipped: Vec<(SkipReason, String)>,
}

/// Lists every entry below the folder that isn't ignored. Hidden files are included, but not the version control's own.
///
/// # Errors
/// Fails if the folder itself can't be read.
pub fn walk(folder: &Path) -> io::Result<Walk> {
    // The walk itself would report a missing folder as empty.
    fs::read_dir(folder)?;
    let mut found = Walk::default();
    let entries = WalkBuilder::new(folder)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | ".hg" | ".svn")))
        .build();
    let below = |path: &Path| path.strip_prefix(folder).unwrap_or(path).to_owned();
    let shown = |path: &Path| below(path).to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = path_of(&error).map_or_else(|| error.to_string(), shown);
                found.skipped.push((SkipReason::Unreadable, path));
                continue;
            }
        };
        let (path, Some(kind)) = (entry.path(), entry.file_type()) else { continue };
        match with_slashes(&below(path)) {
            _ if kind.is_symlink() => found.skipped.push((SkipReason::SymbolicLink, shown(path))),
            Some(name) if kind.is_file() => {
                found.files.push(SourceFile { path: name, location: path.to_owned() });
            }
            None if kind.is_file() => found.skipped.push((SkipReason::NameNotUtf8, shown(path))),
            Some(_) | None => {}
        }
    }
    found.files.sort();
    Ok(found)
}

/// Returns the path at which a walk failed.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

/// Returns the path with `/`, or `None` if it isn't UTF-8, which a payload can't hold.
fn with_slashes(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

/// The content of a file to index.
#[derive(Debug)]
pub enum Content {
    /// Text.
    Text(String),
    /// The bytes of a document with this extension.
    Document(&'static str, Vec<u8>),
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Document(_, bytes) => bytes,
        }
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        u64::try_from(self.bytes().len()).unwrap_or(u64::MAX)
    }

    /// Returns the SHA-256.
    #[must_use]
    pub fn sha256(&self) -> String {
        ContentHash::hash_bytes(self.bytes()).to_string()
    }

    /// Returns the text of this file. That of a document is extracted, which blocks the thread.
    ///
    /// # Errors
    /// Returns the reason to skip the file.
    pub fn into_text(self, file: &SourceFile, rules: &Rules) -> Result<String, SkipReason> {
        let text = match (self, &rules.document_text) {
            (Self::Text(text), _) => return Ok(text),
            (Self::Document(..), None) => return Err(SkipReason::Document(NoText::NoProgram)),
            (Self::Document(extension, bytes), Some(program)) => {
                program.extract(extension, bytes).map_err(SkipReason::Document)?
            }
        };
        let finding = secrets::find_in_text(&file.path, &text);
        match finding.filter(|_| !rules.allowed_secrets.contains(&file.path)) {
            Some(finding) => Err(SkipReason::Secret(finding)),
            None => Ok(text),
        }
    }
}

/// Reads a file to index.
///
/// # Errors
/// Returns the reason to skip the file.
pub fn read(file: &SourceFile, rules: &Rules) -> Result<Content, SkipReason> {
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
    if let Some(extension) = document_text::extension(&name) {
        if rules.document_text.is_none() {
            return Err(SkipReason::Document(NoText::NoProgram));
        }
        let bytes = read_bytes(&file.location, MAX_DOCUMENT_BYTES)?;
        return if bytes.is_empty() {
            Err(SkipReason::Empty)
        } else {
            Ok(Content::Document(extension, bytes))
        };
    }
    let bytes = read_bytes(&file.location, rules.max_file_bytes)?;
    let text = encoding::decode(bytes).ok_or(SkipReason::Binary)?;
    if text.trim().is_empty() {
        return Err(SkipReason::Empty);
    }
    let is_prose = language::detect(Path::new(&file.path)).kind == SourceKind::Document;
    if has_generated_marker(&text) || !is_prose && has_generated_line(&text) {
        return Err(SkipReason::Generated);
    }
    if checks_secrets && let Some(finding) = secrets::find_in_text(&file.path, &text) {
        return Err(SkipReason::Secret(finding));
    }
    // Certificates without a private key.
    if name.ends_with(".pem") {
        return Err(SkipReason::Binary);
    }
    Ok(Content::Text(text))
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

/// Returns true if a line is too long to be written by hand. Prose may have a paragraph per line.
fn has_generated_line(text: &str) -> bool {
    const LONGEST_LINE: usize = 20_000;
    text.lines().any(|line| line.len() > LONGEST_LINE)
}

/// Returns true if the first lines have a tool's marker.
fn has_generated_marker(text: &str) -> bool {
    text.lines().take(5).any(|line| {
        let line = line.to_lowercase();
        // The marker must begin the comment, so that a comment about markers doesn't count.
        let words = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '@');
        words.starts_with("@generated")
            || words.starts_with("code generated")
            || words.starts_with("<auto-generated")
            || words.starts_with("auto-generated")
            || words.starts_with("this file is generated")
            || words.starts_with("this file was automatically generated")
    })
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
        let paths: Vec<String> =
            walk(folder.path()).unwrap().files.into_iter().map(|file| file.path).collect();
        assert_eq!(paths, [".github/ci.yml", ".gitignore", "src/b.rs"]);
        assert!(walk(&folder.path().join("missing")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_names_that_are_not_text_are_skipped_by_name() {
        use std::os::unix::ffi::OsStrExt;

        let folder = folder(&[("a.txt", b"a")]);
        std::os::unix::fs::symlink("a.txt", folder.path().join("link")).unwrap();
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9.txt")), b"b").unwrap();
        let mut walk = walk(folder.path()).unwrap();
        walk.skipped.sort();
        let expected = [(SkipReason::SymbolicLink, "link"), (SkipReason::NameNotUtf8, "caf\u{fffd}.txt")];
        assert_eq!(walk.skipped, expected.map(|(reason, path)| (reason, path.to_owned())));
        assert_eq!(walk.files.len(), 1);
    }

    #[test]
    fn read_reports_the_skip_reason() {
        let long = "x ".repeat(15_000);
        let files: [(&str, &[u8], Option<SkipReason>); 14] = [
            ("a.rs", b"fn a() {}", None),
            ("big.txt", &[b'a'; 40_000], Some(SkipReason::TooLarge)),
            ("image.png", b"\x89PNG\0", Some(SkipReason::Binary)),
            ("latin.txt", b"caf\xe9", None),
            ("essay.txt", long.as_bytes(), None),
            ("bundle.js", long.as_bytes(), Some(SkipReason::Generated)),
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
        let rules = Rules { max_file_bytes: 35_000, exclude: vec!["not.rs".to_owned()], ..Rules::default() };
        for (path, _, skip) in files {
            let file = SourceFile { path: path.to_owned(), location: folder.path().join(path) };
            assert_eq!(read(&file, &rules).err(), skip, "{path}");
        }
        assert!(!has_generated_marker("//! How files that say \"code generated\" are told apart.\n"));
    }

    #[test]
    fn secrets_are_seen_in_at_most_one_of_200_files_of_this_repository() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let files = walk(Path::new(root)).unwrap().files;
        let refused: Vec<&str> = files
            .iter()
            .filter(|file| matches!(read(file, &Rules::default()), Err(SkipReason::Secret(_))))
            .map(|file| file.path.as_str())
            .collect();
        assert!(refused.len() * 200 <= files.len(), "{refused:?} of {}", files.len());
    }
}
