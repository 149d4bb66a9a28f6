//! Tests of the server over gRPC, with the official client. If a `qdrant` binary is installed, the suite also runs against
//! it, to compare the embedded engine with the real server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test"
)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use qdrant_client::qdrant::{
    Condition, CountPointsBuilder, CreateCollectionBuilder, CreateFieldIndexCollectionBuilder,
    DeletePointsBuilder, Distance, FieldType, Filter, Fusion, GetPointsBuilder, Modifier, NamedVectors,
    PointStruct, PointsIdsList, PrefetchQueryBuilder, Query, QueryPointsBuilder, Range,
    RecommendPointsBuilder, ScrollPointsBuilder, SparseVectorParamsBuilder, SparseVectorsConfigBuilder,
    StrictModeConfigBuilder, TextIndexParamsBuilder, TokenizerType, UpsertPointsBuilder, Value, Vector,
    VectorInput, VectorParamsBuilder, VectorsConfigBuilder, point_id::PointIdOptions, value::Kind,
    vectors_config::Config,
};
use qdrant_client::{Payload, Qdrant, QdrantError};
use tempfile::TempDir;

const COLLECTION: &str = "sources";

/// A server's process, killed when dropped.
struct Server {
    name: &'static str,
    child: Child,
    client: Qdrant,
}

impl Server {
    /// Starts the embedded engine over this folder.
    fn embedded(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_embedded-qdrant"))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { name: "embedded", child, client: client(port.trim().parse().expect("a port")) }
    }

    /// Starts the real server over this folder, if it is installed.
    async fn real(folder: &Path) -> Option<Self> {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (http, grpc) = (free(), free());
        let child = Command::new("qdrant")
            .current_dir(folder)
            .env("QDRANT__SERVICE__HTTP_PORT", http.to_string())
            .env("QDRANT__SERVICE__GRPC_PORT", grpc.to_string())
            .env("QDRANT__STORAGE__STORAGE_PATH", folder.join("storage"))
            .env("QDRANT__TELEMETRY_DISABLED", "true")
            .stdout(Stdio::null())
            .spawn()
            .ok()?;
        let server = Self { name: "real", child, client: client(grpc) };
        for _ in 0..300 {
            if server.client.health_check().await.is_ok() {
                return Some(server);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        None
    }

    /// Kills the process, as a crash does.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

fn client(port: u16) -> Qdrant {
    Qdrant::from_url(&format!("http://127.0.0.1:{port}")).skip_compatibility_check().build().unwrap()
}

/// Starts every available server, each over its own folder.
async fn servers() -> Vec<(Server, TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = vec![(Server::embedded(folder.path()), folder)];
    let folder = tempfile::tempdir().unwrap();
    match Server::real(folder.path()).await {
        Some(server) => servers.push((server, folder)),
        None => eprintln!("skipped: no `qdrant` binary is here, so the real server is not asked"),
    }
    servers
}

/// Creates a collection with two dimensions, terms and the fields of the conditions.
async fn create(client: &Qdrant) {
    let mut dense = VectorsConfigBuilder::default();
    dense.add_named_vector_params("dense", VectorParamsBuilder::new(2, Distance::Cosine));
    let mut sparse = SparseVectorsConfigBuilder::default();
    sparse.add_named_vector_params("terms", SparseVectorParamsBuilder::default().modifier(Modifier::Idf));
    let create = CreateCollectionBuilder::new(COLLECTION).vectors_config(dense).sparse_vectors_config(sparse);
    client.create_collection(create).await.unwrap();
    let indexes =
        [("OrgId", FieldType::Keyword), ("Labels", FieldType::Keyword), ("Line", FieldType::Integer)];
    for (field, kind) in indexes {
        let index = CreateFieldIndexCollectionBuilder::new(COLLECTION, field, kind).wait(true);
        client.create_field_index(index).await.unwrap();
    }
    let by_word = TextIndexParamsBuilder::new(TokenizerType::Word).lowercase(true);
    let index = CreateFieldIndexCollectionBuilder::new(COLLECTION, "Text", FieldType::Text);
    client.create_field_index(index.field_index_params(by_word).wait(true)).await.unwrap();
}

fn point(id: u64, dense: [f32; 2], terms: &[(u32, f32)], payload: serde_json::Value) -> PointStruct {
    let (indices, values): (Vec<u32>, Vec<f32>) = terms.iter().copied().unzip();
    let vectors = [
        ("dense".to_owned(), Vector::from(dense.to_vec())),
        ("terms".to_owned(), Vector::new_sparse(indices, values)),
    ];
    let vectors = NamedVectors { vectors: vectors.into() };
    let serde_json::Value::Object(members) = payload else { unreachable!() };
    let payload: Vec<(String, Value)> =
        members.into_iter().map(|(name, value)| (name, wire(value))).collect();
    PointStruct::new(id, vectors, Payload::from(std::collections::HashMap::from_iter(payload)))
}

fn wire(value: serde_json::Value) -> Value {
    match value {
        serde_json::Value::String(text) => text.into(),
        serde_json::Value::Number(number) => number.as_i64().unwrap().into(),
        serde_json::Value::Bool(flag) => flag.into(),
        serde_json::Value::Array(values) => values.into_iter().map(wire).collect::<Vec<_>>().into(),
        _ => unreachable!(),
    }
}

async fn fill(client: &Qdrant) {
    use serde_json::json;
    create(client).await;
    let points = vec![
        point(
            1,
            [1.0, 0.0],
            &[(7, 1.0)],
            json!({"OrgId": "acme", "Labels": ["api", "old"], "Line": 10, "Text": "Keep the lease of a turn", "Done": true}),
        ),
        point(
            2,
            [0.9, 0.1],
            &[(8, 1.0)],
            json!({"OrgId": "acme", "Labels": ["api"], "Line": 20, "Text": "leaseholders settle", "Done": false}),
        ),
        point(
            3,
            [0.0, 1.0],
            &[(7, 2.0), (9, 1.0)],
            json!({"OrgId": "acme", "Labels": [], "Line": 30, "Text": "A sweep finds overdue turns"}),
        ),
        point(
            4,
            [1.0, 0.0],
            &[(7, 1.0)],
            json!({"OrgId": "other", "Labels": ["api"], "Line": 10, "Text": "Keep the lease"}),
        ),
    ];
    client.upsert_points(UpsertPointsBuilder::new(COLLECTION, points).wait(true)).await.unwrap();
}

fn number(id: Option<qdrant_client::qdrant::PointId>) -> u64 {
    match id.unwrap().point_id_options.unwrap() {
        PointIdOptions::Num(number) => number,
        PointIdOptions::Uuid(_) => unreachable!(),
    }
}

async fn ids(client: &Qdrant, filter: Filter) -> BTreeSet<u64> {
    let page = client.scroll(ScrollPointsBuilder::new(COLLECTION).filter(filter).limit(100)).await.unwrap();
    page.result.into_iter().map(|point| number(point.id)).collect()
}

#[tokio::test]
async fn conditions_work_on_every_kind_of_field() {
    for (server, _folder) in servers().await {
        let client = &server.client;
        fill(client).await;
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let among = |range: Range| Filter::must([Condition::range("Line", range)]);
        let cases: Vec<(&str, Filter, &[u64])> = vec![
            ("equals, a word", Filter::must([Condition::matches("OrgId", "acme".to_owned())]), &[1, 2, 3]),
            (
                "equals, one of",
                Filter::must([Condition::matches("OrgId", words(&["acme", "none"]))]),
                &[1, 2, 3],
            ),
            ("is not", Filter::must_not([Condition::matches("OrgId", words(&["acme"]))]), &[4]),
            (
                "contains, an array",
                Filter::must([Condition::matches("Labels", words(&["old", "new"]))]),
                &[1],
            ),
            (
                "contains none, an array",
                Filter::must_not([Condition::matches("Labels", words(&["old"]))]),
                &[2, 3, 4],
            ),
            ("equals, a number", Filter::must([Condition::matches("Line", vec![10, 30])]), &[1, 3, 4]),
            ("is not, a number", Filter::must_not([Condition::matches("Line", vec![10])]), &[2, 3]),
            ("within a range", among(Range { gte: Some(20.0), lt: Some(30.0), ..Range::default() }), &[2]),
            ("contains, a text's word", Filter::must([Condition::matches_text("Text", "LEASE")]), &[1, 4]),
            ("contains no word", Filter::must_not([Condition::matches_text("Text", "lease")]), &[2, 3]),
            ("all words", Filter::must([Condition::matches_text("Text", "lease turn")]), &[1]),
            ("a flag", Filter::must([Condition::matches("Done", false)]), &[2]),
            ("empty", Filter::must([Condition::is_empty("Labels")]), &[3]),
            ("a field that is nowhere", Filter::must([Condition::matches("Nowhere", "x".to_owned())]), &[]),
            (
                "all of several, any of others",
                Filter {
                    must: vec![Condition::matches("OrgId", "acme".to_owned())],
                    should: vec![
                        Condition::matches("Line", 20),
                        Condition::matches("Labels", "old".to_owned()),
                    ],
                    ..Filter::default()
                },
                &[1, 2],
            ),
            (
                "a filter within one",
                Filter::must([
                    Condition::matches("OrgId", "acme".to_owned()),
                    Filter::should([Condition::matches("Line", 10), Condition::matches("Line", 30)]).into(),
                ]),
                &[1, 3],
            ),
        ];
        for (what, filter, expected) in cases {
            let found = ids(client, filter).await;
            assert_eq!(found, expected.iter().copied().collect(), "{what}, {}", server.name);
        }
    }
}

#[tokio::test]
async fn queries_rank_by_vector_by_terms_and_by_both() {
    for (server, _folder) in servers().await {
        let client = &server.client;
        fill(client).await;
        let own = Filter::must([Condition::matches("OrgId", "acme".to_owned())]);
        let dense = Query::new_nearest(vec![1.0, 0.0]);
        let terms = Query::new_nearest(VectorInput::new_sparse(vec![7], vec![1.0]));
        let ask = |query: Query, using: &str| {
            QueryPointsBuilder::new(COLLECTION).query(query).using(using).filter(own.clone()).limit(2)
        };
        let found = async |query: QueryPointsBuilder| {
            let result = client.query(query.with_payload(true)).await.unwrap().result;
            assert!(result.iter().all(|point| point.payload["OrgId"].as_str().unwrap() == "acme"));
            result.into_iter().map(|point| number(point.id)).collect::<Vec<_>>()
        };
        assert_eq!(found(ask(dense.clone(), "dense")).await, [1, 2], "{}", server.name);
        assert_eq!(found(ask(terms.clone(), "terms")).await, [3, 1], "{}", server.name);
        let way = |query: Query, using: &str| {
            PrefetchQueryBuilder::default()
                .query(query)
                .using(using)
                .filter(own.clone())
                .limit(10_u64)
                .build()
        };
        let both = QueryPointsBuilder::new(COLLECTION)
            .prefetch(vec![way(dense, "dense"), way(terms, "terms")])
            .query(Fusion::Rrf)
            .limit(1);
        assert_eq!(found(both).await, [1], "{}", server.name);
    }
}

#[tokio::test]
async fn points_are_read_counted_replaced_and_deleted() {
    for (server, _folder) in servers().await {
        let client = &server.client;
        fill(client).await;
        let count = async || {
            client.count(CountPointsBuilder::new(COLLECTION).exact(true)).await.unwrap().result.unwrap().count
        };
        assert_eq!(count().await, 4);
        let get = GetPointsBuilder::new(COLLECTION, vec![2.into(), 99.into()])
            .with_payload(true)
            .with_vectors(true);
        let read = client.get_points(get).await.unwrap().result;
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].payload["Line"].kind, Some(Kind::IntegerValue(20)));
        assert!(read[0].vectors.is_some());

        let again = point(2, [0.0, 1.0], &[], serde_json::json!({"OrgId": "acme", "Line": 21}));
        client.upsert_points(UpsertPointsBuilder::new(COLLECTION, vec![again]).wait(true)).await.unwrap();
        assert_eq!(count().await, 4);
        assert_eq!(ids(client, Filter::must([Condition::matches("Line", 21)])).await, [2].into());

        let by_id =
            DeletePointsBuilder::new(COLLECTION).points(PointsIdsList { ids: vec![2.into()] }).wait(true);
        client.delete_points(by_id).await.unwrap();
        let own = Filter::must([Condition::matches("OrgId", "acme".to_owned())]);
        client.delete_points(DeletePointsBuilder::new(COLLECTION).points(own).wait(true)).await.unwrap();
        assert_eq!(ids(client, Filter::default()).await, [4].into());

        let page = ScrollPointsBuilder::new(COLLECTION).limit(1);
        assert!(client.scroll(page).await.unwrap().next_page_offset.is_none());
    }
}

#[tokio::test]
async fn collection_is_described_and_deleted() {
    for (server, _folder) in servers().await {
        let client = &server.client;
        assert!(!client.collection_exists(COLLECTION).await.unwrap());
        let missing = client.collection_info(COLLECTION).await;
        assert_eq!(code(missing), 5, "not found, {}", server.name);
        create(client).await;
        let info = client.collection_info(COLLECTION).await.unwrap().result.unwrap();
        let params = info.config.unwrap().params.unwrap();
        let Some(Config::ParamsMap(dense)) = params.vectors_config.unwrap().config else { unreachable!() };
        assert_eq!(dense.map["dense"].size, 2);
        assert!(params.sparse_vectors_config.unwrap().map.contains_key("terms"));
        assert!(info.payload_schema.contains_key("OrgId"));
        let names = client.list_collections().await.unwrap().collections;
        assert_eq!(names.into_iter().map(|one| one.name).collect::<Vec<_>>(), [COLLECTION]);
        let wrong = PointStruct::new(
            1,
            NamedVectors { vectors: [("dense".to_owned(), vec![1.0; 3].into())].into() },
            Payload::new(),
        );
        let refused =
            client.upsert_points(UpsertPointsBuilder::new(COLLECTION, vec![wrong]).wait(true)).await;
        assert_eq!(code(refused), 3, "invalid, {}", server.name);
        client.delete_collection(COLLECTION).await.unwrap();
        assert!(!client.collection_exists(COLLECTION).await.unwrap());
    }
}

fn code<T>(answer: Result<T, QdrantError>) -> i32 {
    match answer {
        Err(QdrantError::ResponseError { status }) => status.code().into(),
        _ => 0,
    }
}

#[tokio::test]
async fn strict_mode_refuses_filters_without_their_index() {
    for (server, folder) in servers().await {
        let client = &server.client;
        let strict = StrictModeConfigBuilder::default().enabled(true).unindexed_filtering_retrieve(false);
        let collection = CreateCollectionBuilder::new(COLLECTION)
            .vectors_config(VectorParamsBuilder::new(2, Distance::Cosine))
            .strict_mode_config(strict);
        client.create_collection(collection).await.unwrap();
        let index = CreateFieldIndexCollectionBuilder::new(COLLECTION, "Repo", FieldType::Keyword).wait(true);
        client.create_field_index(index).await.unwrap();
        let keyword = |key: &str| Condition::matches(key, "a".to_owned());
        let nested = Filter::should([keyword("Path"), keyword("Repo")]);
        for (filter, refused) in [
            (Filter::must([keyword("Repo")]), None),
            (Filter::must([Condition::is_empty("Repo")]), None),
            (Filter::must([keyword("Path")]), Some("Path")),
            (Filter::must_not([keyword("Path")]), Some("Path")),
            (Filter::must([nested.into()]), Some("Path")),
            (Filter::must([Condition::matches("Repo", 1)]), Some("Repo")),
            (Filter::must([Condition::matches_text("Repo", "a")]), Some("Repo")),
            (Filter::must([Condition::is_empty("Path")]), Some("Path")),
        ] {
            let nearest = || Query::new_nearest(vec![1.0, 0.0]);
            let query = QueryPointsBuilder::new(COLLECTION).query(nearest()).filter(filter.clone());
            let prefetch = PrefetchQueryBuilder::default().query(nearest()).filter(filter.clone());
            let fused = QueryPointsBuilder::new(COLLECTION).add_prefetch(prefetch).query(Fusion::Rrf);
            let answers = [
                client.query(query).await.map(drop),
                client.query(fused).await.map(drop),
                client.scroll(ScrollPointsBuilder::new(COLLECTION).filter(filter.clone())).await.map(drop),
                client.count(CountPointsBuilder::new(COLLECTION).filter(filter.clone())).await.map(drop),
            ];
            for answer in answers {
                match (answer, refused) {
                    (Ok(()), None) => {}
                    (Err(QdrantError::ResponseError { status }), Some(key)) => {
                        let message = format!("Index required but not found for \"{key}\"");
                        assert_eq!(i32::from(status.code()), 3, "{}", server.name);
                        assert!(status.message().contains(&message), "{}: {}", server.name, status.message());
                    }
                    (answer, refused) => panic!("{}: {filter:?}: {answer:?}, {refused:?}", server.name),
                }
            }
        }
        if server.name == "embedded" {
            server.kill();
            let server = Server::embedded(folder.path());
            let info = server.client.collection_info(COLLECTION).await.unwrap().result.unwrap();
            let strict = info.config.unwrap().strict_mode_config.unwrap();
            assert_eq!(strict.unindexed_filtering_retrieve, Some(false), "it survives a restart");
        }
    }
}

#[tokio::test]
async fn acknowledged_writes_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::embedded(folder.path());
    fill(&server.client).await;
    server.kill();
    let server = Server::embedded(folder.path());
    let own = Filter::must([Condition::matches("OrgId", "acme".to_owned())]);
    assert_eq!(ids(&server.client, own.clone()).await, [1, 2, 3].into());
    let later = point(5, [1.0, 0.0], &[], serde_json::json!({"OrgId": "acme"}));
    server.client.upsert_points(UpsertPointsBuilder::new(COLLECTION, vec![later]).wait(true)).await.unwrap();
    let gone = DeletePointsBuilder::new(COLLECTION).points(PointsIdsList { ids: vec![1.into()] }).wait(true);
    server.client.delete_points(gone).await.unwrap();
    server.kill();
    let server = Server::embedded(folder.path());
    assert_eq!(ids(&server.client, own).await, [2, 3, 5].into());
}

#[tokio::test]
async fn unsupported_features_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::embedded(folder.path());
    create(&server.client).await;
    #[allow(deprecated, reason = "it has to be refused, not recommended")]
    let refused = server.client.recommend(RecommendPointsBuilder::new(COLLECTION, 1)).await;
    let Err(QdrantError::ResponseError { status }) = refused else { unreachable!() };
    assert_eq!(i32::from(status.code()), 12);
    assert!(status.message().contains("recommend"), "{}", status.message());
    let bad = server.client.create_collection(
        CreateCollectionBuilder::new("../outside")
            .vectors_config(VectorParamsBuilder::new(2, Distance::Cosine)),
    );
    assert_eq!(code(bad.await), 3);
}

#[tokio::test]
async fn server_exits_at_the_end_of_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::embedded(folder.path());
    drop(server.child.stdin.take());
    let ended = tokio::task::spawn_blocking(move || server.child.wait().unwrap().success());
    assert!(tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap().unwrap());
}
