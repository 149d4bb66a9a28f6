//! The paths of the API that links and callers fill. Each is that of an operation ([`crate::operations`]).
//!
//! A path is a template with its parameters in braces, and the types below fill them in. Deliberately absent:
//! methods, and the function that handles a path.
//!
//! # Examples
//!
//! ```
//! use contracts::{FileAddress, id::{SessionId, TurnId}, paths};
//!
//! let (session, turn) = (SessionId::new("s1")?, TurnId::new("t1")?);
//! assert_eq!(paths::TURN.template(), "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}");
//! assert_eq!(paths::TURN.fill(&session, &turn), "/api/ai/agent/sessions/s1/turns/t1");
//!
//! // A file's name is whatever the model called it, so it is percent-encoded.
//! let link = paths::FILE.fill(&session, &turn, &FileAddress::hash_bytes(b"x"), "50% done/ü.md");
//! assert!(link.ends_with("/50%25%20done%2F%C3%BC.md"));
//! # Ok::<(), contracts::id::InvalidId>(())
//! ```

use percent_encoding::utf8_percent_encode;

pub use crate::id::RESERVED;
use crate::{
    hash::FileAddress,
    id::{SessionId, TurnId},
    operations::{self, contexts::ContextOperations},
};

/// The start of every path.
pub const PREFIX: &str = "/api/ai/agent/";
/// Runs a user turn or submits tool results.
pub const EXECUTE: &str = operations::EXECUTE_TURN.path;
/// Submits tool results.
pub const TOOL_RESULTS: &str = operations::SUBMIT_TOOL_RESULTS.path;
/// Lists sessions.
pub const SESSIONS: &str = operations::LIST_SESSIONS.path;
/// Searches sessions.
pub const SEARCH: &str = operations::SEARCH_SESSIONS.path;
/// Exports the sessions of an org.
pub const EXPORT: &str = operations::EXPORT_SESSIONS.path;
/// Imports sessions.
pub const IMPORT: &str = operations::IMPORT_SESSIONS.path;
/// The usage of an org or a user.
pub const USAGE: &str = operations::READ_USAGE.path;
/// The budgets of an org.
pub const BUDGETS: &str = operations::READ_BUDGETS.path;
/// The use of budgets.
pub const BUDGET_USE: &str = operations::READ_BUDGET_USE.path;
/// The documents for the agents of an org.
pub const KNOWLEDGE: &str = operations::LIST_KNOWLEDGE.path;
/// The settings of an org.
pub const ORG_SETTINGS: &str = operations::READ_ORG_SETTINGS.path;
/// The calls of an org with an unknown outcome, for operators.
pub const EFFECTS: &str = operations::LIST_UNKNOWN_EFFECTS.path;
/// The approvals that wait for an answer.
pub const APPROVALS: &str = operations::LIST_APPROVALS.path;
/// One approval.
pub const APPROVAL: ApprovalPath = ApprovalPath(operations::READ_APPROVAL.path);
/// Approves a call.
pub const APPROVE: ApprovalPath = ApprovalPath(operations::APPROVE_CALL.path);
/// Denies a call.
pub const DENY: ApprovalPath = ApprovalPath(operations::DENY_CALL.path);
/// One session.
pub const SESSION: SessionPath = SessionPath(operations::READ_SESSION.path);
/// Restores a deleted session.
pub const RESTORE: SessionPath = SessionPath(operations::RESTORE_SESSION.path);
/// Quarantines a session, for operators.
pub const QUARANTINE: SessionPath = SessionPath(operations::QUARANTINE_SESSION.path);
/// Releases a session from its quarantine, for operators.
pub const RELEASE: SessionPath = SessionPath(operations::RELEASE_SESSION.path);
/// The progress of a session's purge.
pub const PURGE: SessionPath = SessionPath(operations::READ_PURGE.path);
/// The mode changes of a session.
pub const MODE_HISTORY: SessionPath = SessionPath(operations::READ_MODE_HISTORY.path);
/// Exports a session.
pub const SESSION_EXPORT: SessionPath = SessionPath(operations::EXPORT_SESSION.path);
/// Forks a session.
pub const FORK: SessionPath = SessionPath(operations::FORK_SESSION.path);
/// The newest turn of a session.
pub const LAST_TURN: SessionPath = SessionPath(operations::READ_LAST_TURN.path);
/// The turns of a session.
pub const TURNS: SessionPath = SessionPath(operations::LIST_TURNS.path);
/// One turn.
pub const TURN: TurnPath = TurnPath(operations::READ_TURN.path);
/// The summary of a turn.
pub const SUMMARY: TurnPath = TurnPath(operations::READ_TURN_SUMMARY.path);
/// The steps of a turn.
pub const STEPS: TurnPath = TurnPath(operations::READ_TURN_STEPS.path);
/// The stored state of a turn, for operators.
pub const RECORDS: TurnPath = TurnPath(operations::READ_TURN_RECORDS.path);
/// The event stream of a turn.
pub const STREAM: TurnPath = TurnPath(operations::STREAM_TURN.path);
/// Cancels a turn.
pub const CANCEL: TurnPath = TurnPath(operations::CANCEL_TURN.path);
/// Ends a turn as abandoned, for operators.
pub const ABANDON: TurnPath = TurnPath(operations::ABANDON_TURN.path);
/// Settles an overdue turn, for operators.
pub const SETTLE: TurnPath = TurnPath(operations::SETTLE_TURN.path);
/// Resolves a call with an unknown outcome, for operators.
pub const RESOLVE_EFFECT: TurnPath = TurnPath(operations::RESOLVE_EFFECT.path);
/// Reruns a turn.
pub const RERUN: TurnPath = TurnPath(operations::RERUN_TURN.path);
/// The feedback on a turn.
pub const FEEDBACK: TurnPath = TurnPath(operations::READ_FEEDBACK.path);
/// The full request of a turn.
pub const INSTRUCTION: TurnPath = TurnPath(operations::READ_INSTRUCTION.path);
/// The full answer of a turn.
pub const ANSWER: TurnPath = TurnPath(operations::READ_ANSWER.path);
/// A request that was sent to the model provider.
pub const MODEL_REQUEST: TurnPath = TurnPath(operations::READ_MODEL_REQUEST.path);
/// A response of the model provider.
pub const MODEL_RESPONSE: TurnPath = TurnPath(operations::READ_MODEL_RESPONSE.path);
/// A file that an answer refers to.
pub const FILE: FilePath = FilePath(operations::READ_FILE.path);
/// Agent contexts.
pub const AGENTS: ContextPaths = ContextPaths::of(&operations::contexts::AGENTS);
/// Conversation contexts.
pub const CONVERSATION_CONTEXTS: ContextPaths =
    ContextPaths::of(&operations::contexts::CONVERSATION_CONTEXTS);
/// Modes.
pub const MODES: ContextPaths = ContextPaths::of(&operations::contexts::MODES);
/// Connections.
pub const CONNECTIONS: ContextPaths = ContextPaths::of(&operations::contexts::CONNECTIONS);

/// Webhooks.
pub const WEBHOOKS: ContextPaths = ContextPaths::of(&operations::contexts::WEBHOOKS);

/// Returns the path of a webhook's secret.
#[must_use]
pub fn webhook_secret(id: &str) -> String {
    fill_id(operations::ROTATE_WEBHOOK_SECRET.path, id)
}

/// Returns the path that sends a test event to a webhook.
#[must_use]
pub fn webhook_test(id: &str) -> String {
    fill_id(operations::TEST_WEBHOOK.path, id)
}

/// Returns the path that delivers events of a webhook again.
#[must_use]
pub fn webhook_replay(id: &str) -> String {
    fill_id(operations::REPLAY_WEBHOOK.path, id)
}

/// Returns the path of a webhook's deliveries.
#[must_use]
pub fn webhook_deliveries(id: &str) -> String {
    fill_id(operations::LIST_WEBHOOK_DELIVERIES.path, id)
}

/// Returns the path of a webhook's status.
#[must_use]
pub fn webhook_status(id: &str) -> String {
    fill_id(operations::READ_WEBHOOK_STATUS.path, id)
}

/// Returns the path of a connection's secret.
#[must_use]
pub fn connection_secret(id: &str) -> String {
    fill_id(operations::SET_CONNECTION_SECRET.path, id)
}

/// Returns the path that calls a tool of a connection.
#[must_use]
pub fn tool_trial(id: &str) -> String {
    fill_id(operations::TRY_TOOL.path, id)
}

/// Returns the path that compares a connection with its server.
#[must_use]
pub fn connection_refresh(id: &str) -> String {
    fill_id(operations::REFRESH_CONNECTION.path, id)
}

/// The prefix of the paths of the OpenAI-compatible API.
pub const OPENAI_PREFIX: &str = "/v1/";

/// A path of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalPath(&'static str);

impl ApprovalPath {
    /// Returns the path for an approval.
    #[must_use]
    pub fn fill(self, id: &str) -> String {
        fill_template(self.0, &[("{ApprovalId}", id)])
    }
}

/// A path below a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionPath(&'static str);

impl SessionPath {
    /// The path template with `{SessionId}`.
    #[must_use]
    pub const fn template(self) -> &'static str {
        self.0
    }

    /// Returns the path for a session.
    #[must_use]
    pub fn fill(self, session: &SessionId) -> String {
        fill_template(self.0, &[("{SessionId}", session.as_str())])
    }
}

/// A path below a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnPath(&'static str);

impl TurnPath {
    /// The path template with `{SessionId}` and `{TurnId}`.
    #[must_use]
    pub const fn template(self) -> &'static str {
        self.0
    }

    /// Returns the path for a turn.
    #[must_use]
    pub fn fill(self, session: &SessionId, turn: &TurnId) -> String {
        fill_template(self.0, &[("{SessionId}", session.as_str()), ("{TurnId}", turn.as_str())])
    }
}

/// The path templates of a kind of contexts. Modes count as one, with `{ModeKey}` in place of `{ContextId}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextPaths {
    /// The contexts of the org.
    pub list: &'static str,
    /// One context.
    pub context: &'static str,
    /// The versions of a context.
    pub versions: &'static str,
    /// One version of a context.
    pub version: &'static str,
    /// Rolls a context back.
    pub rollback: &'static str,
    /// Rolls a version of a context out. `None` for a kind without rollouts.
    pub rollout: Option<&'static str>,
}

impl ContextPaths {
    const fn of(kind: &ContextOperations) -> Self {
        Self {
            list: kind.list.path,
            context: kind.read.path,
            versions: kind.versions.path,
            version: kind.version.path,
            rollback: kind.roll_back.path,
            rollout: match &kind.roll_out {
                Some(rollout) => Some(rollout.path),
                None => None,
            },
        }
    }

    /// Returns the path of a context.
    #[must_use]
    pub fn context(self, id: &str) -> String {
        fill_id(self.context, id)
    }

    /// Returns the path of a context's versions.
    #[must_use]
    pub fn versions(self, id: &str) -> String {
        fill_id(self.versions, id)
    }

    /// Returns the path of a version of a context.
    #[must_use]
    pub fn version(self, id: &str, version: u32) -> String {
        fill_template(&fill_id(self.version, id), &[("{Version}", &version.to_string())])
    }

    /// Returns the path that rolls a version of a context out, if the kind has rollouts.
    #[must_use]
    pub fn rollout(self, id: &str) -> Option<String> {
        self.rollout.map(|template| fill_id(template, id))
    }

    /// Returns the path that rolls a context back.
    #[must_use]
    pub fn rollback(self, id: &str) -> String {
        fill_id(self.rollback, id)
    }
}

fn fill_id(template: &str, id: &str) -> String {
    fill_template(template, &[("{ContextId}", id), ("{ModeKey}", id)])
}

/// The path of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePath(&'static str);

impl FilePath {
    /// The path template with `{SessionId}`, `{TurnId}`, `{Hash}` and `{Name}`.
    #[must_use]
    pub const fn template(self) -> &'static str {
        self.0
    }

    /// Returns the path for a file with this address and name.
    #[must_use]
    pub fn fill(self, session: &SessionId, turn: &TurnId, address: &FileAddress, name: &str) -> String {
        let hash = address.to_string();
        let parameters = [
            ("{SessionId}", session.as_str()),
            ("{TurnId}", turn.as_str()),
            ("{Hash}", &hash),
            ("{Name}", name),
        ];
        fill_template(self.0, &parameters)
    }
}

// Braces in values are percent-encoded, so no value can be mistaken for a parameter.
fn fill_template(template: &str, parameters: &[(&str, &str)]) -> String {
    parameters.iter().fold(template.to_owned(), |path, (parameter, value)| {
        path.replace(parameter, &utf8_percent_encode(value, RESERVED).to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_filled() {
        let (session, turn) = (SessionId::new("s-1").unwrap(), TurnId::new("t~1").unwrap());
        let of_session = [
            SESSION,
            RESTORE,
            QUARANTINE,
            RELEASE,
            PURGE,
            MODE_HISTORY,
            SESSION_EXPORT,
            FORK,
            TURNS,
            LAST_TURN,
        ]
        .map(|path| path.fill(&session));
        let of_turn = [
            TURN,
            SUMMARY,
            STEPS,
            RECORDS,
            STREAM,
            CANCEL,
            ABANDON,
            SETTLE,
            RERUN,
            FEEDBACK,
            INSTRUCTION,
            ANSWER,
            MODEL_REQUEST,
            MODEL_RESPONSE,
        ]
        .map(|path| path.fill(&session, &turn));
        let file = FILE.fill(&session, &turn, &FileAddress::hash_bytes(b""), "{TurnId}");
        for path in of_session.iter().chain(&of_turn).chain([&file]) {
            assert!(path.starts_with("/api/ai/agent/sessions/s-1") && !path.contains(['{', '}']), "{path}");
        }
        assert!(of_turn.iter().all(|path| path.starts_with("/api/ai/agent/sessions/s-1/turns/t~1")));
        assert!(file.ends_with("/%7BTurnId%7D"), "{file}");
        assert_eq!(AGENTS.version("a~1", 3), "/api/ai/agent/agents/a~1/versions/3");
        for path in [AGENTS.context("a"), MODES.version("a", 1), CONVERSATION_CONTEXTS.rollback("a")] {
            assert!(!path.contains(['{', '}']), "{path}");
        }
    }
}
