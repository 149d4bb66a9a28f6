//! A proxy between the functions of a local cloud and its services that records every call.

mod call;
mod request;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use local::Endpoints;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::failure::Failure;
pub use call::{Call, Service};

/// Forwards the calls of functions to their services, and records them. Dropping it stops it.
#[derive(Debug)]
pub struct CallProxy {
    shared: Arc<Shared>,
    environment: BTreeMap<String, String>,
    /// A server per service; stopped when dropped.
    _servers: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    calls: Mutex<Vec<Call>>,
    targets: Mutex<Option<Endpoints>>,
    delay: Mutex<Duration>,
}

impl CallProxy {
    /// Starts a proxy in front of each service. It forwards calls once its targets are set.
    ///
    /// # Errors
    /// Fails if no port is available.
    pub async fn start() -> Result<Self, Failure> {
        let shared = Arc::new(Shared::default());
        let (mut environment, mut servers) = (BTreeMap::new(), JoinSet::new());
        for service in Service::ALL {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            environment.insert(service.variable().to_owned(), format!("http://{}", listener.local_addr()?));
            // Without TCP_NODELAY, a small response can wait for an acknowledgement.
            let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
            let http = reqwest::Client::builder().no_proxy().build()?;
            let forwarder = Arc::new(Forwarder { shared: Arc::clone(&shared), service, http });
            let router = axum::Router::new().fallback(forward).with_state(forwarder);
            servers.spawn(async move { _ = axum::serve(listener, router).await });
        }
        Ok(Self { shared, environment, _servers: servers })
    }

    /// Returns the variables that make functions use the proxy.
    #[must_use]
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// Sets the URLs of the services, once the cloud has started.
    pub fn set_targets(&self, endpoints: &Endpoints) {
        *lock(&self.shared.targets) = Some(endpoints.clone());
    }

    /// Delays each call from now on, so that concurrent calls overlap however busy the machine is.
    pub fn delay_calls(&self, delay: Duration) {
        *lock(&self.shared.delay) = delay;
    }

    /// Takes the calls since the last time, in the order in which they finished.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *lock(&self.shared.calls))
    }
}

impl Shared {
    fn target(&self, service: Service) -> Result<String, Failure> {
        let targets = lock(&self.targets);
        let at = targets.as_ref().ok_or("the proxy has no targets")?;
        Ok(match service {
            Service::Table => at.dynamodb.clone(),
            Service::Bucket => at.s3.clone(),
            Service::Queue => at.sqs.clone(),
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The proxy in front of one service.
struct Forwarder {
    shared: Arc<Shared>,
    service: Service,
    http: reqwest::Client,
}

async fn forward(State(forwarder): State<Arc<Forwarder>>, request: Request) -> Response {
    forwarder.forward(request).await.unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

impl Forwarder {
    async fn forward(&self, request: Request) -> Result<Response, Failure> {
        let started = Instant::now();
        let (mut parts, body) = request.into_parts();
        let mut body = to_bytes(body, usize::MAX).await?;
        let function = request::caller(&parts);
        let operation = request::operation(self.service, &parts);
        let mut sort_key = None;
        if self.service == Service::Table {
            (body, sort_key) = request::metered(&mut parts, &body)?;
        }
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let url = format!("{}{path}", self.shared.target(self.service)?);
        let delay = *lock(&self.shared.delay);
        tokio::time::sleep(delay).await;
        let sent = self.http.request(parts.method, url).headers(parts.headers).body(body).send().await?;
        let (status, headers, body) = (sent.status(), sent.headers().clone(), sent.bytes().await?);
        let units = if self.service == Service::Table { request::consumed_units(&body) } else { 0.0 };
        let finished = Instant::now();
        let call = Call { function, service: self.service, operation, sort_key, started, finished, units };
        lock(&self.shared.calls).push(call);
        let mut forwarded = Response::new(Body::from(body));
        (*forwarded.status_mut(), *forwarded.headers_mut()) = (status, headers);
        Ok(forwarded)
    }
}
