//! The payload of a point: the chunk's text and its metadata.

use std::collections::HashMap;

use agent::retrieval::key;
use contracts::{hash::ContentHash, id::OrgId};
use qdrant_client::qdrant::{Value, value::Kind};

/// The keys that a search requests. Other keys, such as another indexer's, are not fetched.
pub const SEARCH_KEYS: [&str; 9] = [
    key::ORG_ID,
    key::REPO,
    key::PATH,
    key::DOC_ID,
    key::LANGUAGE,
    key::LINE_START,
    key::LINE_END,
    key::CONTENT_HASH,
    key::TEXT,
];

/// The payload of a point. Absent members are not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The tenant.
    pub org_id: OrgId,
    /// The workspace.
    pub project_id: Option<String>,
    /// The indexed source, as named by its indexer.
    pub doc_id: String,
    /// The subject of the chunk, as named by its indexer.
    pub semantic_id: Option<String>,
    /// The kind of source.
    pub content_type: Option<String>,
    /// The subtype of that kind.
    pub subtype: Option<String>,
    /// The section of a document.
    pub section_key: Option<String>,
    /// The chunk's index within its source, from 0.
    pub part_index: u32,
    /// The number of chunks of its source.
    pub part_total: u32,
    /// A human-readable title.
    pub title: Option<String>,
    /// Its language, in lower case.
    pub language: Option<String>,
    /// The repository.
    pub repo: Option<String>,
    /// The path in the repository, with `/`.
    pub path: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// The symbol that the code declares.
    pub symbol: Option<String>,
    /// The kind of that symbol.
    pub symbol_type: Option<String>,
    /// Labels.
    pub label_slugs: Vec<String>,
    /// SHA-256 of the whole source's bytes.
    pub source_sha256: Option<String>,
    /// The content hash of the chunk's text.
    pub content_hash: ContentHash,
    /// The model that made its vector.
    pub embedding_model: String,
    /// The chunk's text.
    pub text: String,
}

impl Payload {
    /// Converts it into the database's form.
    #[must_use]
    pub fn into_map(self) -> HashMap<String, Value> {
        let labels = Some(self.label_slugs).filter(|labels| !labels.is_empty());
        let members: [(&str, Option<Value>); 22] = [
            (key::ORG_ID, Some(self.org_id.as_str().into())),
            (key::PROJECT_ID, self.project_id.map(Value::from)),
            (key::DOC_ID, Some(self.doc_id.into())),
            (key::SEMANTIC_ID, self.semantic_id.map(Value::from)),
            (key::CONTENT_TYPE, self.content_type.map(Value::from)),
            (key::SUBTYPE, self.subtype.map(Value::from)),
            (key::SECTION_KEY, self.section_key.map(Value::from)),
            (key::PART_INDEX, Some(i64::from(self.part_index).into())),
            (key::PART_TOTAL, Some(i64::from(self.part_total).into())),
            (key::TITLE, self.title.map(Value::from)),
            (key::LANGUAGE, self.language.map(Value::from)),
            (key::REPO, self.repo.map(Value::from)),
            (key::PATH, Some(self.path.into())),
            (key::LINE_START, Some(i64::from(self.line_start).into())),
            (key::LINE_END, Some(i64::from(self.line_end).into())),
            (key::SYMBOL, self.symbol.map(Value::from)),
            (key::SYMBOL_TYPE, self.symbol_type.map(Value::from)),
            (key::LABEL_SLUGS, labels.map(Value::from)),
            (key::SOURCE_SHA256, self.source_sha256.map(Value::from)),
            (key::CONTENT_HASH, Some(self.content_hash.to_string().into())),
            (key::EMBEDDING_MODEL, Some(self.embedding_model.into())),
            (key::TEXT, Some(self.text.into())),
        ];
        members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    /// Reads the payload of a point of any indexer. `None` without an org and a text. A member that is missing or of
    /// another type counts as absent: then lines are counted, the hash is computed, and the path is the source's
    /// name.
    #[must_use]
    pub fn from_map(mut map: HashMap<String, Value>) -> Option<Self> {
        let mut take = |key: &str| map.remove(key).and_then(|value| value.kind);
        let org_id = OrgId::new(string(take(key::ORG_ID))?).ok()?;
        let text = string(take(key::TEXT)).filter(|text| !text.trim().is_empty())?;
        let doc_id = string(take(key::DOC_ID)).unwrap_or_default();
        let line_start = number(take(key::LINE_START)).unwrap_or(1).max(1);
        let counted =
            line_start.saturating_add(u32::try_from(text.lines().count()).unwrap_or(u32::MAX).max(1) - 1);
        let hash = string(take(key::CONTENT_HASH)).and_then(|hash| hash.parse().ok());
        Some(Self {
            org_id,
            project_id: string(take(key::PROJECT_ID)),
            semantic_id: string(take(key::SEMANTIC_ID)),
            content_type: string(take(key::CONTENT_TYPE)),
            subtype: string(take(key::SUBTYPE)),
            section_key: string(take(key::SECTION_KEY)),
            part_index: number(take(key::PART_INDEX)).unwrap_or_default(),
            part_total: number(take(key::PART_TOTAL)).unwrap_or_default(),
            title: string(take(key::TITLE)),
            language: string(take(key::LANGUAGE)),
            repo: string(take(key::REPO)),
            path: string(take(key::PATH)).unwrap_or_else(|| doc_id.clone()),
            line_start,
            line_end: number(take(key::LINE_END)).unwrap_or(counted).max(line_start),
            symbol: string(take(key::SYMBOL)),
            symbol_type: string(take(key::SYMBOL_TYPE)),
            label_slugs: strings(take(key::LABEL_SLUGS)),
            source_sha256: string(take(key::SOURCE_SHA256)),
            content_hash: hash.unwrap_or_else(|| ContentHash::hash_text(&text)),
            embedding_model: string(take(key::EMBEDDING_MODEL)).unwrap_or_default(),
            doc_id,
            text,
        })
    }
}

fn string(kind: Option<Kind>) -> Option<String> {
    match kind? {
        Kind::StringValue(value) => Some(value),
        _ => None,
    }
}

fn strings(kind: Option<Kind>) -> Vec<String> {
    match kind {
        Some(Kind::ListValue(list)) => {
            list.values.into_iter().filter_map(|value| string(value.kind)).collect()
        }
        kind => string(kind).into_iter().collect(),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number within u32 is kept whole"
)]
fn number(kind: Option<Kind>) -> Option<u32> {
    match kind? {
        Kind::IntegerValue(value) => u32::try_from(value).ok(),
        // Indexers in languages without integers write doubles.
        Kind::DoubleValue(value) if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) => {
            Some(value as u32)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use qdrant_client::qdrant::ScoredPoint;

    use super::*;
    use crate::retriever::chunk_from_point;

    fn full_payload() -> Payload {
        let some = |text: &str| Some(text.to_owned());
        Payload {
            org_id: OrgId::new("acme").unwrap(),
            project_id: some("backend"),
            doc_id: "core:src/a.rs".to_owned(),
            semantic_id: some("core.a"),
            content_type: some("code"),
            subtype: some("rust"),
            section_key: some("a"),
            part_index: 1,
            part_total: 2,
            title: some("a"),
            language: some("rust"),
            repo: some("core"),
            path: "src/a.rs".to_owned(),
            line_start: 3,
            line_end: 4,
            symbol: some("main"),
            symbol_type: some("function"),
            label_slugs: vec!["one".to_owned(), "two".to_owned()],
            source_sha256: some("00"),
            content_hash: ContentHash::hash_text("fn main() {}"),
            embedding_model: "m".to_owned(),
            text: "fn main() {}".to_owned(),
        }
    }

    #[test]
    fn payload_round_trips_with_every_key() {
        let map = full_payload().into_map();
        assert_eq!(map.len(), 22);
        assert_eq!(Payload::from_map(map), Some(full_payload()));
    }

    #[test]
    fn search_keys_are_all_that_a_chunk_needs() {
        let chunk = |is_requested: fn(&str) -> bool| {
            let mut payload = full_payload().into_map();
            payload.retain(|key, _| is_requested(key));
            chunk_from_point(ScoredPoint { id: Some(1.into()), payload, ..ScoredPoint::default() }).unwrap()
        };
        assert_eq!(chunk(|_| true), chunk(|key| SEARCH_KEYS.contains(&key)));
    }

    #[test]
    fn every_hint_key_is_a_payload_key() {
        let map = full_payload().into_map();
        assert!(key::HINT_KEYS.iter().all(|hint| map.contains_key(*hint)));
    }

    #[test]
    fn foreign_payload_is_read_with_fallbacks() {
        let map = [
            (key::ORG_ID, Value::from("acme")),
            (key::DOC_ID, Value::from("readme")),
            (key::LINE_START, Value::from(5.0)),
            (key::TEXT, Value::from("one\ntwo")),
            ("Other", Value::from(true)),
        ];
        let payload = Payload::from_map(map.map(|(key, value)| (key.to_owned(), value)).into()).unwrap();
        assert_eq!((payload.path.as_str(), payload.line_start, payload.line_end), ("readme", 5, 6));
        assert_eq!(payload.content_hash, ContentHash::hash_text("one\ntwo"));
    }

    #[test]
    fn point_without_org_or_text_is_ignored() {
        for absent in [key::ORG_ID, key::TEXT] {
            let mut map = full_payload().into_map();
            map.remove(absent);
            assert_eq!(Payload::from_map(map), None, "{absent}");
        }
    }
}
