//! Retrieval for a turn, and its failures.

use std::time::{Duration, Instant};

use axum::{Router, http::StatusCode};
use local::Options;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{System, embedding, embeddings, options, said, serve, set, tools, turn, turn_path};

/// The warning of a turn whose sources could not be searched.
const SKIPPED: &str = "The indexed sources could not be searched just now, so this turn ran without them.";

/// The longest that a turn waits for retrieval: its budget, and what it takes to notice that it is over.
const WAIT: Duration = Duration::from_millis(2_200);

/// Measures a turn whose model answers at once.
async fn timed(system: &System, request: &Value) -> (Duration, Value) {
    let ada = system.client("acme", "ada");
    let began = Instant::now();
    let answer = ada.execute(request).await.result();
    (began.elapsed(), answer)
}

/// Measures a turn without retrieval, under the machine's current load.
async fn without_retrieval() -> Duration {
    let system = System::with(set(options(), &[("QDRANT_URL", "")])).await;
    let (took, _) = timed(&system, &turn("Hello.")).await;
    system.cloud.shutdown().await;
    took
}

/// A service that refuses everything.
async fn refusing(status: StatusCode) -> String {
    serve(Router::new().fallback(move || std::future::ready(status))).await
}

/// A service that accepts connections and never answers.
async fn silent() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            held.push(connection);
        }
    });
    url
}

/// An address without a service.
async fn down() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A system that searches this database with vectors of this provider.
fn retrieving(database: &str, provider: &str) -> Options {
    set(embedding(options(), provider), &[("QDRANT_URL", database)])
}

#[tokio::test]
async fn without_an_index_no_search_is_run_or_offered() {
    let mut options = options();
    options.environment.insert("QDRANT_URL".to_owned(), String::new());
    let system = System::with(options).await;
    let ada = system.client("acme", "ada");
    let answer = ada.execute(&turn("Where is the lease kept?")).await.result();
    assert_eq!(answer.get("UserWarnings"), None, "{answer}");
    let call = system.last_call();
    assert!(!said(&call).contains("[CONTEXT]") && !tools(&call).contains(&"search_context"));
}

#[tokio::test]
async fn failed_retrieval_is_one_warning_and_the_turn_succeeds() {
    let (works, unauthorized) = (embeddings().await, refusing(StatusCode::UNAUTHORIZED).await);
    let (silent, down) = (silent().await, down().await);
    let cases = [
        (&down, &works, "the vector database is unavailable"),
        (&silent, &works, "retrieval took too long"),
        (&unauthorized, &works, "the vector database"),
        (&silent, &silent, "retrieval took too long"),
        (&silent, &down, "the question could not be embedded"),
        (&silent, &unauthorized, "the question could not be embedded"),
    ];
    for (database, provider, why) in cases {
        let system = System::with(retrieving(database, provider)).await;
        let ada = system.client("acme", "ada");
        let request = turn("Where is the lease kept?");
        let (took, answer) = timed(&system, &request).await;
        let plain = without_retrieval().await;
        let wait = took.saturating_sub(plain);
        println!("{why}: {wait:?} more than without retrieval, which took {plain:?}");
        // A machine that is busy is so for the other turn as well.
        assert!(took < WAIT + 10 * plain, "{why}: {wait:?} more than {plain:?}");
        assert_eq!(answer["UserWarnings"], json!([SKIPPED]), "{why}");
        assert!(!said(&system.last_call()).contains("[CONTEXT]"));
        let read = ada.get(&turn_path(&request)).await.result();
        assert_eq!((&read["ChunkRefs"], &read["Warnings"]), (&json!([]), &json!([SKIPPED])));
        let told = system.until_logs(|logs| logs.contains("retrieval skipped")).await;
        let line = told.lines().find(|line| line.contains("retrieval skipped")).unwrap();
        assert!(line.contains(why), "{why}: {line}");
        system.cloud.shutdown().await;
    }
}

#[tokio::test]
async fn failed_search_tool_is_a_failed_call_and_one_warning() {
    let system = System::with(retrieving(&down().await, &embeddings().await)).await;
    let ada = system.client("acme", "ada");
    let request = turn(
        "Look [[script: call search_context {\"query\":\"lease\"}; call search_context {\"query\":\"end\"}; then; \
         say \"Done.\"]]",
    );
    let answer = ada.execute(&request).await.result();
    assert_eq!((&answer["PrimaryOutputText"], &answer["UserWarnings"]), (&json!("Done."), &json!([SKIPPED])));
    for result in answer["ToolResults"].as_array().unwrap() {
        assert!(result["ErrorMessage"].as_str().unwrap().contains("unavailable"), "{result}");
    }
}

/// The two seconds are paid three times, and then by one turn in a while.
#[tokio::test]
async fn database_outage_opens_the_circuit_breaker() {
    let system = System::with(retrieving(&down().await, &embeddings().await)).await;
    let ada = system.client("acme", "ada");
    for _ in 0..4 {
        ada.execute(&turn("Where is the lease kept?")).await.result();
    }
    let logs = system.until_logs(|logs| logs.contains("retrieval is paused")).await;
    let failed = logs.lines().filter(|line| line.contains("retrieval skipped")).count();
    assert!(failed >= 4 && logs.contains("circuit breaker opened"), "{logs}");
}

#[tokio::test]
async fn files_without_text_and_replays_run_no_search() {
    let system = System::with(retrieving(&down().await, &embeddings().await)).await;
    let ada = system.client("acme", "ada");
    let mut request = turn("");
    request.as_object_mut().unwrap().remove("Instruction");
    request["InputArtifacts"] = json!([
        { "RelativePath": "a.txt", "FileName": "a.txt", "Contents": "A", "Origin": "user" }
    ]);
    let answer = ada.execute(&request).await.result();
    assert_eq!(answer.get("UserWarnings"), None, "{answer}");
    let asked = turn("Where is the lease kept?");
    let (first, again) = (ada.execute(&asked).await, ada.execute(&asked).await);
    assert_eq!(first.text, again.text);
    let skipped = system.until_logs(|logs| logs.contains("retrieval skipped")).await;
    assert_eq!(skipped.lines().filter(|line| line.contains("retrieval skipped")).count(), 1);
}
