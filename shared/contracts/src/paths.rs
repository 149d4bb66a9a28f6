//! The paths of the API. Routers, the local gateway, the OpenAPI document and links use these constants. A test
//! compares them with `template.yaml`.
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
};

/// The start of every path.
pub const PREFIX: &str = "/api/ai/agent/";
/// Runs a user turn or submits tool results.
pub const EXECUTE: &str = "/api/ai/agent/execute";
/// Submits tool results.
pub const TOOL_RESULTS: &str = "/api/ai/agent/tool-results";
/// Lists sessions.
pub const SESSIONS: &str = "/api/ai/agent/sessions";
/// Searches sessions.
pub const SEARCH: &str = "/api/ai/agent/search";
/// Exports the sessions of an org.
pub const EXPORT: &str = "/api/ai/agent/export";
/// Imports sessions.
pub const IMPORT: &str = "/api/ai/agent/import";
/// The usage of an org or a user.
pub const USAGE: &str = "/api/ai/agent/usage";
/// The budgets of an org.
pub const BUDGETS: &str = "/api/ai/agent/budgets";
/// The use of budgets.
pub const BUDGET_USE: &str = "/api/ai/agent/budgets/use";
/// The settings of an org.
pub const ORG_SETTINGS: &str = "/api/ai/agent/org-settings";
/// One session.
pub const SESSION: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}");
/// Restores a deleted session.
pub const RESTORE: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/restore");
/// Quarantines a session, for operators.
pub const QUARANTINE: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/quarantine");
/// Releases a session from its quarantine, for operators.
pub const RELEASE: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/release");
/// The progress of a session's purge.
pub const PURGE: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/purge");
/// The mode changes of a session.
pub const MODE_HISTORY: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/mode-history");
/// Exports a session.
pub const SESSION_EXPORT: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/export");
/// Forks a session.
pub const FORK: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/fork");
/// The newest turn of a session.
pub const LAST_TURN: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/turns/last");
/// The turns of a session.
pub const TURNS: SessionPath = SessionPath("/api/ai/agent/sessions/{SessionId}/turns");
/// One turn.
pub const TURN: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}");
/// The summary of a turn.
pub const SUMMARY: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/summary");
/// The steps of a turn.
pub const STEPS: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/steps");
/// The stored state of a turn, for operators.
pub const RECORDS: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/records");
/// The event stream of a turn.
pub const STREAM: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/stream");
/// Cancels a turn.
pub const CANCEL: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/cancel");
/// Ends a turn as abandoned, for operators.
pub const ABANDON: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/abandon");
/// Settles an overdue turn, for operators.
pub const SETTLE: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/settle");
/// Reruns a turn.
pub const RERUN: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/rerun");
/// The feedback on a turn.
pub const FEEDBACK: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/feedback");
/// The full request of a turn.
pub const INSTRUCTION: TurnPath =
    TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/instruction");
/// The full answer of a turn.
pub const ANSWER: TurnPath = TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/answer");
/// A request that was sent to the model provider.
pub const MODEL_REQUEST: TurnPath =
    TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/llm-request");
/// A response of the model provider.
pub const MODEL_RESPONSE: TurnPath =
    TurnPath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/llm-response");
/// A file that an answer refers to.
pub const FILE: FilePath =
    FilePath("/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/files/{Hash}/{Name}");

/// Agent contexts.
pub const AGENTS: ContextPaths = ContextPaths {
    list: "/api/ai/agent/agents",
    context: "/api/ai/agent/agents/{ContextId}",
    versions: "/api/ai/agent/agents/{ContextId}/versions",
    version: "/api/ai/agent/agents/{ContextId}/versions/{Version}",
    rollback: "/api/ai/agent/agents/{ContextId}/rollback",
    rollout: Some(AGENT_ROLLOUT),
};
/// Rolls a version of an agent context out.
pub const AGENT_ROLLOUT: &str = "/api/ai/agent/agents/{ContextId}/rollout";
/// Conversation contexts.
pub const CONVERSATION_CONTEXTS: ContextPaths = ContextPaths {
    list: "/api/ai/agent/conversation-contexts",
    context: "/api/ai/agent/conversation-contexts/{ContextId}",
    versions: "/api/ai/agent/conversation-contexts/{ContextId}/versions",
    version: "/api/ai/agent/conversation-contexts/{ContextId}/versions/{Version}",
    rollback: "/api/ai/agent/conversation-contexts/{ContextId}/rollback",
    rollout: Some(CONVERSATION_CONTEXT_ROLLOUT),
};
/// Rolls a version of a conversation context out.
pub const CONVERSATION_CONTEXT_ROLLOUT: &str = "/api/ai/agent/conversation-contexts/{ContextId}/rollout";
/// Modes.
pub const MODES: ContextPaths = ContextPaths {
    list: "/api/ai/agent/modes",
    context: "/api/ai/agent/modes/{ModeKey}",
    versions: "/api/ai/agent/modes/{ModeKey}/versions",
    version: "/api/ai/agent/modes/{ModeKey}/versions/{Version}",
    rollback: "/api/ai/agent/modes/{ModeKey}/rollback",
    rollout: None,
};

/// Every path.
pub const ALL: [&str; 52] = [
    EXECUTE,
    TOOL_RESULTS,
    SESSIONS,
    SEARCH,
    EXPORT,
    IMPORT,
    USAGE,
    BUDGETS,
    BUDGET_USE,
    ORG_SETTINGS,
    SESSION.0,
    RESTORE.0,
    QUARANTINE.0,
    RELEASE.0,
    PURGE.0,
    MODE_HISTORY.0,
    SESSION_EXPORT.0,
    FORK.0,
    TURNS.0,
    LAST_TURN.0,
    TURN.0,
    SUMMARY.0,
    STEPS.0,
    RECORDS.0,
    STREAM.0,
    CANCEL.0,
    ABANDON.0,
    SETTLE.0,
    RERUN.0,
    FEEDBACK.0,
    INSTRUCTION.0,
    ANSWER.0,
    MODEL_REQUEST.0,
    MODEL_RESPONSE.0,
    FILE.0,
    AGENTS.list,
    AGENTS.context,
    AGENTS.versions,
    AGENTS.version,
    AGENTS.rollback,
    AGENT_ROLLOUT,
    CONVERSATION_CONTEXTS.list,
    CONVERSATION_CONTEXTS.context,
    CONVERSATION_CONTEXTS.versions,
    CONVERSATION_CONTEXTS.version,
    CONVERSATION_CONTEXTS.rollback,
    CONVERSATION_CONTEXT_ROLLOUT,
    MODES.list,
    MODES.context,
    MODES.versions,
    MODES.version,
    MODES.rollback,
];

/// The query parameters that a request accepts, by method and path template. Other requests accept none.
#[must_use]
pub fn query_parameters(method: &str, template: &str) -> &'static [&'static str] {
    match (method, template) {
        ("GET", SESSIONS) => &[
            "userId",
            "includeDeleted",
            "status",
            "mode",
            "category",
            "from",
            "to",
            "pageSize",
            "continuationToken",
        ],
        ("GET", SEARCH) => &[
            "q",
            "userId",
            "includeDeleted",
            "status",
            "mode",
            "category",
            "from",
            "to",
            "pageSize",
            "continuationToken",
        ],
        ("GET", EXPORT) => &[
            "payloads",
            "userId",
            "includeDeleted",
            "status",
            "mode",
            "category",
            "from",
            "to",
            "continuationToken",
        ],
        ("POST", IMPORT) => &["ids"],
        ("GET", USAGE) => &["by", "userId", "from", "to"],
        ("GET", BUDGET_USE) => &["userId"],
        ("GET", template) if template == SESSION_EXPORT.0 => &["payloads"],
        ("GET", template) if template == SESSION.0 => &["order", "pageSize", "continuationToken"],
        ("DELETE", template) if template == SESSION.0 => &["purge"],
        ("GET", template) if template == TURNS.0 => {
            &["userId", "status", "mode", "from", "to", "order", "pageSize", "continuationToken"]
        }
        ("GET", template) if template == LAST_TURN.0 => &["status"],
        ("GET", template) if template == STEPS.0 => &["pageSize", "continuationToken"],
        ("GET", template) if template == FEEDBACK.0 => &["pageSize", "continuationToken"],
        ("GET", template) if template == MODE_HISTORY.0 => &["pageSize", "continuationToken"],
        ("GET", template) if template == MODEL_REQUEST.0 || template == MODEL_RESPONSE.0 => {
            &["inline", "round"]
        }
        ("GET", template) if TURN_PAYLOADS.contains(&template) => &["inline"],
        ("GET", template) if CONTEXT_LISTS.contains(&template) => &["pageSize", "continuationToken"],
        _ => &[],
    }
}

/// The paths of a turn's individual payloads.
const TURN_PAYLOADS: [&str; 3] = [INSTRUCTION.0, ANSWER.0, FILE.0];

/// The paths of lists of contexts and of their versions.
const CONTEXT_LISTS: [&str; 6] = [
    AGENTS.list,
    AGENTS.versions,
    CONVERSATION_CONTEXTS.list,
    CONVERSATION_CONTEXTS.versions,
    MODES.list,
    MODES.versions,
];

/// Every payload of a turn, as API Gateway routes it. `{proxy+}` matches the rest of a path.
pub const PAYLOADS: &str = "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/{proxy+}";

/// The paths of the OpenAI-compatible API, as API Gateway routes them.
pub const OPENAI: &str = "/v1/{proxy+}";

/// The prefix of the paths of the OpenAI-compatible API.
pub const OPENAI_PREFIX: &str = "/v1/";

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
