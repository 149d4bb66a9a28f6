//! Indexed sources: points of a vector database, and an embeddings provider for queries.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use axum::{Json, Router, routing::post};
use contracts::{ContentHash, id::OrgId};
use llm::ApiKey;
use local::Options;
use qdrant_client::qdrant::{
    CreateCollection, DeleteCollection, NamedVectors, PointStruct, ScrollPointsBuilder, UpsertPointsBuilder,
    Value as PayloadValue, Vector, value::Kind,
};
use retrieval::{
    Connection, Payload, collection,
    connection::{Clients, QdrantTimeouts},
    point,
    sparse_vector::SparseVector,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{PATIENCE, System};

/// Serves a router on a free port and returns its URL.
pub async fn serve(router: Router) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// Serves an embeddings provider: every text points north, unless it begins with `east`.
pub async fn embeddings() -> String {
    let embed = |Json(asked): Json<Value>| async move {
        let texts = asked["input"].as_array().unwrap();
        let towards = |text: &Value| match text.as_str().unwrap().starts_with("east") {
            true => json!([0.0, 1.0, 0.0]),
            false => json!([1.0, 0.0, 0.0]),
        };
        let data: Vec<Value> = (0..)
            .zip(texts)
            .map(|(index, text): (u32, _)| json!({"index": index, "embedding": towards(text)}))
            .collect();
        Json(json!({ "data": data, "usage": { "prompt_tokens": texts.len() } }))
    };
    serve(Router::new().route("/v1/embeddings", post(embed))).await
}

/// Adds settings.
pub fn set(mut options: Options, settings: &[(&str, &str)]) -> Options {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    options.environment.extend(settings);
    options
}

/// Uses this provider for embeddings.
pub fn embedding(options: Options, provider: &str) -> Options {
    let base = format!("{provider}/v1");
    set(options, &[("EMBEDDING_BASE_URL", base.as_str()), ("EMBEDDING_API_KEY", "key")])
}

/// An indexed chunk at a position: the nearest chunks to a query come first.
pub struct Indexed {
    pub org: &'static str,
    pub path: &'static str,
    pub text: &'static str,
    pub at: [f32; 3],
    /// Additional payload members.
    pub more: Vec<(&'static str, PayloadValue)>,
}

impl Indexed {
    pub fn id(&self) -> String {
        point::point_id(&OrgId::new(self.org).unwrap(), "core", self.path, 0).to_string()
    }

    /// Returns its block in the prompt.
    pub fn told(&self, number: usize) -> String {
        format!(
            "=== CHUNK {number} ===\nId: {}\nPath: {}\nLines: 10-{}\nLanguage: rust\nRepo: core\n```rust\n{}\n```\n\n",
            self.id(),
            self.path,
            9 + self.text.lines().count(),
            self.text,
        )
    }

    fn point(&self) -> PointStruct {
        let payload = Payload {
            org_id: OrgId::new(self.org).unwrap(),
            project_id: None,
            doc_id: format!("core:{}", self.path),
            semantic_id: None,
            content_type: None,
            subtype: None,
            section_key: None,
            part_index: 0,
            part_total: 1,
            title: None,
            language: Some("rust".to_owned()),
            repo: Some("core".to_owned()),
            path: self.path.to_owned(),
            line_start: 10,
            line_end: 9 + u32::try_from(self.text.lines().count()).unwrap(),
            page: None,
            symbol: None,
            symbol_type: None,
            label_slugs: Vec::new(),
            source_sha256: None,
            content_hash: ContentHash::hash_text(self.text),
            embedding_model: "m".to_owned(),
            splitter: None,
            agents: None,
            attributes: Vec::new(),
            text: self.text.to_owned(),
        };
        let mut payload = payload.into_map();
        payload.extend(self.more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let terms = SparseVector::from_chunk(self.text);
        let vectors = HashMap::from([
            (collection::DENSE.to_owned(), Vector::from(self.at.to_vec())),
            (collection::SPARSE.to_owned(), Vector::new_sparse(terms.indices, terms.values)),
        ]);
        PointStruct::new(self.id(), NamedVectors { vectors }, payload)
    }
}

impl System {
    /// Creates a collection with this many dimensions and these chunks.
    pub async fn indexed(&self, collection: &str, dimensions: u64, chunks: &[Indexed]) {
        self.indexed_in(collection::create_request(collection, dimensions), chunks).await;
    }

    /// Creates this collection, with these chunks.
    pub async fn indexed_in(&self, created: CreateCollection, chunks: &[Indexed]) {
        let database = self.database().await;
        let create = |qdrant: Clients| {
            let created = created.clone();
            async move { qdrant.collections().create(created).await }
        };
        database.call(create).await.unwrap();
        let collection = created.collection_name.as_str();
        for index in collection::index_requests(collection) {
            let make = |qdrant: Clients| {
                let index = index.clone();
                async move { qdrant.points().create_field_index(index).await }
            };
            database.call(make).await.unwrap();
        }
        let points: Vec<PointStruct> = chunks.iter().map(Indexed::point).collect();
        if points.is_empty() {
            return;
        }
        let put = UpsertPointsBuilder::new(collection, points).wait(true).build();
        let put = |qdrant: Clients| {
            let put = put.clone();
            async move { qdrant.points().upsert(put).await }
        };
        database.call(put).await.unwrap();
    }

    /// Returns the payloads of a collection's points; empty if there is no collection.
    pub async fn points(&self, collection: &str) -> Vec<Value> {
        let all = ScrollPointsBuilder::new(collection).limit(1_000).with_payload(true).build();
        let scroll = |qdrant: Clients| {
            let all = all.clone();
            async move { qdrant.points().scroll(all).await }
        };
        let points = self.database().await.call(scroll).await.map(|found| found.result).unwrap_or_default();
        let told = |value: PayloadValue| match value.kind {
            Some(Kind::StringValue(text)) => json!(text),
            Some(Kind::IntegerValue(number)) => json!(number),
            _ => Value::Null,
        };
        points
            .into_iter()
            .map(|point| point.payload.into_iter().map(|(key, value)| (key, told(value))).collect())
            .collect()
    }

    /// Waits until the points of a collection are as wanted, as long as they keep changing. The embedded engine takes a
    /// second or more to write a change to disk.
    pub async fn until_points(&self, collection: &str, wanted: impl Fn(&[Value]) -> bool) {
        let (mut give_up, mut seen) = (Instant::now() + 4 * PATIENCE, Vec::new());
        loop {
            let points = self.points(collection).await;
            if wanted(&points) {
                return;
            }
            if points.len() != seen.len() || points.iter().any(|point| !seen.contains(point)) {
                (give_up, seen) = (Instant::now() + 4 * PATIENCE, points.clone());
            }
            assert!(Instant::now() < give_up, "the points of {collection} are not as wanted: {points:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Removes a collection.
    pub async fn drop_collection(&self, collection: &str) {
        let gone = DeleteCollection { collection_name: collection.to_owned(), timeout: None };
        let delete = |qdrant: Clients| {
            let gone = gone.clone();
            async move { qdrant.collections().delete(gone).await }
        };
        self.database().await.call(delete).await.unwrap();
    }

    pub async fn database(&self) -> Connection<ApiKey> {
        let url = self.cloud.qdrant().await.unwrap();
        Connection::new(url, None, QdrantTimeouts::INDEXER).unwrap()
    }

    /// Sends a message to `turn-finalizer`.
    pub async fn send_to_finalizer(&self, message: &Value) {
        let queue = &self.cloud.endpoints().finalize_queue;
        let send = self.cloud.sqs().send_message().queue_url(queue).message_body(message.to_string());
        send.send().await.unwrap();
    }
}
