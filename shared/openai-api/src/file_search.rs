//! The search of a response in vector stores: its output item, and the citations of the files that it found.

use std::{fmt, sync::Arc};

use contracts::read::AgentSessionChunkRef;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    id::ResponseId,
    request::{FILE_SEARCH, MAX_RESULTS},
    vector_stores::file_of_document,
};

/// Reads the passages that a turn has found so far.
#[derive(Clone)]
pub struct ReadPassages(Arc<dyn Fn() -> BoxFuture<'static, Vec<AgentSessionChunkRef>> + Send + Sync>);

impl ReadPassages {
    /// Creates a reader.
    pub fn new(
        read: impl Fn() -> BoxFuture<'static, Vec<AgentSessionChunkRef>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(read))
    }
}

impl fmt::Debug for ReadPassages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadPassages")
    }
}

/// The search of a response in vector stores.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    stores: Vec<String>,
    max_results: usize,
    /// The text that was searched for.
    pub(crate) query: String,
    /// True if the output item has the results.
    pub(crate) includes_results: bool,
    /// The reader of the passages, until they were read.
    pub(crate) read: Option<ReadPassages>,
    passages: Vec<AgentSessionChunkRef>,
}

impl Search {
    /// Returns the search of a request with these tools; none without the tool.
    pub(crate) fn of_tools(tools: Option<&Value>) -> Option<Self> {
        let tool = tools?
            .as_array()?
            .iter()
            .find(|tool| tool.get("type").is_some_and(|kind| kind == FILE_SEARCH))?;
        let ids = tool.get("vector_store_ids").and_then(Value::as_array);
        let stores = ids.into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect();
        let max_results =
            tool.get("max_num_results").and_then(Value::as_u64).unwrap_or(u64::from(MAX_RESULTS));
        Some(Self {
            stores,
            max_results: usize::try_from(max_results).unwrap_or(usize::MAX),
            query: String::new(),
            includes_results: false,
            read: None,
            passages: Vec::new(),
        })
    }

    /// Reads the passages, unless they were read.
    pub(crate) async fn load(&mut self) {
        if let Some(ReadPassages(read)) = self.read.take() {
            self.passages = read().await;
        }
    }

    /// Returns the files of passages from the stores, with the score of each passage.
    fn found(&self) -> impl Iterator<Item = (String, String, Option<Value>)> {
        self.passages.iter().take(self.max_results).filter_map(|passage| {
            let (_, file) = file_of_document(&passage.path)
                .filter(|(store, _)| self.stores.iter().any(|known| known == store))?;
            let score = passage.score.and_then(|score| serde_json::to_value(score).ok());
            Some((file.to_string(), file.name, score))
        })
    }

    /// Returns the output item.
    pub(crate) fn item(&self, id: &ResponseId, status: &str) -> Value {
        let results = self.includes_results.then(|| {
            let result = |(file_id, filename, score)| {
                json!({"file_id": file_id, "filename": filename, "score": score, "attributes": null})
            };
            self.found().map(result).collect::<Vec<Value>>()
        });
        json!({
            "id": id.search(), "type": "file_search_call", "status": status, "queries": [self.query],
            "results": results,
        })
    }

    /// Returns the citations at the end of a text: each file once, best first.
    pub(crate) fn citations(&self, text: &str) -> Vec<Value> {
        let mut cited: Vec<(String, String)> = Vec::new();
        for (file_id, filename, _) in self.found() {
            if !cited.iter().any(|(known, _)| *known == file_id) {
                cited.push((file_id, filename));
            }
        }
        // OpenAI counts characters.
        let index = text.chars().count();
        let citation = |(file_id, filename)| json!({"type": "file_citation", "file_id": file_id, "filename": filename, "index": index});
        cited.into_iter().map(citation).collect()
    }
}
