//! Operations on contexts, modes, connections and webhooks, with the tag `Agents`. All kinds have the same operations, but
//! only contexts have rollouts.

use super::{
    error_groups::{AGENT, ANYWHERE, BODY, CONNECTION, CONVERSATION, MODE, PRECONDITION, VERSION, WEBHOOK},
    operation::{Body, Link, Method, Operation, ResponseKind, operations as list},
    parameters::Parameter,
};
use crate::{
    read::{ConnectionRefresh, ConnectionSecret, Context, ContextVersion, ToolTrial},
    request::{
        ConnectionRefreshRequest, ConnectionSecretRequest, RollbackRequest, RolloutRequest, ToolTrialRequest,
    },
    schema::Schema,
};

/// The operations on a kind of contexts.
#[derive(Debug, Clone, Copy)]
pub struct ContextOperations {
    /// Lists the contexts of the org.
    pub list: Operation,
    /// Reads a context.
    pub read: Operation,
    /// Creates or replaces a context.
    pub put: Operation,
    /// Deletes a context.
    pub delete: Operation,
    /// Lists the versions of a context.
    pub versions: Operation,
    /// Reads a version of a context.
    pub version: Operation,
    /// Rolls a context back.
    pub roll_back: Operation,
    /// Rolls a version of a context out. `None` for a kind without rollouts.
    pub roll_out: Option<Operation>,
}

impl ContextOperations {
    /// Returns every operation.
    pub(super) fn all(&self) -> impl Iterator<Item = &Operation> {
        [&self.list, &self.read, &self.put, &self.delete, &self.versions, &self.version, &self.roll_back]
            .into_iter()
            .chain(&self.roll_out)
    }
}

/// The operations of every kind.
pub(super) const KINDS: [&ContextOperations; 5] =
    [&AGENTS, &CONVERSATION_CONTEXTS, &MODES, &CONNECTIONS, &WEBHOOKS];

/// Defines the operations of a kind: the path of its list, its error, its name in texts, the ids of its operations, its
/// path parameter, where lists and reads have built-in ones, who may write it, what follows from a deletion, and its rollout.
macro_rules! operations {
    (
        $base:literal, $not_found:expr, $one:literal, $many:literal,
        $list:literal, $read:literal, $put:literal, $delete:literal, $versions:literal, $version:literal,
        $roll_back:literal, $param:expr, $param_name:literal,
        $built_in_last:literal, $or_built_in:literal, $writers:literal, $deleted:literal, $roll_out:expr
    ) => {
        ContextOperations {
            list: Operation {
                id: $list,
                method: Method::Get,
                path: $base,
                tag: "Agents",
                summary: concat!("List ", $many),
                description: concat!(
                    "Returns the ", $many, " of the caller's org by id, without their contents.", $built_in_last,
                    " For operators and agent editors."
                ),
                parameters: &[Parameter::PAGE_SIZE, Parameter::CONTINUATION_TOKEN],
                body: None,
                response: ResponseKind::Json(Schema::list::<Context>("ContextList")),
                links: &[Link {
                    operation: $read,
                    parameters: &[($param_name, "$response.body#/Result/Items/0/Id")],
                }],
                errors: &[ANYWHERE],
            },
            read: Operation {
                id: $read,
                method: Method::Get,
                path: concat!($base, "/{", $param_name, "}"),
                tag: "Agents",
                summary: concat!("Read ", $one),
                description: concat!(
                    "Returns ", $one, " of the caller's org with its content", $or_built_in, ". The `ETag` identifies \
                    version and content. For operators and agent editors."
                ),
                parameters: &[$param, Parameter::IF_NONE_MATCH],
                body: None,
                response: ResponseKind::Cacheable(Schema::of::<Context>("Context")),
                links: &[],
                errors: &[ANYWHERE, $not_found],
            },
            put: Operation {
                id: $put,
                method: Method::Put,
                path: concat!($base, "/{", $param_name, "}"),
                tag: "Agents",
                summary: concat!("Write ", $one),
                description: concat!(
                    "Creates or replaces ", $one, ". All errors in the content are returned at once, each with its \
                    member. Every change is a new version; the same content again changes nothing. Turns see the \
                    change within a minute. ", $writers
                ),
                parameters: &[$param, Parameter::IF_MATCH, Parameter::IF_NONE_MATCH],
                body: Some(Body::Context),
                response: ResponseKind::Json(Schema::of::<Context>("Context")),
                links: &[],
                errors: &[ANYWHERE, BODY, PRECONDITION],
            },
            delete: Operation {
                id: $delete,
                method: Method::Delete,
                path: concat!($base, "/{", $param_name, "}"),
                tag: "Agents",
                summary: concat!("Delete ", $one),
                description: concat!(
                    "Deletes ", $one, " and returns what it was. Its versions stay, and a rollback restores it. ",
                    $deleted, " ", $writers
                ),
                parameters: &[$param, Parameter::IF_MATCH],
                body: None,
                response: ResponseKind::Json(Schema::of::<Context>("Context")),
                links: &[],
                errors: &[ANYWHERE, $not_found, PRECONDITION],
            },
            versions: Operation {
                id: $versions,
                method: Method::Get,
                path: concat!($base, "/{", $param_name, "}/versions"),
                tag: "Agents",
                summary: concat!("List the versions of ", $one),
                description: "Returns the versions, newest first, without their contents. A deletion is a version \
                    too. For operators and agent editors.",
                parameters: &[$param, Parameter::PAGE_SIZE, Parameter::CONTINUATION_TOKEN],
                body: None,
                response: ResponseKind::Json(Schema::list::<ContextVersion>("ContextVersionList")),
                links: &[],
                errors: &[ANYWHERE, $not_found],
            },
            version: Operation {
                id: $version,
                method: Method::Get,
                path: concat!($base, "/{", $param_name, "}/versions/{Version}"),
                tag: "Agents",
                summary: concat!("Read a version of ", $one),
                description: "Returns a version with its content. For operators and agent editors.",
                parameters: &[$param, Parameter::VERSION],
                body: None,
                response: ResponseKind::Json(Schema::of::<ContextVersion>("ContextVersion")),
                links: &[],
                errors: &[ANYWHERE, $not_found, VERSION],
            },
            roll_back: Operation {
                id: $roll_back,
                method: Method::Post,
                path: concat!($base, "/{", $param_name, "}/rollback"),
                tag: "Agents",
                summary: concat!("Roll ", $one, " back"),
                description: concat!(
                    "Restores the content of an earlier version, as a new version, also of a deleted one. The content \
                    is validated again, because the deployment may have changed. ", $writers
                ),
                parameters: &[$param, Parameter::IF_MATCH],
                body: Some(Body::Json(Schema::of::<RollbackRequest>("RollbackRequest"))),
                response: ResponseKind::Json(Schema::of::<Context>("Context")),
                links: &[],
                errors: &[ANYWHERE, BODY, $not_found, VERSION, PRECONDITION],
            },
            roll_out: $roll_out,
        }
    };
}

/// Defines the operation that rolls a version of a kind out: its list, its error, its name in texts, and its id.
macro_rules! roll_out {
    ($base:literal, $not_found:expr, $one:literal, $roll_out:literal) => {
        Operation {
            id: $roll_out,
            method: Method::Put,
            path: concat!($base, "/{ContextId}/rollout"),
            tag: "Agents",
            summary: concat!("Roll a version of ", $one, " out"),
            description: "Gives a version to a percentage of the sessions in place of the live content. The \
                session's id decides, so a session that is in stays in while the percentage grows. Pinned \
                sessions are never in. Every change of the content ends the rollout. For operators and \
                agent editors.",
            parameters: &[Parameter::CONTEXT, Parameter::IF_MATCH],
            body: Some(Body::Json(Schema::of::<RolloutRequest>("RolloutRequest"))),
            response: ResponseKind::Json(Schema::of::<Context>("Context")),
            links: &[],
            errors: &[ANYWHERE, BODY, $not_found, VERSION, PRECONDITION],
        }
    };
}

/// Operations on agent contexts.
pub const AGENTS: ContextOperations = operations!(
    "/api/ai/agent/agents",
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
    Parameter::CONTEXT,
    "ContextId",
    " Those that ship with the service and that the org has not replaced come last.",
    ", or else the built-in one, such as `default`",
    "For operators and agent editors.",
    "Its sessions stay readable and refuse new turns.",
    Some(roll_out!("/api/ai/agent/agents", AGENT, "an agent", "rollOutAgent"))
);

/// Operations on conversation contexts.
pub const CONVERSATION_CONTEXTS: ContextOperations = operations!(
    "/api/ai/agent/conversation-contexts",
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
    Parameter::CONTEXT,
    "ContextId",
    " Those that ship with the service and that the org has not replaced come last.",
    ", or else the built-in one, such as `default`",
    "For operators and agent editors.",
    "Its sessions stay readable and refuse new turns.",
    Some(roll_out!(
        "/api/ai/agent/conversation-contexts",
        CONVERSATION,
        "a conversation context",
        "rollOutConversationContext"
    ))
);

/// Operations on modes.
pub const MODES: ContextOperations = operations!(
    "/api/ai/agent/modes",
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
    Parameter::MODE_KEY,
    "ModeKey",
    " Those that ship with the service and that the org has not replaced come last.",
    ", or else the built-in one, such as `general`",
    "For operators and agent editors.",
    "A built-in mode that it replaced applies again. Sessions that are in it go on without its instructions and tools.",
    None
);

/// Operations on connections.
pub const CONNECTIONS: ContextOperations = operations!(
    "/api/ai/agent/connections",
    CONNECTION,
    "a connection",
    "connections",
    "listConnections",
    "readConnection",
    "putConnection",
    "deleteConnection",
    "listConnectionVersions",
    "readConnectionVersion",
    "rollBackConnection",
    Parameter::CONNECTION,
    "ContextId",
    "",
    "",
    "For operators.",
    "New turns go on without its tools. Its secret stays.",
    None
);

/// Operations on webhooks.
pub const WEBHOOKS: ContextOperations = operations!(
    "/api/ai/agent/webhooks",
    WEBHOOK,
    "a webhook",
    "webhooks",
    "listWebhooks",
    "readWebhook",
    "putWebhook",
    "deleteWebhook",
    "listWebhookVersions",
    "readWebhookVersion",
    "rollBackWebhook",
    Parameter::WEBHOOK,
    "ContextId",
    "",
    "",
    "For operators.",
    "Events that wait for it are not delivered. Its secret stays.",
    None
);

list![
    SET_CONNECTION_SECRET = Operation {
        id: "setConnectionSecret",
        method: Method::Put,
        path: "/api/ai/agent/connections/{ContextId}/secret",
        tag: "Agents",
        summary: "Replace a connection's secret",
        description: "Stores the secret that the connection's `Authentication` sends. It can't be read again, and is sent \
            only to the host that the connection has now: a connection that moves to another host needs it again. Turns \
            use it within a minute. For operators.",
        parameters: &[Parameter::CONNECTION],
        body: Some(Body::Json(Schema::of::<ConnectionSecretRequest>("ConnectionSecretRequest"))),
        response: ResponseKind::Json(Schema::of::<ConnectionSecret>("ConnectionSecret")),
        links: &[],
        errors: &[ANYWHERE, BODY, CONNECTION],
    },
    TRY_TOOL = Operation {
        id: "tryTool",
        method: Method::Post,
        path: "/api/ai/agent/connections/{ContextId}/try",
        tag: "Agents",
        summary: "Call a tool of a connection",
        description: "Calls a tool once, as a turn would, and returns what came back. The call takes effect at the target. \
            A failure of the target is an outcome and no error. For operators.",
        parameters: &[Parameter::CONNECTION],
        body: Some(Body::Json(Schema::of::<ToolTrialRequest>("ToolTrialRequest"))),
        response: ResponseKind::Json(Schema::of::<ToolTrial>("ToolTrial")),
        links: &[],
        errors: &[ANYWHERE, BODY, CONNECTION],
    },
    REFRESH_CONNECTION = Operation {
        id: "refreshConnection",
        method: Method::Post,
        path: "/api/ai/agent/connections/{ContextId}/refresh",
        tag: "Agents",
        summary: "Compare a connection with its server",
        description: "Lists the tools of an MCP server, or the operations of an OpenAPI document, and returns what is new, \
            changed or removed since an operator accepted it. With `Accept` and the reviewed `Hash` the named changes become \
            a new version of the connection, with the classes that operators set. A server that can't be reached is an \
            outcome and no error. For operators.",
        parameters: &[Parameter::CONNECTION, Parameter::IF_MATCH],
        body: Some(Body::Json(Schema::of::<ConnectionRefreshRequest>("ConnectionRefreshRequest"))),
        response: ResponseKind::Json(Schema::of::<ConnectionRefresh>("ConnectionRefresh")),
        links: &[],
        errors: &[ANYWHERE, BODY, CONNECTION, PRECONDITION],
    },
];
