//! The filter for outgoing text: an answer embeds no files, and what a program reads of it stands in a tagged fence.
//!
//! A `data:` URI or a base64 run of 512 characters or more is removed from the text and replaced by a link, in fenced
//! blocks too. Only file bundles stay as they are, because they hold files on purpose. A bundle without a tagged fence
//! gets one wherever it is, and so does an answer in JSON. The filter doesn't store the removed files and doesn't know
//! their URLs: the caller maps each blob to its URL and stores it.

mod blob;
mod bundle;
mod containers;
mod embedded_file;
mod fence;
mod finder;
mod object;
mod payload;
mod pending_buffer;
mod preceding_text;
mod run;
mod stream;
#[cfg(test)]
mod tests;

pub use blob::{Blob, FilteredText};
pub use embedded_file::MIN_EMBEDDED_CHARS;
use stream::Output;
pub use stream::StreamFilter;

/// The format that the model was told to answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerFormat {
    /// Markdown.
    #[default]
    Markdown,
    /// JSON. It is put into a fence, or its fence is tagged.
    Json,
}

/// Removes embedded files from a Markdown text and puts bundles into fences. `url_of` returns the URL of a file.
///
/// Within a link, an image or an attribute, the URL replaces the URI. Elsewhere, a link with the file's name does. An
/// unclosed fence extends to the end of the text, as in CommonMark.
#[must_use]
pub fn filter_text(text: &str, mut url_of: impl FnMut(&Blob) -> String) -> FilteredText {
    let mut filtered =
        FilteredText { text: String::with_capacity(text.len().min(1 << 20)), blobs: Vec::new() };
    let out = &mut Output { text: &mut filtered, url_of: &mut url_of };
    let mut stream = StreamFilter::default();
    stream.take(text, out);
    stream.end(out);
    filtered
}

/// Size of the chunks of a text that are filtered at a time, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;

/// Filters a text like [`filter_text`], in chunks of bounded work. It awaits `pause` after each, so that a long text
/// doesn't block other work on the same task.
pub async fn filter_in_chunks<P: Future<Output = ()>>(
    mut text: &str,
    format: AnswerFormat,
    mut url_of: impl FnMut(&Blob) -> String,
    pause: impl Fn() -> P,
) -> FilteredText {
    let mut filtered =
        FilteredText { text: String::with_capacity(text.len().min(1 << 20)), blobs: Vec::new() };
    let mut stream = StreamFilter::new(format);
    while !text.is_empty() {
        let (chunk, rest) = text.split_at(text.floor_char_boundary(CHUNK_BYTES));
        stream.take(chunk, &mut Output { text: &mut filtered, url_of: &mut url_of });
        text = rest;
        pause().await;
    }
    stream.end(&mut Output { text: &mut filtered, url_of: &mut url_of });
    filtered
}

/// Returns the length of the final part of an unfinished text. Whatever follows, [`filter_text`] of the complete text
/// starts with the filtered final part. A [`StreamFilter`] returns this part and holds back the rest.
///
/// Held back are the last run of base64 or `data:` URI, however short, with a `<` before it; a line of one word, which
/// may be the first of a wrapped run; the indentation of a line; a possible bundle, of at most 8 MiB; and the tag of a
/// fence until its content begins.
#[must_use]
pub fn final_len(text: &str) -> usize {
    let mut stream = StreamFilter::default();
    stream.push(text, |_| String::new());
    stream.final_len()
}
