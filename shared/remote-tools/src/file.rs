//! Files in results: images, sounds and other bytes, which the turn publishes and the model gets by name.

use agent::tool::PublishFile;
use bytes::Bytes;
use contracts::request::FileName;
use serde_json::{Value, json};

/// The most files of a result.
pub(crate) const MAX_FILES: usize = 16;

/// The endings of files, for people. Others have `bin`.
const ENDINGS: [(&str, &str); 10] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("audio/mpeg", "mp3"),
    ("audio/wav", "wav"),
    ("application/pdf", "pdf"),
    ("application/zip", "zip"),
    ("application/json", "json"),
    ("text/csv", "csv"),
];

/// Returns the file with the n-th bytes of a tool's result.
pub(crate) fn file(tool: &str, n: usize, media_type: &str, bytes: Bytes) -> Option<PublishFile> {
    let is_token = |part: &str| {
        (1..=64).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_valid = media_type.split_once('/').is_some_and(|(kind, rest)| is_token(kind) && is_token(rest));
    let media_type = if is_valid { media_type } else { "application/octet-stream".to_owned() };
    let ending = ENDINGS.iter().find(|(kind, _)| *kind == media_type).map_or("bin", |(_, ending)| ending);
    let stem: String = tool
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .take(64)
        .collect();
    let name = FileName::new(&format!("{stem}-{}.{ending}", n.saturating_add(1))).ok()?;
    Some(PublishFile { name, media_type, bytes, description: None })
}

/// Returns what the model gets in place of a file.
pub(crate) fn note(file: &PublishFile) -> Value {
    json!({ "file": file.name.to_string(), "mediaType": file.media_type, "bytes": file.bytes.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_media_type_are_safe_whatever_a_server_says() {
        let named = |tool: &str, kind: &str| {
            let file = file(tool, 0, kind, Bytes::from_static(b"x")).unwrap();
            (file.name.to_string(), file.media_type)
        };
        assert_eq!(
            named("files.read", "image/PNG; a=b"),
            ("files_read-1.png".to_owned(), "image/png".to_owned())
        );
        for wrong in ["", "image", "image/", "a/b/c", "text/<script>", "a\r\nb/c"] {
            assert_eq!(
                named("../x", wrong),
                ("___x-1.bin".to_owned(), "application/octet-stream".to_owned())
            );
        }
    }
}
