//! Searches against a real engine: scopes filter, hints rank, and no org sees another's chunks.
//!
//! They run against the embedded engine of the local cloud, if it was built (`cargo run -p aptix -- search …` builds
//! it), and against a real server if a `qdrant` is on the path.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test"
)]

use std::{
    collections::HashMap,
    process::Stdio,
    time::{Duration, Instant},
};

use agent::retrieval::{Chunk, EmbeddingModel, Error, Hint, Retrieval, ScopeWarning, Search, key};
use contracts::{
    ContentHash, NonEmpty,
    id::{AgentContextId, OrgId},
    request::{RagCondition, RagOperator, RagValue},
};
use futures::{StreamExt, stream};
use llm::{
    ApiKey, Config,
    embeddings::{Embeddings, Limits},
};
use qdrant_client::qdrant::{
    CreateCollection, NamedVectors, PointStruct, StrictModeConfig, UpsertPointsBuilder, Value, Vector,
};
use retrieval::{
    Connection, Payload, Retriever, collection,
    connection::{Clients, QdrantTimeouts},
    point,
    retriever::BREAKER_POLICY,
    sparse_vector::SparseVector,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

const COLLECTION: &str = "conditions";
/// A collection in strict mode.
const STRICT: &str = "strict";
const DEADLINE: Duration = Duration::from_secs(30);

/// The number of random searches per engine.
const CASES: usize = 2_000;

/// A running engine, which ends when dropped.
struct Engine {
    name: &'static str,
    url: String,
    _process: Child,
    _folder: TempDir,
}

/// Starts the embedded engine of the local cloud, if it was built, and the real server, if it is installed.
async fn engines() -> Vec<Engine> {
    let engines: Vec<Engine> = [embedded().await, server().await].into_iter().flatten().collect();
    if engines.is_empty() {
        eprintln!("skipped: the local cloud's engine is not built and no `qdrant` is on the path");
    }
    engines
}

/// Starts the embedded engine. It prints its port as its first line, and ends with its input.
async fn embedded() -> Option<Engine> {
    let test = std::env::current_exe().unwrap();
    let name = format!("embedded-qdrant{}", std::env::consts::EXE_SUFFIX);
    let built = test.ancestors().nth(2)?.join(name);
    let folder = tempfile::tempdir().unwrap();
    let started = Command::new(built)
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut process = started.ok()?;
    let mut output = BufReader::new(process.stdout.take()?).lines();
    let port = output.next_line().await.unwrap().expect("a port");
    Some(Engine {
        name: "embedded",
        url: format!("http://127.0.0.1:{port}"),
        _process: process,
        _folder: folder,
    })
}

/// Starts a separate server on free ports.
async fn server() -> Option<Engine> {
    let folder = tempfile::tempdir().unwrap();
    let free =
        || std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let (http, grpc) = (free(), free());
    let started = Command::new("qdrant")
        .current_dir(folder.path())
        .envs([
            ("QDRANT__SERVICE__HOST", "127.0.0.1"),
            ("QDRANT__SERVICE__HTTP_PORT", http.as_str()),
            ("QDRANT__SERVICE__GRPC_PORT", grpc.as_str()),
            ("QDRANT__TELEMETRY_DISABLED", "true"),
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let process = started.ok()?;
    let give_up = Instant::now() + DEADLINE;
    while tokio::net::TcpStream::connect(format!("127.0.0.1:{grpc}")).await.is_err() {
        assert!(Instant::now() < give_up, "qdrant didn't start");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Some(Engine {
        name: "server",
        url: format!("http://127.0.0.1:{grpc}"),
        _process: process,
        _folder: folder,
    })
}

/// Returns a point whose id depends on its org and name, and whose vector points `towards` a direction.
fn chunk(org: &str, name: &str, towards: f32, more: &[(&str, Value)]) -> PointStruct {
    let org_id = OrgId::new(org).unwrap();
    let text = format!("{name} of {org}");
    let payload = Payload {
        org_id: org_id.clone(),
        project_id: None,
        doc_id: name.to_owned(),
        semantic_id: None,
        content_type: None,
        subtype: None,
        section_key: None,
        part_index: 0,
        part_total: 1,
        title: None,
        language: None,
        repo: None,
        path: format!("{org}/{name}"),
        line_start: 1,
        line_end: 1,
        page: None,
        symbol: None,
        symbol_type: None,
        label_slugs: Vec::new(),
        source_sha256: None,
        content_hash: ContentHash::hash_text(&text),
        embedding_model: "m".to_owned(),
        splitter: None,
        agents: None,
        attributes: Vec::new(),
        text,
    };
    let mut map = payload.into_map();
    map.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    let terms = SparseVector::from_chunk(name);
    let vectors = HashMap::from([
        (collection::DENSE.to_owned(), Vector::from(vec![1.0, towards, 0.0])),
        (collection::SPARSE.to_owned(), Vector::new_sparse(terms.indices, terms.values)),
    ]);
    let id = point::point_id(&org_id, "test", name, 0).to_string();
    PointStruct::new(id, NamedVectors { vectors }, map)
}

async fn index_chunks(engine: &Engine) -> Retriever<ApiKey, ApiKey> {
    index_chunks_in(engine, COLLECTION, None).await
}

/// Indexes three chunks of `acme corp`, and the same chunks of other orgs whose names share its words.
async fn index_chunks_in(
    engine: &Engine,
    name: &str,
    strict_mode: Option<StrictModeConfig>,
) -> Retriever<ApiKey, ApiKey> {
    let connection = Connection::<ApiKey>::new(&engine.url, None, QdrantTimeouts::INDEXER).unwrap();
    let create = |qdrant: Clients| {
        let request = collection::create_request(name, 3);
        let request = CreateCollection { strict_mode_config: strict_mode.clone(), ..request };
        async move { qdrant.collections().create(request).await }
    };
    connection.call(create).await.unwrap();
    for index in collection::index_requests(name) {
        let make = |qdrant: Clients| {
            let index = index.clone();
            async move { qdrant.points().create_field_index(index).await }
        };
        connection.call(make).await.unwrap();
    }
    let labels =
        |labels: &[&str]| Value::from(labels.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>());
    let mut points = Vec::new();
    for org in ["acme corp", "corp acme", "acme"] {
        points.push(chunk(
            org,
            "a",
            0.0,
            &[
                ("Repo", "the core".into()),
                ("LabelSlugs", labels(&["ddr", "api"])),
                ("Level", 3.into()),
                ("Numbers", Value::from(vec![1_i64, 2])),
                ("Draft", true.into()),
                ("Title", "Leases are kept".into()),
                ("Text", "Keep the lease until its end".into()),
                ("two words", "yes".into()),
            ],
        ));
        points.push(chunk(
            org,
            "b",
            0.1,
            &[
                ("Repo", "site".into()),
                ("LabelSlugs", labels(&["api"])),
                ("Level", 5.into()),
                ("Numbers", Value::from(vec![2_i64, 3])),
                ("Draft", false.into()),
                ("Text", "The end of a turn".into()),
            ],
        ));
        points.push(chunk(
            org,
            "c",
            0.2,
            &[("LabelSlugs", labels(&["dataset"])), ("Text", "nothing".into())],
        ));
    }
    let put = UpsertPointsBuilder::new(name, points).wait(true).build();
    let put = |qdrant: Clients| {
        let put = put.clone();
        async move { qdrant.points().upsert(put).await }
    };
    connection.call(put).await.unwrap();
    let embeddings = Embeddings::new(Config::default(), Limits::default(), ApiKey::new("")).unwrap();
    Retriever::new(embeddings, connection, name.to_owned(), BREAKER_POLICY)
}

async fn search(
    sources: &Retriever<ApiKey, ApiKey>,
    org: &str,
    question: &str,
    scope: &[RagCondition],
    hints: &[Hint],
) -> Result<Vec<Chunk>, Error> {
    let org = OrgId::new(org).unwrap();
    let search = Search {
        org: &org,
        agent: None,
        collection: COLLECTION,
        question,
        scope,
        hints,
        chunks: 8,
        tokens: 8_000,
    };
    Ok(sources.search(&search, &[1.0, 0.0, 0.0], DEADLINE).await?.chunks)
}

/// Returns the names of the chunks found, in order.
fn names(found: &[Chunk]) -> String {
    found.iter().map(|chunk| chunk.path.strip_prefix("acme corp/").expect("a path of the org")).collect()
}

fn condition(key: &str, operator: RagOperator, values: &[RagValue]) -> RagCondition {
    RagCondition { key: key.to_owned(), operator, values: NonEmpty::new(values.to_vec()).unwrap() }
}

fn text(value: &str) -> RagValue {
    RagValue::Text(value.to_owned())
}

#[tokio::test]
async fn operators_match_keywords_lists_numbers_flags_and_texts() {
    use RagOperator::{Contains, DoesNotContain, Equals, NotEquals};
    let number = RagValue::Integer;
    let cases: Vec<(&str, RagOperator, Vec<RagValue>, &str)> = vec![
        ("Repo", Equals, vec![text("the core")], "a"),
        ("Repo", Equals, vec![text("core")], ""),
        ("Repo", Equals, vec![text("site"), text("the core"), text("site")], "ab"),
        ("Repo", NotEquals, vec![text("the core")], "bc"),
        ("Repo", NotEquals, vec![text("the core"), text("site")], "c"),
        ("Repo", Contains, vec![text("the core")], "a"),
        ("Repo", DoesNotContain, vec![text("the core")], "bc"),
        ("Repo", Contains, vec![text("COR")], "a"),
        ("Repo", Contains, vec![text("it"), text("re")], "ab"),
        ("repo", DoesNotContain, vec![text("E C")], "bc"),
        ("Path", Contains, vec![text("acme corp/")], "abc"),
        ("Path", DoesNotContain, vec![text("corp/b")], "ac"),
        ("LabelSlugs", Contains, vec![text("api")], "ab"),
        ("LabelSlugs", Contains, vec![text("data")], ""),
        ("LabelSlugs", Contains, vec![text("DataSet")], "c"),
        ("LabelSlugs[0]", DoesNotContain, vec![text("dd")], "bc"),
        ("LabelSlugs", Equals, vec![text("ddr"), text("dataset")], "ac"),
        ("LabelSlugs", DoesNotContain, vec![text("api")], "c"),
        ("LabelSlugs", NotEquals, vec![text("ddr")], "bc"),
        ("Level", Equals, vec![number(3)], "a"),
        ("Level", NotEquals, vec![number(3)], "bc"),
        ("Numbers", Contains, vec![number(2)], "ab"),
        ("Numbers", DoesNotContain, vec![number(1), number(9)], "bc"),
        ("Draft", Equals, vec![RagValue::Flag(true)], "a"),
        ("Draft", NotEquals, vec![RagValue::Flag(true)], "bc"),
        ("Text", Contains, vec![text("lease")], "a"),
        ("Text", Contains, vec![text("end the")], ""),
        ("Text", Contains, vec![text("lease UNTIL its")], "a"),
        ("Text", DoesNotContain, vec![text("lea")], "bc"),
        ("Level", Contains, vec![number(3), text("x")], "a"),
        ("Text", Contains, vec![text("nothing"), text("turn")], "bc"),
        ("Text", DoesNotContain, vec![text("end")], "c"),
        ("Text", Equals, vec![text("nothing")], "c"),
        ("Title", Contains, vec![text("kept")], "a"),
        ("two words", Contains, vec![text("YE")], "a"),
        ("two words", Equals, vec![text("yes")], "a"),
        ("Unheard", Equals, vec![text("x"), number(1)], ""),
        ("Unheard", DoesNotContain, vec![text("x")], "abc"),
        ("OrgId", Equals, vec![text("acme")], "abc"),
        (" orgid[] ", NotEquals, vec![text("acme corp")], "abc"),
    ];
    for engine in engines().await {
        let sources = index_chunks(&engine).await;
        let strict = StrictModeConfig {
            enabled: Some(true),
            unindexed_filtering_retrieve: Some(false),
            ..StrictModeConfig::default()
        };
        let strict = index_chunks_in(&engine, STRICT, Some(strict)).await;
        for (key, operator, values, expected) in &cases {
            let scope = [condition(key, *operator, values)];
            let found = search(&sources, "acme corp", "?", &scope, &[]).await.unwrap();
            assert_eq!(names(&found), *expected, "{}: {key} {operator:?} {values:?}", engine.name);

            let org = OrgId::new("acme corp").unwrap();
            let hints = [Hint::new("Repo", "site"), Hint::new("Owner", "ada")];
            let search = Search {
                org: &org,
                agent: None,
                collection: STRICT,
                question: "?",
                scope: &scope,
                hints: &hints,
                chunks: 8,
                tokens: 8_000,
            };
            let found = strict.search(&search, &[1.0, 0.0, 0.0], DEADLINE).await.unwrap();
            let mut chunks: Vec<char> = names(&found.chunks).chars().collect();
            chunks.sort_unstable();
            assert_eq!(String::from_iter(chunks), *expected, "strict {}: {key} {operator:?}", engine.name);
            let is_equality =
                matches!(operator, Equals | NotEquals) || matches!(values[..], [RagValue::Integer(_), ..]);
            let is_unindexed = ["Level", "Numbers", "Draft", "two words", "Unheard"].contains(key)
                && is_equality
                && !(*operator == Contains && values.len() > 1);
            let warning = is_unindexed.then(|| ScopeWarning::KeyUnindexed((*key).to_owned()));
            let told = found.warnings.iter().find(|one| matches!(one, ScopeWarning::KeyUnindexed(_)));
            assert_eq!(told, warning.as_ref(), "{}: {key} {operator:?} {values:?}", engine.name);
        }
        let both =
            [condition("LabelSlugs", Contains, &[text("api")]), condition("Level", NotEquals, &[number(3)])];
        assert_eq!(
            names(&search(&sources, "acme corp", "?", &both, &[]).await.unwrap()),
            "b",
            "conditions are combined"
        );
    }
}

#[tokio::test]
async fn hints_and_terms_rank_but_never_filter() {
    for engine in engines().await {
        let sources = index_chunks(&engine).await;
        assert_eq!(names(&search(&sources, "acme corp", "?", &[], &[]).await.unwrap()), "abc");
        for (question, hint, first) in [
            ("?", Some(Hint::new("Repo", "site")), 'b'),
            ("?", Some(Hint::new("LabelSlugs", "dataset")), 'c'),
            ("?", Some(Hint::new("Repo", "nowhere")), 'a'),
            ("?", Some(Hint::new("OrgId", "acme")), 'a'),
        ] {
            let hints: Vec<Hint> = hint.into_iter().collect();
            let found = names(&search(&sources, "acme corp", question, &[], &hints).await.unwrap());
            let mut sorted: Vec<char> = found.chars().collect();
            sorted.sort_unstable();
            assert_eq!(sorted, ['a', 'b', 'c'], "{hints:?}");
            assert_eq!(found.chars().next(), Some(first), "{}: {hints:?}", engine.name);
        }
    }
}

/// Returns a random scope and hints, often about the tenant.
fn random_search() -> (Vec<RagCondition>, Vec<Hint>) {
    const KEYS: &[&str] = &[
        "OrgId",
        "orgid",
        " OrgId",
        "OrgId[]",
        "a.OrgId",
        "OrgId.a",
        "\"OrgId\"",
        "Org Id",
        "Repo",
        "Text",
        "Level",
        "LabelSlugs",
        "two words",
        "a..b",
        "[]",
        "WorkspaceId",
        "ä",
        "Numbers[0]",
    ];
    const WORDS: &[&str] =
        &["acme", "corp acme", "acme corp", "the core", "site", "end", "", "*", "x y", "\u{0}"];
    let pick = |of: &[&'static str]| of[fastrand::usize(..of.len())];
    let value = || match fastrand::u8(..4) {
        0 => RagValue::Integer(fastrand::i64(-5..5)),
        1 => RagValue::Flag(fastrand::bool()),
        _ => text(pick(WORDS)),
    };
    let operator = || match fastrand::u8(..4) {
        0 => RagOperator::Equals,
        1 => RagOperator::NotEquals,
        2 => RagOperator::Contains,
        _ => RagOperator::DoesNotContain,
    };
    let scope = (0..fastrand::usize(..4)).map(|_| {
        let values: Vec<RagValue> = (0..fastrand::usize(1..4)).map(|_| value()).collect();
        condition(pick(KEYS), operator(), &values)
    });
    let scope = scope.collect();
    (scope, (0..fastrand::usize(..3)).map(|_| Hint::new(pick(KEYS), pick(WORDS))).collect())
}

#[tokio::test]
async fn no_search_returns_a_chunk_of_another_org() {
    for engine in engines().await {
        let sources = index_chunks(&engine).await;
        let searches = stream::iter(0..CASES).map(|_| async {
            let (scope, hints) = random_search();
            let question = if fastrand::bool() { "a of corp acme" } else { "?" };
            let found = search(&sources, "acme corp", question, &scope, &hints).await;
            let found = found.unwrap_or_else(|error| panic!("{error}: {scope:?} {hints:?}"));
            for chunk in &found {
                assert!(chunk.path.starts_with("acme corp/"), "{}: {chunk:?} {scope:?}", engine.name);
            }
            found.len()
        });
        let found: usize = searches.buffer_unordered(4).collect::<Vec<usize>>().await.iter().sum();
        assert!(found > CASES / 2, "{}: {found} chunks in {CASES} searches", engine.name);
    }
}

#[tokio::test]
async fn chunk_of_some_agents_is_found_by_their_turns_alone() {
    for engine in engines().await {
        let sources = index_chunks(&engine).await;
        let point =
            |name: &str, agents: Value| chunk("acme corp", name, 0.1, &[(key::AGENT_CONTEXT_IDS, agents)]);
        let points = vec![
            point("s", vec!["support".to_owned(), "sales".to_owned()].into()),
            // Written by another indexer, in a form that names no agent.
            point("n", 3.into()),
        ];
        let connection = Connection::<ApiKey>::new(&engine.url, None, QdrantTimeouts::INDEXER).unwrap();
        let upsert = UpsertPointsBuilder::new(COLLECTION, points).wait(true).build();
        let request = connection.call(|qdrant| {
            let upsert = upsert.clone();
            async move { qdrant.points().upsert(upsert).await }
        });
        request.await.unwrap();
        let (org, sales, other) = ("acme corp", "sales", "billing");
        let org = OrgId::new(org).unwrap();
        for (agent, expected) in [(Some(sales), "abcs"), (Some(other), "abc"), (None, "abc")] {
            let agent = agent.map(|id| AgentContextId::new(id).unwrap());
            let search = Search {
                org: &org,
                agent: agent.as_ref(),
                collection: COLLECTION,
                question: "?",
                scope: &[],
                hints: &[],
                chunks: 8,
                tokens: 8_000,
            };
            let found = sources.search(&search, &[1.0, 0.0, 0.0], DEADLINE).await.unwrap().chunks;
            let mut found: Vec<char> = names(&found).chars().collect();
            found.sort_unstable();
            assert_eq!(String::from_iter(found), expected, "{}: {agent:?}", engine.name);
        }
    }
}

#[tokio::test]
async fn missing_collection_and_other_dimensions_are_reported() {
    for engine in engines().await {
        let sources = index_chunks(&engine).await;
        let org = OrgId::new("acme corp").unwrap();
        let missing = Search {
            org: &org,
            agent: None,
            collection: "missing",
            question: "?",
            scope: &[],
            hints: &[],
            chunks: 8,
            tokens: 8_000,
        };
        assert_eq!(
            sources.search(&missing, &[1.0, 0.0, 0.0], DEADLINE).await,
            Err(Error::CollectionNotFound)
        );
        let there = Search { collection: COLLECTION, ..missing };
        assert_eq!(sources.search(&there, &[1.0, 0.0], DEADLINE).await, Err(Error::DimensionMismatch));
        let model = EmbeddingModel { name: "m".to_owned(), dimensions: None };
        let embedded = sources.embed(&model, "?", Duration::ZERO).await;
        assert!(embedded.is_err(), "there is no embedding provider");
    }
}
