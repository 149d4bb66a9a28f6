//! The tools of connections as a turn stores them.

use contracts::id::ConnectionId;
use protocol::cost::Cost;
use serde::{Deserialize, Serialize};

use super::{Authentication, CallPrice, Connection, ConnectionTool, HttpMethod, Protocol};
use crate::tool::{
    Definition, ExecutedBy,
    remote::{CallTerms, RemoteTool},
};

/// The operation behind a remote tool: its server, and the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ConnectionTarget {
    /// The protocol.
    pub protocol: Protocol,
    /// The URL of the server. Empty for a function.
    #[serde(default)]
    pub url: String,
    /// The ARN of the function.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub function_arn: Option<String>,
    /// The way to authenticate.
    #[serde(default)]
    pub authentication: Authentication,
    /// The time until a call is given up, in seconds.
    pub timeout_seconds: u32,
    /// The name of the tool at the server.
    pub name: String,
    /// The method of an HTTP tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub method: Option<HttpMethod>,
    /// The path of an HTTP tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// The arguments that an HTTP tool sends in the query.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub query: Vec<String>,
    /// The path that finds a call of an HTTP tool by its key.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lookup_path: Option<String>,
    /// The header that has the key of a call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key_header: Option<String>,
    /// The hash of the server's tool that an operator accepted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hash: Option<String>,
}

/// Returns the name under which a model calls a tool, such as `tickets__create_ticket`. Ids of connections have no
/// underscore, so the name of no other tool is equal to it.
#[must_use]
pub fn model_name(connection: &ConnectionId, tool: &str) -> String {
    format!("{connection}__{tool}")
}

impl Connection {
    /// Returns a tool as a turn stores it. `revision` is the version of the connection.
    #[must_use]
    pub fn remote_tool(&self, tool: &ConnectionTool, revision: u32) -> RemoteTool {
        let target = ConnectionTarget {
            protocol: self.protocol,
            url: self.server_url().to_owned(),
            function_arn: self.function_arn.clone(),
            authentication: self.authentication.clone(),
            timeout_seconds: self.timeout_seconds,
            name: tool.server_name().to_owned(),
            method: tool.method,
            path: tool.path.clone(),
            query: tool.query.clone(),
            lookup_path: tool.lookup_path.clone(),
            key_header: tool.key_header.clone(),
            hash: tool.hash.clone(),
        };
        RemoteTool {
            definition: Definition {
                name: model_name(&self.id, &tool.name),
                description: tool.description.clone(),
                parameters: tool.parameters.clone(),
                usage: None,
                executed_by: ExecutedBy::Server,
                strict: false,
            },
            connection: self.id.to_string(),
            revision,
            class: tool.class,
            terms: CallTerms {
                price: tool.price.clone().map(|CallPrice { amount, currency }| Cost { amount, currency }),
                max_calls_per_turn: tool.max_calls_per_turn,
                approval: tool.approval.clone(),
            },
            // A target holds only strings, numbers and lists, so it is always a value.
            target: serde_json::to_value(target).unwrap_or_default(),
        }
    }
}
