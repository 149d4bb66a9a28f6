//! Hosted tools, which the model's provider runs itself while the model writes a reply.
//!
//! A conversation context declares them, and they are passed on to the provider. Contexts contain no secrets, so a
//! server that requires authorization can't be declared.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    fault::FaultCollector,
    members::{Count, Fits, Members, PROVIDER_NAME, Strings, Typed, line, object, reference, table, words},
};

/// The maximum number of entries in a list, and of characters in an entry.
const MAX_ENTRIES: Count = Count(100, "entries");
const MAX_ENTRY_CHARS: usize = 256;
/// The maximum number of stores in one file search.
const MAX_STORES: Count = Count(8, "entries");
/// The maximum of `MaxNumResults`; the API accepts no more.
const MAX_RESULTS: u32 = 50;
const MAX_URL_CHARS: usize = 1_024;
const MAX_DESCRIPTION_CHARS: usize = 1_000;

/// A hosted tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Type", rename_all = "snake_case")]
pub enum HostedTool {
    /// Searches the web.
    WebSearch(WebSearch),
    /// Searches files that the provider stores.
    FileSearch(FileSearch),
    /// Runs code that the model writes, in a container at the provider.
    CodeInterpreter(CodeInterpreter),
    /// The tools of a remote MCP server. Their calls need no approval.
    Mcp(Mcp),
}

impl HostedTool {
    /// The type, as contexts name it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::WebSearch(_) => "web_search",
            Self::FileSearch(_) => "file_search",
            Self::CodeInterpreter(_) => "code_interpreter",
            Self::Mcp(_) => "mcp",
        }
    }
}

impl HostedTool {
    /// The name of its schema.
    pub(crate) const SCHEMA: &'static str = "HostedTool";

    /// Returns its schema: one of the tools.
    pub(crate) fn one_of() -> Value {
        json!({ "oneOf": [
            object::<WebSearch>(Some(("Type", "web_search"))),
            object::<FileSearch>(Some(("Type", "file_search"))),
            object::<CodeInterpreter>(Some(("Type", "code_interpreter"))),
            object::<Mcp>(Some(("Type", "mcp"))),
        ] })
    }
}

impl Typed for HostedTool {
    fn schema() -> Value {
        reference(Self::SCHEMA)
    }

    fn check(&self, at: &str, faults: &mut FaultCollector) {
        match self {
            Self::WebSearch(tool) => tool.check_members(at, faults),
            Self::FileSearch(tool) => tool.check_members(at, faults),
            Self::CodeInterpreter(tool) => tool.check_members(at, faults),
            Self::Mcp(tool) => tool.check_members(at, faults),
        }
    }
}

table! {
    /// Searches the web.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct WebSearch as "WebSearch" {
        /// The amount of the results that the model reads.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub search_context_size: Option<SearchContextSize>,
        /// The domains it may search. None: all.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub allowed_domains: Vec<String> = Strings(MAX_ENTRIES, DOMAIN),
    }
}

table! {
    /// Searches files that the provider stores.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct FileSearch as "FileSearch" {
        /// The ids of the stores to search.
        pub vector_store_ids: Vec<String> = Strings(MAX_STORES, ID),
        /// The maximum number of results that the model reads.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub max_num_results: Option<u32> = 1..=MAX_RESULTS,
    }
}

table! {
    /// Runs code that the model writes, in a container at the provider.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CodeInterpreter as "CodeInterpreter" {
        /// The provider's files that the container has.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub file_ids: Vec<String> = Strings(MAX_ENTRIES, ID),
        /// The memory of the container.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub memory_limit: Option<MemoryLimit>,
    }
}

table! {
    /// The tools of a remote MCP server. Their calls need no approval.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Mcp as "Mcp" {
        /// The server's name for the model.
        pub server_label: String = PROVIDER_NAME,
        /// The server's URL.
        pub server_url: String = BARE_HTTPS_URL,
        /// Its purpose, for the model.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub server_description: Option<String> = line(MAX_DESCRIPTION_CHARS),
        /// The tools that may be called. None: all.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub allowed_tools: Vec<String> = Strings(MAX_ENTRIES, ID),
    }
}

const ID: Fits = Fits {
    schema: || json!({ "maxLength": MAX_ENTRY_CHARS }),
    fits: is_id,
    fault: || format!("must have 1 to {MAX_ENTRY_CHARS} characters, only letters, digits, - . and _"),
};

const DOMAIN: Fits =
    Fits { fits: |text| is_id(text) && !text.starts_with('.') && !text.ends_with('.'), ..ID };

/// A context holds no secret, so a URL has no user and no query.
const BARE_HTTPS_URL: Fits = Fits {
    schema: || json!({ "maxLength": MAX_URL_CHARS }),
    fits: |text| {
        let Some(rest) = text.strip_prefix("https://") else { return false };
        let host = rest.split('/').next().unwrap_or_default();
        !host.is_empty()
            && text.len() <= MAX_URL_CHARS
            && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#\"<>\\^`{|}".contains(&byte))
    },
    fault: || {
        format!(
            "must be an https URL of at most {MAX_URL_CHARS} characters without user, query or fragment: a context holds no secret"
        )
    },
};

fn is_id(text: &str) -> bool {
    (1..=MAX_ENTRY_CHARS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

words!(SearchContextSize, MemoryLimit);

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
