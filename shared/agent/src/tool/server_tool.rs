//! Tools that this service runs: they turn arguments into a result and effects for the caller to perform.
//!
//! After a crash a call can be repeated under another call id (rule 8). So a tool only *returns* its effects, and
//! every effect is content-addressed or staged. A tool can't reach the session, the org, the user or any store, so
//! the model's arguments can't name any of them (I7).

use bytes::Bytes;
use contracts::{Timestamp, request::FileName};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Definition,
    stored_result::{Part, ResultId},
};
use protocol::detail::StagedMode;

/// A tool that this service runs within the turn.
pub trait ServerTool: Send + Sync {
    /// Returns its definition, the same every time.
    fn definition(&self) -> &Definition;

    /// Runs a call whose arguments match the schema. Dropping the future cancels it and leaves nothing behind.
    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<ToolSuccess, ToolError>>;
}

/// The input of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolInput<'a> {
    /// The model's arguments, which match the tool's schema.
    pub arguments: &'a Value,
    /// Facts about the turn that the model can't choose.
    pub facts: &'a TurnFacts,
}

impl<'a> ToolInput<'a> {
    /// Deserializes the arguments into the tool's own type.
    ///
    /// # Errors
    /// Fails if they are not of that type, which means that the schema allows more than the type does.
    pub fn read<T: Deserialize<'a>>(&self) -> Result<T, ToolError> {
        // The parser's message would repeat the value, which may be a whole file.
        T::deserialize(self.arguments)
            .map_err(|_| ToolError::Refused("The arguments are not what this tool takes.".to_owned()))
    }
}

/// The facts about the turn that tools can read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnFacts {
    /// The key of the turn's current mode.
    pub mode: String,
    /// The modes that a tool can switch to, in the catalog's order.
    pub modes: Vec<AvailableMode>,
}

/// A mode as tools show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableMode {
    /// The key.
    pub key: String,
    /// The display name.
    pub display_name: String,
    /// The condition for using it, in one line.
    pub when_to_use: String,
}

/// The outcome of a successful call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSuccess {
    /// The result for the model.
    pub result: Value,
    /// The effects to perform, in this order.
    pub effects: Vec<Effect>,
}

impl From<Value> for ToolSuccess {
    fn from(result: Value) -> Self {
        Self { result, effects: Vec::new() }
    }
}

/// An effect that the agent loop performs for a tool, once the call has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Stage a mode change; it is persisted when the turn is finalized.
    StageMode(StageMode),
    /// Store a file under its content hash and return it as a `FileRef`.
    PublishFile(PublishFile),
    /// Search the org's indexed sources for this text; the matches become the call's result.
    SearchSources(String),
    /// Read a part of a stored result; it becomes the call's result.
    ReadResult(ResultId, Part),
    /// Search the turn's deferred tools; the matches become the call's result and can be called.
    FindTools(String),
    /// Warn the user.
    Warn(String),
}

/// A mode change that takes effect when the turn completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageMode {
    /// The mode's key, one of [`TurnFacts::modes`].
    pub mode: String,
    /// True if the model suggests a new branch.
    pub branch: bool,
    /// The model's reason.
    pub reason: String,
}

impl StageMode {
    /// Returns the change as the turn stores it.
    #[must_use]
    pub fn into_staged(self, at: Timestamp) -> StagedMode {
        StagedMode { mode: self.mode, reason: self.reason, branch: self.branch, at }
    }
}

/// A file that a tool created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishFile {
    /// Its name: one sanitized path segment.
    pub name: FileName,
    /// Its media type, `type/subtype`.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Bytes,
    /// Its description.
    pub description: Option<String>,
}

/// A failed call. The text is for the model, and clients see it too: it has no secrets, no provider's message and no
/// arguments (I14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The call can't be done. The text says what to do instead.
    #[error("{0}")]
    Refused(String),
    /// A dependency of the tool is unavailable.
    #[error("{0} is unavailable at the moment. Continue without it, or try again later.")]
    Unavailable(&'static str),
}
