//! Schemas of strings with rules: ids, hashes, timestamps, names, paths. A pattern expresses as much of a rule as a
//! regular expression can.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ObjectBuilder, RefOr, Schema, SchemaFormat,
        schema::{KnownFormat, Type},
    },
};

use crate::{
    error::{Error, Wire},
    hash::{ContentHash, FileAddress, Fingerprint},
    id::{AgentContextId, ConversationContextId, MAX_ID_CHARS, OrgId, SessionId, TurnId, UserId},
    request::{
        FileName, RelativePath,
        kind::{Hint, ImageData, ImageId, MimeType, RagKey, RagText, SessionName, ToolCallId},
        limits::{
            MAX_FILE_NAME_CHARS, MAX_HINT_CHARS, MAX_IMAGE_ID_CHARS, MAX_KEY_CHARS, MAX_MIME_TYPE_CHARS,
            MAX_PATH_CHARS, MAX_SESSION_NAME_CHARS, MAX_TOOL_CALL_ID_CHARS, MAX_VALUE_CHARS,
        },
    },
    timestamp::Timestamp,
};

/// Implements a named schema for a type with a builder function.
macro_rules! named {
    ($($name:ident: $build:expr;)+) => {$(
        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let build: fn(ObjectBuilder) -> ObjectBuilder = $build;
                build(ObjectBuilder::new().schema_type(Type::String)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )+};
}

named! {
    SessionId: minted;
    TurnId: minted;
    AgentContextId: minted;
    ConversationContextId: minted;
    OrgId: opaque;
    UserId: opaque;
    ContentHash: sha256;
    FileAddress: sha256;
    Fingerprint: sha256;
    Hint: |string| line(string, MAX_HINT_CHARS);
    ImageId: |string| line(string, MAX_IMAGE_ID_CHARS);
    RagKey: |string| line(string, MAX_KEY_CHARS);
    RagText: |string| string.max_length(Some(MAX_VALUE_CHARS)).pattern(Some(r"\S"));
    SessionName: |string| line(string, MAX_SESSION_NAME_CHARS);
    ToolCallId: |string| line(string, MAX_TOOL_CALL_ID_CHARS);
    MimeType: |string| line(string, MAX_MIME_TYPE_CHARS).pattern(Some(MIME_TYPE));
    RelativePath: |string| line(string, MAX_PATH_CHARS).pattern(Some(RELATIVE_PATH));
    FileName: |string| line(string, MAX_FILE_NAME_CHARS).pattern(Some(FILE_NAME));
    ImageData: |string| string.content_encoding("base64").pattern(Some(IMAGE_DATA));
    Timestamp: |string| string.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
}

/// An error has the schema of its wire form.
impl PartialSchema for Error {
    fn schema() -> RefOr<Schema> {
        Wire::schema()
    }
}

impl ToSchema for Error {
    fn name() -> Cow<'static, str> {
        Wire::name()
    }

    fn schemas(all: &mut Vec<(String, RefOr<Schema>)>) {
        Wire::schemas(all);
    }
}

/// One line of text that is not blank.
const LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";
const MIME_TYPE: &str = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+ *(;[ -~]*)?$";
/// No drive, no path, no name of only dots and blanks.
const FILE_NAME: &str = r"^(?![A-Za-z]:)(?![. ]+$)[^/\\\x00-\x1f\x7f-\x9f]+$";
/// No root, drive, scheme or home folder, no folder, and no segment of only dots and blanks except `.`.
const RELATIVE_PATH: &str = concat!(
    r"^(?![/\\])(?![A-Za-z]:)(?!~([/\\]|$))(?![^/\\]*:[/\\])",
    r"(((?![. ]+([/\\]|$))[^/\\\x00-\x1f\x7f-\x9f]+|\.)?[/\\])*",
    r"(?![. ]+$)[^/\\\x00-\x1f\x7f-\x9f]+$",
);
/// The signatures of PNG, JPEG, GIF and WebP.
const IMAGE_DATA: &str = concat!(
    r"^(iVBORw0KGgo|/9j/|R0lGOD[dl]h|UklGR[g-v][A-Za-z0-9+/]{4}[BFJNRVZdhlptx159]XRUJQ)",
    r"[A-Za-z0-9+/]*={0,2}$",
);

fn line(string: ObjectBuilder, most: usize) -> ObjectBuilder {
    string.min_length(Some(1)).max_length(Some(most)).pattern(Some(LINE))
}

/// Unreserved characters only, and no reserved word (see [`crate::id`]).
fn minted(string: ObjectBuilder) -> ObjectBuilder {
    sized(string).pattern(Some(r"^(?!(\.|\.\.|last)$)[A-Za-z0-9._~-]+$"))
}

/// An id issued by an identity provider.
fn opaque(string: ObjectBuilder) -> ObjectBuilder {
    sized(string).pattern(Some(r"^(?!\.\.?$)[^\x00-\x1f\x7f-\x9f]+$"))
}

fn sized(string: ObjectBuilder) -> ObjectBuilder {
    string.min_length(Some(1)).max_length(Some(MAX_ID_CHARS))
}

fn sha256(string: ObjectBuilder) -> ObjectBuilder {
    string.pattern(Some("^[0-9a-f]{64}$"))
}
