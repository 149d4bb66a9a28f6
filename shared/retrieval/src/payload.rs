//! The payload of a point: the chunk's text and its metadata.

use std::collections::HashMap;

use agent::retrieval::{Parts, key};
use contracts::{hash::ContentHash, id::OrgId};
use qdrant_client::qdrant::{Value, value::Kind};

/// The keys that a search requests. Other keys, such as another indexer's, are not fetched.
pub const SEARCH_KEYS: [&str; 14] = [
    key::ORG_ID,
    key::AGENT_CONTEXT_IDS,
    key::REPO,
    key::PATH,
    key::DOC_ID,
    key::LANGUAGE,
    key::LINE_START,
    key::LINE_END,
    key::PAGE,
    key::SECTION_KEY,
    key::PART_INDEX,
    key::PART_TOTAL,
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
    /// Its page, from 1.
    pub page: Option<u32>,
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
    /// The splitter that made the chunk.
    pub splitter: Option<String>,
    /// The agents whose turns may have the chunk. `None` means every agent of the org.
    pub agents: Option<Vec<String>>,
    /// Other members, which conditions may name.
    pub attributes: Vec<(String, AttributeValue)>,
    /// The chunk's text.
    pub text: String,
}

/// The value of a member that is no documented one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A flag.
    Flag(bool),
    /// Several values, of which a condition compares each.
    List(Vec<AttributeValue>),
}

impl From<AttributeValue> for Value {
    fn from(value: AttributeValue) -> Self {
        match value {
            AttributeValue::Text(text) => text.into(),
            AttributeValue::Integer(number) => number.into(),
            AttributeValue::Flag(flag) => flag.into(),
            AttributeValue::List(values) => values.into_iter().map(Self::from).collect::<Vec<_>>().into(),
        }
    }
}

impl Payload {
    /// Converts it into the database's form.
    #[must_use]
    pub fn into_map(self) -> HashMap<String, Value> {
        let labels = Some(self.label_slugs).filter(|labels| !labels.is_empty());
        let members: [(&str, Option<Value>); 25] = [
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
            (key::PAGE, self.page.map(|page| i64::from(page).into())),
            (key::SYMBOL, self.symbol.map(Value::from)),
            (key::SYMBOL_TYPE, self.symbol_type.map(Value::from)),
            (key::LABEL_SLUGS, labels.map(Value::from)),
            (key::SOURCE_SHA256, self.source_sha256.map(Value::from)),
            (key::CONTENT_HASH, Some(self.content_hash.to_string().into())),
            (key::EMBEDDING_MODEL, Some(self.embedding_model.into())),
            (key::SPLITTER, self.splitter.map(Value::from)),
            (key::AGENT_CONTEXT_IDS, self.agents.map(Value::from)),
            (key::TEXT, Some(self.text.into())),
        ];
        let members = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        // Documented members last, so that no attribute replaces one.
        self.attributes.into_iter().map(|(key, value)| (key, value.into())).chain(members).collect()
    }

    /// Returns the position of the chunk in its source, if its indexer recorded one.
    #[must_use]
    pub fn parts(&self) -> Option<Parts> {
        let part = self.part_index;
        (part < self.part_total).then_some(Parts { first: part, last: part, total: self.part_total })
    }

    /// Reads the payload of a point of any indexer. `None` without an org and a text. A member that is missing or of
    /// another type counts as absent: then lines are counted, the hash is computed, and the path is the source's
    /// name. Attributes aren't read.
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
            page: number(take(key::PAGE)),
            symbol: string(take(key::SYMBOL)),
            symbol_type: string(take(key::SYMBOL_TYPE)),
            label_slugs: strings(take(key::LABEL_SLUGS)),
            source_sha256: string(take(key::SOURCE_SHA256)),
            content_hash: hash.unwrap_or_else(|| ContentHash::hash_text(&text)),
            embedding_model: string(take(key::EMBEDDING_MODEL)).unwrap_or_default(),
            splitter: string(take(key::SPLITTER)),
            agents: agents(take(key::AGENT_CONTEXT_IDS)),
            attributes: Vec::new(),
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

/// Reads the agents that may have a chunk. A value of another type names none of them.
fn agents(kind: Option<Kind>) -> Option<Vec<String>> {
    match kind {
        None | Some(Kind::NullValue(_)) => None,
        Some(Kind::ListValue(list)) if list.values.is_empty() => None,
        kind => Some(strings(kind)),
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
    use crate::search::chunk_from_point;

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
            page: Some(2),
            symbol: some("main"),
            symbol_type: some("function"),
            label_slugs: vec!["one".to_owned(), "two".to_owned()],
            source_sha256: some("00"),
            content_hash: ContentHash::hash_text("fn main() {}"),
            embedding_model: "m".to_owned(),
            splitter: some("1:2000"),
            agents: Some(vec!["support".to_owned()]),
            attributes: Vec::new(),
            text: "fn main() {}".to_owned(),
        }
    }

    #[test]
    fn payload_round_trips_with_every_key() {
        let map = full_payload().into_map();
        assert_eq!(map.len(), 25);
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
    fn attributes_are_members_and_replace_no_documented_one() {
        let list = AttributeValue::List(vec![AttributeValue::Integer(3), AttributeValue::Flag(true)]);
        let foreign = AttributeValue::Text("globex".to_owned());
        let attributes = vec![("Years".to_owned(), list), (key::ORG_ID.to_owned(), foreign)];
        let map = Payload { attributes, ..full_payload() }.into_map();
        assert_eq!(map[key::ORG_ID], Value::from("acme"));
        assert_eq!(map["Years"], Value::from(vec![Value::from(3), Value::from(true)]));
    }

    #[test]
    fn agents_of_another_type_are_no_agent() {
        let empty = Value::from(Vec::<String>::new());
        for (value, expected) in [
            (Value::from(vec!["a".to_owned()]), Some(vec!["a".to_owned()])),
            (Value::from("a"), Some(vec!["a".to_owned()])),
            (Value::from(3), Some(Vec::new())),
            (empty, None),
        ] {
            let mut map = full_payload().into_map();
            map.insert(key::AGENT_CONTEXT_IDS.to_owned(), value);
            assert_eq!(Payload::from_map(map).unwrap().agents, expected);
        }
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
