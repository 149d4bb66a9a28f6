//! The outcome of a turn, or of its part up to a suspension.

use contracts::{
    AgentExecuteResponse, Error, ErrorCode, InvokeResult, Usage, json_bytes,
    read::StatusReason,
    response::{TOKEN_LIMIT_REACHED, ToolCall},
};

/// The outcome of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The answer of a completed turn.
    Answer {
        /// The text.
        text: String,
        /// The token usage of the turn.
        usage: Option<Usage>,
        /// True if the model reached its token limit.
        is_truncated: bool,
    },
    /// Calls of the caller's functions.
    Calls {
        /// The text beside the calls.
        text: String,
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// The turn failed, or was cancelled.
    Failed {
        /// The error.
        error: Error,
        /// The text that was written until then.
        text: String,
    },
}

impl Outcome {
    /// Reads the outcome of a turn.
    #[must_use]
    pub fn from_body(body: &[u8]) -> Self {
        let result = json_bytes::from_slice::<InvokeResult<AgentExecuteResponse>>(body);
        let internal = || Error::from(ErrorCode::Internal);
        let outcome = result.map_or_else(|_| Err(vec![internal()]), InvokeResult::into_outcome);
        match outcome {
            Ok(AgentExecuteResponse::Final(answer)) => {
                let is_truncated = answer.user_warnings.iter().any(|warning| warning == TOKEN_LIMIT_REACHED);
                Self::Answer { text: answer.primary_output_text, usage: answer.usage, is_truncated }
            }
            Ok(AgentExecuteResponse::ClientToolContinuation(calls)) => Self::Calls {
                text: calls.tool_continuation_message.unwrap_or_default(),
                calls: calls.tool_calls.iter().cloned().collect(),
            },
            Err(errors) => {
                let error = errors.into_iter().next().unwrap_or_else(internal);
                Self::Failed { error, text: String::new() }
            }
        }
    }

    /// Returns the status of the response.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Answer { is_truncated: true, .. } => Status::Incomplete,
            Self::Answer { .. } | Self::Calls { .. } => Status::Completed,
            Self::Failed { error, .. } => match error.error_code {
                ErrorCode::TurnCancelled => Status::Cancelled,
                ErrorCode::ModelReplyIncomplete => Status::Incomplete,
                _ => Status::Failed,
            },
        }
    }
}

/// The status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The turn runs.
    InProgress,
    /// The turn has its answer, or waits for outputs of functions.
    Completed,
    /// The model stopped early.
    Incomplete,
    /// The turn was cancelled.
    Cancelled,
    /// The turn failed.
    Failed,
}

impl Status {
    /// Returns the status as it appears on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Returns the status of a response whose turn has this one.
    #[must_use]
    pub fn of_turn(reason: StatusReason) -> Self {
        match reason {
            StatusReason::Running | StatusReason::WaitingForApproval => Self::InProgress,
            StatusReason::WaitingForTools | StatusReason::Completed => Self::Completed,
            StatusReason::Cancelled => Self::Cancelled,
            _ => Self::Failed,
        }
    }
}
