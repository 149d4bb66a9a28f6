//! The guard on what goes out: an answer embeds no files (AGN-033 §4.1, §6.1).
//!
//! A `data:` URI or a base64 run of 512 characters or more outside of any fence is taken out of the
//! text and replaced by a link. Fenced blocks pass as they are: they are where machine-consumable
//! payloads belong. Deliberately absent: storing what was taken out, and the shape of its URL; the
//! caller maps a blob to its URL and stores it.

mod fence;
mod find;
mod stream;

pub use find::MIN_EMBEDDED_CHARS;
pub use stream::Stream;

use self::{
    fence::{Fences, Scan},
    find::Found,
};

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

/// Takes embedded files out of a Markdown text. `url_of` says where each will be read.
///
/// Within a link, an image or an attribute the URL takes the place of the URI; elsewhere a link with
/// the file's name does. An unclosed fence reaches to the end of the text, as CommonMark has it.
#[must_use]
pub fn guard(text: &str, url_of: impl FnMut(&Blob) -> String) -> Guarded {
    guard_after(Scan::default(), 0, text, url_of)
}

/// Guards a text that goes on after `scan` and so many blobs.
fn guard_after(scan: Scan, blobs: usize, text: &str, mut url_of: impl FnMut(&Blob) -> String) -> Guarded {
    let mut guarded = Guarded { text: String::with_capacity(text.len().min(1 << 20)), blobs: Vec::new() };
    let mut copied = 0;
    for part in Fences::after(scan, text).unfenced {
        let unfenced = text.get(..part.end).unwrap_or_default();
        let mut from = part.start;
        while let Some(found) = find::first(unfenced, from) {
            from = found.range.end;
            let (range, shape) = shape(unfenced, &found);
            let blob = Blob {
                name: format!("embedded-{}.{}", blobs + guarded.blobs.len() + 1, extension(&found.mime_type)),
                mime_type: found.mime_type,
                bytes: found.bytes,
            };
            let url = url_of(&blob);
            guarded.text.push_str(text.get(copied..range.start).unwrap_or_default());
            match shape {
                Shape::Url => guarded.text.push_str(&url),
                Shape::Link => guarded.text.push_str(&format!("[{}]({url})", blob.name)),
            }
            copied = range.end;
            guarded.blobs.push(blob);
        }
    }
    guarded.text.push_str(text.get(copied..).unwrap_or_default());
    guarded
}

/// How much of an unfinished text is final: whatever follows, [`guard`] makes of the whole text
/// something that begins with what it makes of this much of it. For streaming, which must hold the
/// rest back.
///
/// Held back are the last word of visible ASCII, the wrapped run that it may continue, and an
/// unfinished line that begins with backticks, since those that follow decide whether it is a fence.
#[must_use]
pub fn settled(text: &str) -> usize {
    settled_after(Scan::default(), text)
}

fn settled_after(scan: Scan, text: &str) -> usize {
    let fences = Fences::after(scan, text);
    let line = text.rfind('\n').map_or(0, |end| end + 1);
    if fences.ends_undecided {
        return find::wrapped_before(text, line);
    }
    if fences.ends_open {
        return text.len();
    }
    let unbroken = text.strip_suffix('\r').unwrap_or(text);
    let word = find::last_word(unbroken);
    if word > line {
        return word;
    }
    // The line may yet turn out to go on with the run above it, or to be fenced, or to be prose.
    find::wrapped_before(text, line)
}

enum Shape {
    /// The URL stands for itself.
    Url,
    /// The URL needs a link around it to be one.
    Link,
}

fn shape(text: &str, found: &Found) -> (std::ops::Range<usize>, Shape) {
    let range = found.range.clone();
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    let is_reference = || before.trim_end_matches([' ', '<']).ends_with("]:");
    let takes_url = ["](", "](<", "=", "=\"", "='", "url("];
    if takes_url.iter().any(|end| before.ends_with(end)) || is_reference() {
        return (range, Shape::Url);
    }
    if before.ends_with('<') && after.starts_with('>') {
        return (range.start - 1..range.end + 1, Shape::Link);
    }
    (range, Shape::Link)
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
