//! Tool calls and their results.

use contracts::{FileAddress, read::RanBy, response::ToolOutcome};
use serde::{Deserialize, Serialize};

use super::long_value::long_value_address;
use crate::{
    model::{FunctionCall, ToolOutput},
    text::truncate,
    tool::{approval::CallApproval, remote::RemoteTool},
};

/// A tool call and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ToolCallRecord {
    /// Our id of the call, unique within its turn. Older records have the provider's id here.
    pub call_id: String,
    /// The provider's id, of any length and with any characters. Only its provider gets it back.
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
    /// The connection that the tool belongs to. `None` for other tools, and in older records.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connection: Option<CalledConnection>,
    /// Duration of the call, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub execution_ms: Option<u64>,
    /// The files with the complete values if they are truncated here.
    #[serde(skip_serializing_if = "CallFiles::is_empty", default)]
    pub files: CallFiles,
    /// The approval that the call needs. Without an outcome, it waits for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval: Option<Box<CallApproval>>,
}

/// A version of a connection that a call was made over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CalledConnection {
    /// The id of the connection.
    pub id: String,
    /// Its version.
    pub version: u32,
}

impl From<&RemoteTool> for CalledConnection {
    fn from(tool: &RemoteTool) -> Self {
        Self { id: tool.connection.clone(), version: tool.revision }
    }
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

    /// Creates a record of a provider's call without a result, under our id.
    #[must_use]
    pub fn new(call_id: String, call: FunctionCall) -> Self {
        Self {
            call_id,
            provider_id: Some(call.call_id),
            name: call.name,
            arguments: call.arguments,
            outcome: None,
            ran_by: None,
            connection: None,
            execution_ms: None,
            files: CallFiles::default(),
            approval: None,
        }
    }

    /// True if the service runs the call and hasn't yet: the round waits for approvals.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.outcome.is_none() && self.ran_by == Some(RanBy::Server)
    }

    /// Returns the call with its result for the provider that made it, or `None` while the result is pending.
    #[must_use]
    pub fn output(&self) -> Option<ToolOutput> {
        let call = FunctionCall { call_id: self.provider_id().to_owned(), ..self.to_call() };
        Some(ToolOutput { call, outcome: self.outcome.clone()? })
    }

    /// Returns the provider's id.
    pub(super) fn provider_id(&self) -> &str {
        self.provider_id.as_ref().unwrap_or(&self.call_id)
    }

    /// Returns the call with our id, as the turn and the client see it.
    #[must_use]
    pub fn to_call(&self) -> FunctionCall {
        let (call_id, name) = (self.call_id.clone(), self.name.clone());
        FunctionCall { call_id, name, arguments: self.arguments.clone() }
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
            connection: self.connection.clone(),
            execution_ms: self.execution_ms,
            files: self.long_value_files(),
            approval: None,
        }
    }

    pub(super) fn size(&self) -> usize {
        let outcome = self.outcome.as_ref().map_or(0, |outcome| outcome_text(outcome).len());
        let ids = self.call_id.len() + self.provider_id.as_ref().map_or(0, String::len);
        [ids, self.name.len(), self.arguments.len(), outcome].iter().sum()
    }
}

/// Returns the connection that a server's call belongs to, if its tool is one of these.
#[must_use]
pub fn called_connection(remote: &[RemoteTool], call: &ToolCallRecord) -> Option<CalledConnection> {
    remote.iter().find(|tool| tool.definition.name == call.name).map(CalledConnection::from)
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
