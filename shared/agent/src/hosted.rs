//! Hosted: tools that the model's provider runs itself, while the model writes one reply.
//!
//! They are declared on a conversation context and handed on. Nobody here runs them, and nothing of a context is a
//! secret: a server that wants to be authorized can't be declared.

use serde::{Deserialize, Serialize};

/// A tool of the provider's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Type", rename_all = "snake_case", rename_all_fields = "PascalCase", deny_unknown_fields)]
pub enum HostedTool {
    /// Searches the web.
    WebSearch {
        /// How much of what it finds the model reads.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        search_context_size: Option<SearchContextSize>,
        /// The domains it may search; none: every one.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        allowed_domains: Vec<String>,
    },
    /// Searches files that the provider keeps.
    FileSearch {
        /// In which of its stores.
        vector_store_ids: Vec<String>,
        /// How many results the model reads at most.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        max_num_results: Option<u32>,
    },
    /// Runs code that the model writes, in a container of the provider's.
    CodeInterpreter {
        /// Files of the provider's that are there.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        file_ids: Vec<String>,
        /// How much memory it has.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        memory_limit: Option<MemoryLimit>,
    },
    /// The tools of a remote MCP server; none of their calls is asked leave for.
    Mcp {
        /// What the model calls the server.
        server_label: String,
        /// Where it is.
        server_url: String,
        /// What it is for, for the model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        server_description: Option<String>,
        /// Those of its tools that may be called; none: every one.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        allowed_tools: Vec<String>,
    },
}

/// How much of what a search finds the model reads, in the provider's words.
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

/// How much memory a container has, in the provider's words.
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
