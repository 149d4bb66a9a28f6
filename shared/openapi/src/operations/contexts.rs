//! Operations on contexts and modes, with the tag `Agents`. All kinds have the same operations, but modes have no rollouts.

use contracts::paths;
use utoipa::openapi::path::HttpMethod;

use super::row::{Body, Link, ResponseKind, Row};
use crate::{
    error_groups::{AGENT, ANYWHERE, BODY, CONVERSATION, MODE, PRECONDITION, VERSION},
    parameters::Param,
};

/// Defines the operations of a kind: its paths, its error, its name in texts, the ids of its operations, its path parameter,
/// a built-in one, and what follows from a deletion.
macro_rules! operations {
    (
        $paths:expr, $not_found:expr, $one:literal, $many:literal,
        $list:literal, $read:literal, $put:literal, $delete:literal, $versions:literal, $version:literal,
        $roll_back:literal, $param:expr, $param_name:literal,
        $built_in:literal, $deleted:literal
    ) => {
        &[
            Row {
                id: $list,
                method: HttpMethod::Get,
                path: $paths.list,
                tag: "Agents",
                summary: concat!("List ", $many),
                description: concat!(
                    "Returns the ", $many, " of the caller's org by id, without their contents. Those that ship \
                    with the service and that the org has not replaced come last. For operators and agent editors."
                ),
                parameters: &[Param::PageSize, Param::ContinuationToken],
                body: None,
                response: ResponseKind::Json("ContextList"),
                links: &[Link {
                    operation: $read,
                    parameters: &[($param_name, "$response.body#/Result/Items/0/Id")],
                }],
                errors: &[ANYWHERE],
            },
            Row {
                id: $read,
                method: HttpMethod::Get,
                path: $paths.context,
                tag: "Agents",
                summary: concat!("Read ", $one),
                description: concat!(
                    "Returns ", $one, " of the caller's org with its content, or else the built-in one, such as \
                    `", $built_in, "`. The `ETag` identifies version and content. For operators and agent editors."
                ),
                parameters: &[$param, Param::IfNoneMatch],
                body: None,
                response: ResponseKind::Cacheable("Context"),
                links: &[],
                errors: &[ANYWHERE, $not_found],
            },
            Row {
                id: $put,
                method: HttpMethod::Put,
                path: $paths.context,
                tag: "Agents",
                summary: concat!("Write ", $one),
                description: concat!(
                    "Creates or replaces ", $one, ". All errors in the content are returned at once, each with its \
                    member. Every change is a new version; the same content again changes nothing. Turns see the \
                    change within a minute. For operators and agent editors."
                ),
                parameters: &[$param, Param::IfMatch, Param::IfNoneMatch],
                body: Some(Body::Context),
                response: ResponseKind::Json("Context"),
                links: &[],
                errors: &[ANYWHERE, BODY, PRECONDITION],
            },
            Row {
                id: $delete,
                method: HttpMethod::Delete,
                path: $paths.context,
                tag: "Agents",
                summary: concat!("Delete ", $one),
                description: concat!(
                    "Deletes ", $one, " and returns what it was. Its versions stay, and a rollback restores it. ",
                    $deleted, " For operators and agent editors."
                ),
                parameters: &[$param, Param::IfMatch],
                body: None,
                response: ResponseKind::Json("Context"),
                links: &[],
                errors: &[ANYWHERE, $not_found, PRECONDITION],
            },
            Row {
                id: $versions,
                method: HttpMethod::Get,
                path: $paths.versions,
                tag: "Agents",
                summary: concat!("List the versions of ", $one),
                description: "Returns the versions, newest first, without their contents. A deletion is a version \
                    too. For operators and agent editors.",
                parameters: &[$param, Param::PageSize, Param::ContinuationToken],
                body: None,
                response: ResponseKind::Json("ContextVersionList"),
                links: &[],
                errors: &[ANYWHERE, $not_found],
            },
            Row {
                id: $version,
                method: HttpMethod::Get,
                path: $paths.version,
                tag: "Agents",
                summary: concat!("Read a version of ", $one),
                description: "Returns a version with its content. For operators and agent editors.",
                parameters: &[$param, Param::Version],
                body: None,
                response: ResponseKind::Json("ContextVersion"),
                links: &[],
                errors: &[ANYWHERE, $not_found, VERSION],
            },
            Row {
                id: $roll_back,
                method: HttpMethod::Post,
                path: $paths.rollback,
                tag: "Agents",
                summary: concat!("Roll ", $one, " back"),
                description: "Restores the content of an earlier version, as a new version, also of a deleted \
                    one. The content is validated again, because the deployment may have changed. For \
                    operators and agent editors.",
                parameters: &[$param, Param::IfMatch],
                body: Some(Body::Json("RollbackRequest")),
                response: ResponseKind::Json("Context"),
                links: &[],
                errors: &[ANYWHERE, BODY, $not_found, VERSION, PRECONDITION],
            },
        ]
    };
}

/// Defines the operation that rolls a version of a kind out: its path, its error, its name in texts, and its id.
macro_rules! roll_out {
    ($path:expr, $not_found:expr, $one:literal, $roll_out:literal) => {
        Row {
            id: $roll_out,
            method: HttpMethod::Put,
            path: $path,
            tag: "Agents",
            summary: concat!("Roll a version of ", $one, " out"),
            description: "Gives a version to a percentage of the sessions in place of the live content. The \
                session's id decides, so a session that is in stays in while the percentage grows. Pinned \
                sessions are never in. Every change of the content ends the rollout. For operators and \
                agent editors.",
            parameters: &[Param::Context, Param::IfMatch],
            body: Some(Body::Json("RolloutRequest")),
            response: ResponseKind::Json("Context"),
            links: &[],
            errors: &[ANYWHERE, BODY, $not_found, VERSION, PRECONDITION],
        }
    };
}

pub(super) const AGENTS: &[Row] = operations!(
    paths::AGENTS,
    AGENT,
    "an agent",
    "agents",
    "listAgents",
    "readAgent",
    "putAgent",
    "deleteAgent",
    "listAgentVersions",
    "readAgentVersion",
    "rollBackAgent",
    Param::Context,
    "ContextId",
    "default",
    "Its sessions stay readable and refuse new turns."
);

pub(super) const AGENT_ROLLOUT: &[Row] =
    &[roll_out!(paths::AGENT_ROLLOUT, AGENT, "an agent", "rollOutAgent")];

pub(super) const CONVERSATION_CONTEXTS: &[Row] = operations!(
    paths::CONVERSATION_CONTEXTS,
    CONVERSATION,
    "a conversation context",
    "conversation contexts",
    "listConversationContexts",
    "readConversationContext",
    "putConversationContext",
    "deleteConversationContext",
    "listConversationContextVersions",
    "readConversationContextVersion",
    "rollBackConversationContext",
    Param::Context,
    "ContextId",
    "default",
    "Its sessions stay readable and refuse new turns."
);

pub(super) const CONVERSATION_CONTEXT_ROLLOUT: &[Row] = &[roll_out!(
    paths::CONVERSATION_CONTEXT_ROLLOUT,
    CONVERSATION,
    "a conversation context",
    "rollOutConversationContext"
)];

pub(super) const MODES: &[Row] = operations!(
    paths::MODES,
    MODE,
    "a mode",
    "modes",
    "listModes",
    "readMode",
    "putMode",
    "deleteMode",
    "listModeVersions",
    "readModeVersion",
    "rollBackMode",
    Param::ModeKey,
    "ModeKey",
    "general",
    "A built-in mode that it replaced applies again. Sessions that are in it go on without its instructions and tools."
);
