//! Objects of vector stores, their files and the results of a search.

use std::collections::BTreeMap;

use agent::retrieval::{Chunk, key};
use contracts::{
    NonEmpty, Timestamp,
    knowledge::{KnowledgeDocument, KnowledgeStatus},
    request::{KnowledgeAttribute, RagValue},
};
use serde_json::{Value, json};

use super::file_of_document;
use crate::{error::ApiError, input_items::Paging};

/// A vector store.
#[derive(Debug, Clone, Copy)]
pub struct StoreObject<'a> {
    /// The id.
    pub id: &'a str,
    /// The name.
    pub name: &'a str,
    /// The metadata.
    pub metadata: &'a BTreeMap<String, String>,
    /// The time of the creation.
    pub created: Timestamp,
    /// Its documents.
    pub documents: &'a [KnowledgeDocument],
}

impl StoreObject<'_> {
    /// Returns the store as an object.
    #[must_use]
    pub fn to_value(self) -> Value {
        let Self { id, name, metadata, created, documents } = self;
        let count = |status: &str| documents.iter().filter(|document| status_of(document) == status).count();
        let changed = documents.iter().map(|document| document.last_updated_date).max();
        let in_progress = count("in_progress");
        json!({
            "id": id, "object": "vector_store", "created_at": seconds(created), "name": name,
            "usage_bytes": documents.iter().map(|document| document.bytes).sum::<u64>(),
            "file_counts": {
                "in_progress": in_progress, "completed": count("completed"), "failed": count("failed"),
                "cancelled": 0, "total": documents.len(),
            },
            "status": if in_progress > 0 { "in_progress" } else { "completed" },
            "expires_after": null, "expires_at": null,
            "last_active_at": seconds(changed.unwrap_or(created)), "metadata": metadata,
        })
    }
}

/// Returns a document as the file of a vector store. `None` if it isn't one.
#[must_use]
pub fn file_object(store: &str, document: &KnowledgeDocument) -> Option<Value> {
    let (_, file) = file_of_document(&document.name).filter(|(of, _)| *of == store)?;
    let error = (document.status == KnowledgeStatus::Failed).then(
        || json!({"code": "invalid_file", "message": document.status_reason.as_deref().unwrap_or_default()}),
    );
    let own = document.attributes.iter().filter(|attribute| attribute.key != key::VECTOR_STORE_ID);
    Some(json!({
        "id": file.to_string(), "object": "vector_store.file",
        "created_at": seconds(document.creation_date), "vector_store_id": store,
        "status": status_of(document), "last_error": error, "usage_bytes": document.bytes,
        "chunking_strategy": {"type": "other"}, "attributes": attributes_object(own),
    }))
}

/// Returns a page of objects, which are given oldest first.
///
/// # Errors
/// If `after` names none of them.
pub fn page(mut objects: Vec<Value>, paging: Paging<'_>) -> Result<Value, ApiError> {
    if paging.newest_first {
        objects.reverse();
    }
    let mut page = paging.page();
    page.extend(objects);
    page.finish().ok_or_else(|| ApiError::value("after", "names no item of the list"))
}

/// Returns the results of a search with these scores at least.
#[must_use]
pub fn search_page(queries: &[String], chunks: &[Chunk], min_score: f64) -> Value {
    let results = chunks.iter().filter_map(|chunk| {
        let (_, file) = file_of_document(&chunk.path)?;
        let score = f64::from(chunk.score).clamp(0.0, 1.0);
        (score >= min_score).then(|| {
            json!({
                "file_id": file.to_string(), "filename": file.name, "score": score, "attributes": null,
                "content": [{"type": "text", "text": chunk.text}],
            })
        })
    });
    json!({
        "object": "vector_store.search_results.page", "search_query": queries,
        "data": results.collect::<Vec<Value>>(), "has_more": false, "next_page": null,
    })
}

fn status_of(document: &KnowledgeDocument) -> &'static str {
    match document.status {
        KnowledgeStatus::Pending | KnowledgeStatus::Indexing => "in_progress",
        KnowledgeStatus::Ready => "completed",
        KnowledgeStatus::Failed => "failed",
        KnowledgeStatus::Deleting => "cancelled",
    }
}

fn seconds(time: Timestamp) -> i64 {
    time.as_millis().div_euclid(1_000)
}

/// Returns attributes as an object. Of several values, the first is shown.
fn attributes_object<'a>(attributes: impl Iterator<Item = &'a KnowledgeAttribute>) -> Value {
    let first = |values: &NonEmpty<RagValue>| serde_json::to_value(values.first()).unwrap_or_default();
    Value::Object(attributes.map(|attribute| (attribute.key.clone(), first(&attribute.values))).collect())
}
