//! Bodies of requests about vector stores.

use std::collections::BTreeMap;

use contracts::request::{KnowledgeAttribute, RagCondition};
use serde_json::Value;

use super::{MAX_RESULTS, conditions};
use crate::{
    error::ApiError,
    files::FileId,
    request::{Members, check_metadata, json_body},
};

/// The most characters of a name.
const MAX_NAME_CHARS: usize = 256;
/// The most files that a request adds. Each is read and stored before the answer.
const MAX_FILES: usize = 20;
/// The default number of results.
const DEFAULT_RESULTS: u32 = 10;
/// The most texts of a query.
const MAX_QUERIES: usize = 8;

/// A vector store to create.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateStore {
    /// The name.
    pub name: String,
    /// The metadata.
    pub metadata: BTreeMap<String, String>,
    /// The files to add.
    pub files: Vec<FileId>,
}

/// A change of a vector store. Absent members stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateStore {
    /// The name.
    pub name: Option<String>,
    /// The metadata.
    pub metadata: Option<BTreeMap<String, String>>,
}

/// A file to add.
#[derive(Debug, Clone, PartialEq)]
pub struct AddFile {
    /// The file.
    pub file: FileId,
    /// Its attributes.
    pub attributes: Vec<KnowledgeAttribute>,
}

/// A search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchStore {
    /// The texts to search for.
    pub queries: Vec<String>,
    /// The conditions that every result meets.
    pub filters: Vec<RagCondition>,
    /// The most results.
    pub results: u32,
    /// The least score of a result.
    pub min_score: f64,
}

impl CreateStore {
    /// Parses a body. An empty one creates a store without a name.
    ///
    /// # Errors
    /// If a member is invalid or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let body = if body.is_empty() { Value::Object(serde_json::Map::new()) } else { json_body(body)? };
        let known = ["name", "description", "metadata", "file_ids", "expires_after", "chunking_strategy"];
        let members = Members::read(&body, "", &known)?;
        check_expiry(&members)?;
        check_chunking(&members)?;
        if members.text("description")?.is_some_and(|text| !text.is_empty()) {
            return Err(members.unsupported("description", "Use 'metadata'."));
        }
        let ids = members.list("file_ids")?;
        if ids.len() > MAX_FILES {
            return Err(members.rule("file_ids", "may hold 20 ids; add further files one by one"));
        }
        let file = |(n, id): (usize, &Value)| {
            let param = format!("file_ids[{n}]");
            let id = id.as_str().ok_or_else(|| ApiError::value(&param, "must be a string"))?;
            file(&param, id)
        };
        Ok(Self {
            name: name(&members)?.unwrap_or_default(),
            metadata: metadata(&members)?.unwrap_or_default(),
            files: ids.iter().enumerate().map(file).collect::<Result<_, _>>()?,
        })
    }
}

impl UpdateStore {
    /// Parses a body.
    ///
    /// # Errors
    /// If a member is invalid or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let body = json_body(body)?;
        let members = Members::read(&body, "", &["name", "metadata", "expires_after"])?;
        check_expiry(&members)?;
        Ok(Self { name: name(&members)?, metadata: metadata(&members)? })
    }
}

impl AddFile {
    /// Parses a body.
    ///
    /// # Errors
    /// If a member is invalid or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let body = json_body(body)?;
        let members = Members::read(&body, "", &["file_id", "attributes", "chunking_strategy"])?;
        check_chunking(&members)?;
        let file = file("file_id", members.required_text("file_id")?)?;
        Ok(Self { file, attributes: conditions::attributes(&members)? })
    }
}

impl SearchStore {
    /// Parses a body.
    ///
    /// # Errors
    /// If a member is invalid or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let body = json_body(body)?;
        let known = ["query", "filters", "max_num_results", "ranking_options", "rewrite_query"];
        let members = Members::read(&body, "", &known)?;
        if members.flag("rewrite_query")? == Some(true) {
            return Err(members.unsupported("rewrite_query", "Queries are searched for as they are."));
        }
        let texts: Vec<&Value> = match members.get("query") {
            Some(Value::Array(texts)) => texts.iter().collect(),
            Some(text) => vec![text],
            None => return Err(members.missing("query")),
        };
        let queries: Vec<String> =
            texts.iter().filter_map(|text| text.as_str()).map(|text| text.trim().to_owned()).collect();
        let is_valid = (1..=MAX_QUERIES).contains(&queries.len())
            && queries.len() == texts.len()
            && queries.iter().all(|query| !query.is_empty());
        if !is_valid {
            return Err(members.rule("query", "must be a text, or a list of 1 to 8 texts"));
        }
        Ok(Self {
            queries,
            filters: conditions::filters(&members)?,
            results: results(&members)?.unwrap_or(DEFAULT_RESULTS),
            min_score: min_score(&members)?,
        })
    }
}

/// Reads `max_num_results`.
pub(in crate::request) fn results(members: &Members<'_>) -> Result<Option<u32>, ApiError> {
    match members.count("max_num_results")? {
        Some(count) if !(1..=MAX_RESULTS).contains(&count) => {
            Err(members.rule("max_num_results", "must be from 1 to 50"))
        }
        count => Ok(count),
    }
}

/// Reads the threshold of `ranking_options`.
pub(in crate::request) fn min_score(members: &Members<'_>) -> Result<f64, ApiError> {
    let Some(options) = members.get("ranking_options") else { return Ok(0.0) };
    let path = members.param("ranking_options");
    let options = Members::read(options, &path, &["ranker", "score_threshold"])?;
    let score = options.number("score_threshold")?.and_then(|score| score.as_f64()).unwrap_or_default();
    match (0.0..=1.0).contains(&score) {
        true => Ok(score),
        false => Err(options.rule("score_threshold", "must be from 0 to 1")),
    }
}

fn name(members: &Members<'_>) -> Result<Option<String>, ApiError> {
    match members.text("name")? {
        Some(name) if name.chars().count() > MAX_NAME_CHARS => {
            Err(members.rule("name", "may have 256 characters"))
        }
        name => Ok(name.map(str::to_owned)),
    }
}

fn metadata(members: &Members<'_>) -> Result<Option<BTreeMap<String, String>>, ApiError> {
    check_metadata(members)?;
    let metadata = members.get("metadata").and_then(Value::as_object);
    let pair = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    Ok(metadata.map(|pairs| pairs.iter().filter_map(pair).collect()))
}

fn file(param: &str, id: &str) -> Result<FileId, ApiError> {
    FileId::parse(id).ok_or_else(|| ApiError::unknown_file(param, id))
}

fn check_expiry(members: &Members<'_>) -> Result<(), ApiError> {
    match members.get("expires_after") {
        None => Ok(()),
        Some(_) => Err(members.unsupported("expires_after", "Vector stores don't expire. Delete it.")),
    }
}

fn check_chunking(members: &Members<'_>) -> Result<(), ApiError> {
    let Some(strategy) = members.get("chunking_strategy") else { return Ok(()) };
    match strategy.get("type").and_then(Value::as_str) {
        Some("auto") => Ok(()),
        _ => {
            Err(members.unsupported("chunking_strategy", "Use 'auto': documents are cut by their headings."))
        }
    }
}

#[cfg(test)]
mod tests {
    use contracts::request::{RagOperator, RagValue};
    use serde_json::json;

    use super::*;
    use crate::files::Purpose;

    fn file_id() -> FileId {
        let purpose = Purpose::Assistants;
        FileId { created: 1, expires: 2, purpose, nonce: "n".to_owned(), name: "a.md".to_owned() }
    }

    fn param<T>(parsed: Result<T, ApiError>) -> String {
        parsed.err().and_then(|error| error.param).unwrap_or_default()
    }

    #[test]
    fn attributes_are_texts_whole_numbers_and_flags() {
        let body = json!({
            "file_id": file_id().to_string(), "attributes": {"team": "blue", "year": 2026, "draft": false},
        });
        let parsed = AddFile::parse(body.to_string().as_bytes()).unwrap();
        let values: Vec<&RagValue> =
            parsed.attributes.iter().flat_map(|attribute| attribute.values.iter()).collect();
        assert!(values.contains(&&RagValue::Integer(2026)) && values.contains(&&RagValue::Flag(false)));
        for invalid in [json!({"year": 1.5}), json!({"a": [1]}), json!(3)] {
            let body = json!({"file_id": file_id().to_string(), "attributes": invalid});
            assert!(param(AddFile::parse(body.to_string().as_bytes())).starts_with("attributes"));
        }
    }

    #[test]
    fn filters_for_equality_are_conditions_and_others_are_refused() {
        let body = json!({"query": "q", "filters": {"type": "and", "filters": [
            {"type": "eq", "key": "team", "value": "blue"}, {"type": "nin", "key": "year", "value": [1, 2]},
        ]}});
        let parsed = SearchStore::parse(body.to_string().as_bytes()).unwrap();
        let operators: Vec<RagOperator> = parsed.filters.iter().map(|condition| condition.operator).collect();
        assert_eq!(operators, [RagOperator::Equals, RagOperator::NotEquals]);
        for (kind, at) in [("gt", "filters.type"), ("or", "filters.type")] {
            let body = json!({"query": "q", "filters": {"type": kind, "key": "year", "value": 1}});
            assert_eq!(param(SearchStore::parse(body.to_string().as_bytes())), at);
        }
    }

    #[test]
    fn invalid_bodies_are_refused_by_name() {
        for (body, at) in [
            (json!({"expires_after": {"anchor": "last_active_at", "days": 1}}), "expires_after"),
            (json!({"chunking_strategy": {"type": "static"}}), "chunking_strategy"),
            (json!({"file_ids": ["file-1"]}), "file_ids[0]"),
            (json!({"name": "x".repeat(257)}), "name"),
            (json!({"metadata": {"a": 1}}), "metadata"),
            (json!({"size": 1}), "size"),
        ] {
            assert_eq!(param(CreateStore::parse(body.to_string().as_bytes())), at);
        }
        for (body, at) in [
            (json!({}), "query"),
            (json!({"query": []}), "query"),
            (json!({"query": "q", "max_num_results": 51}), "max_num_results"),
            (
                json!({"query": "q", "ranking_options": {"score_threshold": 2}}),
                "ranking_options.score_threshold",
            ),
            (json!({"query": "q", "rewrite_query": true}), "rewrite_query"),
        ] {
            assert_eq!(param(SearchStore::parse(body.to_string().as_bytes())), at);
        }
        assert!(CreateStore::parse(b"").is_ok());
    }
}
