//! A tool that this service runs: from arguments to a result and to effects that somebody else performs.
//!
//! After a crash a call can come again, under another call id (rule 8). So a tool only *says*
//! what is to happen, and every effect is content-addressed or staged. Deliberately absent from what a
//! tool can reach: the session, the org, the user and any store. What the model writes into arguments
//! can therefore name none of them (TUL-007, I7).

use bytes::Bytes;
use contracts::{Timestamp, request::FileName};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use super::Definition;
use protocol::detail::StagedMode;

/// A tool that this service runs within the turn.
pub trait ServerTool: Send + Sync {
    /// What the model is told about it; the same every time.
    fn definition(&self) -> &Definition;

    /// Runs a call whose arguments fit the schema. Dropping the future ends it: it leaves nothing behind.
    fn run<'a>(&'a self, call: ToolInput<'a>) -> BoxFuture<'a, Result<Produced, Failure>>;
}

/// What a tool is run with.
#[derive(Debug, Clone, Copy)]
pub struct ToolInput<'a> {
    /// The model's arguments; they fit the tool's schema.
    pub arguments: &'a Value,
    /// What the service knows and the model can't choose.
    pub facts: &'a Facts,
}

impl<'a> ToolInput<'a> {
    /// The arguments as the tool's own type.
    ///
    /// # Errors
    /// When they are not of that type: then the schema allows what the type does not.
    pub fn read<T: Deserialize<'a>>(&self) -> Result<T, Failure> {
        // The parser's own words would repeat the value, which may be a whole file.
        T::deserialize(self.arguments)
            .map_err(|_| Failure::Refused("The arguments are not what this tool takes.".to_owned()))
    }
}

/// What tools may know about the turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The key of the mode that the turn is in by now (AGN-011 §5.3).
    pub mode: String,
    /// The modes that a change may lead to, in the catalog's order.
    pub modes: Vec<AvailableMode>,
}

/// A mode as tools show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableMode {
    /// Its key.
    pub key: String,
    /// What people call it.
    pub display_name: String,
    /// When to use it, one line.
    pub when_to_use: String,
}

/// What a tool came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Produced {
    /// What the model is told.
    pub result: Value,
    /// What is to happen, in this order.
    pub effects: Vec<Effect>,
}

impl From<Value> for Produced {
    fn from(result: Value) -> Self {
        Self { result, effects: Vec::new() }
    }
}

/// What the loop does for a tool, once the call has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The turn stages a mode change (AGN-011 §5.2; ruling: when a mode change is persisted).
    StageMode(StageMode),
    /// A file is stored under its content's hash and surfaced as a `FileRef` (AGN-033 §6).
    PublishFile(PublishFile),
    /// The org's indexed sources are searched for these words, and what is found is the call's result.
    SearchSources(String),
    /// The user is told (AGN-033 §4.3).
    Warn(String),
}

/// A mode change that takes effect when the turn completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageMode {
    /// The mode's key, one of [`Facts::modes`].
    pub mode: String,
    /// Whether a new branch was suggested (AGN-011 §5.6).
    pub branch: bool,
    /// Why, in the model's words.
    pub reason: String,
}

impl StageMode {
    /// The change as the turn keeps it.
    #[must_use]
    pub fn at(self, at: Timestamp) -> StagedMode {
        StagedMode { mode: self.mode, reason: self.reason, branch: self.branch, at }
    }
}

/// A file that a tool made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishFile {
    /// Its name: one path segment, already made safe.
    pub name: FileName,
    /// Its media type, `type/subtype`.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Bytes,
    /// What it is.
    pub description: Option<String>,
}

/// Why a tool produced nothing. The text is for the model, and clients see it too: no secrets, no
/// provider's words, no arguments repeated (I14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// What was asked for can't be done. A sentence that says what to do instead.
    #[error("{0}")]
    Refused(String),
    /// Something the tool depends on does not work now.
    #[error("{0} is unavailable at the moment. Go on without it, or try again later.")]
    Unavailable(&'static str),
}
