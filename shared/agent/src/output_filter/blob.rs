//! Files that were embedded in a text.

/// A file that was embedded in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// A name that is unique within the text: one path segment.
    pub name: String,
    /// Its media type, as declared or detected from its signature.
    pub mime_type: String,
    /// Its bytes, or the literal text if that can't be decoded.
    pub bytes: Vec<u8>,
}

/// A text without embedded files, and the files removed from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilteredText {
    /// The text, with links in place of the removed files.
    pub text: String,
    /// The removed files, in order.
    pub blobs: Vec<Blob>,
}

/// Returns the usual file extension of a media type.
pub(super) fn extension(mime_type: &str) -> &'static str {
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
