//! The outcome object: everything an attempt found out, durable before it is decided (I4, I10).
//!
//! One JSON object under the attempt's own id. Whoever takes a turn over fences first, then looks
//! for it and settles from it, so an answer that reached storage is neither paid for twice nor lost.

use contracts::{AgentExecuteResponse, Error, ErrorCode, InvokeResult, error::Misread, json_bytes};
use protocol::detail::{Findings, StagedMode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    call::{CallRecord, Made, Round},
    progress::Step,
    summary::summarize,
    window::Window,
};
use protocol::{
    detail::Report,
    id::AttemptId,
    place::Segment,
    turn::{Reason, Verdict},
    version::Newer,
};

/// The version this code writes.
const SCHEMA_VERSION: u32 = 1;

/// What one attempt came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", try_from = "Members")]
pub struct Outcome {
    /// The version of this shape.
    schema_version: u32,
    /// The very body that the client gets, now and in every replay.
    pub response: Response,
    /// What the table keeps of it.
    pub report: Report,
    /// What kind of end, and what only an end of that kind has.
    #[serde(flatten)]
    pub ending: Ending,
}

/// What an attempt ended with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "Kind", rename_all = "snake_case", rename_all_fields = "PascalCase")]
pub enum Ending {
    /// An answer.
    Completed {
        /// A mode change that takes effect when the turn completes (rule 8).
        #[serde(skip_serializing_if = "Option::is_none")]
        staged_mode: Option<StagedMode>,
        /// The turn's changes before that one, oldest first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        earlier_modes: Vec<StagedMode>,
        /// The turn's tool calls as versions before this one kept them.
        #[serde(rename = "Exchanges", skip_serializing_if = "Vec::is_empty")]
        calls: Vec<CallRecord>,
        /// The turn's tool rounds, bounded, for when the session's history has to be told again.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_rounds: Vec<Round>,
        /// How the turns before were told to it, where they were.
        #[serde(skip_serializing_if = "Option::is_none")]
        window: Option<Box<Window>>,
        /// What its message told of the indexed sources, for the same.
        #[serde(skip_serializing_if = "Option::is_none")]
        context_block: Option<String>,
        /// How the answer was come by.
        #[serde(skip_serializing_if = "Option::is_none")]
        made: Option<Box<Made>>,
    },
    /// Errors.
    Failed {
        /// The turn's tool rounds, bounded.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_rounds: Vec<Round>,
        /// How the reply that failed was come by.
        #[serde(skip_serializing_if = "Option::is_none")]
        made: Option<Box<Made>>,
        /// What there was of an answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        partial: Option<String>,
    },
    /// Calls for the client to run.
    Suspended {
        /// The pending calls, what the server already ran, and the tool list, so that any process can go on.
        step: Box<Step>,
    },
}

/// The stored object's members, whatever its kind.
///
/// They are read at once: serde reads a flattened enum out of a copy of every member that it has not placed yet, and compiles each
/// type in it once more for that.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Members {
    schema_version: u32,
    response: Response,
    report: Report,
    kind: Kind,
    #[serde(default)]
    staged_mode: Option<StagedMode>,
    #[serde(default)]
    earlier_modes: Vec<StagedMode>,
    #[serde(rename = "Exchanges", default)]
    calls: Vec<CallRecord>,
    #[serde(default)]
    tool_rounds: Vec<Round>,
    #[serde(default)]
    window: Option<Box<Window>>,
    #[serde(default)]
    context_block: Option<String>,
    #[serde(default)]
    made: Option<Box<Made>>,
    #[serde(default)]
    partial: Option<String>,
    #[serde(default)]
    step: Option<Box<Step>>,
}

/// The name of an [`Ending`].
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Completed,
    Failed,
    Suspended,
}

/// A suspension says where the work goes on.
#[derive(Debug, thiserror::Error)]
#[error("missing field `Step`")]
struct NoStep;

impl TryFrom<Members> for Outcome {
    type Error = NoStep;

    fn try_from(members: Members) -> Result<Self, NoStep> {
        let Members { schema_version, response, report, tool_rounds, made, .. } = members;
        let ending = match members.kind {
            Kind::Completed => Ending::Completed {
                staged_mode: members.staged_mode,
                earlier_modes: members.earlier_modes,
                calls: members.calls,
                tool_rounds,
                window: members.window,
                context_block: members.context_block,
                made,
            },
            Kind::Failed => Ending::Failed { tool_rounds, made, partial: members.partial },
            Kind::Suspended => Ending::Suspended { step: members.step.ok_or(NoStep)? },
        };
        Ok(Self { schema_version, response, report, ending })
    }
}

/// A stored response: bytes, so that a replay can't differ from the first reply.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Response {
    /// The `InvokeResult`, as it was first written.
    pub body: Box<RawValue>,
    /// The error it reports, which decides the status code.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_code: Option<ErrorCode>,
    /// How long the client had better wait, of an error.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_after_seconds: Option<u64>,
    /// The segment of the turn's stream whose text is the beginning of the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segment: Option<Segment>,
}

impl Outcome {
    /// An answer.
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
                calls: Vec::new(),
                tool_rounds: Vec::new(),
                window: None,
                context_block: None,
                made: None,
            },
        }
    }

    /// The same, with the mode changes before the last one; an answer alone has any.
    #[must_use]
    pub fn after_modes(mut self, earlier: Vec<StagedMode>) -> Self {
        if let Ending::Completed { earlier_modes, .. } = &mut self.ending {
            *earlier_modes = earlier;
        }
        self
    }

    /// The same, with the turn's tool rounds and how the turns before were told; an answer alone has them.
    #[must_use]
    pub fn told(mut self, made: Vec<Round>, how: Option<Window>) -> Self {
        if let Ending::Completed { tool_rounds, window, .. } = &mut self.ending {
            (*tool_rounds, *window) = (made, how.map(Box::new));
        }
        self
    }

    /// The same, with what the turn's message told of the indexed sources; an answer alone has it.
    #[must_use]
    pub fn with_context(mut self, block: Option<String>) -> Self {
        if let Ending::Completed { context_block, .. } = &mut self.ending {
            *context_block = block;
        }
        self
    }

    /// The same, with the rounds of a turn that failed.
    #[must_use]
    pub fn after_rounds(mut self, made: Vec<Round>) -> Self {
        if let Ending::Failed { tool_rounds, .. } = &mut self.ending {
            *tool_rounds = made;
        }
        self
    }

    /// The same, with what there was of an answer.
    #[must_use]
    pub fn with_partial(mut self, text: String) -> Self {
        if let Ending::Failed { partial, .. } = &mut self.ending {
            *partial = Some(text).filter(|text| !text.trim().is_empty());
            self.report.partial_answer = partial.as_deref().map(summarize);
        }
        self
    }

    /// The same, with how its last reply was come by.
    #[must_use]
    pub fn made(mut self, how: Option<Made>) -> Self {
        if let Ending::Completed { made, .. } | Ending::Failed { made, .. } = &mut self.ending {
            *made = how.map(Box::new);
        }
        self
    }

    /// The same, with the segment of the turn's stream that became the answer.
    #[must_use]
    pub fn streamed(self, segment: Option<Segment>) -> Self {
        Self { response: Response { segment, ..self.response }, ..self }
    }

    /// Calls for the client to run. What was gathered so far is reported in the final response.
    #[must_use]
    pub fn suspended(response: AgentExecuteResponse, report: Report, step: Step) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            response: Response::new(&InvokeResult::ok(response), None),
            report,
            ending: Ending::Suspended { step: Box::new(step) },
        }
    }

    /// Errors. What a failed turn must not keep is cleared (DD-002C).
    #[must_use]
    pub fn failed(error: Error, report: Report) -> Self {
        let errors = vec![error.message.clone()];
        let report = Report {
            answer_summary: None,
            answer_is_cut: false,
            error_code: Some(error.error_code),
            errors,
            ..report
        };
        Self {
            schema_version: SCHEMA_VERSION,
            response: Response::error(error),
            report,
            ending: Ending::Failed { tool_rounds: Vec::new(), made: None, partial: None },
        }
    }

    /// The verdict that a turn is settled with from this object; none for a suspension.
    #[must_use]
    pub fn verdict(&self, writer: AttemptId) -> Option<Verdict> {
        match self.ending {
            Ending::Completed { .. } => Some(Verdict::Completed { writer }),
            Ending::Failed { .. } => Some(Verdict::Failed { writer }),
            Ending::Suspended { .. } => None,
        }
    }

    /// The turn's tool rounds, oldest first; those of a suspension are in its step. What an earlier version kept is
    /// one round: which calls came together is not known.
    #[must_use]
    pub fn rounds(&self) -> Vec<Round> {
        match &self.ending {
            Ending::Completed { calls, tool_rounds, .. } => {
                let before = (!calls.is_empty()).then(|| Round { calls: calls.clone(), ..Round::default() });
                before.into_iter().chain(tool_rounds.iter().cloned()).collect()
            }
            Ending::Failed { tool_rounds, .. } => tool_rounds.clone(),
            Ending::Suspended { .. } => Vec::new(),
        }
    }

    /// How the turns before were told to it, where they were.
    #[must_use]
    pub fn window(&self) -> Option<&Window> {
        match &self.ending {
            Ending::Completed { window, .. } => window.as_deref(),
            Ending::Failed { .. } | Ending::Suspended { .. } => None,
        }
    }

    /// What its message told of the indexed sources.
    #[must_use]
    pub fn context_block(&self) -> Option<&str> {
        match &self.ending {
            Ending::Completed { context_block, .. } => context_block.as_deref(),
            Ending::Failed { .. } | Ending::Suspended { .. } => None,
        }
    }

    /// Where the work goes on, of a suspension.
    #[must_use]
    pub fn into_step(self) -> Option<Step> {
        match self.ending {
            Ending::Suspended { step } => Some(*step),
            Ending::Completed { .. } | Ending::Failed { .. } => None,
        }
    }

    /// What a finalization needs of it.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let modes = match &self.ending {
            Ending::Completed { staged_mode, earlier_modes, .. } => {
                earlier_modes.iter().chain(staged_mode).cloned().collect()
            }
            Ending::Failed { .. } | Ending::Suspended { .. } => Vec::new(),
        };
        // A suspension tells of a turn that was ended while it was waited for: it has no other answer.
        let said = matches!(self.ending, Ending::Suspended { .. }).then(|| self.response.said()).flatten();
        let partial_answer = said.as_deref().map(summarize).or_else(|| self.report.partial_answer.clone());
        Findings { report: Report { partial_answer, ..self.report.clone() }, modes }
    }

    /// The object as it is stored.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads a stored object.
    ///
    /// # Errors
    /// When the bytes are no outcome object of a version this code knows.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Unreadable> {
        let read: Result<Self, _> = json_bytes::read(bytes);
        // A newer object may have any shape.
        let version = match &read {
            Ok(outcome) => Some(outcome.schema_version),
            Err(_) => json_bytes::read(bytes).ok().map(|Version { schema_version }| schema_version),
        };
        Newer::check(version.unwrap_or_default(), SCHEMA_VERSION)?;
        read.map_err(|error| Unreadable::Malformed(Misread::from(&error)))
    }
}

/// The stored object can't be read by this version. It holds the answer, so nothing of it is said (I14).
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Not the JSON it should be.
    #[error("the outcome object is malformed")]
    Malformed(#[source] Misread),
    /// Written by a later version.
    #[error("the outcome object can't be read")]
    Newer(#[from] Newer),
}

/// What every version of the object says.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Version {
    schema_version: u32,
}

impl Response {
    fn new(result: &InvokeResult<AgentExecuteResponse>, error_code: Option<ErrorCode>) -> Self {
        // Serializing these types can't fail: they hold strings, numbers and lists alone.
        let body = serde_json::value::to_raw_value(result).unwrap_or_default();
        Self { body, error_code, retry_after_seconds: None, segment: None }
    }

    /// The answer's text, of a completed turn.
    #[must_use]
    pub fn answer(&self) -> Option<String> {
        match self.read()? {
            AgentExecuteResponse::Final(answer) => Some(answer.primary_output_text),
            AgentExecuteResponse::ClientToolContinuation(_) => None,
        }
    }

    /// What was written beside calls for the client.
    fn said(&self) -> Option<String> {
        match self.read()? {
            AgentExecuteResponse::Final(_) => None,
            AgentExecuteResponse::ClientToolContinuation(calls) => calls.tool_continuation_message,
        }
    }

    fn read(&self) -> Option<AgentExecuteResponse> {
        let result: InvokeResult<AgentExecuteResponse> = serde_json::from_str(self.body.get()).ok()?;
        result.into_outcome().ok()
    }

    /// The body's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.body.get().as_bytes().to_vec()
    }

    /// An unsuccessful result.
    #[must_use]
    pub fn error(error: Error) -> Self {
        let (code, retry_after_seconds) = (error.error_code, error.retry_after_seconds);
        Self { retry_after_seconds, ..Self::new(&InvokeResult::err(error), Some(code)) }
    }

    /// What a turn that was ended from outside answers: the same bytes every time.
    #[must_use]
    pub fn ended(reason: Reason) -> Self {
        Self::error(reason.error())
    }
}

#[cfg(test)]
mod tests {
    use contracts::error::causes;

    use super::*;

    #[test]
    fn an_object_of_a_newer_version_is_that_whatever_its_shape() {
        for newer in [r#"{"SchemaVersion":2}"#, r#"{"SchemaVersion":2,"Response":[],"Kind":"other"}"#] {
            let refused = Outcome::from_json(newer.as_bytes()).unwrap_err();
            assert!(matches!(refused, Unreadable::Newer(Newer { found: 2, known: 1 })), "{refused:?}");
        }
    }

    #[test]
    fn an_object_that_cannot_be_read_shows_nothing_of_what_it_holds() {
        let whole =
            String::from_utf8(Outcome::failed(ErrorCode::Internal.into(), Report::default()).to_json());
        let whole = whole.unwrap();
        let spoilt = [
            whole.replace(r#""failed""#, r#""marker""#),
            whole.replace(r#""SchemaVersion":1"#, r#""SchemaVersion":"marker""#),
            whole.replace(r#""Report":{"#, r#""Report":{"Marker":marker,"#),
            format!(r#"{whole}marker"#),
            r#""marker""#.to_owned(),
        ];
        for bytes in spoilt {
            assert_ne!(bytes, whole);
            let error = Outcome::from_json(bytes.as_bytes()).unwrap_err();
            let told = causes(&error).to_string();
            assert!(
                told.starts_with("the outcome object is malformed: ") && told.contains(" column "),
                "{told}"
            );
            assert!(!format!("{told}{error:?}").to_lowercase().contains("marker"), "{error:?}");
        }
    }
}
