//! The HTTP API as tables: one row per operation, one file per subject.
//!
//! A row says everything about its operation. Routers, query strings, the local gateway, the routes of `cargo lambda
//! watch`, the events of `template.yaml` and the OpenAPI document derive from it. Deliberately absent: handlers, which
//! name the row that they serve.
//!
//! # Examples
//!
//! ```
//! use contracts::operations::{CANCEL_TURN, Function, READ_TURN, find};
//!
//! assert_eq!(CANCEL_TURN.function(), Function::Execute);
//! assert_eq!(find("GET", READ_TURN.path).map(|operation| operation.id), Some("readTurn"));
//! ```

mod approvals;
pub mod contexts;
mod effects;
mod error_groups;
mod history;
mod knowledge;
mod operation;
mod parameters;
mod payloads;
mod sessions;
mod turns;
mod usage;
mod webhooks;

pub use approvals::*;
pub use contexts::{REFRESH_CONNECTION, SET_CONNECTION_SECRET, TRY_TOOL};
pub use effects::*;
pub use error_groups::GATEWAY;
pub use history::*;
pub use knowledge::*;
pub use operation::{Body, Function, Link, Method, Operation, ResponseKind};
pub use parameters::{Parameter, ParameterLocation, Value};
pub use payloads::*;
pub use sessions::*;
pub use turns::*;
pub use usage::*;
pub use webhooks::*;

/// Every part of a turn, as API Gateway routes it. `{proxy+}` matches the rest of a path.
pub const TURN_PARTS: &str = "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/{proxy+}";

/// The paths of the OpenAI-compatible API, as API Gateway routes them.
pub const OPENAI: &str = "/v1/{proxy+}";

/// The base path of the OpenAI-compatible API. Clients send `HEAD` or `GET` to it to see if the server is there.
pub const OPENAI_BASE: &str = "/v1";

/// The tags of operations, and their descriptions.
pub const TAGS: &[(&str, &str)] = &[
    ("Turns", "Run, continue and cancel turns, and give feedback on them."),
    ("Sessions", "Read, search, edit, fork, delete, export and import sessions, and read their turns."),
    (
        "Agents",
        "Read, write and roll back agents, conversation contexts, modes, connections and webhooks. For operators and agent \
         editors.",
    ),
    ("Approvals", "Approve or deny calls of tools that wait for a person."),
    ("Knowledge", "Give documents to the agents of an org. For operators and agent editors."),
    ("Payloads", "Read the full requests, answers and files of turns."),
    ("Usage", "Report what turns consumed, and limit it."),
];

/// Returns every operation.
pub fn all() -> impl Iterator<Item = &'static Operation> {
    let tables = [
        turns::OPERATIONS,
        sessions::OPERATIONS,
        history::OPERATIONS,
        knowledge::OPERATIONS,
        payloads::OPERATIONS,
        usage::OPERATIONS,
        effects::OPERATIONS,
        approvals::OPERATIONS,
        webhooks::OPERATIONS,
        contexts::OPERATIONS,
    ];
    tables
        .into_iter()
        .flatten()
        .copied()
        .chain(contexts::KINDS.into_iter().flat_map(contexts::ContextOperations::all))
}

/// Finds the operation of a method and a path template.
#[must_use]
pub fn find(method: &str, template: &str) -> Option<&'static Operation> {
    all().find(|operation| operation.path == template && operation.method.as_str() == method)
}

/// A route of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Id of its operation, or of the operations that it stands for.
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// Path template, as API Gateway writes it.
    pub path: &'static str,
}

impl Route {
    /// The function that serves it.
    #[must_use]
    pub fn function(self) -> Function {
        Function::serving(self.method, self.path)
    }
}

/// Routes that stand for many operations: the parts of a turn, the versions of a context, and the OpenAI-compatible API,
/// whose document is OpenAI's. One row of each costs the gateway less than one per path, and the permissions of a function
/// have at most 20 KB.
const GREEDY: [Route; 14] = [
    Route { id: "readTurnParts", method: Method::Get, path: TURN_PARTS },
    Route { id: "changeTurnParts", method: Method::Post, path: TURN_PARTS },
    Route { id: "readAgentVersions", method: Method::Get, path: "/api/ai/agent/agents/{ContextId}/{proxy+}" },
    Route {
        id: "readConnectionVersions",
        method: Method::Get,
        path: "/api/ai/agent/connections/{ContextId}/{proxy+}",
    },
    Route {
        id: "readConversationContextVersions",
        method: Method::Get,
        path: "/api/ai/agent/conversation-contexts/{ContextId}/{proxy+}",
    },
    Route { id: "readModeVersions", method: Method::Get, path: "/api/ai/agent/modes/{ModeKey}/{proxy+}" },
    Route { id: "readWebhooks", method: Method::Get, path: "/api/ai/agent/webhooks/{ContextId}/{proxy+}" },
    Route { id: "changeWebhooks", method: Method::Post, path: "/api/ai/agent/webhooks/{ContextId}/{proxy+}" },
    Route { id: "readOpenAi", method: Method::Get, path: OPENAI },
    Route { id: "probeOpenAi", method: Method::Head, path: OPENAI },
    Route { id: "readOpenAiBase", method: Method::Get, path: OPENAI_BASE },
    Route { id: "probeOpenAiBase", method: Method::Head, path: OPENAI_BASE },
    Route { id: "createOpenAi", method: Method::Post, path: OPENAI },
    Route { id: "deleteOpenAi", method: Method::Delete, path: OPENAI },
];

/// Returns the routes of the gateway.
pub fn routes() -> impl Iterator<Item = Route> {
    // The gateway chooses the path before the method, so a path with other methods needs a route for each.
    let is_alone = |operation: &Operation, method: Method| {
        all().filter(|other| other.path == operation.path).all(|other| other.method == method)
    };
    let is_below = move |operation: &Operation, route: &Route| {
        let above = route.path.strip_suffix("{proxy+}");
        let is_below = above.is_some_and(|above| operation.path.starts_with(above));
        is_below && is_alone(operation, route.method)
    };
    all()
        .filter(move |operation| !GREEDY.iter().any(|route| is_below(operation, route)))
        .map(|operation| Route { id: operation.id, method: operation.method, path: operation.path })
        .chain(GREEDY)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn operations_are_unique_and_links_have_targets() {
        let ids: BTreeSet<_> = all().map(|operation| operation.id).collect();
        let places: BTreeSet<_> =
            all().map(|operation| (operation.path, operation.method.as_str())).collect();
        assert_eq!((ids.len(), places.len()), (all().count(), all().count()));
        for link in all().flat_map(|operation| operation.links) {
            assert!(ids.contains(link.operation), "{}", link.operation);
        }
    }

    #[test]
    fn path_parameters_match_the_path() {
        for operation in all() {
            let names = |location| {
                let of_place =
                    operation.parameters.iter().filter(move |parameter| parameter.location == location);
                of_place.map(|parameter| parameter.name).collect::<BTreeSet<_>>()
            };
            let segments = operation.path.split('/');
            let braced = segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
            assert_eq!(names(ParameterLocation::Path), braced.collect(), "{}", operation.id);
        }
    }

    #[test]
    fn function_follows_from_method_and_path() {
        let served = |id: &str| routes().find(|route| route.id == id).map(Route::function);
        assert_eq!(served("submitToolResults"), Some(Function::ToolContinuation));
        assert_eq!(served("readTurnParts"), Some(Function::SessionRead));
        assert_eq!(served("createOpenAi"), Some(Function::Execute));
        assert_eq!(served("readInstruction"), None, "one route stands for every part of a turn");
        assert_eq!(served("readFeedback"), Some(Function::SessionRead), "its path has another method");
    }
}
