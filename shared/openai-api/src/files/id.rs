//! Ids of uploaded files. They encode everything but the content, so no table holds it.
//!
//! An id grants nothing: the content is looked up under the verified caller.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

/// The start of the ids of files.
pub const FILE_PREFIX: &str = "file-";

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// Input of responses and chats.
    UserData,
    /// Input of OpenAI's assistants. Treated as user data.
    Assistants,
    /// Images.
    Vision,
}

impl Purpose {
    const ALL: [Self; 3] = [Self::UserData, Self::Assistants, Self::Vision];

    /// Returns the name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UserData => "user_data",
            Self::Assistants => "assistants",
            Self::Vision => "vision",
        }
    }

    /// Returns the purpose with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|purpose| purpose.name() == name)
    }
}

/// An uploaded file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId {
    /// The time of the upload, in seconds.
    pub created: u64,
    /// The time from which the file doesn't exist any more, in seconds.
    pub expires: u64,
    /// The purpose.
    pub purpose: Purpose,
    /// The random part, without a slash.
    pub nonce: String,
    /// The name of the file.
    pub name: String,
}

impl FileId {
    /// Parses an id.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(id.strip_prefix(FILE_PREFIX)?).ok()?).ok()?;
        let mut parts = text.splitn(5, '/');
        let mut part = || parts.next();
        let (nonce, created, expires) = (part()?.to_owned(), part()?.parse().ok()?, part()?.parse().ok()?);
        let file =
            Self { nonce, created, expires, purpose: Purpose::from_name(part()?)?, name: part()?.to_owned() };
        // An id that is spelled differently is not one of ours, however similar.
        (file.to_string() == id).then_some(file)
    }

    /// True once the file has expired.
    #[must_use]
    pub fn is_expired(&self, now: u64) -> bool {
        self.expires <= now
    }

    /// Returns the file as an object.
    #[must_use]
    pub fn object(&self, bytes: u64) -> Value {
        json!({
            "id": self.to_string(), "object": "file", "bytes": bytes, "created_at": self.created,
            "expires_at": self.expires, "filename": self.name, "purpose": self.purpose.name(),
            "status": "processed", "status_details": null,
        })
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { created, expires, purpose, nonce, name } = self;
        let text = format!("{nonce}/{created}/{expires}/{}/{name}", purpose.name());
        write!(f, "{FILE_PREFIX}{}", URL_SAFE_NO_PAD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip() {
        for name in ["a.txt", "notes/a b.txt", "ü/日本.pdf"] {
            let purpose = Purpose::Vision;
            let id =
                FileId { created: 7, expires: 9, purpose, nonce: "n1".to_owned(), name: name.to_owned() };
            assert_eq!(FileId::parse(&id.to_string()), Some(id.clone()));
            assert!(id.is_expired(9) && !id.is_expired(8));
            assert_eq!(id.object(3)["filename"], name);
        }
    }

    #[test]
    fn foreign_ids_are_unknown() {
        let other = |text: &str| format!("file-{}", URL_SAFE_NO_PAD.encode(text));
        let spelled = [other("n/07/9/vision/a"), other("n/7/9/audio/a"), other("n/7/9/vision")];
        for id in ["", "file-", "file-abc123", "file-6F2ksmvXxt4VdoqmHRw6kL", "resp_1"] {
            assert_eq!(FileId::parse(id), None, "{id}");
        }
        for id in spelled {
            assert_eq!(FileId::parse(&id), None, "{id}");
        }
    }
}
