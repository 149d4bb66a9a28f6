//! Tool calls and their results.

use std::collections::HashSet;

use contracts::{FileAddress, read::RanBy, response::ToolOutcome};
use serde::{Deserialize, Serialize, de::IgnoredAny};

use super::long_value::long_value_address;
use crate::{
    model::{FunctionCall, ToolOutput},
    text::truncate,
};

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ToolCallRecord {
    /// Id of the call, unique within its turn.
    pub call_id: String,
    /// The provider's call id. Set only if another call of the turn shares it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
    /// The result. `None` while the client runs the call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<ToolOutcome>,
    /// The side that runs the call: the server or the client.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ran_by: Option<RanBy>,
    /// Duration of the call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub execution_ms: Option<u64>,
    /// The files with the complete values if they are truncated here.
    #[serde(skip_serializing_if = "CallFiles::is_empty", default)]
    pub files: CallFiles,
}

/// The files with the complete values of a truncated call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CallFiles {
    /// The complete arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<FileAddress>,
    /// The complete result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<FileAddress>,
}

impl CallFiles {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ToolCallRecord {
    /// Returns the files with the call's long values.
    #[must_use]
    pub fn long_value_files(&self) -> CallFiles {
        let outcome = self.outcome.as_ref().and_then(|outcome| long_value_address(outcome_text(outcome)));
        CallFiles {
            arguments: self.files.arguments.or_else(|| long_value_address(&self.arguments)),
            outcome: self.files.outcome.or(outcome),
        }
    }

    /// Creates a record of a call without a result.
    #[must_use]
    pub fn new(call: FunctionCall) -> Self {
        Self {
            call_id: call.call_id,
            provider_id: None,
            name: call.name,
            arguments: call.arguments,
            outcome: None,
            ran_by: None,
            execution_ms: None,
            files: CallFiles::default(),
        }
    }

    /// Returns the call with its result, or `None` while the result is pending.
    #[must_use]
    pub fn output(&self) -> Option<ToolOutput> {
        Some(ToolOutput { call: self.to_provider_call(), outcome: self.outcome.clone()? })
    }

    /// Replaces the call's id if it is one of `taken`, and keeps the provider's id beside it.
    pub(super) fn ensure_unique_id(&mut self, taken: &HashSet<String>, position: usize, round: u32) {
        if taken.contains(&self.call_id) {
            let own = (0..=taken.len()).map(|more| format!("call_{round}_{position}_{more}"));
            let free = own.filter(|id| !taken.contains(id)).take(1);
            self.provider_id = free.map(|id| std::mem::replace(&mut self.call_id, id)).next();
        }
    }

    /// Returns the call with its unique id, as the turn and the client see it.
    #[must_use]
    pub fn to_call(&self) -> FunctionCall {
        let (call_id, name) = (self.call_id.clone(), self.name.clone());
        FunctionCall { call_id, name, arguments: self.arguments.clone() }
    }

    /// Returns the call with the provider's id.
    pub(super) fn to_provider_call(&self) -> FunctionCall {
        let call_id = self.provider_id.as_ref().unwrap_or(&self.call_id).clone();
        FunctionCall { call_id, ..self.to_call() }
    }

    /// Returns the call for a replay. Some providers parse the arguments of earlier calls and reject invalid JSON.
    pub(super) fn to_replay_call(&self) -> FunctionCall {
        let is_json = serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok();
        let arguments = match self.arguments.trim() {
            _ if is_json => self.arguments.clone(),
            "" => "{}".to_owned(),
            malformed => serde_json::json!({ "malformed": malformed }).to_string(),
        };
        FunctionCall { arguments, ..self.to_provider_call() }
    }

    /// Truncates long values.
    pub(super) fn brief(&self, max_bytes: usize) -> Self {
        Self {
            call_id: self.call_id.clone(),
            provider_id: self.provider_id.clone(),
            name: self.name.clone(),
            arguments: truncate_arguments(&self.arguments, max_bytes),
            outcome: self.outcome.clone().map(|outcome| match outcome {
                ToolOutcome::ResultJson(json) => ToolOutcome::ResultJson(truncate(json, max_bytes)),
                ToolOutcome::ErrorMessage(message) => ToolOutcome::ErrorMessage(truncate(message, max_bytes)),
            }),
            ran_by: self.ran_by,
            execution_ms: self.execution_ms,
            files: self.long_value_files(),
        }
    }

    pub(super) fn size(&self) -> usize {
        let outcome = self.outcome.as_ref().map_or(0, |outcome| outcome_text(outcome).len());
        [self.call_id.len(), self.name.len(), self.arguments.len(), outcome].iter().sum()
    }
}

/// Returns the text of a result, as it was written.
#[must_use]
pub fn outcome_text(outcome: &ToolOutcome) -> &str {
    match outcome {
        ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text) => text,
    }
}

fn truncate_arguments(arguments: &str, max_bytes: usize) -> String {
    if arguments.len() <= max_bytes {
        return arguments.to_owned();
    }
    serde_json::json!({ "cut": truncate(arguments.to_owned(), max_bytes) }).to_string()
}
