//! Tools that the service calls over a connection of the org, and the port that calls them.

use std::{fmt, future::Future, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use contracts::{
    Fingerprint,
    id::{OrgId, UserId},
    request::FileName,
};
use futures::future::BoxFuture;
use protocol::{caller::BearerToken, cost::Cost, id::TurnKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Definition, Effect, PublishFile, ToolError, ToolSuccess, approval::ApprovalPolicy};

/// A remote tool as a turn stores it. A later change of its connection doesn't alter it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RemoteTool {
    /// The definition that the model gets.
    pub definition: Definition,
    /// The connection that it is called over.
    pub connection: String,
    /// The version of the connection.
    pub revision: u32,
    /// The operator's word on repeated calls.
    #[serde(default)]
    pub class: EffectClass,
    /// The price, the limit and the approval of its calls.
    #[serde(skip_serializing_if = "CallTerms::is_empty", default)]
    pub terms: CallTerms,
    /// The operation behind it, in the form of the connection's kind. Only the implementor of [`RemoteTools`] reads it.
    pub target: Value,
}

/// The price, the limit and the approval of a tool's calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CallTerms {
    /// The price of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Cost>,
    /// The most calls in a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_calls_per_turn: Option<u32>,
    /// The calls that a person has to approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalPolicy>,
}

impl CallTerms {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl RemoteTool {
    /// Returns the name of the tool in its connection.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        let name = self.definition.name.strip_prefix(self.connection.as_str());
        name.and_then(|rest| rest.strip_prefix("__")).unwrap_or(&self.definition.name)
    }
}

/// What a second call of a tool would do. An operator sets it; the annotations of a server are hints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// The call changes nothing.
    Read,
    /// A second call leads to the same state.
    Repeatable,
    /// The target performs one call per key.
    Keyed,
    /// A second call has a second effect, so none is sent.
    #[default]
    Effect,
}

impl EffectClass {
    /// Returns the word for the class.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Repeatable => "repeatable",
            Self::Keyed => "keyed",
            Self::Effect => "effect",
        }
    }

    /// Returns true if calls are recorded before they are sent.
    #[must_use]
    pub const fn has_intent(self) -> bool {
        matches!(self, Self::Keyed | Self::Effect)
    }
}

impl RemoteTool {
    /// Returns the key of a call with these arguments. Every attempt of the turn derives the same.
    ///
    /// It names neither the attempt nor the provider's id of the call, which differ after a crash.
    #[must_use]
    pub fn key(&self, turn: &TurnKey, round: u32, index: usize, arguments: &Value) -> String {
        let (revision, round, index) = (self.revision.to_string(), round.to_string(), index.to_string());
        let session = &turn.session;
        let place = [session.org.as_str(), session.session.as_str(), turn.turn.as_str(), &round, &index];
        let hash = self.hash(&[&["aptix-effect-1"], &place[..], &[revision.as_str()]].concat(), arguments);
        let mut key = hash.to_string();
        key.truncate(KEY_CHARS);
        key
    }

    /// Returns the hash by which equal calls of a session are recognized. The connection's version is not part of it.
    #[must_use]
    pub fn call_hash(&self, arguments: &Value) -> Fingerprint {
        self.hash(&["aptix-call-1"], arguments)
    }

    fn hash(&self, parts: &[&str], arguments: &Value) -> Fingerprint {
        let arguments =
            serde_json_canonicalizer::to_string(arguments).unwrap_or_else(|_| arguments.to_string());
        let of_tool = [self.connection.as_str(), self.definition.name.as_str(), arguments.as_str()];
        let mut bytes = Vec::new();
        for part in parts.iter().chain(&of_tool) {
            // The length in front keeps apart what only reads the same in a row.
            bytes.extend_from_slice(&part.len().to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        Fingerprint::hash_bytes(&bytes)
    }
}

/// The length of a call's key, in hexadecimal digits.
const KEY_CHARS: usize = 40;

/// A call of a remote tool.
#[derive(Debug, Clone, Copy)]
pub struct RemoteCall<'a> {
    /// The org of the turn, whose connections it can use.
    pub org: &'a OrgId,
    /// The user who asked for the turn.
    pub user: &'a UserId,
    /// The token of the caller whose own request works on the turn. `None` for every other attempt.
    pub token: Option<&'a BearerToken>,
    /// The tool.
    pub tool: &'a RemoteTool,
    /// The model's arguments, which match the tool's schema.
    pub arguments: &'a Value,
    /// The key of the call, the same in every attempt. Targets of class `keyed` get it.
    pub key: &'a str,
    /// The time until the call is given up.
    pub timeout: Duration,
    /// The receiver of what the target says of its progress.
    pub progress: ProgressSink<'a>,
    /// The signal that nobody waits for the result any more.
    pub cancel: CancelSignal<'a>,
}

/// A signal to stop work.
pub trait Cancellation: Send + Sync {
    /// Resolves once the work has to stop.
    fn cancelled(&self) -> BoxFuture<'_, ()>;
}

/// The signal that nobody waits for the result of a call any more. A target that can stop a call is asked to.
#[derive(Clone, Copy, Default)]
pub struct CancelSignal<'a>(Option<&'a dyn Cancellation>);

impl<'a> CancelSignal<'a> {
    /// Creates a signal.
    #[must_use]
    pub fn new(cancellation: &'a dyn Cancellation) -> Self {
        Self(Some(cancellation))
    }

    /// Resolves once the call is to be cancelled.
    pub async fn cancelled(&self) {
        match self.0 {
            Some(cancellation) => cancellation.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl fmt::Debug for CancelSignal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelSignal").field(&self.0.is_some()).finish()
    }
}

/// Receives what a target says of a call's progress: one visible line each time, at most 1 KiB.
#[derive(Clone, Copy, Default)]
pub struct ProgressSink<'a>(Option<&'a (dyn Fn(String) + Send + Sync)>);

impl<'a> ProgressSink<'a> {
    /// Creates a receiver.
    #[must_use]
    pub fn new(receive: &'a (dyn Fn(String) + Send + Sync)) -> Self {
        Self(Some(receive))
    }

    /// Passes a line on.
    pub fn send(&self, line: String) {
        if let Some(receive) = self.0 {
            receive(line);
        }
    }
}

impl fmt::Debug for ProgressSink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProgressSink").field(&self.0.is_some()).finish()
    }
}

/// The outcome of a call. The texts are for the model, and clients see them too (I14).
#[derive(Debug, Clone, PartialEq)]
pub enum RemoteOutcome {
    /// The target performed the call.
    Done(ToolSuccess),
    /// The target refused the call and performed nothing.
    Refused(String),
    /// Nothing was sent.
    NotSent(String),
    /// The call was sent and has no valid response, so its target may have performed it or may still do so.
    Unknown(String),
}

impl RemoteOutcome {
    /// Returns the word for the outcome, as logs have it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Refused(_) => "refused",
            Self::NotSent(_) => "not_sent",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Returns the outcome as it is stored. Of the effects, warnings and files are: a connection has no others.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&StoredOutcome::from(self)).unwrap_or_default()
    }

    /// Reads a stored outcome.
    ///
    /// # Errors
    /// Fails if it isn't as [`to_json`](Self::to_json) writes it.
    pub fn from_json(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json).map(StoredOutcome::into_outcome)
    }

    /// Returns the outcome for the model.
    ///
    /// # Errors
    /// Returns the message of a call that wasn't performed, or perhaps wasn't.
    pub fn into_result(self) -> Result<ToolSuccess, ToolError> {
        match self {
            Self::Done(success) => Ok(success),
            Self::Refused(why) | Self::NotSent(why) | Self::Unknown(why) => Err(ToolError::Refused(why)),
        }
    }
}

/// The stored form of an outcome.
#[derive(Serialize, Deserialize)]
#[serde(tag = "Outcome", rename_all = "snake_case")]
enum StoredOutcome {
    #[serde(rename_all = "PascalCase")]
    Done {
        result: Value,
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        effects: Vec<StoredEffect>,
    },
    #[serde(rename_all = "PascalCase")]
    Refused { message: String },
    #[serde(rename_all = "PascalCase")]
    NotSent { message: String },
    #[serde(rename_all = "PascalCase")]
    Unknown { message: String },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
enum StoredEffect {
    Warn(String),
    #[serde(rename_all = "PascalCase")]
    File {
        name: FileName,
        media_type: String,
        base64: String,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        description: Option<String>,
    },
}

impl From<&RemoteOutcome> for StoredOutcome {
    fn from(outcome: &RemoteOutcome) -> Self {
        match outcome.clone() {
            RemoteOutcome::Done(ToolSuccess { result, effects }) => {
                let stored = effects.into_iter().filter_map(StoredEffect::new);
                Self::Done { result, effects: stored.collect() }
            }
            RemoteOutcome::Refused(message) => Self::Refused { message },
            RemoteOutcome::NotSent(message) => Self::NotSent { message },
            RemoteOutcome::Unknown(message) => Self::Unknown { message },
        }
    }
}

impl StoredOutcome {
    fn into_outcome(self) -> RemoteOutcome {
        match self {
            Self::Done { result, effects } => {
                let effects = effects.into_iter().filter_map(StoredEffect::into_effect).collect();
                RemoteOutcome::Done(ToolSuccess { result, effects })
            }
            Self::Refused { message } => RemoteOutcome::Refused(message),
            Self::NotSent { message } => RemoteOutcome::NotSent(message),
            Self::Unknown { message } => RemoteOutcome::Unknown(message),
        }
    }
}

impl StoredEffect {
    fn new(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Warn(text) => Some(Self::Warn(text)),
            Effect::PublishFile(PublishFile { name, media_type, bytes, description }) => {
                Some(Self::File { name, media_type, base64: STANDARD.encode(&bytes), description })
            }
            Effect::StageMode(_)
            | Effect::SearchSources(_)
            | Effect::ReadResult(..)
            | Effect::FindTools(_) => None,
        }
    }

    fn into_effect(self) -> Option<Effect> {
        match self {
            Self::Warn(text) => Some(Effect::Warn(text)),
            Self::File { name, media_type, base64, description } => {
                let bytes = STANDARD.decode(base64).ok()?.into();
                Some(Effect::PublishFile(PublishFile { name, media_type, bytes, description }))
            }
        }
    }
}

/// Calls the tools of connections.
pub trait RemoteTools: Send + Sync {
    /// Checks a URL of a connection by the rules of the deployment, without a request. Returns its host with the port.
    ///
    /// # Errors
    /// Returns the rule that it breaks. A program without connections refuses every URL.
    fn check_url(&self, _url: &str) -> Result<String, String> {
        Err("can't be used: this program calls no tools of connections".to_owned())
    }

    /// Sends a call at most once, and follows no redirect.
    ///
    /// `may_send` is asked right before the request is written, with no `await` in between. If it returns false,
    /// nothing is sent. Dropping the future doesn't undo a call that was sent.
    fn call(
        &self,
        call: RemoteCall<'_>,
        may_send: &(dyn Fn() -> bool + Send + Sync),
    ) -> impl Future<Output = RemoteOutcome> + Send;

    /// Looks up a call whose result was lost, by its key. `None` unless the target shows that it performed the call: a call
    /// that it doesn't know may still arrive.
    fn look_up(&self, _call: RemoteCall<'_>) -> impl Future<Output = Option<ToolSuccess>> + Send {
        async { None }
    }
}

/// The port of a program without connections, which sends nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRemoteTools;

impl RemoteTools for NoRemoteTools {
    async fn call(&self, _: RemoteCall<'_>, _: &(dyn Fn() -> bool + Send + Sync)) -> RemoteOutcome {
        RemoteOutcome::NotSent("This service has no connections. Continue without the tool.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use contracts::id::TurnId;
    use protocol::id::SessionKey;
    use serde_json::json;

    use super::*;
    use crate::tool::ExecutedBy;

    fn tool() -> RemoteTool {
        RemoteTool {
            definition: Definition {
                name: "refund".to_owned(),
                description: "Refunds.".to_owned(),
                parameters: json!({ "type": "object" }),
                usage: None,
                executed_by: ExecutedBy::Server,
                strict: false,
            },
            connection: "shop".to_owned(),
            revision: 1,
            class: EffectClass::Effect,
            terms: CallTerms::default(),
            target: Value::Null,
        }
    }

    fn turn(id: &str) -> TurnKey {
        let session = SessionKey { org: "o".parse().unwrap(), session: "s".parse().unwrap() };
        session.turn(TurnId::new(id).unwrap())
    }

    #[test]
    fn stored_outcome_is_the_one_that_was_stored() {
        let file = PublishFile {
            name: FileName::new("a.txt").unwrap(),
            media_type: "text/plain".to_owned(),
            bytes: vec![0, 255].into(),
            description: None,
        };
        let effects = vec![Effect::Warn("Careful.".to_owned()), Effect::PublishFile(file)];
        let outcomes = [
            RemoteOutcome::Done(ToolSuccess { result: json!({ "a": [1] }), effects }),
            RemoteOutcome::Refused("No.".to_owned()),
            RemoteOutcome::NotSent("Down.".to_owned()),
            RemoteOutcome::Unknown("Cut.".to_owned()),
        ];
        for outcome in outcomes {
            assert_eq!(RemoteOutcome::from_json(&outcome.to_json()).unwrap(), outcome);
        }
        assert!(RemoteOutcome::from_json(b"{}").is_err());
    }

    #[test]
    fn key_depends_on_place_tool_and_canonical_arguments() {
        let (tool, arguments) = (tool(), json!({ "a": 1, "b": [2.0] }));
        let key = tool.key(&turn("t"), 1, 0, &arguments);
        let same = serde_json::from_str(r#"{ "b": [2], "a": 1.0 }"#).unwrap();
        assert_eq!((tool.key(&turn("t"), 1, 0, &same), key.len()), (key.clone(), KEY_CHARS));
        let moved = RemoteTool { connection: "shops".to_owned(), ..tool.clone() };
        let newer = RemoteTool { revision: 2, ..tool.clone() };
        let others = [
            tool.key(&turn("t2"), 1, 0, &arguments),
            tool.key(&turn("t"), 2, 0, &arguments),
            tool.key(&turn("t"), 1, 1, &arguments),
            tool.key(&turn("t"), 11, 0, &arguments),
            tool.key(&turn("t"), 1, 0, &json!({})),
            moved.key(&turn("t"), 1, 0, &arguments),
            newer.key(&turn("t"), 1, 0, &arguments),
        ];
        let distinct: std::collections::BTreeSet<&String> = others.iter().chain([&key]).collect();
        assert_eq!(distinct.len(), others.len() + 1);
        assert_eq!(tool.call_hash(&arguments), newer.call_hash(&same));
        assert_ne!(tool.call_hash(&arguments), moved.call_hash(&arguments));
    }
}
