//! The files of a turn.

use bytes::Bytes;
use contracts::{
    ContentHash, FileAddress,
    response::{FileRef, ToolOutcome},
};
use protocol::{
    id::TurnKey,
    link,
    payload::{Kind, Payload},
    turn::Turn,
};

use crate::{
    model,
    output_filter::Blob,
    tool::{
        PublishFile,
        rounds::{CallFiles, MAX_INLINE_VALUE_BYTES, Round},
    },
};

/// A file to store, addressed by its content.
#[derive(Debug, Clone)]
pub struct File {
    /// The storage key.
    pub payload: Payload,
    /// The media type.
    pub media_type: String,
    /// The content.
    pub bytes: Bytes,
}

/// Returns the raw payloads of the turn's model call number `call` as files of its attempt.
pub fn raw_payloads(turn: &Turn, call: u32, payloads: model::RawPayloads) -> Vec<File> {
    let model::RawPayloads { request, response } = payloads;
    let attempt = || turn.attempt.clone();
    [(Kind::ModelRequest(attempt(), call), request), (Kind::ModelResponse(attempt(), call), response)]
        .into_iter()
        .filter(|(_, bytes)| !bytes.is_empty())
        .map(|(kind, bytes)| File {
            media_type: kind.media_type().to_owned(),
            payload: Payload { turn: turn.key.clone(), kind },
            bytes,
        })
        .collect()
}

/// Returns the link to a file that the model embedded in its text.
#[must_use]
pub fn embedded_link(key: &TurnKey, blob: &Blob) -> String {
    link::file(key, &FileAddress::hash_bytes(&blob.bytes), &blob.name)
}

/// Returns a published file: the one to store, and the reference for the client.
#[must_use]
pub fn published_file(key: &TurnKey, file: &PublishFile) -> (File, FileRef) {
    let (address, name) = (FileAddress::hash_bytes(&file.bytes), file.name.to_string());
    let file_ref = FileRef {
        url: link::file(key, &address, &name),
        name: name.clone(),
        mime_type: file.media_type.clone(),
        size_bytes: u64::try_from(file.bytes.len()).unwrap_or(u64::MAX),
        content_hash: ContentHash::hash_file(&file.bytes),
        description: file.description.clone(),
        content_expires: None,
    };
    let payload = Payload { turn: key.clone(), kind: Kind::File { address, name } };
    (File { payload, media_type: file.media_type.clone(), bytes: file.bytes.clone() }, file_ref)
}

/// Names of the files with long values.
pub mod long_value_names {
    /// The model's text.
    pub const TEXT: &str = "text.md";
    /// A call's arguments.
    pub const ARGUMENTS: &str = "arguments.json";
    /// A call's result.
    pub const RESULT: &str = "result.json";
    /// A call's error message.
    pub const ERROR: &str = "error.txt";
}

/// Returns the long values of a round as files of the turn.
#[must_use]
pub fn long_values(key: &TurnKey, round: &Round) -> Vec<File> {
    let text =
        round.message.text_file_address().map(|at| (at, long_value_names::TEXT, round.message.text.as_str()));
    let calls = round.calls.iter().flat_map(|call| {
        let CallFiles { arguments, outcome } = call.long_value_files();
        let outcome = outcome.zip(call.outcome.as_ref()).map(|(at, outcome)| match outcome {
            ToolOutcome::ResultJson(json) => (at, long_value_names::RESULT, json.as_str()),
            ToolOutcome::ErrorMessage(message) => (at, long_value_names::ERROR, message.as_str()),
        });
        arguments
            .map(|at| (at, long_value_names::ARGUMENTS, call.arguments.as_str()))
            .into_iter()
            .chain(outcome)
    });
    // A truncated value was stored while it was complete.
    let full_values =
        text.into_iter().chain(calls).filter(|(_, _, value)| value.len() > MAX_INLINE_VALUE_BYTES);
    full_values.map(|(address, name, value)| long_value(key, address, name, value)).collect()
}

/// Returns a tool's result as a file of the turn, with its address.
#[must_use]
pub fn tool_result(key: &TurnKey, result: &str) -> (File, FileAddress) {
    let address = FileAddress::hash_bytes(result.as_bytes());
    (long_value(key, address, long_value_names::RESULT, result), address)
}

/// Returns the payload of such a file.
#[must_use]
pub fn tool_result_payload(key: &TurnKey, address: FileAddress) -> Payload {
    let name = long_value_names::RESULT.to_owned();
    Payload { turn: key.clone(), kind: Kind::File { address, name } }
}

pub(super) fn long_value(key: &TurnKey, address: FileAddress, name: &str, value: &str) -> File {
    let media_type = match name {
        long_value_names::TEXT => "text/markdown; charset=utf-8",
        long_value_names::ERROR => "text/plain; charset=utf-8",
        _ => "application/json",
    };
    File {
        payload: Payload { turn: key.clone(), kind: Kind::File { address, name: name.to_owned() } },
        media_type: media_type.to_owned(),
        bytes: Bytes::from(value.to_owned()),
    }
}

pub(super) fn file_ref(key: &TurnKey, blob: &Blob) -> FileRef {
    FileRef {
        name: blob.name.clone(),
        mime_type: blob.mime_type.clone(),
        url: embedded_link(key, blob),
        size_bytes: u64::try_from(blob.bytes.len()).unwrap_or(u64::MAX),
        content_hash: ContentHash::hash_file(&blob.bytes),
        description: None,
        content_expires: None,
    }
}

/// Returns the files that the model embedded in its text, to store where their links point.
#[must_use]
pub fn embedded(key: &TurnKey, blobs: Vec<Blob>) -> Vec<File> {
    let file = |blob: Blob| {
        let kind = Kind::File { address: FileAddress::hash_bytes(&blob.bytes), name: blob.name };
        let payload = Payload { turn: key.clone(), kind };
        File { payload, media_type: blob.mime_type, bytes: blob.bytes.into() }
    };
    blobs.into_iter().map(file).collect()
}
