//! Splits a file into chunks: by syntax, with the names of declarations; by headings; or by lines. HTML, notebooks,
//! and PDF and Office documents are converted into Markdown first, and the lines of their chunks are those of the conversion. The work is linear in
//! the file's length, so that no file stops a run.

mod boundary;
mod chunk;
mod code;
mod document;
mod html;
mod line_index;
mod lines;
mod notebook;
mod outline;
mod paged;
mod parse;
#[cfg(test)]
mod pathological_tests;
#[cfg(test)]
mod tests;

use crate::language::{Language, Syntax};
pub use chunk::{Chunk, ChunkLength, Fallback, Split, Symbol};
use line_index::LineIndex;
use outline::Markup;

/// Splits a text of this language.
#[must_use]
pub fn split(text: &str, language: Language, length: ChunkLength) -> Split {
    let lines = LineIndex::new(text);
    match language.syntax {
        Syntax::Markdown | Syntax::Extracted => document::split(text, Markup::Markdown, &lines, length),
        Syntax::Paged => paged::split(text, length),
        Syntax::ReStructuredText => document::split(text, Markup::ReStructuredText, &lines, length),
        Syntax::AsciiDoc => document::split(text, Markup::AsciiDoc, &lines, length),
        Syntax::Html => {
            let page = html::convert(text);
            let split = split_markdown(&page.markdown, length);
            Split { title: page.title.or(split.title), ..split }
        }
        Syntax::Notebook => match notebook::convert(text) {
            Some(markdown) => split_markdown(&markdown, length),
            None => Split { fallback: Some(Fallback::Malformed), ..lines::split(text, &lines, length) },
        },
        Syntax::Text if outline::is_restructured(text) => {
            document::split(text, Markup::ReStructuredText, &lines, length)
        }
        Syntax::Text | Syntax::None => lines::split(text, &lines, length),
        code => code::split(text, code, &lines, length).unwrap_or_else(|fallback| {
            let split = lines::split(text, &lines, length);
            Split { fallback: Some(fallback), ..split }
        }),
    }
}

fn split_markdown(text: &str, length: ChunkLength) -> Split {
    document::split(text, Markup::Markdown, &LineIndex::new(text), length)
}
