//! Splits a file into chunks: by syntax, with the names of declarations; by headings; or by lines. The work is linear in
//! the file's length, so that no file stops a run.

mod boundary;
mod chunk;
mod code;
mod document;
mod line_index;
mod lines;
mod parse;
#[cfg(test)]
mod pathological_tests;
#[cfg(test)]
mod tests;

use crate::language::{Language, Syntax};
pub use chunk::{Chunk, ChunkLength, Fallback, Split, Symbol};
use line_index::LineIndex;

/// Splits a text of this language.
#[must_use]
pub fn split(text: &str, language: Language, length: ChunkLength) -> Split {
    let lines = LineIndex::new(text);
    match language.syntax {
        Syntax::Markdown => document::split(text, &lines, length),
        Syntax::None => lines::split(text, &lines, length),
        code => code::split(text, code, &lines, length).unwrap_or_else(|fallback| {
            let split = lines::split(text, &lines, length);
            Split { fallback: Some(fallback), ..split }
        }),
    }
}
