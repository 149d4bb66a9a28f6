//! What a model's reply comes to: pure, from the reply to the outcome that is stored.

use bytes::Bytes;
use contracts::{
    AgentExecuteResponse, ContentHash, Error, ErrorCode, Timestamp,
    guard::{Blob, guard},
    response::{FileRef, Final, Metadata},
};

use crate::{
    detail::Report,
    id::TurnKey,
    link, mode, model,
    outcome::Outcome,
    payload::{Kind, Payload},
    summary::summarize,
    timing::Timing,
    turn::Turn,
};

/// An outcome, and the files that have to be stored before it.
#[derive(Debug)]
pub(crate) struct Answer {
    /// What the turn came to.
    pub(crate) outcome: Outcome,
    /// Files that its response refers to.
    pub(crate) files: Vec<File>,
}

/// A file to be stored, addressed by its content.
#[derive(Debug)]
pub(crate) struct File {
    /// Under which key.
    pub(crate) payload: Payload,
    /// Its bytes.
    pub(crate) bytes: Bytes,
}

/// A whole reply. Files that the model wrote into its text become files (AGN-033 §6.1).
pub(crate) fn answered(
    turn: &Turn,
    reply: model::Reply,
    warnings: Vec<String>,
    model: &str,
    received: Timestamp,
    timing: &Timing,
) -> Answer {
    if !reply.calls.is_empty() {
        // No tools were offered, so a call can't be answered and the chain can't go on from it.
        return failed(&model::Error::Malformed, warnings, model, received);
    }
    let guarded = guard(&reply.text, |blob| link::payload(&turn.key, &path(blob)));
    let report = Report {
        answer_summary: Some(summarize(&guarded.text)),
        response_id: Some(reply.response_id),
        model: Some(model.to_owned()),
        received: Some(received),
        chain_expires: Some(received.after(timing.chain_life)),
        usage: reply.usage,
        warnings: warnings.clone(),
        errors: Vec::new(),
    };
    let answer = Final {
        metadata: Metadata {
            session_id: turn.key.session.session.clone(),
            turn_id: turn.key.turn.clone(),
            mode_display_name: mode::display_name(&turn.mode),
        },
        primary_output_text: guarded.text,
        files: guarded.blobs.iter().map(|blob| file_ref(&turn.key, blob)).collect(),
        tool_results: Vec::new(),
        user_warnings: warnings,
        usage: reply.usage,
    };
    Answer {
        outcome: Outcome::completed(AgentExecuteResponse::Final(answer), report, None),
        files: guarded.blobs.into_iter().map(|blob| file(&turn.key, blob)).collect(),
    }
}

/// No reply.
pub(crate) fn failed(
    error: &model::Error,
    warnings: Vec<String>,
    model: &str,
    received: Timestamp,
) -> Answer {
    let report =
        Report { model: Some(model.to_owned()), received: Some(received), warnings, ..Report::default() };
    Answer { outcome: Outcome::failed(failure(error), report), files: Vec::new() }
}

fn path(blob: &Blob) -> String {
    format!("files/{}/{}", ContentHash::of_bytes(&blob.bytes), blob.name)
}

fn file_ref(key: &TurnKey, blob: &Blob) -> FileRef {
    FileRef {
        name: blob.name.clone(),
        mime_type: blob.mime_type.clone(),
        url: link::payload(key, &path(blob)),
        size_bytes: u64::try_from(blob.bytes.len()).unwrap_or(u64::MAX),
        content_hash: ContentHash::of_bytes(&blob.bytes),
        description: None,
        content_expires: None,
    }
}

fn file(key: &TurnKey, blob: Blob) -> File {
    let kind = Kind::File { hash: ContentHash::of_bytes(&blob.bytes), name: blob.name };
    File { payload: Payload { turn: key.clone(), kind }, bytes: blob.bytes.into() }
}

/// What the user is told about a model that gave no answer. Never the provider's words (I14).
fn failure(error: &model::Error) -> Error {
    let (code, message) = match error {
        model::Error::RateLimited { .. } => (
            ErrorCode::ModelRateLimited,
            "The model provider is limiting requests. Wait a little and send the instruction again with a new TurnId.",
        ),
        model::Error::QuotaExceeded => (
            ErrorCode::ModelQuotaExceeded,
            "The model provider's quota is used up. Ask your operator to raise it.",
        ),
        model::Error::ContextTooLong => (
            ErrorCode::ModelContextTooLong,
            "The conversation is too long for the model. Send fewer or smaller files, or start a new session.",
        ),
        model::Error::ContentFiltered => (
            ErrorCode::ModelContentFiltered,
            "The model provider's content filter refused this turn. Rephrase the instruction.",
        ),
        model::Error::Unauthenticated | model::Error::ModelNotFound => (
            ErrorCode::ModelMisconfigured,
            "The model provider refused the service's credentials or model. Ask your operator to check them.",
        ),
        model::Error::ChainLost | model::Error::Rejected { .. } => (
            ErrorCode::ModelRejected,
            "The model provider rejected the request. Send the instruction again with a new TurnId.",
        ),
        model::Error::Unavailable => (
            ErrorCode::ModelUnavailable,
            "The model provider is unavailable. Send the instruction again with a new TurnId.",
        ),
        model::Error::TimedOut => (
            ErrorCode::ModelTimedOut,
            "The model did not answer in time. Send the instruction again with a new TurnId.",
        ),
        model::Error::Malformed => (
            ErrorCode::ModelReplyMalformed,
            "The model provider's reply broke off or was malformed. Send the instruction again with a new TurnId.",
        ),
        model::Error::Incomplete => (
            ErrorCode::ModelReplyIncomplete,
            "The model stopped before its answer was complete. Ask for a shorter answer with a new TurnId.",
        ),
    };
    Error::new(code, message)
}
