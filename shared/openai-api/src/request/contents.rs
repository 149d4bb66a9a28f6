//! Replaces the files that a message names by their contents.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use contracts::request::{ChatContent as Content, ChatFile as InputFile, ImageType, InlineData, UserMessage};

use crate::{
    error::ApiError,
    files::{FileContent, FileId, MAX_FILE_BYTES, MAX_FILES_OF_REQUEST},
};

/// Returns the uploaded files that a message names.
///
/// # Errors
/// If there are too many of them, or one is unknown or has expired.
pub fn uploads(message: &UserMessage, now: u64) -> Result<BTreeSet<FileId>, ApiError> {
    let contents = message.images.iter().chain(message.files.iter().map(|file| &file.content));
    let mut uploads = BTreeSet::new();
    for content in contents {
        let Content::Uploaded(id) = content else { continue };
        let file = FileId::parse(id).filter(|file| !file.is_expired(now));
        uploads.insert(file.ok_or_else(|| ApiError::unknown_file("input", id))?);
    }
    if uploads.len() > MAX_FILES_OF_REQUEST {
        return Err(ApiError::value("input", "may name at most 16 uploaded files"));
    }
    Ok(uploads)
}

/// Returns a message with the contents of its files, by their ids.
///
/// # Errors
/// If a file is missing, an image is none, or the files are too large together.
pub fn with_contents(
    message: &UserMessage,
    contents: &BTreeMap<FileId, FileContent>,
) -> Result<UserMessage, ApiError> {
    let bytes: usize = contents.values().map(|content| content.bytes.len()).sum();
    if bytes > MAX_FILE_BYTES {
        return Err(ApiError::too_large("input", bytes, MAX_FILE_BYTES));
    }
    let of = |id: &str| {
        let content = FileId::parse(id).and_then(|file| contents.get(&file));
        content.ok_or_else(|| ApiError::unknown_file("input", id))
    };
    let image = |image: &Content| -> Result<Content, ApiError> {
        let Content::Uploaded(id) = image else { return Ok(image.clone()) };
        let FileContent { bytes, .. } = of(id)?;
        let kind = ImageType::from_signature(bytes).ok_or_else(|| {
            let message = format!("File '{id}' isn't a PNG, JPEG, GIF or WebP image.");
            ApiError::invalid("input", "invalid_value", message)
        })?;
        Ok(inline(kind.mime_type(), bytes))
    };
    let file = |file: &InputFile| -> Result<InputFile, ApiError> {
        let Content::Uploaded(id) = &file.content else { return Ok(file.clone()) };
        let FileContent { media_type, bytes } = of(id)?;
        Ok(InputFile { name: file.name.clone(), content: inline(media_type, bytes) })
    };
    Ok(UserMessage {
        text: message.text.clone(),
        images: message.images.iter().map(image).collect::<Result<_, ApiError>>()?,
        files: message.files.iter().map(file).collect::<Result<_, ApiError>>()?,
    })
}

fn inline(media_type: &str, bytes: &Bytes) -> Content {
    Content::Inline(InlineData { mime_type: media_type.to_owned(), base64: STANDARD.encode(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Purpose;

    fn id(nonce: &str) -> FileId {
        let (nonce, name) = (nonce.to_owned(), "a.txt".to_owned());
        FileId { created: 1, expires: 10, purpose: Purpose::UserData, nonce, name }
    }

    fn message(file: FileId) -> UserMessage {
        let file = InputFile { name: file.name.clone(), content: Content::Uploaded(file.to_string()) };
        UserMessage { files: vec![file], ..UserMessage::default() }
    }

    fn content(bytes: usize) -> FileContent {
        FileContent { media_type: "text/plain".to_owned(), bytes: Bytes::from(vec![b'a'; bytes]) }
    }

    #[test]
    fn named_files_become_inline() {
        let message = message(id("a"));
        assert_eq!(uploads(&message, 9).unwrap(), BTreeSet::from([id("a")]));
        let read = with_contents(&message, &BTreeMap::from([(id("a"), content(2))])).unwrap();
        let data = InlineData { mime_type: "text/plain".to_owned(), base64: "YWE=".to_owned() };
        assert_eq!(read.files[0].content, Content::Inline(data));
        assert_eq!(read.files[0].name, "a.txt");
    }

    #[test]
    fn missing_expired_and_large_files_are_refused() {
        let message = message(id("a"));
        let code = |error: ApiError| (error.status, error.code.unwrap());
        let unknown = (400, "file_not_found".to_owned());
        assert_eq!(with_contents(&message, &BTreeMap::new()).map_err(code), Err(unknown.clone()));
        assert_eq!(uploads(&message, 10).map_err(code), Err(unknown));
        let large = BTreeMap::from([(id("a"), content(MAX_FILE_BYTES + 1))]);
        assert_eq!(with_contents(&message, &large).map_err(code).unwrap_err().0, 413);
        let image =
            UserMessage { images: vec![Content::Uploaded(id("a").to_string())], ..UserMessage::default() };
        let refused = with_contents(&image, &BTreeMap::from([(id("a"), content(2))]));
        assert_eq!(refused.map_err(code).unwrap_err(), (400, "invalid_value".to_owned()));
        let many =
            (0..=MAX_FILES_OF_REQUEST).map(|n| Content::Uploaded(id(&n.to_string()).to_string())).collect();
        assert!(uploads(&UserMessage { images: many, ..UserMessage::default() }, 1).is_err());
    }
}
