//! Access to the collection: creates, reads and writes it.

use std::collections::{BTreeSet, HashMap};

use agent::retrieval::key;
use llm::key::KeySource;
use qdrant_client::qdrant::{
    DeletePointsBuilder, NamedVectors, PayloadIncludeSelector, PointId, PointStruct, PointsIdsList,
    RetrievedPoint, ScrollPointsBuilder, ScrollResponse, UpsertPointsBuilder, Value, Vector, Vectors,
    point_id::PointIdOptions, value::Kind, with_payload_selector::SelectorOptions,
};
use retrieval::collection::{self, FilterKeys, Layout, SPARSE};
use retrieval::connection::{Connection, QdrantError};
use retrieval::filter::of_repo;
use retrieval::sparse_vector::SparseVector;

use super::error::Error;
use super::file_version::FileVersion;
use super::indexed_state::IndexedState;
use super::options::Source;
use super::point::PendingPoint;

/// The number of points per request to read or delete.
const PAGE_SIZE: u32 = 1_000;

/// One collection.
#[derive(Debug)]
pub(super) struct Store<K> {
    connection: Connection<K>,
    collection: String,
    /// Set once it was read or created.
    layout: tokio::sync::OnceCell<Layout>,
}

impl<K: KeySource> Store<K> {
    pub(super) fn new(connection: Connection<K>, collection: String) -> Self {
        Self { connection, collection, layout: tokio::sync::OnceCell::new() }
    }

    pub(super) fn collection(&self) -> &str {
        &self.collection
    }

    /// Reads the indexed state of a repository; empty if the collection doesn't exist. Creates the payload indexes that an
    /// existing collection lacks, since a database in strict mode refuses the filter by repository without them.
    pub(super) async fn load_state(&self, source: &Source) -> Result<IndexedState, Error> {
        let info = match self.connection.collection(&self.collection).await {
            Ok(info) => info,
            Err(QdrantError::CollectionNotFound) => return Ok(IndexedState::default()),
            Err(error) => return Err(error.into()),
        };
        let layout = Layout::from_info(info).ok_or_else(|| Error::NoDenseVector(self.collection.clone()))?;
        let layout = self.layout.get_or_init(|| async { layout }).await;
        self.create_indexes().await?;
        let mut state = IndexedState { layout: Some(layout.clone()), ..IndexedState::default() };
        let mut offset: Option<PointId> = None;
        loop {
            let page = self.page(source, offset).await?;
            page.result.into_iter().for_each(|point| record_point(&mut state, source, point));
            offset = page.next_page_offset;
            if offset.is_none() {
                return Ok(state);
            }
        }
    }

    async fn page(&self, source: &Source, offset: Option<PointId>) -> Result<ScrollResponse, QdrantError> {
        let members = [
            key::ORG_ID,
            key::REPO,
            key::PATH,
            key::SOURCE_SHA256,
            key::EMBEDDING_MODEL,
            key::PROJECT_ID,
            key::PART_TOTAL,
            key::SPLITTER,
        ];
        let members = PayloadIncludeSelector { fields: members.map(str::to_owned).to_vec() };
        let mut scroll = ScrollPointsBuilder::new(&self.collection)
            .filter(of_repo(&source.org, &source.repo))
            .limit(PAGE_SIZE)
            .with_payload(SelectorOptions::Include(members));
        if let Some(offset) = offset {
            scroll = scroll.offset(offset);
        }
        let scroll = scroll.build();
        let request = self.connection.call(|qdrant| {
            let scroll = scroll.clone();
            async move { qdrant.points().scroll(scroll).await }
        });
        request.await
    }

    /// Creates the collection.
    pub(super) async fn create_collection(&self, length: u64) -> Result<Layout, Error> {
        let create = collection::create_request(&self.collection, length);
        let layout = Layout {
            dense: (Some(collection::DENSE.to_owned()), length),
            is_cosine: true,
            has_sparse: true,
            keys: FilterKeys::default(),
        };
        let request = self.connection.call(|qdrant| {
            let create = create.clone();
            async move { qdrant.collections().create(create).await }
        });
        request.await?;
        Ok(self.layout.get_or_init(|| async { layout }).await.clone())
    }

    /// Creates the missing payload indexes.
    pub(super) async fn create_indexes(&self) -> Result<(), QdrantError> {
        let existing = self.connection.collection(&self.collection).await?.payload_schema;
        let missing = collection::index_requests(&self.collection).into_iter();
        for index in missing.filter(|index| !existing.contains_key(&index.field_name)) {
            let create = self.connection.call(|qdrant| {
                let index = index.clone();
                async move { qdrant.points().create_field_index(index).await }
            });
            create.await?;
        }
        Ok(())
    }

    /// Writes points and replaces those with the same ids.
    pub(super) async fn upsert(
        &self,
        points: Vec<PendingPoint>,
        vectors: Vec<Vec<f32>>,
    ) -> Result<(), QdrantError> {
        let Some(layout) = self.layout.get() else { return Err(QdrantError::CollectionNotFound) };
        let point_structs = points.into_iter().zip(vectors).map(|(point, dense)| {
            let vectors = build_vectors(layout, dense, &point.sparse_text);
            PointStruct::new(point.id, vectors, point.payload.into_map())
        });
        let upsert =
            UpsertPointsBuilder::new(&self.collection, point_structs.collect::<Vec<_>>()).wait(true).build();
        let request = self.connection.call(|qdrant| {
            let upsert = upsert.clone();
            async move { qdrant.points().upsert(upsert).await }
        });
        request.await.map(drop)
    }

    /// Deletes points by their ids.
    pub(super) async fn delete(&self, ids: &BTreeSet<String>) -> Result<(), QdrantError> {
        let ids: Vec<PointId> = ids.iter().map(|id| id.clone().into()).collect();
        for page in ids.chunks(usize::try_from(PAGE_SIZE).unwrap_or(usize::MAX)) {
            let list = PointsIdsList { ids: page.to_vec() };
            let delete = DeletePointsBuilder::new(&self.collection).points(list).wait(true).build();
            let request = self.connection.call(|qdrant| {
                let delete = delete.clone();
                async move { qdrant.points().delete(delete).await }
            });
            request.await?;
        }
        Ok(())
    }
}

fn build_vectors(layout: &Layout, dense: Vec<f32>, text: &str) -> Vectors {
    let Some(name) = &layout.dense.0 else { return dense.into() };
    let mut named = HashMap::from([(name.clone(), Vector::from(dense))]);
    if layout.has_sparse {
        let terms = SparseVector::from_chunk(text);
        named.insert(SPARSE.to_owned(), Vector::new_sparse(terms.indices, terms.values));
    }
    NamedVectors { vectors: named }.into()
}

fn record_point(state: &mut IndexedState, source: &Source, point: RetrievedPoint) {
    let Some(id) = point.id.and_then(uuid_from_id) else { return };
    let mut members = point.payload;
    let mut text = |key: &str| match members.remove(key).and_then(|value| value.kind) {
        Some(Kind::StringValue(text)) => Some(text),
        _ => None,
    };
    // Recorded points may be deleted later, so ignore any that aren't of this org and repository.
    let is_ours = text(key::ORG_ID).as_deref() == Some(source.org.as_str())
        && text(key::REPO).as_ref() == Some(&source.repo);
    if !is_ours {
        return;
    }
    let path = text(key::PATH);
    let version = FileVersion {
        sha256: text(key::SOURCE_SHA256).unwrap_or_default(),
        model: text(key::EMBEDDING_MODEL).unwrap_or_default(),
        project: text(key::PROJECT_ID),
        splitter: text(key::SPLITTER).unwrap_or_default(),
        part_total: members.remove(key::PART_TOTAL).and_then(as_u32).unwrap_or_default(),
    };
    let file = state.files.entry(path.unwrap_or_default()).or_default();
    file.versions.insert(version);
    file.ids.insert(id);
}

fn uuid_from_id(id: PointId) -> Option<String> {
    match id.point_id_options? {
        PointIdOptions::Uuid(uuid) => Some(uuid),
        // Another indexer's: this one's ids are UUIDs.
        PointIdOptions::Num(_) => None,
    }
}

fn as_u32(value: Value) -> Option<u32> {
    match value.kind? {
        Kind::IntegerValue(number) => u32::try_from(number).ok(),
        _ => None,
    }
}
