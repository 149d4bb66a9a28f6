//! What a model's reply comes to: pure, from the reply to the outcome that is stored.

use std::{collections::BTreeSet, time::Duration};

use bytes::Bytes;
use contracts::{
    AgentExecuteResponse, ContentHash, Error, ErrorCode, FileAddress, NonEmpty, Timestamp,
    response::{ClientToolContinuation, FileRef, Final, Metadata, ToolCall, ToolOutcome},
};

use crate::{
    call::{LONG_VALUE, Round, WholeCall},
    guard::{Blob, Guarded},
    model,
    outcome::Outcome,
    progress::{Plan, Progress, Step},
    summary::summarize,
    tool::{self, PublishFile},
};
use protocol::{
    chain::Keeper,
    detail::{Carried, Findings, Report},
    id::TurnKey,
    link,
    payload::{Kind, Payload},
    place::Segment,
    timing::Timing,
    turn::Turn,
};

/// What the user is told when an answer is not the JSON that the context asks for. It was paid for and may
/// be of use, so it is an answer all the same.
const UNFIT: &str = "The answer is not in the form that this conversation asks the model for.";

/// What the user is told of an answer that stops where the tokens ran out.
pub const CUT_SHORT: &str = "The answer reached the most tokens that it may have and stops there. Ask to go on, or for a shorter answer.";

/// The longest wait that a client is told.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// An outcome, and the files that have to be stored before it.
#[derive(Debug)]
pub struct Answer {
    /// What the turn came to.
    pub outcome: Outcome,
    /// Files that its response refers to.
    pub files: Vec<File>,
    /// What is stored beside it and may be missing: nothing refers to it.
    pub beside: Vec<File>,
}

/// A file to be stored, addressed by its content.
#[derive(Debug, Clone)]
pub struct File {
    /// Under which key.
    pub payload: Payload,
    /// What it is.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Bytes,
}

impl Answer {
    /// The same, with the segment of the turn's stream that it was told in.
    pub fn streamed(self, segment: Option<Segment>) -> Self {
        Self { outcome: self.outcome.streamed(segment), ..self }
    }

    /// The same, with what there was of an answer.
    pub fn with_partial(self, turn: &TurnKey, guarded: Guarded) -> Self {
        let address =
            (guarded.text.len() > LONG_VALUE).then(|| FileAddress::of_bytes(guarded.text.as_bytes()));
        let long = address.map(|address| long_value(turn, address, long::TEXT, &guarded.text));
        let outcome = self.outcome.with_partial(guarded.text);
        Self { outcome, files: embedded(turn, guarded.blobs).into_iter().chain(long).collect(), ..self }
    }

    /// The same, with what is stored beside it.
    pub fn beside(self, beside: Vec<File>) -> Self {
        Self { beside, ..self }
    }
}

/// What went over the wire in the turn's n-th model call, under the attempt that made it.
pub fn raw(turn: &Turn, call: u32, raw: model::Raw) -> Vec<File> {
    let model::Raw { request, response } = raw;
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

/// Warns of an answer that has not the form that its context asks for.
pub fn check_form(text: &str, plan: &Plan, progress: &mut Progress) {
    if plan.settings.text_format.as_ref().is_some_and(|format| !tool::fits(&format.schema, text)) {
        progress.warn(UNFIT);
    }
}

/// A whole reply. Files that the model wrote into its text become files (AGN-033 §6.1).
pub fn answered(
    turn: &Turn,
    mode_display_name: &str,
    guarded: Guarded,
    progress: Progress,
    plan: &Plan,
    received: Timestamp,
    timing: &Timing,
) -> Answer {
    let summary = summarize(&guarded.text);
    let report = Report {
        answer_is_cut: summary.is_cut,
        answer_summary: Some(summary.text),
        // Where nothing is left with the provider there is no chain to go on from.
        chain_expires: (plan.chain == Keeper::Provider && !progress.is_unkept())
            .then(|| received.after(timing.chain_life)),
        ..report(&progress, plan, received)
    };
    let (rounds, window) = (progress.made_rounds(), progress.window.clone());
    let refs = guarded.blobs.iter().map(|blob| file_ref(&turn.key, blob));
    let answer = Final {
        metadata: metadata(turn, mode_display_name),
        primary_output_text: guarded.text,
        files: distinct(progress.files.into_iter().chain(refs)),
        tool_results: progress.tool_results,
        user_warnings: progress.warnings,
        usage: progress.usage,
    };
    Answer {
        outcome: Outcome::completed(AgentExecuteResponse::Final(answer), report, progress.staged_mode)
            .after_modes(progress.earlier_modes)
            .told(rounds, window)
            .made(progress.ended)
            .with_context(progress.context_block),
        files: embedded(&turn.key, guarded.blobs),
        beside: Vec::new(),
    }
}

/// Each file once: a link names the turn, the bytes and the name, so equal links are one file. The first
/// description stays.
fn distinct(files: impl Iterator<Item = FileRef>) -> Vec<FileRef> {
    let mut known = BTreeSet::new();
    files.filter(|file| known.insert(file.url.clone())).collect()
}

/// Calls for the client. Everything gathered so far is reported in the final response. Files that the model
/// wrote into its text become files here too, though a continuation has no list of them (AGN-033 §6.1, §6.2).
pub fn suspended(
    turn: &Turn,
    mode_display_name: &str,
    guarded: Guarded,
    progress: Progress,
    plan: Plan,
    received: Timestamp,
) -> Answer {
    let calls = progress.pending().map(|call| ToolCall {
        tool_call_id: call.call_id.clone(),
        name: call.name.clone(),
        // Some models spell a call without arguments as no text at all.
        arguments_json: Some(call.arguments.trim())
            .filter(|text| !text.is_empty())
            .map_or_else(|| "{}".to_owned(), |_| call.arguments.clone()),
    });
    let Ok(tool_calls) = NonEmpty::new(calls.collect()) else {
        return failed(failure(&model::Error::Malformed), progress, &plan, received);
    };
    let continuation = ClientToolContinuation {
        metadata: metadata(turn, mode_display_name),
        tool_calls,
        tool_continuation_message: Some(guarded.text).filter(|text| !text.trim().is_empty()),
    };
    let response = AgentExecuteResponse::ClientToolContinuation(continuation);
    let report = report(&progress, &plan, received);
    let outcome = Outcome::suspended(response, report, Step { plan, progress });
    Answer { outcome, files: embedded(&turn.key, guarded.blobs), beside: Vec::new() }
}

/// No answer.
pub fn failed(error: Error, progress: Progress, plan: &Plan, received: Timestamp) -> Answer {
    let outcome = Outcome::failed(error, report(&progress, plan, received))
        .after_rounds(progress.made_rounds())
        .made(progress.ended);
    Answer { outcome, files: Vec::new(), beside: Vec::new() }
}

/// The model went on calling tools for longer than a turn may.
pub fn too_many_rounds(plan: &Plan) -> Error {
    let message = format!(
        "The model called tools more than {} times in a row without an answer. Ask for less at once, with a new TurnId.",
        plan.max_rounds
    );
    Error::new(ErrorCode::ToolRoundsExceeded, message)
}

impl Step {
    /// What a finalization needs of it, of a turn that came to nothing more. What only an answer brings about
    /// is not in it.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let report = known(&self.progress, &self.plan, self.progress.received);
        Findings { report, modes: Vec::new() }
    }
}

fn report(progress: &Progress, plan: &Plan, received: Timestamp) -> Report {
    known(progress, plan, Some(received))
}

fn known(progress: &Progress, plan: &Plan, received: Option<Timestamp>) -> Report {
    Report {
        response_id: progress.response_id.clone(),
        carried: progress
            .response_id
            .as_ref()
            .map(|_| Carried { previous_response_id: progress.previous_response_id.clone() }),
        model: Some(plan.model.clone()),
        answered_by: progress.model.clone(),
        provider: progress.provider.clone(),
        fell_back: progress.fell_back.clone(),
        keeps_no_chain: progress.lesson().cloned(),
        told_mode: progress.told_mode.clone(),
        told_solution: progress.told_solution,
        received,
        usage: progress.usage,
        cost: progress.cost(plan),
        raw_payloads: plan.store_raw_payloads.then_some(progress.model_calls),
        model_calls: Some(progress.model_calls).filter(|calls| *calls > 0),
        model_ms: Some(progress.model_time.ms).filter(|_| !progress.model_time.is_nothing()),
        first_text_ms: progress.model_time.first_text_ms,
        client_tool_ms: Some(progress.client_tool_ms).filter(|millis| *millis > 0),
        server_tool_ms: progress.ran_server_tools().then_some(progress.server_tool_ms),
        tool_rounds: Some(progress.rounds).filter(|rounds| *rounds > 0),
        chunk_refs: progress.chunk_refs.clone(),
        warnings: progress.warnings.clone(),
        ..Report::default()
    }
}

/// The mode shows as it is after the turn's own changes (AGN-011 §3.4).
fn metadata(turn: &Turn, mode_display_name: &str) -> Metadata {
    Metadata {
        session_id: turn.key.session.session.clone(),
        turn_id: turn.key.turn.clone(),
        mode_display_name: mode_display_name.to_owned(),
    }
}

/// Where a file that the model wrote into its text is read.
#[must_use]
pub fn embedded_link(key: &TurnKey, blob: &Blob) -> String {
    link::file(key, &FileAddress::of_bytes(&blob.bytes), &blob.name)
}

/// A file that a tool published: what is stored, and how the client sees it.
#[must_use]
pub fn published(key: &TurnKey, file: &PublishFile) -> (File, FileRef) {
    let (address, name) = (FileAddress::of_bytes(&file.bytes), file.name.to_string());
    let seen = FileRef {
        url: link::file(key, &address, &name),
        name: name.clone(),
        mime_type: file.media_type.clone(),
        size_bytes: u64::try_from(file.bytes.len()).unwrap_or(u64::MAX),
        content_hash: ContentHash::of_file(&file.bytes),
        description: file.description.clone(),
        content_expires: None,
    };
    let payload = Payload { turn: key.clone(), kind: Kind::File { address, name } };
    (File { payload, media_type: file.media_type.clone(), bytes: file.bytes.clone() }, seen)
}

/// What the files of long values are called.
pub mod long {
    /// A text of the model's.
    pub const TEXT: &str = "text.md";
    /// A call's arguments.
    pub const ARGUMENTS: &str = "arguments.json";
    /// A call's result.
    pub const RESULT: &str = "result.json";
    /// Why a call failed.
    pub const ERROR: &str = "error.txt";
}

/// The long values of a round, as files of the turn.
#[must_use]
pub fn long_values(key: &TurnKey, round: &Round) -> Vec<File> {
    let text = round.beside.file().map(|at| (at, long::TEXT, round.beside.text.as_str()));
    let calls = round.calls.iter().flat_map(|call| {
        let WholeCall { arguments, outcome } = call.files();
        let outcome = outcome.zip(call.outcome.as_ref()).map(|(at, outcome)| match outcome {
            ToolOutcome::ResultJson(json) => (at, long::RESULT, json.as_str()),
            ToolOutcome::ErrorMessage(message) => (at, long::ERROR, message.as_str()),
        });
        arguments.map(|at| (at, long::ARGUMENTS, call.arguments.as_str())).into_iter().chain(outcome)
    });
    // What is cut was kept when it was whole.
    let whole = text.into_iter().chain(calls).filter(|(_, _, value)| value.len() > LONG_VALUE);
    whole.map(|(address, name, value)| long_value(key, address, name, value)).collect()
}

fn long_value(key: &TurnKey, address: FileAddress, name: &str, value: &str) -> File {
    let media_type = match name {
        long::TEXT => "text/markdown; charset=utf-8",
        long::ERROR => "text/plain; charset=utf-8",
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
        content_hash: ContentHash::of_file(&blob.bytes),
        description: None,
        content_expires: None,
    }
}

/// Files that the model wrote into its text, to be stored where their links lead.
#[must_use]
pub fn embedded(key: &TurnKey, blobs: Vec<Blob>) -> Vec<File> {
    let file = |blob: Blob| {
        let kind = Kind::File { address: FileAddress::of_bytes(&blob.bytes), name: blob.name };
        let payload = Payload { turn: key.clone(), kind };
        File { payload, media_type: blob.mime_type, bytes: blob.bytes.into() }
    };
    blobs.into_iter().map(file).collect()
}

/// What the user is told about a model that gave no answer. Never the provider's words (I14).
pub fn failure(error: &model::Error) -> Error {
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
    let told = Error::new(code, message);
    match error.retry_after() {
        Some(wait) => {
            let told = told.with_retry_after(wait.min(LONGEST_WAIT));
            // What clients read that know no `RetryAfterSeconds`.
            let seconds = told.retry_after_seconds.unwrap_or(1);
            told.with_details(format!("Retry-After: {seconds}"))
        }
        None => told,
    }
}
