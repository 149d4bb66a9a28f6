//! Tests of function processes.

use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use local::{Function, Options};
use serde_json::json;

use crate::support::{call, code, eventually, json, post, quiet, start};

pub(crate) async fn crashed_process_fails_invocation_and_is_replaced() {
    let cloud = start(quiet()).await;
    let before = json(call(&cloud, json!({})).await).await;
    assert_eq!(code(call(&cloud, json!({"do": "exit"})).await).await, (502, "FunctionFailed".into()));
    let after = json(call(&cloud, json!({})).await).await;
    assert_ne!(before["pid"], after["pid"]);
    assert_eq!(cloud.processes(Function::Execute), 1);
}

pub(crate) async fn panicking_function_fails_invocation() {
    let cloud = start(quiet()).await;
    assert_eq!(code(call(&cloud, json!({"do": "panic"})).await).await, (502, "FunctionFailed".into()));
    assert_eq!(call(&cloud, json!({})).await.status(), 202);
}

pub(crate) async fn process_crash_while_streaming_breaks_body() {
    let cloud = start(quiet()).await;
    let response = call(&cloud, json!({"do": "exit while streaming"})).await;
    assert_eq!(response.status(), 200);
    assert!(response.bytes().await.is_err());
}

pub(crate) async fn processes_are_reused_and_cap_throttles_clients() {
    let cloud = start(Options { concurrency: 2, ..quiet() }).await;
    let slow = || post(&cloud, json!({"do": "sleep", "ms": 3_000})).send();
    let (first, second) = (tokio::spawn(slow()), tokio::spawn(slow()));
    eventually("two processes", || cloud.processes(Function::Execute) == 2).await;
    let throttled = call(&cloud, json!({})).await;
    assert_eq!(throttled.headers()["retry-after"], "1");
    assert_eq!(code(throttled).await, (429, "TooManyRequests".into()));
    assert_eq!(first.await.unwrap().unwrap().text().await.unwrap(), "slept");
    assert_eq!(second.await.unwrap().unwrap().text().await.unwrap(), "slept");
    for _ in 0..20 {
        assert_eq!(call(&cloud, json!({})).await.status(), 202);
    }
    assert_eq!(cloud.processes(Function::Execute), 2);
}

pub(crate) async fn request_waits_for_a_process_that_becomes_free() {
    let cloud = start(Options { concurrency: 1, ..quiet() }).await;
    let calls = (0..4).map(|_| call(&cloud, json!({"do": "sleep", "ms": 100})));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer.status(), 200);
    }
    assert_eq!(cloud.processes(Function::Execute), 1);
}

pub(crate) async fn function_is_killed_after_timeout() {
    let cloud = start(Options { timeout: Some(Duration::from_millis(500)), ..quiet() }).await;
    let pid = json(call(&cloud, json!({})).await).await["pid"].clone();
    let slow = call(&cloud, json!({"do": "sleep", "ms": 60_000})).await;
    assert_eq!(code(slow).await, (504, "FunctionTimedOut".into()));
    assert_ne!(json(call(&cloud, json!({})).await).await["pid"], pid);
}

pub(crate) async fn shared_process_serves_concurrent_requests() {
    let cloud = start(Options { concurrency: 1, concurrency_per_process: 8, ..quiet() }).await;
    // A request waits at most a second for a slot.
    let calls = (0..8).map(|_| call(&cloud, json!({"do": "sleep", "ms": 2_500})));
    for answer in futures::future::join_all(calls).await {
        assert_eq!(answer.status(), 200);
    }
    let environment = json(call(&cloud, json!({})).await).await["environment"].clone();
    assert_eq!(environment["AWS_LAMBDA_MAX_CONCURRENCY"], "8");
    assert_eq!(cloud.processes(Function::Execute), 1);
}

pub(crate) async fn timeout_in_a_shared_process_ends_one_request() {
    let timeout = Some(Duration::from_secs(3));
    let options = Options { concurrency: 1, concurrency_per_process: 4, timeout, ..quiet() };
    let cloud = start(options).await;
    let pid = json(call(&cloud, json!({})).await).await["pid"].clone();
    let sleep = |milliseconds: u64| call(&cloud, json!({"do": "sleep", "ms": milliseconds}));
    let (slow, other) = futures::future::join(sleep(60_000), sleep(500)).await;
    assert_eq!(code(slow).await, (504, "FunctionTimedOut".into()));
    assert_eq!(other.status(), 200);
    assert_eq!(json(call(&cloud, json!({})).await).await["pid"], pid);
}

pub(crate) async fn crash_of_a_shared_process_fails_its_requests() {
    let cloud = start(Options { concurrency: 1, concurrency_per_process: 4, ..quiet() }).await;
    let sleep = || call(&cloud, json!({"do": "sleep", "ms": 60_000}));
    let exit = async {
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        call(&cloud, json!({"do": "exit"})).await
    };
    let (first, second, exited) = futures::future::join3(sleep(), sleep(), exit).await;
    for answer in [first, second, exited] {
        assert_eq!(code(answer).await, (502, "FunctionFailed".into()));
    }
    assert_eq!(call(&cloud, json!({})).await.status(), 202);
    assert_eq!(cloud.processes(Function::Execute), 1);
}

pub(crate) async fn invocation_continues_without_client() {
    let cloud = start(quiet()).await;
    let folder = tempfile::tempdir().unwrap();
    let touched = folder.path().join("touched");
    let request = json!({"do": "sleep", "ms": 600, "then_touch": touched});
    let gone = post(&cloud, request).timeout(Duration::from_millis(300)).send().await;
    assert!(gone.is_err());
    assert!(!touched.exists());
    eventually("the function continues", || touched.exists()).await;
}

pub(crate) async fn stream_is_drained_after_client_disconnects() {
    let cloud = start(quiet()).await;
    let folder = tempfile::tempdir().unwrap();
    let touched = folder.path().join("touched");
    let request = json!({"do": "stream, then touch", "ms": 1, "chunks": 300, "then_touch": touched});
    let mut chunks = call(&cloud, request).await.bytes_stream();
    assert!(chunks.next().await.unwrap().unwrap().starts_with(b"some "));
    drop(chunks);
    assert!(!touched.exists());
    eventually("the stream's end", || touched.exists()).await;
    assert_eq!(call(&cloud, json!({})).await.status(), 202);
    assert_eq!(cloud.processes(Function::Execute), 1, "the process keeps serving");
}

pub(crate) async fn shutdown_stops_every_process() {
    let cloud = start(quiet()).await;
    let pid = json(call(&cloud, json!({})).await).await["pid"].as_u64().unwrap();
    let process = format!("/proc/{pid}");
    assert!(!Path::new("/proc/self").exists() || Path::new(&process).exists());
    cloud.shutdown().await;
    assert!(!Path::new(&process).exists());
}
