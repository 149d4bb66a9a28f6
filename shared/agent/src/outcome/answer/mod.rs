//! Converts a model's reply into the outcome to store, without I/O.

mod client_error;
mod files;
mod report;

pub use client_error::{client_error, client_error_for, tool_rounds_exceeded};
pub use files::{
    File, embedded, embedded_link, long_value_names, long_values, published_file, raw_payloads, tool_result,
    tool_result_payload,
};

use std::{collections::BTreeSet, time::Duration};

use contracts::{
    AgentExecuteResponse, Error, ErrorCode, FileAddress, NonEmpty, Timestamp,
    response::{ClientToolContinuation, FileRef, Final, Metadata, ToolCall},
};
use protocol::{
    chain::HistoryOwner, detail::Report, id::TurnKey, link, stream_position::Segment, timing::Timing,
    turn::Turn,
};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::{
    attempt::{AttemptState, RecoveryPoint, StagedEffects, TurnSpec},
    model::{self, Reply},
    outcome::Outcome,
    output_filter::FilteredText,
    text::excerpt::excerpt_of,
    tool::{
        self,
        rounds::{MAX_INLINE_VALUE_BYTES, ModelCallInfo, ToolCallRecord},
    },
};
use files::{file_ref, long_value};
use report::report;

/// Warning for the user if an answer is not the JSON that the context requires. It was paid for and may be useful, so
/// it is an answer all the same.
const FORMAT_MISMATCH: &str = "The answer is not in the form that this conversation asks the model for.";

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

impl Answer {
    /// Sets the segment of the turn's stream that has the answer's text.
    pub fn with_segment(self, segment: Option<Segment>) -> Self {
        Self { outcome: self.outcome.with_segment(segment), ..self }
    }

    /// Sets the turn's last model call.
    pub fn with_model_call(self, call: ModelCallInfo) -> Self {
        Self { outcome: self.outcome.with_model_call(call), ..self }
    }

    /// Sets the parts of the reply that is the answer.
    pub fn with_parts(self, reply: &Reply) -> Self {
        Self { outcome: self.outcome.with_answer_parts(&reply.text_parts, &reply.text), ..self }
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

/// Warns the user if an answer doesn't match the JSON schema of its context.
pub fn check_text_format(text: &str, spec: &TurnSpec, state: &mut AttemptState) {
    let Some(format) = &spec.settings.text_format else { return };
    let matches = |text: &str| tool::matches_schema(&format.schema, text);
    if !matches(text.trim_start_matches('\u{feff}')) && !only_block(text).is_some_and(|block| matches(&block))
    {
        state.effects.warn(FORMAT_MISMATCH);
    }
}

/// Returns the content of the fence that is all of a text. It may be in a quote or a list.
fn only_block(text: &str) -> Option<String> {
    let (mut block, mut is_open) = (None, false);
    for event in Parser::new(text.trim_start_matches('\u{feff}')) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if block.is_none() => {
                (block, is_open) = (Some(String::new()), true);
            }
            Event::End(TagEnd::CodeBlock) => is_open = false,
            Event::Text(text) if is_open => block.iter_mut().for_each(|block| block.push_str(&text)),
            Event::Start(Tag::BlockQuote(_) | Tag::List(_) | Tag::Item)
            | Event::End(TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) => {}
            _ => return None,
        }
    }
    block
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
    let calls: Vec<ToolCall> = calls.collect();
    let held = state.rounds.held_calls().find(|call| call.approval.is_some()).map(waiting_for_approval);
    if let Some(waiting) = held
        && calls.is_empty()
    {
        let report = report(&state, &spec, received);
        let outcome = Outcome::held(waiting, report, RecoveryPoint { spec, state });
        return Answer { outcome, files: embedded(&turn.key, filtered.blobs), optional_files: Vec::new() };
    }
    let Ok(tool_calls) = NonEmpty::new(calls) else {
        return failed(client_error(&model::Error::Malformed, None), state, &spec, received);
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

/// The time after which a client asks again for a turn that waits for an approval.
const APPROVAL_RETRY: Duration = Duration::from_secs(30);

/// Returns the error of a turn that waits for an approval: to clients it is in progress.
fn waiting_for_approval(call: &ToolCallRecord) -> Error {
    let id = call.approval.as_ref().map(|approval| approval.id.as_str()).unwrap_or_default();
    let message = format!(
        "The turn waits until a person approves or denies its call of {}: {}. Send the same request again after the time \
         in Retry-After.",
        call.name,
        link::approval(id)
    );
    Error::new(ErrorCode::TurnInProgress, message).with_details(id).with_retry_after(APPROVAL_RETRY)
}

/// Returns the outcome of a failure.
pub fn failed(error: Error, state: AttemptState, spec: &TurnSpec, received: Timestamp) -> Answer {
    let outcome =
        Outcome::failed(error, report(&state, spec, received)).with_rounds(state.rounds_for_outcome());
    Answer { outcome, files: Vec::new(), optional_files: Vec::new() }
}

/// Returns the response metadata, with the mode after the turn's own changes.
fn metadata(turn: &Turn, mode_display_name: &str) -> Metadata {
    Metadata {
        session_id: turn.key.session.session.clone(),
        turn_id: turn.key.turn.clone(),
        mode_display_name: mode_display_name.to_owned(),
    }
}
