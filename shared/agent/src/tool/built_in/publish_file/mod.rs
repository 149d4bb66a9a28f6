//! `publish_file`: publishes a file to the user by reference instead of within the answer.

use std::borrow::Cow;

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use contracts::ContentHash;
use futures::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::json;

use super::file_name;
use crate::tool::{
    Definition, Effect, ExecutedBy, PublishFile, ServerTool, ToolError, ToolInput, ToolSuccess,
};

/// The maximum size of a file.
const MAX_BYTES: usize = 1024 * 1024;

/// The maximum length of each half of a media type (RFC 6838 §4.2).
const MAX_MEDIA_TYPE_PART: usize = 127;

/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 500;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const DESCRIPTION: &str = "Publish a file to the user. It is stored and shown beside your answer as a link. \
    At most 1 MiB.";

const USAGE: &str = "\
Call this when the user should get a whole file: generated source, a report, data, an image. Short excerpts \
belong into the answer itself, in a fenced block. A bundle of files that the user's program is to read goes into \
the answer too, in a block that is tagged `aptix-json`.
- `name`: a bare file name with its extension, such as `report.md`; no folders. It may be adjusted: the result \
has the name that counts.
- `media_type`: such as `text/markdown` or `application/json`.
- `contents`: the whole file. `encoding`: `utf8` for text as it is, `base64` for binary data.
- `description`: one line on what the file is, or null.
Publish a file once. Refer to it by its name in the answer; do not repeat its contents and do not make up a link.";

/// The tool.
pub(super) struct Publish {
    definition: Definition,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    media_type: Cow<'a, str>,
    #[serde(borrow)]
    contents: Cow<'a, str>,
    encoding: Encoding,
    description: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Utf8,
    Base64,
}

impl Publish {
    pub(super) fn new() -> Self {
        // A strict schema has no optional members, so an absent description is null.
        let parameters = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "A bare file name with extension, no folders." },
                "media_type": { "type": "string", "description": "For example text/markdown." },
                "contents": { "type": "string", "description": "The whole file, in the given encoding." },
                "encoding": {
                    "type": "string",
                    "enum": ["utf8", "base64"],
                    "description": "utf8 for text as it is, base64 for binary data.",
                },
                "description": {
                    "type": ["string", "null"],
                    "description": "One line on what the file is, or null.",
                },
            },
            "required": ["name", "media_type", "contents", "encoding", "description"],
            "additionalProperties": false,
        });
        let definition = Definition {
            name: "publish_file".to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters,
            usage: Some(USAGE.to_owned()),
            executed_by: ExecutedBy::Server,
            strict: true,
        };
        Self { definition }
    }
}

impl ServerTool for Publish {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>> {
        std::future::ready(publish(&call)).boxed()
    }
}

fn publish(call: &ToolInput<'_>) -> Result<ToolSuccess, ToolError> {
    let arguments: Arguments<'_> = call.read()?;
    let refused = |reason: &str| ToolError::Refused(format!("{reason} Nothing was published."));
    let name = file_name::sanitize(&arguments.name)
        .ok_or_else(|| refused("`name` must be a file name with letters or digits."))?;
    let media_type = media_type(&arguments.media_type)
        .ok_or_else(|| refused("`media_type` must be a media type, such as `text/plain`."))?;
    let bytes = match arguments.encoding {
        Encoding::Utf8 => Bytes::copy_from_slice(arguments.contents.as_bytes()),
        Encoding::Base64 => decode_base64(&arguments.contents)
            .ok_or_else(|| refused("`contents` must be base64 of the standard alphabet."))?,
    };
    if bytes.len() > MAX_BYTES {
        return Err(refused(&format!("The file has {} bytes, at most {MAX_BYTES} are taken.", bytes.len())));
    }
    let description = arguments
        .description
        .map(|text| text.trim().chars().take(MAX_DESCRIPTION_CHARS).collect::<String>())
        .filter(|text| !text.is_empty());
    let result = json!({
        "name": name.as_str(),
        "media_type": media_type,
        "size": bytes.len(),
        // The same hash as in its `FileRef` and from `code_hash_normalized`.
        "hash": ContentHash::hash_file(&bytes).to_string(),
    });
    let file = PublishFile { name, media_type, bytes, description };
    Ok(ToolSuccess { result, effects: vec![Effect::PublishFile(file)] })
}

/// Decodes base64. Whitespace is ignored, since models break it into lines.
fn decode_base64(text: &str) -> Option<Bytes> {
    let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(packed).ok().map(Bytes::from)
}

/// Returns `type/subtype` in lowercase, without parameters, or none for an invalid media type (RFC 6838 §4.2).
fn media_type(text: &str) -> Option<String> {
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (kind, subtype) = essence.split_once('/')?;
    let is_part = |part: &str| {
        (1..=MAX_MEDIA_TYPE_PART).contains(&part.len())
            && part.starts_with(|first: char| first.is_ascii_alphanumeric())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    (is_part(kind) && is_part(subtype)).then(|| essence.clone())
}

#[cfg(test)]
mod tests;
