//! The outcome object: everything that an attempt produced, durable before the turn is settled (I4, I10).
//!
//! It is one JSON object under the attempt's own id. A takeover fences first, then looks for it and settles from it.
//! So an answer that reached storage is neither paid for twice nor lost.

pub mod answer;
pub mod provider_response;

use contracts::{AgentExecuteResponse, Error, ErrorCode, InvokeResult, error::JsonError, json_bytes};
use protocol::detail::{OutcomeSummary, StagedMode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    attempt::RecoveryPoint,
    history::{
        history_window::HistoryWindow,
        rounds::{ModelCallInfo, Round},
    },
    text::excerpt::excerpt_of,
};
use protocol::{
    detail::Report,
    id::AttemptId,
    stream_position::Segment,
    turn::{EndReason, Verdict},
    version::UnsupportedVersion,
};

/// The schema version that this code writes.
const SCHEMA_VERSION: u32 = 1;

/// The outcome of an attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", try_from = "OutcomeFields")]
pub struct Outcome {
    /// Schema version of the object.
    schema_version: u32,
    /// The response body for the client, now and in every replay.
    pub response: Response,
    /// The part that the table stores.
    pub report: Report,
    /// The kind of the ending, and its own members.
    #[serde(flatten)]
    pub ending: Ending,
}

/// The ending of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "Kind", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub enum Ending {
    /// An answer.
    Completed {
        /// A mode change that takes effect when the turn completes (rule 8).
        #[serde(skip_serializing_if = "Option::is_none")]
        staged_mode: Option<StagedMode>,
        /// The turn's mode changes before that one, oldest first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        earlier_modes: Vec<StagedMode>,
        /// The turn's tool rounds, bounded in size, for a replay of the session's history.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_rounds: Vec<Round>,
        /// The history window of the turn's requests, if they replayed earlier turns.
        #[serde(skip_serializing_if = "Option::is_none")]
        history_window: Option<Box<HistoryWindow>>,
        /// The `[CONTEXT]` block of the turn's message, for a replay.
        #[serde(skip_serializing_if = "Option::is_none")]
        context_block: Option<String>,
        /// The model call that returned the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        model_call: Option<Box<ModelCallInfo>>,
    },
    /// An error.
    Failed {
        /// The turn's tool rounds, bounded in size.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_rounds: Vec<Round>,
        /// The model call that failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        model_call: Option<Box<ModelCallInfo>>,
        /// The partial answer, if any.
        #[serde(skip_serializing_if = "Option::is_none")]
        partial: Option<String>,
    },
    /// Calls for the client to run.
    Suspended {
        /// The pending calls, the results of server tools, and the settings, so that any process can continue.
        recovery_point: Box<RecoveryPoint>,
    },
}

/// The members of the stored object, of every kind.
///
/// They are deserialized in one pass. For a flattened enum, serde would buffer every member that has no field yet,
/// and compile each type in it a second time.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OutcomeFields {
    schema_version: u32,
    response: Response,
    report: Report,
    kind: Kind,
    #[serde(default)]
    staged_mode: Option<StagedMode>,
    #[serde(default)]
    earlier_modes: Vec<StagedMode>,
    #[serde(default)]
    tool_rounds: Vec<Round>,
    #[serde(default)]
    history_window: Option<Box<HistoryWindow>>,
    #[serde(default)]
    context_block: Option<String>,
    #[serde(default)]
    model_call: Option<Box<ModelCallInfo>>,
    #[serde(default)]
    partial: Option<String>,
    #[serde(default)]
    recovery_point: Option<Box<RecoveryPoint>>,
}

/// The kind of an [`Ending`].
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Completed,
    Failed,
    Suspended,
}

/// A suspension without a recovery point.
#[derive(Debug, thiserror::Error)]
#[error("missing field `RecoveryPoint`")]
struct MissingRecoveryPoint;

impl TryFrom<OutcomeFields> for Outcome {
    type Error = MissingRecoveryPoint;

    fn try_from(fields: OutcomeFields) -> Result<Self, MissingRecoveryPoint> {
        let OutcomeFields { schema_version, response, report, tool_rounds, model_call, .. } = fields;
        let ending = match fields.kind {
            Kind::Completed => Ending::Completed {
                staged_mode: fields.staged_mode,
                earlier_modes: fields.earlier_modes,
                tool_rounds,
                history_window: fields.history_window,
                context_block: fields.context_block,
                model_call,
            },
            Kind::Failed => Ending::Failed { tool_rounds, model_call, partial: fields.partial },
            Kind::Suspended => {
                Ending::Suspended { recovery_point: fields.recovery_point.ok_or(MissingRecoveryPoint)? }
            }
        };
        Ok(Self { schema_version, response, report, ending })
    }
}

/// A stored response. It is stored as bytes, so that a replay can't differ from the first reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Response {
    /// The `InvokeResult`, as first serialized.
    pub body: Box<RawValue>,
    /// The error code, which decides the HTTP status.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_code: Option<ErrorCode>,
    /// Suggested wait after an error, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_seconds: Option<u64>,
    /// The segment of the turn's stream whose text is a prefix of the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segment: Option<Segment>,
}

impl Outcome {
    /// Creates the outcome of an answer.
    #[must_use]
    pub fn completed(
        response: AgentExecuteResponse,
        report: Report,
        staged_mode: Option<StagedMode>,
    ) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            response: Response::new(&InvokeResult::ok(response), None),
            report,
            ending: Ending::Completed {
                staged_mode,
                earlier_modes: Vec::new(),
                tool_rounds: Vec::new(),
                history_window: None,
                context_block: None,
                model_call: None,
            },
        }
    }

    /// Sets the mode changes before the last one. Applies to an answer only.
    #[must_use]
    pub fn with_earlier_modes(mut self, earlier: Vec<StagedMode>) -> Self {
        if let Ending::Completed { earlier_modes, .. } = &mut self.ending {
            *earlier_modes = earlier;
        }
        self
    }

    /// Sets the turn's tool rounds and its history window. Applies to an answer only.
    #[must_use]
    pub fn with_history(mut self, rounds: Vec<Round>, window: Option<HistoryWindow>) -> Self {
        if let Ending::Completed { tool_rounds, history_window, .. } = &mut self.ending {
            (*tool_rounds, *history_window) = (rounds, window.map(Box::new));
        }
        self
    }

    /// Sets the `[CONTEXT]` block of the turn's message. Applies to an answer only.
    #[must_use]
    pub fn with_context(mut self, block: Option<String>) -> Self {
        if let Ending::Completed { context_block, .. } = &mut self.ending {
            *context_block = block;
        }
        self
    }

    /// Sets the tool rounds of a failed turn.
    #[must_use]
    pub fn with_rounds(mut self, rounds: Vec<Round>) -> Self {
        if let Ending::Failed { tool_rounds, .. } = &mut self.ending {
            *tool_rounds = rounds;
        }
        self
    }

    /// Sets the partial answer of a failed turn.
    #[must_use]
    pub fn with_partial(mut self, text: String) -> Self {
        if let Ending::Failed { partial, .. } = &mut self.ending {
            *partial = Some(text).filter(|text| !text.trim().is_empty());
            self.report.partial_answer = partial.as_deref().map(excerpt_of);
        }
        self
    }

    /// Sets the turn's last model call.
    #[must_use]
    pub fn with_model_call(mut self, call: ModelCallInfo) -> Self {
        if let Ending::Completed { model_call, .. } | Ending::Failed { model_call, .. } = &mut self.ending {
            *model_call = Some(Box::new(call));
        }
        self
    }

    /// Sets the segment of the turn's stream that became the answer.
    #[must_use]
    pub fn with_segment(self, segment: Option<Segment>) -> Self {
        Self { response: Response { segment, ..self.response }, ..self }
    }

    /// Creates the outcome of a suspension. Everything collected so far is reported in the final response.
    #[must_use]
    pub fn suspended(response: AgentExecuteResponse, report: Report, recovery_point: RecoveryPoint) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            response: Response::new(&InvokeResult::ok(response), None),
            report,
            ending: Ending::Suspended { recovery_point: Box::new(recovery_point) },
        }
    }

    /// Creates the outcome of a failure, and clears what a failed turn must not keep.
    #[must_use]
    pub fn failed(error: Error, report: Report) -> Self {
        let errors = vec![error.message.clone()];
        let report = Report {
            answer_summary: None,
            answer_summary_truncated: false,
            error_code: Some(error.error_code),
            errors,
            ..report
        };
        Self {
            schema_version: SCHEMA_VERSION,
            response: Response::error(error),
            report,
            ending: Ending::Failed { tool_rounds: Vec::new(), model_call: None, partial: None },
        }
    }

    /// Returns the verdict that settles a turn with this outcome; none for a suspension.
    #[must_use]
    pub fn verdict(&self, writer: AttemptId) -> Option<Verdict> {
        match self.ending {
            Ending::Completed { .. } => Some(Verdict::Completed { writer }),
            Ending::Failed { .. } => Some(Verdict::Failed { writer }),
            Ending::Suspended { .. } => None,
        }
    }

    /// Returns the turn's tool rounds, oldest first; those of a suspension are in its recovery point.
    #[must_use]
    pub fn rounds(&self) -> Vec<Round> {
        match &self.ending {
            Ending::Completed { tool_rounds, .. } | Ending::Failed { tool_rounds, .. } => tool_rounds.clone(),
            Ending::Suspended { .. } => Vec::new(),
        }
    }

    /// Returns the history window of the turn's requests, if they replayed earlier turns.
    #[must_use]
    pub fn history_window(&self) -> Option<&HistoryWindow> {
        match &self.ending {
            Ending::Completed { history_window, .. } => history_window.as_deref(),
            Ending::Failed { .. } | Ending::Suspended { .. } => None,
        }
    }

    /// Returns the `[CONTEXT]` block of the turn's message.
    #[must_use]
    pub fn context_block(&self) -> Option<&str> {
        match &self.ending {
            Ending::Completed { context_block, .. } => context_block.as_deref(),
            Ending::Failed { .. } | Ending::Suspended { .. } => None,
        }
    }

    /// Returns the recovery point of a suspension.
    #[must_use]
    pub fn into_recovery_point(self) -> Option<RecoveryPoint> {
        match self.ending {
            Ending::Suspended { recovery_point } => Some(*recovery_point),
            Ending::Completed { .. } | Ending::Failed { .. } => None,
        }
    }

    /// Returns the summary for a finalization.
    #[must_use]
    pub fn outcome_summary(&self) -> OutcomeSummary {
        let modes = match &self.ending {
            Ending::Completed { staged_mode, earlier_modes, .. } => {
                earlier_modes.iter().chain(staged_mode).cloned().collect()
            }
            Ending::Failed { .. } | Ending::Suspended { .. } => Vec::new(),
        };
        // A turn that was ended during a suspension has no other text.
        let continuation_text = matches!(self.ending, Ending::Suspended { .. })
            .then(|| self.response.continuation_text())
            .flatten();
        let partial_answer =
            continuation_text.as_deref().map(excerpt_of).or_else(|| self.report.partial_answer.clone());
        OutcomeSummary { report: Report { partial_answer, ..self.report.clone() }, modes }
    }

    /// Serializes the object for storage.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a stored object.
    ///
    /// # Errors
    /// If the bytes are not an outcome object of a known version.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ReadError> {
        let read: Result<Self, _> = json_bytes::from_slice(bytes);
        // A newer object may have any schema.
        let version = match &read {
            Ok(outcome) => Some(outcome.schema_version),
            Err(_) => json_bytes::from_slice(bytes).ok().map(|Version { schema_version }| schema_version),
        };
        UnsupportedVersion::check(version.unwrap_or_default(), SCHEMA_VERSION)?;
        read.map_err(|error| ReadError::Malformed(JsonError::from(&error)))
    }
}

/// A stored object can't be read by this version. It contains the answer, so the error shows nothing of it (I14).
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not the expected JSON.
    #[error("the outcome object is malformed")]
    Malformed(#[source] JsonError),
    /// A later version wrote the object.
    #[error("the outcome object can't be read")]
    Newer(#[from] UnsupportedVersion),
}

/// The member that every version of the object has.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Version {
    schema_version: u32,
}

impl Response {
    fn new(result: &InvokeResult<AgentExecuteResponse>, error_code: Option<ErrorCode>) -> Self {
        // Serializing these types can't fail: they contain only strings, numbers and lists.
        let body = serde_json::value::to_raw_value(result).unwrap_or_default();
        Self { body, error_code, retry_after_seconds: None, segment: None }
    }

    /// Returns the answer's text, of a completed turn.
    #[must_use]
    pub fn answer_text(&self) -> Option<String> {
        match self.read()? {
            AgentExecuteResponse::Final(answer) => Some(answer.primary_output_text),
            AgentExecuteResponse::ClientToolContinuation(_) => None,
        }
    }

    /// Returns the text that accompanies calls for the client.
    fn continuation_text(&self) -> Option<String> {
        match self.read()? {
            AgentExecuteResponse::Final(_) => None,
            AgentExecuteResponse::ClientToolContinuation(calls) => calls.tool_continuation_message,
        }
    }

    fn read(&self) -> Option<AgentExecuteResponse> {
        let result: InvokeResult<AgentExecuteResponse> = serde_json::from_str(self.body.get()).ok()?;
        result.into_outcome().ok()
    }

    /// Returns the body's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.body.get().as_bytes().to_vec()
    }

    /// Creates an error response.
    #[must_use]
    pub fn error(error: Error) -> Self {
        let (code, retry_after_seconds) = (error.error_code, error.retry_after_seconds);
        Self { retry_after_seconds, ..Self::new(&InvokeResult::err(error), Some(code)) }
    }

    /// Creates the response of a turn that was ended from outside. Its bytes are the same every time.
    #[must_use]
    pub fn from_end_reason(reason: EndReason) -> Self {
        Self::error(reason.error())
    }
}

#[cfg(test)]
mod tests {
    use contracts::error::causes;

    use super::*;

    #[test]
    fn newer_version_is_detected_whatever_its_schema() {
        for newer in [r#"{"SchemaVersion":2}"#, r#"{"SchemaVersion":2,"Response":[],"Kind":"other"}"#] {
            let refused = Outcome::from_json(newer.as_bytes()).unwrap_err();
            assert!(
                matches!(refused, ReadError::Newer(UnsupportedVersion { found: 2, supported: 1 })),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn read_error_reveals_no_content() {
        let stored =
            String::from_utf8(Outcome::failed(ErrorCode::Internal.into(), Report::default()).to_json());
        let stored = stored.unwrap();
        let spoilt = [
            stored.replace(r#""failed""#, r#""marker""#),
            stored.replace(r#""SchemaVersion":1"#, r#""SchemaVersion":"marker""#),
            stored.replace(r#""Report":{"#, r#""Report":{"Marker":marker,"#),
            format!(r#"{stored}marker"#),
            r#""marker""#.to_owned(),
        ];
        for bytes in spoilt {
            assert_ne!(bytes, stored);
            let error = Outcome::from_json(bytes.as_bytes()).unwrap_err();
            let text = causes(&error).to_string();
            assert!(
                text.starts_with("the outcome object is malformed: ") && text.contains(" column "),
                "{text}"
            );
            assert!(!format!("{text}{error:?}").to_lowercase().contains("marker"), "{error:?}");
        }
    }
}
