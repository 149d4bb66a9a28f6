//! The collection: made, read, written to.

use std::collections::{BTreeSet, HashMap};

use agent::retrieval::key;
use contracts::NonEmpty;
use contracts::request::{RagCondition, RagOperator, RagValue};
use llm::key::Keys;
use qdrant_client::qdrant::{
    DeletePointsBuilder, Filter, NamedVectors, PayloadIncludeSelector, PointId, PointStruct, PointsIdsList,
    RetrievedPoint, ScrollPointsBuilder, ScrollResponse, UpsertPointsBuilder, Value, Vector, Vectors,
    point_id::PointIdOptions, value::Kind, with_payload_selector::SelectorOptions,
};
use retrieval::collection::{self, Layout, TERMS};
use retrieval::connection::{Connection, Failure};
use retrieval::filter::filters;
use retrieval::terms::Terms;

use super::known::{Known, State};
use super::point::Piece;
use super::{Error, Source};

/// Points that are read or removed at once.
const PAGE: u32 = 1_000;

/// One collection.
#[derive(Debug)]
pub(super) struct Store<K> {
    connection: Connection<K>,
    collection: String,
    /// Once it is known.
    layout: tokio::sync::OnceCell<Layout>,
}

impl<K: Keys> Store<K> {
    pub(super) fn new(connection: Connection<K>, collection: String) -> Self {
        Self { connection, collection, layout: tokio::sync::OnceCell::new() }
    }

    pub(super) fn collection(&self) -> &str {
        &self.collection
    }

    /// What there is of a repository: nothing, where there is no collection.
    pub(super) async fn known(&self, source: &Source) -> Result<Known, Error> {
        let info = match self.connection.collection(&self.collection).await {
            Ok(info) => info,
            Err(Failure::NoCollection) => return Ok(Known::default()),
            Err(failure) => return Err(failure.into()),
        };
        let layout = Layout::of(info).ok_or_else(|| Error::Layout(self.collection.clone()))?;
        let layout = self.layout.get_or_init(|| async { layout }).await;
        let mut known = Known { layout: Some(layout.clone()), ..Known::default() };
        let mut from: Option<PointId> = None;
        loop {
            let page = self.page(source, from).await?;
            page.result.into_iter().for_each(|point| note(&mut known, source, point));
            from = page.next_page_offset;
            if from.is_none() {
                return Ok(known);
            }
        }
    }

    async fn page(&self, source: &Source, from: Option<PointId>) -> Result<ScrollResponse, Failure> {
        let members = [
            key::ORG_ID,
            key::REPO,
            key::PATH,
            key::SOURCE_SHA256,
            key::EMBEDDING_MODEL,
            key::PROJECT_ID,
            key::PART_TOTAL,
        ];
        let members = PayloadIncludeSelector { fields: members.map(str::to_owned).to_vec() };
        let mut scroll = ScrollPointsBuilder::new(&self.collection)
            .filter(of(source))
            .limit(PAGE)
            .with_payload(SelectorOptions::Include(members));
        if let Some(from) = from {
            scroll = scroll.offset(from);
        }
        let scroll = scroll.build();
        let asked = self.connection.ask(|qdrant| {
            let scroll = scroll.clone();
            async move { qdrant.points().scroll(scroll).await }
        });
        asked.await
    }

    /// Makes the collection.
    pub(super) async fn create(&self, length: u64) -> Result<Layout, Error> {
        let create = collection::create(&self.collection, length);
        let layout = Layout {
            dense: (Some(collection::DENSE.to_owned()), length),
            has_terms: true,
            texts: BTreeSet::new(),
        };
        let asked = self.connection.ask(|qdrant| {
            let create = create.clone();
            async move { qdrant.collections().create(create).await }
        });
        asked.await?;
        Ok(self.layout.get_or_init(|| async { layout }).await.clone())
    }

    /// Makes the indexes of payload fields that are not there yet.
    pub(super) async fn index_fields(&self) -> Result<(), Failure> {
        let there = self.connection.collection(&self.collection).await?.payload_schema;
        let missing = collection::indexes(&self.collection).into_iter();
        for index in missing.filter(|index| !there.contains_key(&index.field_name)) {
            let make = self.connection.ask(|qdrant| {
                let index = index.clone();
                async move { qdrant.points().create_field_index(index).await }
            });
            make.await?;
        }
        Ok(())
    }

    /// Writes points, over those that have their ids.
    pub(super) async fn put(&self, pieces: Vec<Piece>, vectors: Vec<Vec<f32>>) -> Result<(), Failure> {
        let Some(layout) = self.layout.get() else { return Err(Failure::NoCollection) };
        let points = pieces.into_iter().zip(vectors).map(|(piece, dense)| {
            let vectors = vectors_of(layout, dense, &piece.weighed);
            PointStruct::new(piece.id, vectors, piece.payload.into_map())
        });
        let upsert =
            UpsertPointsBuilder::new(&self.collection, points.collect::<Vec<_>>()).wait(true).build();
        let put = self.connection.ask(|qdrant| {
            let upsert = upsert.clone();
            async move { qdrant.points().upsert(upsert).await }
        });
        put.await.map(drop)
    }

    /// Removes points by their ids.
    pub(super) async fn remove(&self, ids: &BTreeSet<String>) -> Result<(), Failure> {
        let ids: Vec<PointId> = ids.iter().map(|id| id.clone().into()).collect();
        for page in ids.chunks(usize::try_from(PAGE).unwrap_or(usize::MAX)) {
            let list = PointsIdsList { ids: page.to_vec() };
            let delete = DeletePointsBuilder::new(&self.collection).points(list).wait(true).build();
            let removed = self.connection.ask(|qdrant| {
                let delete = delete.clone();
                async move { qdrant.points().delete(delete).await }
            });
            removed.await?;
        }
        Ok(())
    }
}

/// The points of a repository: of its org alone, by the one filter that keeps orgs apart.
fn of(source: &Source) -> Filter {
    let repo = RagCondition {
        key: key::REPO.to_owned(),
        operator: RagOperator::Equals,
        values: NonEmpty::one(RagValue::Text(source.repo.clone())),
    };
    filters(&source.org, &[repo], &[], &BTreeSet::new()).plain
}

fn vectors_of(layout: &Layout, dense: Vec<f32>, text: &str) -> Vectors {
    let Some(name) = &layout.dense.0 else { return dense.into() };
    let mut named = HashMap::from([(name.clone(), Vector::from(dense))]);
    if layout.has_terms {
        let terms = Terms::of_chunk(text);
        named.insert(TERMS.to_owned(), Vector::new_sparse(terms.indices, terms.values));
    }
    NamedVectors { vectors: named }.into()
}

fn note(known: &mut Known, source: &Source, point: RetrievedPoint) {
    let Some(id) = point.id.and_then(text_of) else { return };
    let mut members = point.payload;
    let mut text = |key: &str| match members.remove(key).and_then(|value| value.kind) {
        Some(Kind::StringValue(text)) => Some(text),
        _ => None,
    };
    // What is known may be removed: whatever else the database came up with is not ours to.
    let is_ours = text(key::ORG_ID).as_deref() == Some(source.org.as_str())
        && text(key::REPO).as_ref() == Some(&source.repo);
    if !is_ours {
        return;
    }
    let path = text(key::PATH);
    let state = State {
        sha256: text(key::SOURCE_SHA256).unwrap_or_default(),
        model: text(key::EMBEDDING_MODEL).unwrap_or_default(),
        project: text(key::PROJECT_ID),
        parts: members.remove(key::PART_TOTAL).and_then(number_of).unwrap_or_default(),
    };
    let file = known.files.entry(path.unwrap_or_default()).or_default();
    file.states.insert(state);
    file.ids.insert(id);
}

fn text_of(id: PointId) -> Option<String> {
    match id.point_id_options? {
        PointIdOptions::Uuid(uuid) => Some(uuid),
        // Another indexer's: it is told apart by not being a UUID.
        PointIdOptions::Num(_) => None,
    }
}

fn number_of(value: Value) -> Option<u32> {
    match value.kind? {
        Kind::IntegerValue(number) => u32::try_from(number).ok(),
        _ => None,
    }
}
