//! Splits a file into chunks: by syntax, with the names of declarations; by headings; or by lines.

mod chunk;
mod code;
mod document;
mod line_index;
mod lines;
#[cfg(test)]
mod tests;

use crate::language::{Language, Syntax};
pub use chunk::{Chunk, ChunkLength, Split, Symbol};
use line_index::LineIndex;

/// Splits a text of this language.
#[must_use]
pub fn split(text: &str, language: Language, length: ChunkLength) -> Split {
    let lines = LineIndex::new(text);
    match language.syntax {
        Syntax::Markdown => document::split(text, &lines, length),
        Syntax::None => lines::split(text, &lines, length),
        code => code::split(text, code, &lines, length).unwrap_or_else(|| lines::split(text, &lines, length)),
    }
}
