//! Converts a model's reply into the outcome to store, without I/O.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use contracts::{
    AgentExecuteResponse, ContentHash, Error, ErrorCode, FileAddress, NonEmpty, Timestamp,
    response::{ClientToolContinuation, FileRef, Final, Metadata, ToolCall, ToolOutcome},
};

use crate::{
    attempt::{AttemptState, RecoveryPoint, StagedEffects, TurnSpec},
    history::rounds::{CallFiles, MAX_INLINE_VALUE_BYTES, ModelCallInfo, Round},
    model,
    outcome::Outcome,
    output_filter::{Blob, FilteredText},
    text::excerpt::excerpt_of,
    tool::{self, PublishFile},
};
use protocol::{
    chain::HistoryOwner,
    detail::{ModelRequestInfo, OutcomeSummary, Report},
    id::TurnKey,
    link,
    payload::{Kind, Payload},
    stream_position::Segment,
    timing::Timing,
    turn::Turn,
};

/// Warning for the user if an answer is not the JSON that the context requires. It was paid for and may be useful, so
/// it is an answer all the same.
const FORMAT_MISMATCH: &str = "The answer is not in the form that this conversation asks the model for.";

/// Warning for the user if an answer ends at the token limit.
pub const TOKEN_LIMIT_REACHED: &str = "The answer reached the most tokens that it may have and stops there. Ask to go on, or for a shorter answer.";

/// Maximum wait that a client is asked for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// An outcome, and the files to store before it.
#[derive(Debug)]
pub struct Answer {
    /// The outcome of the attempt.
    pub outcome: Outcome,
    /// Files that the response refers to.
    pub files: Vec<File>,
    /// Files that may be missing because nothing refers to them.
    pub optional_files: Vec<File>,
}

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

impl Answer {
    /// Sets the segment of the turn's stream that has the answer's text.
    pub fn with_segment(self, segment: Option<Segment>) -> Self {
        Self { outcome: self.outcome.with_segment(segment), ..self }
    }

    /// Sets the turn's last model call.
    pub fn with_model_call(self, call: ModelCallInfo) -> Self {
        Self { outcome: self.outcome.with_model_call(call), ..self }
    }

    /// Adds a partial answer.
    pub fn with_partial_answer(self, turn: &TurnKey, filtered: FilteredText) -> Self {
        let address = (filtered.text.len() > MAX_INLINE_VALUE_BYTES)
            .then(|| FileAddress::hash_bytes(filtered.text.as_bytes()));
        let long_file =
            address.map(|address| long_value(turn, address, long_value_names::TEXT, &filtered.text));
        let outcome = self.outcome.with_partial(filtered.text);
        Self { outcome, files: embedded(turn, filtered.blobs).into_iter().chain(long_file).collect(), ..self }
    }

    /// Sets the optional files.
    pub fn with_optional_files(self, optional_files: Vec<File>) -> Self {
        Self { optional_files, ..self }
    }
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

/// Warns the user if an answer doesn't match the JSON schema of its context.
pub fn check_text_format(text: &str, spec: &TurnSpec, state: &mut AttemptState) {
    if spec.settings.text_format.as_ref().is_some_and(|format| !tool::matches_schema(&format.schema, text)) {
        state.effects.warn(FORMAT_MISMATCH);
    }
}

/// Returns the outcome of a complete reply. Files that the model embedded in its text become files of the turn.
pub fn completed(
    turn: &Turn,
    mode_display_name: &str,
    filtered: FilteredText,
    state: AttemptState,
    spec: &TurnSpec,
    received: Timestamp,
    timing: &Timing,
) -> Answer {
    let summary = excerpt_of(&filtered.text);
    let report = Report {
        answer_summary_truncated: summary.is_truncated,
        answer_summary: Some(summary.text),
        // A provider that stores nothing has no response to continue from.
        chain_expires: (spec.history.owner == HistoryOwner::Provider && !state.chain.is_stateless())
            .then(|| received.after(timing.provider_response_ttl)),
        ..report(&state, spec, received)
    };
    let (rounds, window) = (state.rounds_for_outcome(), state.history.window.clone());
    let StagedEffects { modes: mut earlier_modes, files, tool_results, warnings } = state.effects;
    let staged_mode = earlier_modes.pop();
    let refs = filtered.blobs.iter().map(|blob| file_ref(&turn.key, blob));
    let answer = Final {
        metadata: metadata(turn, mode_display_name),
        primary_output_text: filtered.text,
        files: dedup_by_url(files.into_iter().chain(refs)),
        tool_results,
        user_warnings: warnings,
        usage: state.totals.usage,
    };
    Answer {
        outcome: Outcome::completed(AgentExecuteResponse::Final(answer), report, staged_mode)
            .with_earlier_modes(earlier_modes)
            .with_history(rounds, window)
            .with_context(state.retrieved.block),
        files: embedded(&turn.key, filtered.blobs),
        optional_files: Vec::new(),
    }
}

/// Removes duplicate files. A link contains the turn, the content hash and the name, so equal links are one file. The
/// first description stays.
fn dedup_by_url(files: impl Iterator<Item = FileRef>) -> Vec<FileRef> {
    let mut seen = BTreeSet::new();
    files.filter(|file| seen.insert(file.url.clone())).collect()
}

/// Returns the outcome of a suspension: calls for the client. Everything collected so far is reported in the final
/// response. Files that the model embedded in its text become files of the turn, though a continuation has no list of
/// them.
pub fn suspended(
    turn: &Turn,
    mode_display_name: &str,
    filtered: FilteredText,
    state: AttemptState,
    spec: TurnSpec,
    received: Timestamp,
) -> Answer {
    let calls = state.rounds.pending_calls().map(|call| ToolCall {
        tool_call_id: call.call_id.clone(),
        name: call.name.clone(),
        // Some models write a call without arguments as empty text.
        arguments_json: Some(call.arguments.trim())
            .filter(|text| !text.is_empty())
            .map_or_else(|| "{}".to_owned(), |_| call.arguments.clone()),
    });
    let Ok(tool_calls) = NonEmpty::new(calls.collect()) else {
        return failed(client_error(&model::Error::Malformed), state, &spec, received);
    };
    let continuation = ClientToolContinuation {
        metadata: metadata(turn, mode_display_name),
        tool_calls,
        tool_continuation_message: Some(filtered.text).filter(|text| !text.trim().is_empty()),
    };
    let response = AgentExecuteResponse::ClientToolContinuation(continuation);
    let report = report(&state, &spec, received);
    let outcome = Outcome::suspended(response, report, RecoveryPoint { spec, state });
    Answer { outcome, files: embedded(&turn.key, filtered.blobs), optional_files: Vec::new() }
}

/// Returns the outcome of a failure.
pub fn failed(error: Error, state: AttemptState, spec: &TurnSpec, received: Timestamp) -> Answer {
    let outcome =
        Outcome::failed(error, report(&state, spec, received)).with_rounds(state.rounds_for_outcome());
    Answer { outcome, files: Vec::new(), optional_files: Vec::new() }
}

/// Returns the error for a model that called tools for more rounds than a turn allows.
pub fn tool_rounds_exceeded(spec: &TurnSpec) -> Error {
    let message = format!(
        "The model called tools more than {} times in a row without an answer. Ask for less at once, with a new TurnId.",
        spec.tools.max_rounds
    );
    Error::new(ErrorCode::ToolRoundsExceeded, message)
}

impl RecoveryPoint {
    /// Returns the summary for a finalization if the turn got no further. It omits everything that requires an
    /// answer.
    #[must_use]
    pub fn outcome_summary(&self) -> OutcomeSummary {
        let received = self.state.chain.reply.as_ref().map(|reply| reply.received_at);
        let report = attempt_report(&self.state, &self.spec, received);
        OutcomeSummary { report, modes: Vec::new() }
    }
}

fn report(state: &AttemptState, spec: &TurnSpec, received: Timestamp) -> Report {
    attempt_report(state, spec, Some(received))
}

fn attempt_report(state: &AttemptState, spec: &TurnSpec, received: Option<Timestamp>) -> Report {
    let AttemptState { chain, prompt, totals, effects, .. } = state;
    let reply = chain.reply.as_ref();
    Report {
        response_id: chain.response_id.clone(),
        model_request: chain.response_id.as_ref().map(|_| ModelRequestInfo {
            previous_response_id: reply.and_then(|reply| reply.previous_response_id.clone()),
        }),
        model: Some(spec.route.model.clone()),
        response_model: reply.and_then(|reply| reply.response_model.clone()),
        provider: reply.map(|reply| reply.provider.clone()),
        fallbacks: chain.fallback_attempts.clone(),
        stateless_provider: chain.stateless_first_provider().cloned(),
        chain_mode: prompt.mode.clone(),
        chain_solution: prompt.solution,
        received_at: received,
        usage: totals.usage,
        cost: totals.cost(spec.route.prices.as_ref()),
        last_raw_payload: spec.store_raw_payloads.then_some(totals.model_calls),
        model_calls: Some(totals.model_calls).filter(|calls| *calls > 0),
        model_ms: Some(totals.model_time.total_ms).filter(|_| !totals.model_time.is_zero()),
        first_text_ms: totals.model_time.first_text_ms,
        client_tool_ms: Some(totals.client_tool_ms).filter(|millis| *millis > 0),
        server_tool_ms: effects.ran_server_tools().then_some(totals.server_tool_ms),
        tool_rounds: Some(state.rounds.count).filter(|rounds| *rounds > 0),
        chunk_refs: state.retrieved.chunk_refs.clone(),
        warnings: effects.warnings.clone(),
        ..Report::default()
    }
}

/// Returns the response metadata, with the mode after the turn's own changes.
fn metadata(turn: &Turn, mode_display_name: &str) -> Metadata {
    Metadata {
        session_id: turn.key.session.session.clone(),
        turn_id: turn.key.turn.clone(),
        mode_display_name: mode_display_name.to_owned(),
    }
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

fn long_value(key: &TurnKey, address: FileAddress, name: &str, value: &str) -> File {
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

fn file_ref(key: &TurnKey, blob: &Blob) -> FileRef {
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

/// Returns the error for the client if the model gave no answer. It never contains the provider's text (I14).
pub fn client_error(error: &model::Error) -> Error {
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
        model::Error::AttachmentRefused => (
            ErrorCode::ModelAttachmentRefused,
            "The model provider can't read an image or a file of this turn. Send it in another form, or leave it out.",
        ),
        model::Error::ContentFiltered => (
            ErrorCode::ModelContentFiltered,
            "The model provider's content filter refused this turn. Rephrase the instruction.",
        ),
        model::Error::Unauthenticated => (
            ErrorCode::ModelMisconfigured,
            "The model provider refused the service's credentials. Ask your operator to check them.",
        ),
        model::Error::UnknownProvider => (
            ErrorCode::ModelMisconfigured,
            "This conversation is set up for a model provider that the service does not have. Ask your operator to check it.",
        ),
        model::Error::ModelNotFound => (
            ErrorCode::ModelNotFound,
            "The model provider does not know the model that is configured. Ask your operator to check it.",
        ),
        model::Error::ChainLost | model::Error::Rejected { .. } => (
            ErrorCode::ModelRejected,
            "The model provider rejected the request. Send the instruction again with a new TurnId.",
        ),
        model::Error::Unavailable { .. } => (
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
        model::Error::Empty => (
            ErrorCode::ModelReplyEmpty,
            "The model answered with neither text nor a call, twice. Send the instruction again with a new TurnId.",
        ),
    };
    let response = Error::new(code, message);
    match error.retry_after() {
        Some(wait) => {
            let response = response.with_retry_after(wait.min(MAX_RETRY_AFTER));
            // For clients that don't know `RetryAfterSeconds`.
            let seconds = response.retry_after_seconds.unwrap_or(1);
            response.with_details(format!("Retry-After: {seconds}"))
        }
        None => response,
    }
}
