//! Hosted tools, which the model's provider runs itself while the model writes a reply.
//!
//! A conversation context declares them, and they are passed on to the provider. Contexts contain no secrets, so a
//! server that requires authorization can't be declared.

use serde::{Deserialize, Serialize};

/// A hosted tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Type", rename_all = "snake_case", rename_all_fields = "PascalCase", deny_unknown_fields)]
pub enum HostedTool {
    /// Searches the web.
    WebSearch {
        /// Amount of the search results that the model reads.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        search_context_size: Option<SearchContextSize>,
        /// The domains to search; empty for all.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        allowed_domains: Vec<String>,
    },
    /// Searches files stored at the provider.
    FileSearch {
        /// The provider's stores to search.
        vector_store_ids: Vec<String>,
        /// Maximum number of results that the model reads.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        max_num_results: Option<u32>,
    },
    /// Runs code that the model writes, in one of the provider's containers.
    CodeInterpreter {
        /// Files at the provider that the code can read.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        file_ids: Vec<String>,
        /// Memory of the container.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        memory_limit: Option<MemoryLimit>,
    },
    /// The tools of a remote MCP server. Their calls need no approval.
    Mcp {
        /// The server's name for the model.
        server_label: String,
        /// The server's URL.
        server_url: String,
        /// Description of the server for the model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        server_description: Option<String>,
        /// The tools that may be called; empty for all.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        allowed_tools: Vec<String>,
    },
}

impl HostedTool {
    /// The type, as contexts name it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::WebSearch { .. } => "web_search",
            Self::FileSearch { .. } => "file_search",
            Self::CodeInterpreter { .. } => "code_interpreter",
            Self::Mcp { .. } => "mcp",
        }
    }
}

/// Amount of the search results that the model reads, as the provider names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchContextSize {
    /// Little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
}

/// Memory of a container, as the provider names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MemoryLimit {
    /// 1 GB.
    #[serde(rename = "1g")]
    G1,
    /// 4 GB.
    #[serde(rename = "4g")]
    G4,
    /// 16 GB.
    #[serde(rename = "16g")]
    G16,
    /// 64 GB.
    #[serde(rename = "64g")]
    G64,
}
