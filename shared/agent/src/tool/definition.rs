//! The definition of a tool.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    fault::FaultCollector,
    members::{MAX_TOOL_DESCRIPTION_CHARS, NAME_PATTERN, Pattern, Rule, Typed, at_most, table},
};

/// The maximum length of a tool's `Usage`.
const MAX_TOOL_USAGE_CHARS: usize = 8_000;

// The rules that a server tool has too are in `check.rs`. Rows have those of a document's tools.
table! {
    /// A tool that the client runs while the turn waits.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Definition as "ClientTool" {
        /// Its name.
        pub name: String = Pattern(NAME_PATTERN),
        /// A description for the model.
        pub description: String = at_most(MAX_TOOL_DESCRIPTION_CHARS),
        /// The JSON Schema of its arguments: an object.
        pub parameters: Value,
        /// Instructions for the model on when and how to use it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub usage: Option<String> = at_most(MAX_TOOL_USAGE_CHARS),
        /// The side that runs it.
        pub executed_by: ExecutedBy = OnlyClient,
        /// Set if the provider must hold the model to the schema.
        #[serde(default)]
        pub strict: bool,
    }
}

/// The side that runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutedBy {
    /// This service, within the turn.
    Server,
    /// The client, while the turn is suspended.
    Client,
}

impl Typed for ExecutedBy {
    fn schema() -> Value {
        json!({ "const": Self::Client })
    }
}

/// A document declares only tools that the client runs.
struct OnlyClient;

impl Rule<ExecutedBy> for OnlyClient {
    fn bound(&self, _: &mut Value) {}

    fn check(&self, value: &ExecutedBy, at: &str, faults: &mut FaultCollector) {
        let is_client = *value == ExecutedBy::Client;
        faults.require(is_client, at, "must be client: server tools come with the service");
    }
}
