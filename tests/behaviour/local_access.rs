//! Access to the local cloud's servers: signatures of AWS requests, protection from web pages and from other users of
//! the machine, and connections that do nothing.

use std::process::Stdio;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use local::Data;
use reqwest::{Client as Http, Response, StatusCode};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::support::{PATIENCE, System, options, turn};

/// A request to DynamoDB and one to SQS, as a page can send them without being asked: as plain text.
fn plain(http: &Http, url: &str, target: &str, body: &str) -> reqwest::RequestBuilder {
    http.post(url).header("x-amz-target", target).header("content-type", "text/plain").body(body.to_owned())
}

fn assert_no_cors(response: &Response) {
    let names: Vec<_> = response.headers().keys().map(|name| name.as_str()).collect();
    assert!(!names.iter().any(|name| name.starts_with("access-control-")), "{names:?}");
}

/// Returns a DynamoDB client with these keys.
fn dynamodb(system: &System, access_key: &str, secret: &str) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new(access_key, secret, None, None, "test"))
        .http_client(storage::loopback_client())
        .endpoint_url(&system.cloud.endpoints().dynamodb);
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

#[tokio::test]
async fn unsigned_aws_requests_are_refused_without_cors() {
    let system = System::start().await;
    let (http, at) = (Http::new(), system.cloud.endpoints());
    let scan = json!({ "TableName": system.cloud.table() }).to_string();
    let send = json!({ "QueueUrl": at.finalize_queue, "MessageBody": "{}" }).to_string();
    for (url, target, body) in [
        (&at.dynamodb, "DynamoDB_20120810.Scan", &scan),
        (&at.dynamodb, "DynamoDB_20120810.DeleteTable", &scan),
        (&at.sqs, "AmazonSQS.SendMessage", &send),
    ] {
        // The second header has the form of a signature, which sufficed before.
        for authorization in [None, Some("AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c")]
        {
            let mut request = plain(&http, url, target, body).header("origin", system.cloud.url());
            if let Some(authorization) = authorization {
                request =
                    request.header("authorization", authorization).header("x-amz-date", "20300101T000000Z");
            }
            let refused = request.send().await.unwrap();
            assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{target}");
            assert_no_cors(&refused);
        }
        let preflight = http.request(reqwest::Method::OPTIONS, url).header("origin", system.cloud.url());
        let preflight = preflight.header("access-control-request-method", "POST").send().await.unwrap();
        assert!(!preflight.status().is_success());
        assert_no_cors(&preflight);
    }
    let object = format!("{}/{}/key", at.s3, system.cloud.bucket());
    let put = http.put(&object).header("origin", system.cloud.url()).body("planted").send().await.unwrap();
    assert_eq!(put.status(), StatusCode::FORBIDDEN);
    assert_no_cors(&put);
    system.client("acme", "ada").execute(&turn("The table is still there.")).await.result();
}

#[tokio::test]
async fn wrong_secret_and_unknown_key_are_refused() {
    let (system, other) = futures::join!(System::start(), System::start());
    let secret =
        |system: &System| std::fs::read_to_string(system.cloud.data_folder().join("aws-secret")).unwrap();
    let (ours, theirs) = (secret(&system), secret(&other));
    assert_ne!(ours, theirs, "each data folder has a secret of its own");
    let list = |key: &str, secret: &str| dynamodb(&system, key, secret).list_tables().send();
    assert!(list("local-cloud", &ours).await.is_ok());
    assert!(list("local-cloud-execute", &ours).await.is_ok(), "a function has a key of its own");
    for (key, secret, code) in [
        ("local-cloud", theirs.as_str(), "InvalidSignatureException"),
        ("local-cloud", "local-cloud-secret", "InvalidSignatureException"),
        ("AKIDEXAMPLE", ours.as_str(), "UnrecognizedClientException"),
    ] {
        let error = list(key, secret).await.unwrap_err().into_service_error();
        assert_eq!(error.code(), Some(code), "{key}");
    }
}

#[tokio::test]
async fn foreign_host_and_origin_are_refused_by_every_server() {
    let system = System::start().await;
    let (http, at) = (Http::new(), system.cloud.endpoints());
    let api = format!("{}/api/ai/agent/sessions", at.api);
    let page = format!("{}/", at.api);
    let token = format!("{}/console/api/token", at.api);
    let document = format!("{}/openapi.yaml", at.api);
    for url in [&api, &page, &token, &document, &at.dynamodb, &at.s3, &at.sqs, &at.model] {
        for (name, value) in [
            ("host", "evil.example"),
            ("host", "localhost.evil.example:9000"),
            ("host", "192.0.2.1"),
            ("origin", "https://evil.example"),
            ("origin", "null"),
        ] {
            let refused = http.get(url).header(name, value).send().await.unwrap();
            assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{url}: {name} {value}");
            assert_no_cors(&refused);
            let text = refused.text().await.unwrap();
            assert!(text.contains("Forbidden") && text.to_lowercase().contains(name), "{url}: {text}");
        }
    }
    // A development server of this machine.
    let own = http.get(&document).header("host", "localhost:1").header("origin", "http://localhost:5173");
    assert_eq!(own.send().await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn qdrant_port_answers_no_browser() {
    let system = System::start().await;
    let address = system.cloud.endpoints().qdrant.trim_start_matches("http://").to_owned();
    let mut browser = TcpStream::connect(address).await.unwrap();
    browser.write_all(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").await.unwrap();
    let mut text = String::new();
    // The connection may be reset, since part of the request is never read.
    let _ = tokio::time::timeout(PATIENCE, browser.read_to_string(&mut text)).await.unwrap();
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 403 "), "{text}");
}

#[cfg(unix)]
#[tokio::test]
async fn data_folder_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data");
    // An older version wrote files that everybody can read.
    std::fs::create_dir_all(data.join("logs")).unwrap();
    std::fs::write(data.join("format"), "3\n").unwrap();
    for file in ["dynamodb.sqlite", "s3.sqlite", "logs/execute.log", "api-endpoint"] {
        std::fs::write(data.join(file), "").unwrap();
        std::fs::set_permissions(data.join(file), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let events = root.path().join("events");
    let options =
        local::Options { data: Data::Folder(data.clone()), event_folder: Some(events.clone()), ..options() };
    let system = System::with(options).await;
    system.client("acme", "ada").execute(&turn("hello")).await.result();
    let mut folders = vec![data, events];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            // Files of SQLite come and go.
            let Ok(found) = path.metadata() else { continue };
            if found.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            // The marker of the older version is no secret.
            assert!(
                mode(&path) == 0o600 || path.ends_with("format"),
                "{}: {:o}",
                path.display(),
                mode(&path)
            );
        }
    }
    assert!(files > 12, "{files}");
}

#[tokio::test]
async fn empty_secret_is_refused_by_name() {
    for file in ["token-secret", "aws-secret", "console-key"] {
        let folder = tempfile::tempdir().unwrap();
        let options = || local::Options { data: Data::Folder(folder.path().to_owned()), ..options() };
        System::with(options()).await.cloud.shutdown().await;
        std::fs::write(folder.path().join(file), "").unwrap();
        let error = local::Cloud::start(options()).await.err().expect("a refusal").to_string();
        assert!(error.contains(file) && error.contains("Delete the file"), "{error}");
        std::fs::remove_file(folder.path().join(file)).unwrap();
        System::with(options()).await.cloud.shutdown().await;
    }
}

#[tokio::test]
async fn idle_connections_do_not_stall_the_api() {
    let system = System::start().await;
    let address = system.cloud.url().trim_start_matches("http://").to_owned();
    let mut idle = Vec::new();
    for number in 0..1_100 {
        let mut connection = TcpStream::connect(&address).await.unwrap();
        if number % 2 == 0 {
            connection.write_all(b"POST /api/ai/agent/execute HTTP/1.1\r\nHost: 127").await.unwrap();
        }
        idle.push(connection);
    }
    let started = Instant::now();
    system.client("acme", "ada").execute(&turn("hello")).await.result();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// With few file descriptors, accepting fails until some are free again.
#[cfg(unix)]
#[tokio::test]
async fn api_goes_on_after_it_ran_out_of_files() {
    let command = format!("ulimit -n 160 && exec '{}' --ephemeral --port 0", env!("CARGO_BIN_EXE_aptix"));
    let mut cloud = Command::new("sh")
        .args(["-c", &command])
        .env_remove("OPENAI_API_KEY")
        .env_remove("OPENAI_BASE_URL")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(cloud.stdout.take().unwrap()).lines();
    let url = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the API's URL");
            if let Some(url) = line.trim().strip_prefix("API ") {
                return url.trim().to_owned();
            }
        }
    };
    let url = tokio::time::timeout(PATIENCE, url).await.expect("a start");
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(TcpStream::connect(url.trim_start_matches("http://")).await.unwrap());
    }
    let document = Http::new().get(format!("{url}/openapi.yaml")).timeout(PATIENCE).send().await.unwrap();
    assert_eq!(document.status(), StatusCode::OK);
    drop(idle);
    let document = Http::new().get(format!("{url}/openapi.yaml")).timeout(PATIENCE).send().await.unwrap();
    assert_eq!(document.status(), StatusCode::OK);
    cloud.kill().await.unwrap();
}
