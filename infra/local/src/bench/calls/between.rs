//! What stands between the functions and their services.

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
use crate::services::{here, listen};

use super::{Call, Service};
use crate::bench::Failure;

/// The calls that were passed on.
#[derive(Default)]
pub(crate) struct Notes {
    calls: Mutex<Vec<Call>>,
    targets: Mutex<[String; 3]>,
    held: Mutex<Duration>,
    servers: Mutex<JoinSet<()>>,
}

impl Notes {
    /// Begins to listen. The functions have to be told where: the variables say it.
    pub(super) async fn begin() -> Result<(Arc<Self>, BTreeMap<String, String>), Failure> {
        let notes = Arc::new(Self::default());
        let mut environment = BTreeMap::new();
        let services = [
            ("AWS_ENDPOINT_URL_DYNAMODB", Service::Table),
            ("AWS_ENDPOINT_URL_S3", Service::Bucket),
            ("AWS_ENDPOINT_URL_SQS", Service::Queue),
        ];
        for (variable, service) in services {
            let (listener, url) = listen(here(0)).await?;
            environment.insert(variable.to_owned(), url);
            let http = reqwest::Client::builder().no_proxy().build()?;
            let between = Arc::new(Between { notes: Arc::clone(&notes), service, http });
            let router = axum::Router::new().fallback(pass).with_state(between);
            locked(&notes.servers).spawn(serve(listener, router));
        }
        Ok((notes, environment))
    }

    pub(super) fn pass_on_to(&self, at: &Endpoints) {
        *locked(&self.targets) = [at.dynamodb.clone(), at.s3.clone(), at.sqs.clone()];
    }

    /// Holds each call so long from here on: calls that are made together overlap then, however busy the machine is.
    pub(super) fn hold(&self, each: Duration) {
        *locked(&self.held) = each;
    }

    /// The calls since the last time, in the order in which they ended.
    pub(crate) fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *locked(&self.calls))
    }

    fn target(&self, service: Service) -> String {
        let [table, bucket, queue] = &*locked(&self.targets);
        match service {
            Service::Table => table.clone(),
            Service::Bucket => bucket.clone(),
            Service::Queue => queue.clone(),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Between {
    notes: Arc<Notes>,
    service: Service,
    http: reqwest::Client,
}

async fn pass(State(between): State<Arc<Between>>, request: Request) -> Response {
    between.pass(request).await.unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

impl Between {
    async fn pass(&self, request: Request) -> Result<Response, Failure> {
        let began = Instant::now();
        let (mut parts, body) = request.into_parts();
        let mut body = to_bytes(body, usize::MAX).await?;
        let operation = match self.service {
            Service::Bucket => parts.method.to_string(),
            Service::Table | Service::Queue => operation(&parts),
        };
        if self.service == Service::Table {
            let mut asked: Map<String, Value> = serde_json::from_slice(&body)?;
            asked.insert("ReturnConsumedCapacity".to_owned(), json!("TOTAL"));
            body = Bytes::from(serde_json::to_vec(&asked)?);
            parts.headers.remove(header::CONTENT_LENGTH);
        }
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let url = format!("{}{path}", self.notes.target(self.service));
        let held = *locked(&self.notes.held);
        tokio::time::sleep(held).await;
        let function = caller(&parts);
        let sent = self.http.request(parts.method, url).headers(parts.headers).body(body);
        let answer = sent.send().await?;
        let (status, headers, body) = (answer.status(), answer.headers().clone(), answer.bytes().await?);
        let units = if self.service == Service::Table { consumed(&body) } else { 0.0 };
        let call = Call { function, service: self.service, operation, began, ended: Instant::now(), units };
        locked(&self.notes.calls).push(call);
        let mut response = Response::new(Body::from(body));
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }
}

fn operation(request: &Parts) -> String {
    let target = request.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    target.and_then(|target| target.rsplit('.').next()).unwrap_or_default().to_owned()
}

/// The function whose access key signed the call.
fn caller(request: &Parts) -> String {
    let signed = request.headers.get(header::AUTHORIZATION).and_then(|header| header.to_str().ok());
    let key = signed.and_then(|signed| signed.split("Credential=").nth(1)?.split('/').next());
    key.and_then(|key| key.strip_prefix("local-cloud-")).unwrap_or_default().to_owned()
}

fn consumed(answer: &[u8]) -> f64 {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let units = |table: &Value| table.get("CapacityUnits").and_then(Value::as_f64);
    match answer.get("ConsumedCapacity") {
        Some(Value::Array(tables)) => tables.iter().filter_map(units).sum(),
        table => table.and_then(units).unwrap_or_default(),
    }
}
