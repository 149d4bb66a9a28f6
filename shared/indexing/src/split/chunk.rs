//! Chunks, and their length.

use std::ops::Range;

use super::line_index::LineIndex;

/// A chunk of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The text as in the file, without surrounding whitespace.
    pub text: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// The declaration around it, or else the first one in it.
    pub symbol: Option<Symbol>,
    /// The heading above it, in a document.
    pub section: Option<String>,
    /// Its page or slide, from 1, in a document that has them.
    pub page: Option<u32>,
}

/// A named declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// The kind: `function`, `struct`, ….
    pub kind: &'static str,
    /// The names of the enclosing declarations, outermost first.
    pub within: Vec<String>,
}

/// The target length of a chunk, in characters. A chunk may be half as long again to keep related code together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLength(pub(super) usize);

impl ChunkLength {
    /// Creates a target length, at least 100 characters.
    #[must_use]
    pub fn new(characters: usize) -> Self {
        Self(characters.max(100))
    }

    pub(super) fn max(self) -> usize {
        self.0.saturating_add(self.0 / 2)
    }
}

impl std::fmt::Display for ChunkLength {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Default for ChunkLength {
    /// About 500 tokens: a function of sixty lines.
    fn default() -> Self {
        Self(2_000)
    }
}

/// A split file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The title: a document's first heading, or the first sentence of a file's opening comment.
    pub title: Option<String>,
    /// The chunks in order. Together they are the file, except for whitespace between them.
    pub chunks: Vec<Chunk>,
    /// The reason if a program or a notebook was split by lines.
    pub fallback: Option<Fallback>,
}

/// The reason to split a file by lines and not by its syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fallback {
    /// No parser accepts the language.
    NoParser,
    /// It has so many syntax errors that the parser doesn't recover in time.
    SyntaxErrors,
    /// The parser doesn't finish in time.
    Timeout,
    /// It is not of the format that its name says.
    Malformed,
    /// Too many parsers are running, most of them on files that they don't finish.
    Busy,
}

impl Fallback {
    /// Returns the reason as a short text.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoParser => "no parser",
            Self::SyntaxErrors => "too many syntax errors",
            Self::Timeout => "parser timeout",
            Self::Malformed => "not of the format that its name says",
            Self::Busy => "parser busy with other files",
        }
    }
}

/// The maximum length of a title or of a declaration's name, in bytes. Every chunk below repeats them.
const MAX_NAME_BYTES: usize = 200;

/// Returns the beginning of a name.
pub(super) fn limit_name(name: &str) -> &str {
    name.get(..name.floor_char_boundary(MAX_NAME_BYTES)).unwrap_or(name)
}

/// Returns the chunk at these bytes of the text, or `None` if it is only whitespace.
pub(super) fn chunk(text: &str, range: Range<usize>, lines: &LineIndex) -> Option<Chunk> {
    let part = text.get(range.clone())?;
    let begins = range.start + (part.len() - part.trim_start().len());
    let part = part.trim();
    // Include the indentation of the first line.
    let line_begins = lines.line_start(begins);
    let indented = text.get(line_begins..begins).is_some_and(|before| before.trim().is_empty());
    let from = if indented && line_begins >= range.start { line_begins } else { begins };
    let end = begins + part.len();
    (!part.is_empty()).then(|| Chunk {
        text: text.get(from..end).unwrap_or(part).to_owned(),
        line_start: lines.line_of(begins),
        line_end: lines.line_of(end - 1),
        symbol: None,
        section: None,
        page: None,
    })
}
