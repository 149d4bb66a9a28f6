//! Files that a client sends with a turn.

#[cfg(feature = "openapi")]
use super::schemas;
use super::{
    field_table::{Dependent, Field, Scenario, Slot, documented, peek, read_object, slot},
    json::Json,
    kind::{HINT, Kind, MimeType, Shape, Words, named, text, word},
    limits::MAX_ARTIFACTS,
    relative_path::{FileName, InvalidPath, RelativePath},
    value::{self, list, mime_type},
    violations::{Location, Violations},
};
use crate::{
    hash::{ContentHash, as_text},
    schema::Schema,
};

/// A file for the agent to reason about. Advisory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The path, relative to the folder that is open in the client.
    pub relative_path: RelativePath,
    /// The file's bare name.
    pub file_name: FileName,
    /// The decoded contents.
    pub contents: Contents,
    /// The origin of the file.
    pub origin: Origin,
    /// The media type, if the client knows it.
    pub mime_type: Option<String>,
    /// The language, if the client knows it.
    pub language: Option<String>,
}

/// The origin of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The editor attached it.
    Ide,
    /// The user attached it.
    User,
}

impl Words for Origin {
    const WORDS: &[(&str, Self)] = &[("ide", Self::Ide), ("user", Self::User)];
}

impl Origin {
    /// The origin as it appears on the wire.
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
/// The bytes decide if a file is text ([`as_text`]), not the encoding of the upload. So a file has one form and one
/// hash, whatever its `Encoding`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// UTF-8 without NUL.
    Text(String),
    /// Anything else.
    Binary(Vec<u8>),
}

impl Contents {
    /// Classifies bytes as text or binary.
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

    /// The file's content hash.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        ContentHash::hash_file(self.as_bytes())
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

const FIELDS: &[Field<Draft>] = &[
    Field::required(
        "RelativePath",
        "Path relative to the folder that is open in the client. Must not be absolute or leave the folder.",
        slot!(RELATIVE_PATH, Draft, relative_path),
    ),
    Field::required("FileName", "Bare file name.", slot!(FILE_NAME, Draft, file_name)),
    Field::required(
        "Contents",
        "Contents in the given `Encoding`.",
        &Dependent(text(usize::MAX).shape, |json, at, draft: &mut Draft, violations| {
            draft.contents = contents(json, draft.base64, at, violations);
        }),
    ),
    Field::required("Origin", "", slot!(ORIGIN, Draft, origin)),
    Field::optional("MimeType", "", slot!(MIME_TYPE, Draft, mime_type)),
    Field::optional("Language", "", slot!(HINT, Draft, language)),
    // `Contents` may come first, so the value was already peeked at. Here it is validated.
    Field::optional("Encoding", "", &Slot(ENCODING, |_: &mut Draft, _| {})),
];

/// The files of a turn.
pub(super) const ARTIFACTS: Kind<Vec<Artifact>> = Kind {
    shape: Shape::List { items: Schema::of::<Artifact>("InputArtifact"), min: 0, max: MAX_ARTIFACTS },
    read: |shape, json, at, violations| list(json, shape.max(), at, violations, read),
};

const RELATIVE_PATH: Kind<RelativePath> =
    named(Schema::of::<RelativePath>("RelativePath"), |_, json, at, violations| {
        path(json, RelativePath::new, at, violations)
    });

const FILE_NAME: Kind<FileName> = named(Schema::of::<FileName>("FileName"), |_, json, at, violations| {
    path(json, FileName::new, at, violations)
});

const ORIGIN: Kind<Origin> = word(Schema::of::<Origin>("Origin"));

const MIME_TYPE: Kind<String> =
    named(Schema::of::<MimeType>("MimeType"), |_, json, at, violations| mime_type(json, at, violations));

/// The encoding of `Contents`.
#[derive(Clone, Copy)]
struct Encoding;

impl Words for Encoding {
    const WORDS: &[(&str, Self)] = &[("utf8", Self), ("base64", Self)];
}

const ENCODING: Kind<Encoding> = word(Schema::of::<Encoding>("Encoding"));

documented!(
    Artifact,
    "InputArtifact",
    schemas::object_schema("A file.", FIELDS, Scenario::UserTurn),
    |all| schemas::collect(FIELDS, all)
);
documented!(Origin, "Origin", schemas::words("Origin of a file.", Origin::WORDS), |_| {});
documented!(
    Encoding,
    "Encoding",
    schemas::words("Encoding of file contents. Default: `utf8`.", Encoding::WORDS),
    |_| {}
);

/// Reads an item of `InputArtifacts`.
fn read(json: &Json<'_>, at: &Location<'_>, violations: &mut Violations) -> Option<Artifact> {
    let mut draft = Draft { base64: is_base64(json), ..Draft::default() };
    read_object(json, FIELDS, Scenario::UserTurn, at, &mut draft, violations);
    Some(Artifact {
        relative_path: draft.relative_path?,
        file_name: draft.file_name?,
        contents: draft.contents?,
        origin: draft.origin?,
        mime_type: draft.mime_type,
        language: draft.language,
    })
}

fn is_base64(json: &Json<'_>) -> bool {
    peek(json, "Encoding").any(|value| matches!(value, Json::Text(text) if text == "base64"))
}

fn path<T>(
    json: &Json<'_>,
    new: fn(&str) -> Result<T, InvalidPath>,
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<T> {
    match new(value::text(json, usize::MAX, at, violations)?) {
        Ok(path) => Some(path),
        Err(too_long @ InvalidPath::TooLong(_)) => {
            violations.too_large(at, too_long);
            None
        }
        Err(other) => {
            violations.invalid(at, other);
            None
        }
    }
}

fn contents(
    json: &Json<'_>,
    base64: bool,
    at: &Location<'_>,
    violations: &mut Violations,
) -> Option<Contents> {
    let text = value::text(json, usize::MAX, at, violations)?;
    let bytes = if base64 { super::base64::decode(text, at, violations)? } else { text.as_bytes().to_vec() };
    Some(Contents::from_bytes(bytes))
}
