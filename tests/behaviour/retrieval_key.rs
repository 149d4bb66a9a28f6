//! The database's key and its TLS: the key comes from its secret and goes with every request, over connections that are
//! trusted by the machine's own certificates. And what comes back has a bound.

use std::{
    io::Write,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Json, Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Uri, header},
    response::{IntoResponse, Response},
    serve::Listener,
};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use rcgen::CertifiedKey;
use rustls::{ServerConfig, crypto::aws_lc_rs, pki_types::PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::support::{Indexed, System, embedding, embeddings, options, said, serve, set, turn};

/// Takes connections over TLS, with HTTP/2 on them.
struct OverTls {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for OverTls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, from) = self.listener.accept().await.unwrap();
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Serves over TLS; returns the URL, and the certificate to be trusted.
async fn serve_over_tls(router: Router) -> (String, String) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(aws_lc_rs::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let listener = OverTls { listener, acceptor: TlsAcceptor::from(Arc::new(config)) };
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, cert.pem())
}

/// An answer of gRPC that is a status alone.
fn status(code: &'static str) -> Response {
    let headers = [("content-type", "application/grpc"), ("grpc-status", code)];
    let headers = headers.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
    (HeaderMap::from_iter(headers), Body::empty()).into_response()
}

/// Hands requests that have this key on to the database, and refuses the others. Also: the keys that came.
fn asking_for(key: &'static str, database: String) -> (Router, Arc<Mutex<Vec<String>>>) {
    let came = Arc::new(Mutex::new(Vec::new()));
    let client: Client<_, Body> = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    let keys = Arc::clone(&came);
    let pass = move |mut request: Request| {
        let sent = request.headers().get("api-key").map_or("none", |key| key.to_str().unwrap()).to_owned();
        let is_right = sent == key;
        keys.lock().unwrap().push(sent);
        let path = request.uri().path_and_query().unwrap().clone();
        *request.uri_mut() = format!("{database}{path}").parse::<Uri>().unwrap();
        let client = client.clone();
        async move {
            if !is_right {
                return status("16");
            }
            client.request(request).await.unwrap().map(Body::new)
        }
    };
    (Router::new().fallback(pass), came)
}

/// A store of one secret that is another after each time it was read, over TLS as AWS's own.
async fn secrets(values: &'static [&'static str]) -> (String, String) {
    let reads = Arc::new(AtomicUsize::new(0));
    let read = move || {
        let at = reads.fetch_add(1, Ordering::SeqCst).min(values.len() - 1);
        let name = "arn:aws:secretsmanager:us-east-1:123456789012:secret:qdrant";
        let secret = json!({"ARN": name, "Name": "qdrant", "SecretString": values[at]});
        std::future::ready(([(header::CONTENT_TYPE, "application/x-amz-json-1.1")], Json(secret)))
    };
    serve_over_tls(Router::new().fallback(read)).await
}

#[tokio::test]
async fn key_is_read_from_its_secret_and_sent_over_tls() {
    // The chunks are in the database of another system, which asks for no key.
    let behind = System::start().await;
    let chunk = Indexed {
        org: "acme",
        path: "src/lease.rs",
        text: "fn keep_lease() {}",
        at: [1.0, 0.0, 0.0],
        more: Vec::new(),
    };
    behind.indexed("sources", 3, &[chunk]).await;
    let (database, keys) = asking_for("new key", behind.cloud.qdrant().await.unwrap().to_owned());
    let (url, of_database) = serve_over_tls(database).await;
    let (secrets, of_secrets) = secrets(&["old key", "new key"]).await;
    let mut trusted = tempfile::NamedTempFile::new().unwrap();
    trusted.write_all(format!("{of_database}{of_secrets}").as_bytes()).unwrap();
    let options = embedding(options(), &embeddings().await);
    let settings = [
        ("QDRANT_URL", url.as_str()),
        ("QDRANT_API_KEY_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:123456789012:secret:qdrant"),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", secrets.as_str()),
        ("SSL_CERT_FILE", trusted.path().to_str().unwrap()),
    ];
    let system = System::with(set(options, &settings)).await;
    let ada = system.client("acme", "ada");
    let answer = ada.execute(&turn("Where?")).await.result();
    let told = said(&system.last_call());
    assert!(told.contains("Path: src/lease.rs") && answer.get("UserWarnings").is_none(), "{answer} {told}");
    // The first was refused, so the secret was read again: the layout, the search, and the similarities.
    assert_eq!(*keys.lock().unwrap(), ["old key", "new key", "new key", "new key"]);
    ada.execute(&turn("And again?")).await.result();
    assert_eq!(keys.lock().unwrap().len(), 6, "the key and the layout are known by now");
    let logs = system.until_logs(|logs| logs.contains("turn")).await;
    assert!(!logs.contains("old key") && !logs.contains("new key"), "{logs}");
}

#[tokio::test]
async fn untrusted_certificate_makes_the_database_unavailable() {
    let (url, _trusted) = serve_over_tls(Router::new().fallback(|| async { status("0") })).await;
    let options = embedding(options(), &embeddings().await);
    let system = System::with(set(options, &[("QDRANT_URL", &url)])).await;
    let answer = system.client("acme", "ada").execute(&turn("Where?")).await.result();
    assert_eq!(answer["UserWarnings"].as_array().unwrap().len(), 1, "{answer}");
    let logs = system.until_logs(|logs| logs.contains("retrieval skipped")).await;
    assert!(logs.contains("the vector database is unavailable"), "{logs}");
}

/// It says how long its message is before it sends it: that is enough.
#[tokio::test]
async fn oversized_search_response_is_not_read() {
    let length = u32::try_from(retrieval::connection::MAX_RESPONSE_BYTES + 1).unwrap();
    let answer = move || {
        let frame = [&[0][..], &length.to_be_bytes(), b"..."].concat();
        std::future::ready(([(header::CONTENT_TYPE, "application/grpc")], frame))
    };
    let url = serve(Router::new().fallback(answer)).await;
    let options = embedding(options(), &embeddings().await);
    let system = System::with(set(options, &[("QDRANT_URL", &url)])).await;
    let answer = system.client("acme", "ada").execute(&turn("Where?")).await.result();
    assert_eq!(answer["UserWarnings"].as_array().unwrap().len(), 1, "{answer}");
    let logs = system.until_logs(|logs| logs.contains("retrieval skipped")).await;
    assert!(logs.contains("the vector database's answer is too large"), "{logs}");
}
