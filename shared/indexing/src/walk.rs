//! Finding the files of a folder that are worth indexing, and why the others are not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

/// What is left out besides what the folder's own ignore rules name.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The largest file, in bytes.
    pub largest: u64,
    /// Files that are not to be indexed, by their path below the folder.
    pub except: Vec<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { largest: 1 << 20, except: Vec::new() }
    }
}

/// A file below the folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Its path below the folder, with `/`.
    pub path: String,
    /// Where it is.
    pub file: PathBuf,
}

/// Why a file is not indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// It is larger than the rules allow.
    TooLarge,
    /// It is no text.
    Binary,
    /// A program wrote it: a lock file, minified code, or one that says so in its first lines.
    Generated,
    /// It may hold a secret: what is embedded is sent to a provider.
    Secret,
    /// There is nothing in it.
    Empty,
    /// It can't be read.
    Unreadable,
    /// The rules name it.
    Excepted,
}

impl Skip {
    /// For a list of reasons.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::TooLarge => "too large",
            Self::Binary => "no text",
            Self::Generated => "generated",
            Self::Secret => "may hold a secret",
            Self::Empty => "empty",
            Self::Unreadable => "unreadable",
            Self::Excepted => "excepted",
        }
    }
}

/// Every file below the folder that no ignore rule names, in order of their paths. Hidden ones too, but not what
/// belongs to the version control itself.
///
/// # Errors
/// When the folder can't be read.
pub fn walk(folder: &Path) -> io::Result<Vec<Found>> {
    // Of a folder that is not there the walk would only say that there is nothing in it.
    fs::read_dir(folder)?;
    let mut found = Vec::new();
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
            found.push(Found { path, file: entry.path().to_owned() });
        }
    }
    found.sort();
    Ok(found)
}

/// None for a name that is not UTF-8, which no payload could hold.
fn with_slashes(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}

/// The text of a file, or why it is not worth indexing.
///
/// # Errors
/// [`Skip`], the reason.
pub fn read(found: &Found, rules: &Rules) -> Result<String, Skip> {
    if rules.except.contains(&found.path) {
        return Err(Skip::Excepted);
    }
    let name = found.path.rsplit('/').next().unwrap_or_default().to_lowercase();
    if is_secret(&name) {
        return Err(Skip::Secret);
    }
    if is_written_by_a_tool(&name) {
        return Err(Skip::Generated);
    }
    let size = fs::metadata(&found.file).map_err(|_| Skip::Unreadable)?.len();
    if size > rules.largest {
        return Err(Skip::TooLarge);
    }
    let bytes = fs::read(&found.file).map_err(|_| Skip::Unreadable)?;
    if bytes.contains(&0) {
        return Err(Skip::Binary);
    }
    let text = String::from_utf8(bytes).map_err(|_| Skip::Binary)?;
    if text.trim().is_empty() {
        return Err(Skip::Empty);
    }
    if says_it_is_generated(&text) {
        return Err(Skip::Generated);
    }
    Ok(text)
}

fn is_secret(name: &str) -> bool {
    let endings = [".pem", ".key", ".p12", ".pfx", ".keystore", ".jks"];
    let is_example = [".example", ".sample", ".template"].iter().any(|ending| name.ends_with(ending));
    (name == ".env" || name.starts_with(".env.")) && !is_example
        || endings.iter().any(|ending| name.ends_with(ending))
        || matches!(name, "id_rsa" | "id_ed25519" | ".npmrc" | ".pypirc" | ".netrc" | "credentials")
}

fn is_written_by_a_tool(name: &str) -> bool {
    let locks = ["cargo.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "go.sum"];
    let endings = [".min.js", ".min.css", ".map", ".snap", ".designer.cs", ".g.cs", ".pb.go", "_pb2.py"];
    locks.contains(&name) || endings.iter().any(|ending| name.ends_with(ending))
}

/// As tools mark what they write, in the first lines; and code without line ends, which nobody wrote.
fn says_it_is_generated(text: &str) -> bool {
    const LONGEST_LINE: usize = 20_000;
    let marked = text.lines().take(5).any(|line| {
        let line = line.to_lowercase();
        // Not where these words are talked about: a comment's own line begins with them.
        let said = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '@');
        said.starts_with("@generated")
            || said.starts_with("code generated")
            || said.starts_with("<auto-generated")
            || said.starts_with("auto-generated")
            || said.starts_with("this file is generated")
            || said.starts_with("this file was automatically generated")
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
    fn what_ignore_rules_name_is_not_found_and_hidden_files_are() {
        let folder = folder(&[
            (".gitignore", b"/out\n"),
            ("out/a.txt", b"a"),
            (".github/ci.yml", b"on: push"),
            (".git/config", b"x"),
            ("src/b.rs", b"fn b() {}"),
        ]);
        let paths: Vec<String> = walk(folder.path()).unwrap().into_iter().map(|found| found.path).collect();
        assert_eq!(paths, [".github/ci.yml", ".gitignore", "src/b.rs"]);
        assert!(walk(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn what_is_not_worth_it_says_why() {
        let long = "x".repeat(30_000);
        let files: [(&str, &[u8], Option<Skip>); 11] = [
            ("a.rs", b"fn a() {}", None),
            ("big.txt", &[b'a'; 200], Some(Skip::TooLarge)),
            ("image.png", b"\x89PNG\0", Some(Skip::Binary)),
            ("latin.txt", b"caf\xe9", Some(Skip::Binary)),
            ("Cargo.lock", b"x", Some(Skip::Generated)),
            ("g.go", b"// Code generated by x. DO NOT EDIT.\n", Some(Skip::Generated)),
            (".env", b"KEY=1", Some(Skip::Secret)),
            (".env.example", b"KEY=", None),
            ("server.key", b"x", Some(Skip::Secret)),
            ("empty.rs", b" \n", Some(Skip::Empty)),
            ("not.rs", b"fn not() {}", Some(Skip::Excepted)),
        ];
        let folder = folder(&files.map(|(path, bytes, _)| (path, bytes)));
        let rules = Rules { largest: 100, except: vec!["not.rs".to_owned()] };
        for (path, _, skip) in files {
            let found = Found { path: path.to_owned(), file: folder.path().join(path) };
            assert_eq!(read(&found, &rules).err(), skip, "{path}");
        }
        assert!(says_it_is_generated(&long));
        assert!(!says_it_is_generated("//! How files that say \"code generated\" are told apart.\n"));
    }
}
