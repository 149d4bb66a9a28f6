//! The tool `file_search`: a turn searches these vector stores alone.

use contracts::request::RagCondition;
use serde_json::Value;

use super::{
    members::Members,
    vector_stores::{filters, min_score, results},
};
use crate::error::ApiError;

/// The type of the tool.
pub(crate) const FILE_SEARCH: &str = "file_search";
/// The most vector stores of a search.
const MAX_STORES: usize = 8;

/// A search in vector stores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileSearch {
    /// The ids of the stores, at least one.
    pub stores: Vec<String>,
    /// The conditions that every passage meets.
    pub filters: Vec<RagCondition>,
}

impl FileSearch {
    /// Reads a tool.
    pub(super) fn read(tool: &Value, path: &str) -> Result<Self, ApiError> {
        let known = ["type", "vector_store_ids", "filters", "max_num_results", "ranking_options"];
        let members = Members::read(tool, path, &known)?;
        let ids: Vec<&Value> = members.list("vector_store_ids")?.iter().collect();
        let stores: Vec<String> = ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect();
        if !(1..=MAX_STORES).contains(&stores.len()) || stores.len() != ids.len() {
            return Err(members.rule("vector_store_ids", "must hold the ids of 1 to 8 vector stores"));
        }
        // It limits what the response shows; the agent's context limits what the model gets.
        results(&members)?;
        if min_score(&members)? > 0.0 {
            let alternative = "Omit 'score_threshold': a turn has its own floor.";
            return Err(members.unsupported("ranking_options", alternative));
        }
        Ok(Self { stores, filters: filters(&members)? })
    }
}
