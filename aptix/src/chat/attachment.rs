//! Files and images attached to an instruction.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// Largest attachment, in bytes: the limit of a request body.
pub(crate) const MAX_BYTES: u64 = contracts::request::limits::MAX_BODY_BYTES as u64;

/// An attachment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Attachment {
    /// A file, sent in `InputArtifacts`.
    File(Value),
    /// An image, sent in `ClipboardImages`.
    Image(Value),
}

impl Attachment {
    /// Reads a file. `number` makes the ids of images unique.
    pub(crate) fn read(path: &Path, number: usize) -> Result<Self, String> {
        let io_error = |error: std::io::Error| format!("{}: {error}", path.display());
        let metadata = std::fs::metadata(path).map_err(io_error)?;
        if !metadata.is_file() {
            return Err(format!("{} is not a file", path.display()));
        }
        if metadata.len() > MAX_BYTES {
            return Err(format!(
                "{} is larger than {MAX_BYTES} bytes, the limit of a request",
                path.display()
            ));
        }
        let bytes = std::fs::read(path).map_err(io_error)?;
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| format!("the name of {} is not valid UTF-8", path.display()))?;
        Ok(match image_type(&bytes) {
            Some(mime) => Self::Image(json!({
                "Id": format!("image-{number}"), "MimeType": mime, "DataBase64": BASE64_STANDARD.encode(bytes),
            })),
            None => Self::file(name, bytes),
        })
    }

    /// Creates an attachment of piped input.
    pub(crate) fn from_stdin(bytes: Vec<u8>) -> Self {
        Self::file("stdin.txt", bytes)
    }

    /// Moves a file into a numbered folder if another file has its path, since the paths of a request must be unique.
    pub(crate) fn with_distinct_path(mut self, others: &[Self]) -> Self {
        let is_taken = |path: &Value| {
            others.iter().any(|other| matches!(other, Self::File(file) if file["RelativePath"] == *path))
        };
        if let Self::File(file) = &mut self
            && is_taken(&file["RelativePath"])
            && let Some(name) = file["FileName"].as_str()
        {
            file["RelativePath"] = json!(format!("{}/{name}", others.len() + 1));
        }
        self
    }

    fn file(name: &str, bytes: Vec<u8>) -> Self {
        let (contents, encoding) = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => (text, "utf8"),
            Ok(text) => (BASE64_STANDARD.encode(text), "base64"),
            Err(error) => (BASE64_STANDARD.encode(error.as_bytes()), "base64"),
        };
        Self::File(json!({
            "RelativePath": name, "FileName": name, "Origin": "user", "Contents": contents, "Encoding": encoding,
        }))
    }
}

/// Detects the type of an image that the API accepts by its first bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_images_and_binary_files_are_encoded() {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            Attachment::read(&path, 1).unwrap()
        };
        let file = |name: &str, contents: &str, encoding: &str| {
            Attachment::File(json!({
                "RelativePath": name, "FileName": name, "Origin": "user", "Contents": contents, "Encoding": encoding,
            }))
        };
        assert_eq!(read("a.rs", b"fn main() {}"), file("a.rs", "fn main() {}", "utf8"));
        assert_eq!(read("b.bin", &[0xFF, 0]), file("b.bin", "/wA=", "base64"));
        let Attachment::Image(image) = read("c.txt", b"\x89PNG\r\n") else { panic!("an image") };
        assert_eq!((&image["Id"], &image["MimeType"]), (&json!("image-1"), &json!("image/png")));
        let (first, second) = (read("a.rs", b"1"), read("a.rs", b"2"));
        let Attachment::File(second) = second.with_distinct_path(&[first]) else { panic!("a file") };
        assert_eq!((&second["RelativePath"], &second["FileName"]), (&json!("2/a.rs"), &json!("a.rs")));
        assert!(Attachment::read(folder.path(), 1).unwrap_err().contains("is not a file"));
    }
}
