//! The misbehaving function.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use lambda_http::RequestExt;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::{Value, json};

/// Serves as the function that the environment names, until standard input closes.
pub(crate) fn serve() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let finalizer = std::env::var("AWS_LAMBDA_FUNCTION_NAME").is_ok_and(|name| name == "turn-finalizer");
    let ended = if finalizer {
        runtime.block_on(lambda_runtime::run(service_fn(finalize)))
    } else {
        let app = axum::Router::new().fallback(misbehave);
        runtime.block_on(lambda_http::run_with_streaming_response_concurrent(app))
    };
    ended.unwrap();
}

async fn misbehave(request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let pause = Duration::from_millis(request["ms"].as_u64().unwrap_or_default());
    match request["do"].as_str().unwrap_or_default() {
        "sleep" => {
            tokio::time::sleep(pause).await;
            if let Some(file) = request["then_touch"].as_str() {
                std::fs::write(file, "done").unwrap();
            }
            "slept".into_response()
        }
        "exit" => std::process::exit(3),
        "panic" => panic!("panic on request"),
        "stream" => {
            let chunks = futures::stream::iter(["one ", "two ", "three"]).then(move |chunk| async move {
                tokio::time::sleep(if chunk == "one " { Duration::ZERO } else { pause }).await;
                Ok::<_, std::convert::Infallible>(Bytes::from_static(chunk.as_bytes()))
            });
            Body::from_stream(chunks).into_response()
        }
        "fill" => {
            let chunks = request["chunks"].as_u64().unwrap();
            let chunk = Bytes::from(vec![b'x'; 16 * 1024]);
            let chunks = futures::stream::iter(
                (0..chunks).map(move |_| Ok::<_, std::convert::Infallible>(chunk.clone())),
            );
            Body::from_stream(chunks).into_response()
        }
        "stream, then touch" => {
            let file = request["then_touch"].as_str().unwrap().to_owned();
            let chunks = request["chunks"].as_u64().unwrap();
            let chunks = futures::stream::unfold(0, move |n| {
                let file = file.clone();
                async move {
                    tokio::time::sleep(pause).await;
                    if n == chunks {
                        std::fs::write(file, "done").unwrap();
                        return None;
                    }
                    Some((Ok::<_, std::convert::Infallible>(Bytes::from("some ".repeat(200))), n + 1))
                }
            });
            Body::from_stream(chunks).into_response()
        }
        "exit while streaming" => {
            let chunks = futures::stream::unfold(0, |n| async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                if n == 2 {
                    std::process::exit(3);
                }
                Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(b"some ")), n + 1))
            });
            Body::from_stream(chunks).into_response()
        }
        _ => {
            let context = serde_json::to_value(parts.extensions.request_context_ref()).unwrap();
            let received = json!({
                "method": parts.method.as_str(),
                "uri": parts.uri.to_string(),
                "header": parts.headers.get("x-asked").map(|value| str::from_utf8(value.as_bytes()).unwrap()),
                "bytes": body.len(),
                "claims": context["authorizer"],
                "pid": std::process::id(),
                "environment": std::env::vars().collect::<BTreeMap<_, _>>(),
            });
            (axum::http::StatusCode::ACCEPTED, [("x-answered", "yes")], received.to_string()).into_response()
        }
    }
}

/// Fails messages that say so, and appends a line per delivery to a file.
async fn finalize(event: LambdaEvent<Value>) -> Result<Value, lambda_runtime::Error> {
    let mut failures = Vec::new();
    for record in event.payload["Records"].as_array().unwrap() {
        let body = record["body"].as_str().unwrap();
        let count = record["attributes"]["ApproximateReceiveCount"].as_str().unwrap();
        let line = format!("{body} {count}\n");
        let file = std::env::var("DELIVERIES")?;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file)?;
        std::io::Write::write_all(&mut file, line.as_bytes())?;
        if body == "fail" {
            failures.push(json!({ "itemIdentifier": record["messageId"] }));
        }
    }
    Ok(json!({ "batchItemFailures": failures }))
}
