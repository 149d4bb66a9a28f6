//! The outcome object.

use contracts::{AgentExecuteResponse, Error, InvokeResult};
use protocol::{
    detail::{OutcomeSummary, Report, StagedMode},
    id::AttemptId,
    stream_position::Segment,
    turn::Verdict,
};
use serde::Serialize;

use super::{Ending, Response};
use crate::{
    attempt::{RecoveryPoint, history_window::HistoryWindow},
    model::TextPart,
    text::excerpt::excerpt_of,
    tool::rounds::{ModelCallInfo, Round},
};

/// The schema version that this code writes.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// The outcome of an attempt.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Outcome {
    /// Schema version of the object.
    pub(super) schema_version: u32,
    /// The response body for the client, now and in every replay.
    pub response: Response,
    /// The part that the table stores.
    pub report: Report,
    /// The kind of the ending, and its own members.
    #[serde(flatten)]
    pub ending: Ending,
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
                answer_parts: Vec::new(),
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

    /// Sets the parts of the answer, whose text was `written` before it was filtered. Applies to an answer only.
    #[must_use]
    pub fn with_answer_parts(mut self, parts: &[TextPart], written: &str) -> Self {
        let answer = self.response.answer_text().unwrap_or_default();
        if let Ending::Completed { answer_parts, .. } = &mut self.ending
            && parts.iter().any(|part| part.phase.is_some())
        {
            *answer_parts = TextPart::of_form(parts, written, &answer);
        }
        self
    }

    /// Returns the parts of the answer, if one of them has a phase.
    #[must_use]
    pub fn answer_parts(&self) -> &[TextPart] {
        match &self.ending {
            Ending::Completed { answer_parts, .. } => answer_parts,
            Ending::Failed { .. } | Ending::Suspended { .. } => &[],
        }
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

    /// Creates the outcome of a suspension until people have answered the approvals of its calls. Clients get this error
    /// meanwhile.
    #[must_use]
    pub fn held(waiting: Error, report: Report, recovery_point: RecoveryPoint) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            response: Response::error(waiting),
            report,
            ending: Ending::Suspended { recovery_point: Box::new(recovery_point) },
        }
    }

    /// Returns the verdict that settles a turn with this outcome. `None` for a suspension.
    #[must_use]
    pub fn verdict(&self, writer: AttemptId) -> Option<Verdict> {
        match self.ending {
            Ending::Completed { .. } => Some(Verdict::Completed { writer }),
            Ending::Failed { .. } => Some(Verdict::Failed { writer }),
            Ending::Suspended { .. } => None,
        }
    }

    /// Returns the turn's tool rounds, oldest first. The rounds of a suspension are in its recovery point.
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
}
