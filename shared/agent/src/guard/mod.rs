//! The guard on what goes out: an answer embeds no files (AGN-033 §4.1, §6.1).
//!
//! A `data:` URI or a base64 run of 512 characters or more outside of any fence is taken out of the
//! text and replaced by a link. Fenced blocks pass as they are: they are where machine-consumable
//! payloads belong; a file bundle that came without its fence gets one. Deliberately absent: storing what was taken out, and the shape of its URL; the
//! caller maps a blob to its URL and stores it.

mod before;
mod bundle;
mod fence;
mod find;
mod payload;
mod rest;
mod stream;
#[cfg(test)]
mod tests;

pub use find::MIN_EMBEDDED_CHARS;
pub use stream::Stream;

/// A file that was embedded in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// A name that is unique within the text, one path segment.
    pub name: String,
    /// Its media type, as declared or by its signature.
    pub mime_type: String,
    /// Its bytes; the literal text where that could not be decoded.
    pub bytes: Vec<u8>,
}

/// A text that embeds no files, and what was taken out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The text, with links in place of what was taken out.
    pub text: String,
    /// What was taken out, in order.
    pub blobs: Vec<Blob>,
}

/// Takes embedded files out of a Markdown text, and puts bundles into fences. `url_of` says where each file
/// will be read.
///
/// Within a link, an image or an attribute the URL takes the place of the URI; elsewhere a link with
/// the file's name does. An unclosed fence reaches to the end of the text, as CommonMark has it.
#[must_use]
pub fn guard(text: &str, mut url_of: impl FnMut(&Blob) -> String) -> Guarded {
    let mut guarded = Guarded { text: String::with_capacity(text.len().min(1 << 20)), blobs: Vec::new() };
    let mut stream = Stream::default();
    stream.take(text, &mut guarded, &mut url_of);
    stream.end(&mut guarded, &mut url_of);
    guarded
}

/// How much of a text is guarded at a time, in bytes.
const STEP: usize = 64 * 1024;

/// As [`guard`], in steps of bounded work. `pause` is awaited after each, so that a long text keeps nobody who
/// shares the task from working.
pub async fn guard_in_steps<P: Future<Output = ()>>(
    mut text: &str,
    mut url_of: impl FnMut(&Blob) -> String,
    pause: impl Fn() -> P,
) -> Guarded {
    let mut guarded = Guarded { text: String::with_capacity(text.len().min(1 << 20)), blobs: Vec::new() };
    let mut stream = Stream::default();
    while !text.is_empty() {
        let (step, rest) = text.split_at(text.floor_char_boundary(STEP));
        stream.take(step, &mut guarded, &mut url_of);
        text = rest;
        pause().await;
    }
    stream.end(&mut guarded, &mut url_of);
    guarded
}

/// How much of an unfinished text is final: whatever follows, [`guard`] makes of the whole text
/// something that begins with what it makes of this much of it. It is what a [`Stream`] does not hold
/// back.
///
/// Held back are the last run of base64 or `data:` URI, however short, with a `<` before it; an
/// unfinished line's own text that begins with marks, until it is decided whether they are a fence; and what
/// may be a bundle, of at most 1 MiB.
#[must_use]
pub fn settled(text: &str) -> usize {
    let mut stream = Stream::default();
    stream.push(text, |_| String::new());
    stream.settled()
}

/// What a file of a type is usually called.
fn extension(mime_type: &str) -> &'static str {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    match essence.to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/json" => "json",
        "text/plain" => "txt",
        "text/html" => "html",
        "text/csv" => "csv",
        "text/markdown" => "md",
        _ => "bin",
    }
}
