//! Files that a client sends along (AGN-034 §4.2).

use super::{
    json::Json,
    relative_path::{FileName, InvalidPath, RelativePath},
    report::{At, Report},
    table::{Member, Scenario, peek, read_object},
    value::{hint, mime_type, text, word},
};
use crate::hash::{ContentHash, as_text};

/// A file for the agent to reason about; advisory (AGN-034 §4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Where it lies, relative to the folder that is open in the client.
    pub relative_path: RelativePath,
    /// Its bare name.
    pub file_name: FileName,
    /// What it holds, decoded.
    pub contents: Contents,
    /// Where it comes from.
    pub origin: Origin,
    /// Its media type, when the client knows.
    pub mime_type: Option<String>,
    /// Its language, when the client knows.
    pub language: Option<String>,
}

/// Where an artifact comes from (AGN-034 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The editor attached it.
    Ide,
    /// The user attached it.
    User,
}

impl Origin {
    const WORDS: &[(&str, Self)] = &[("ide", Self::Ide), ("user", Self::User)];

    /// The origin as it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ide => "ide",
            Self::User => "user",
        }
    }
}

/// The decoded contents of a file.
///
/// Whether a file is text follows from its bytes ([`as_text`]), not from how they were sent. So a file has
/// one form and one hash, in whatever `Encoding` it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// UTF-8 without NUL.
    Text(String),
    /// Anything else.
    Binary(Vec<u8>),
}

impl Contents {
    /// Tells text from binary.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        match as_text(&bytes) {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Binary(bytes),
        }
    }

    /// The file's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }

    /// The file's content hash (IDX-016).
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        ContentHash::of_file(self.as_bytes())
    }
}

#[derive(Default)]
struct Draft {
    base64: bool,
    relative_path: Option<RelativePath>,
    file_name: Option<FileName>,
    contents: Option<Contents>,
    origin: Option<Origin>,
    mime_type: Option<String>,
    language: Option<String>,
}

const MEMBERS: &[Member<Draft>] = &[
    Member::required("RelativePath", |json, at, draft, report| {
        draft.relative_path = path(json, RelativePath::new, at, report);
    }),
    Member::required("FileName", |json, at, draft, report| {
        draft.file_name = path(json, FileName::new, at, report);
    }),
    Member::required("Contents", |json, at, draft, report| {
        draft.contents = contents(json, draft.base64, at, report);
    }),
    Member::required("Origin", |json, at, draft, report| {
        draft.origin = word(json, Origin::WORDS, at, report);
    }),
    Member::optional("MimeType", |json, at, draft, report| {
        draft.mime_type = mime_type(json, at, report);
    }),
    Member::optional("Language", |json, at, draft, report| {
        draft.language = hint(json, at, report);
    }),
    Member::optional("Encoding", |json, at, _, report| {
        // The value was looked at before, since Contents may come first; here it is checked.
        word(json, &[("utf8", ()), ("base64", ())], at, report);
    }),
];

/// Reads one item of `InputArtifacts`.
pub(super) fn read(json: &Json<'_>, at: &At<'_>, report: &mut Report) -> Option<Artifact> {
    let mut draft = Draft { base64: says_base64(json), ..Draft::default() };
    read_object(json, MEMBERS, Scenario::UserTurn, at, &mut draft, report);
    Some(Artifact {
        relative_path: draft.relative_path?,
        file_name: draft.file_name?,
        contents: draft.contents?,
        origin: draft.origin?,
        mime_type: draft.mime_type,
        language: draft.language,
    })
}

fn says_base64(json: &Json<'_>) -> bool {
    peek(json, "Encoding").any(|value| matches!(value, Json::Text(text) if text == "base64"))
}

fn path<T>(
    json: &Json<'_>,
    new: fn(&str) -> Result<T, InvalidPath>,
    at: &At<'_>,
    report: &mut Report,
) -> Option<T> {
    match new(text(json, usize::MAX, at, report)?) {
        Ok(path) => Some(path),
        Err(too_long @ InvalidPath::TooLong(_)) => {
            report.too_large(at, too_long);
            None
        }
        Err(other) => {
            report.invalid(at, other);
            None
        }
    }
}

fn contents(json: &Json<'_>, base64: bool, at: &At<'_>, report: &mut Report) -> Option<Contents> {
    let text = text(json, usize::MAX, at, report)?;
    let bytes = if base64 { super::base64::decode(text, at, report)? } else { text.as_bytes().to_vec() };
    Some(Contents::from_bytes(bytes))
}
