//! Files and images that go with an instruction.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// The largest that is read, in bytes: a request takes no more.
pub(crate) const LARGEST: u64 = contracts::request::limits::MAX_BODY_BYTES as u64;

/// Something to send along.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Attachment {
    /// A file: `InputArtifacts`.
    File(Value),
    /// An image: `ClipboardImages`.
    Image(Value),
}

impl Attachment {
    /// Reads a file; `number` tells images apart.
    pub(crate) fn read(path: &Path, number: usize) -> Result<Self, String> {
        let told = |error: std::io::Error| format!("{}: {error}", path.display());
        let kind = std::fs::metadata(path).map_err(told)?;
        if !kind.is_file() {
            return Err(format!("{} is no file", path.display()));
        }
        if kind.len() > LARGEST {
            return Err(format!("{} is larger than a request may be ({LARGEST} bytes)", path.display()));
        }
        let bytes = std::fs::read(path).map_err(told)?;
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| format!("the name of {} is no text", path.display()))?;
        Ok(match image_type(&bytes) {
            Some(mime) => Self::Image(json!({
                "Id": format!("image-{number}"), "MimeType": mime, "DataBase64": BASE64_STANDARD.encode(bytes),
            })),
            None => Self::file(name, bytes),
        })
    }

    /// What came through a pipe.
    pub(crate) fn piped(bytes: Vec<u8>) -> Self {
        Self::file("stdin.txt", bytes)
    }

    fn file(name: &str, bytes: Vec<u8>) -> Self {
        let (contents, encoding) = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => (text, "utf8"),
            Ok(text) => (BASE64_STANDARD.encode(text), "base64"),
            Err(other) => (BASE64_STANDARD.encode(other.as_bytes()), "base64"),
        };
        Self::File(json!({
            "RelativePath": name, "FileName": name, "Origin": "user", "Contents": contents, "Encoding": encoding,
        }))
    }
}

/// The type of an image that the API takes, by how it begins.
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
    fn text_is_sent_as_it_is_images_as_images_and_the_rest_as_base64() {
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
        assert!(Attachment::read(folder.path(), 1).unwrap_err().contains("is no file"));
    }
}
