//! A proxy between the functions and their services that records every call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header, request::Parts};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::endpoints::Endpoints;
use crate::http_server::serve;
use crate::services::{listen, loopback};

use super::{Call, Service};
use crate::bench::Failure;

/// Log of the forwarded calls.
#[derive(Default)]
pub(crate) struct CallLog {
    calls: Mutex<Vec<Call>>,
    targets: Mutex<[String; 3]>,
    delay: Mutex<Duration>,
    servers: Mutex<JoinSet<()>>,
}

impl CallLog {
    /// Starts the proxies. Returns the variables that make the functions use them.
    pub(super) async fn start() -> Result<(Arc<Self>, BTreeMap<String, String>), Failure> {
        let log = Arc::new(Self::default());
        let mut environment = BTreeMap::new();
        let services = [
            ("AWS_ENDPOINT_URL_DYNAMODB", Service::Table),
            ("AWS_ENDPOINT_URL_S3", Service::Bucket),
            ("AWS_ENDPOINT_URL_SQS", Service::Queue),
        ];
        for (variable, service) in services {
            let (listener, url) = listen(loopback(0)).await?;
            environment.insert(variable.to_owned(), url);
            let http = reqwest::Client::builder().no_proxy().build()?;
            let proxy = Arc::new(RecordingProxy { log: Arc::clone(&log), service, http });
            let router = axum::Router::new().fallback(forward).with_state(proxy);
            lock(&log.servers).spawn(serve(listener, router));
        }
        Ok((log, environment))
    }

    pub(super) fn set_targets(&self, at: &Endpoints) {
        *lock(&self.targets) = [at.dynamodb.clone(), at.s3.clone(), at.sqs.clone()];
    }

    /// Delays each call from now on, so that concurrent calls overlap however busy the machine is.
    pub(super) fn delay_calls(&self, each: Duration) {
        *lock(&self.delay) = each;
    }

    /// Takes the calls since the last time, in the order in which they finished.
    pub(crate) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *lock(&self.calls))
    }

    fn target(&self, service: Service) -> String {
        let [table, bucket, queue] = &*lock(&self.targets);
        match service {
            Service::Table => table.clone(),
            Service::Bucket => bucket.clone(),
            Service::Queue => queue.clone(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct RecordingProxy {
    log: Arc<CallLog>,
    service: Service,
    http: reqwest::Client,
}

async fn forward(State(proxy): State<Arc<RecordingProxy>>, request: Request) -> Response {
    proxy.forward(request).await.unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

impl RecordingProxy {
    async fn forward(&self, request: Request) -> Result<Response, Failure> {
        let started = Instant::now();
        let (mut parts, body) = request.into_parts();
        let mut body = to_bytes(body, usize::MAX).await?;
        let operation = match self.service {
            Service::Bucket => parts.method.to_string(),
            Service::Table | Service::Queue => operation(&parts),
        };
        if self.service == Service::Table {
            let mut input: Map<String, Value> = serde_json::from_slice(&body)?;
            input.insert("ReturnConsumedCapacity".to_owned(), json!("TOTAL"));
            body = Bytes::from(serde_json::to_vec(&input)?);
            parts.headers.remove(header::CONTENT_LENGTH);
        }
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let url = format!("{}{path}", self.log.target(self.service));
        let delay = *lock(&self.log.delay);
        tokio::time::sleep(delay).await;
        let function = caller(&parts);
        let sent = self.http.request(parts.method, url).headers(parts.headers).body(body);
        let response = sent.send().await?;
        let (status, headers, body) =
            (response.status(), response.headers().clone(), response.bytes().await?);
        let units = if self.service == Service::Table { consumed_units(&body) } else { 0.0 };
        let call =
            Call { function, service: self.service, operation, started, finished: Instant::now(), units };
        lock(&self.log.calls).push(call);
        let mut forwarded = Response::new(Body::from(body));
        (*forwarded.status_mut(), *forwarded.headers_mut()) = (status, headers);
        Ok(forwarded)
    }
}

fn operation(request: &Parts) -> String {
    let target = request.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    target.and_then(|target| target.rsplit('.').next()).unwrap_or_default().to_owned()
}

/// Returns the function whose access key signed the call.
fn caller(request: &Parts) -> String {
    let signed = request.headers.get(header::AUTHORIZATION).and_then(|header| header.to_str().ok());
    let key = signed.and_then(|signed| signed.split("Credential=").nth(1)?.split('/').next());
    key.and_then(|key| key.strip_prefix("local-cloud-")).unwrap_or_default().to_owned()
}

fn consumed_units(response: &[u8]) -> f64 {
    let response: Value = serde_json::from_slice(response).unwrap_or_default();
    let units = |table: &Value| table.get("CapacityUnits").and_then(Value::as_f64);
    match response.get("ConsumedCapacity") {
        Some(Value::Array(tables)) => tables.iter().filter_map(units).sum(),
        table => table.and_then(units).unwrap_or_default(),
    }
}
