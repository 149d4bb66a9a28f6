//! Cutting a file into chunks: where its syntax says so, with the names of what is declared; at its headings; or by
//! its lines.

mod code;
mod document;
mod plain;
mod position;

use std::ops::Range;

use text_splitter::{ChunkCapacity, ChunkConfig};

use crate::language::{Language, Syntax};
use position::Lines;

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// As it stands in the file, without the white space around it.
    pub text: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// What is declared around it, or else first in it.
    pub symbol: Option<Symbol>,
    /// Of a document, the heading above it.
    pub section: Option<String>,
}

/// Something that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is: `function`, `struct`, ….
    pub kind: &'static str,
    /// The names of what it stands in, outermost first.
    pub within: Vec<String>,
}

/// How long a chunk is, in characters. It may be half as long again where that keeps together what belongs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length(usize);

impl Length {
    /// About so many characters, at least 100.
    #[must_use]
    pub fn of(characters: usize) -> Self {
        Self(characters.max(100))
    }

    fn most(self) -> usize {
        self.0.saturating_add(self.0 / 2)
    }

    fn config(self) -> ChunkConfig<text_splitter::Characters> {
        let capacity = ChunkCapacity::new(self.0);
        ChunkConfig::new(capacity.with_max(self.most()).unwrap_or(capacity))
    }
}

impl Default for Length {
    /// About 500 tokens: a function of sixty lines.
    fn default() -> Self {
        Self(2_000)
    }
}

/// A file in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// What a reader would call it: a document's first heading, or what the comment at the beginning says.
    pub title: Option<String>,
    /// In order. Together they are the file, but for white space between them.
    pub chunks: Vec<Chunk>,
}

/// Cuts a text that is written in this language.
#[must_use]
pub fn split(text: &str, language: Language, length: Length) -> Split {
    let lines = Lines::of(text);
    match language.syntax {
        Syntax::Markdown => document::split(text, &lines, length),
        Syntax::None => plain::split(text, &lines, length),
        code => code::split(text, code, &lines, length).unwrap_or_else(|| plain::split(text, &lines, length)),
    }
}

/// The chunk at these bytes of the text; none where there is nothing but white space.
fn chunk(text: &str, range: Range<usize>, lines: &Lines) -> Option<Chunk> {
    let part = text.get(range.clone())?;
    let begins = range.start + (part.len() - part.trim_start().len());
    let part = part.trim();
    // The indentation of the first line belongs to it.
    let line_begins = lines.begin_of(begins);
    let indented = text.get(line_begins..begins).is_some_and(|before| before.trim().is_empty());
    let from = if indented && line_begins >= range.start { line_begins } else { begins };
    let end = begins + part.len();
    (!part.is_empty()).then(|| Chunk {
        text: text.get(from..end).unwrap_or(part).to_owned(),
        line_start: lines.at(begins),
        line_end: lines.at(end - 1),
        symbol: None,
        section: None,
    })
}

#[cfg(test)]
mod tests;
