//! A proxy between the functions of a local cloud and its services that records every call, for tests and benchmarks.

mod call;
mod policy;
mod request;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::{Cloud, Endpoints, ServiceKeys};
pub use call::{Call, Service, sequential};
pub use policy::{CallRequest, Policy};

/// An error that keeps a proxy from starting or a call from being forwarded.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Options of a [`CallProxy`].
#[derive(Debug, Clone, Default)]
pub struct ProxyOptions {
    /// Set to record the capacity units of the table, whose requests then ask for them.
    pub is_metered: bool,
    /// Policy of the calls. Without one, every call is forwarded.
    pub policy: Option<Arc<dyn Policy>>,
}

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
    options: ProxyOptions,
    calls: Mutex<Vec<Call>>,
    target: Mutex<Option<(Endpoints, ServiceKeys)>>,
    delay: Mutex<Duration>,
}

impl CallProxy {
    /// Starts a proxy in front of each service. It forwards calls once its target is set.
    ///
    /// # Errors
    /// Fails if no port is available.
    pub async fn start(options: ProxyOptions) -> Result<Self, Failure> {
        let shared = Arc::new(Shared { options, ..Shared::default() });
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

    /// Sets the cloud whose services are called, once it has started.
    pub fn set_target(&self, cloud: &Cloud) {
        *lock(&self.shared.target) = Some((cloud.endpoints().clone(), cloud.service_keys().clone()));
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
    /// Returns the URL of a service, and the keys of all.
    fn target(&self, service: Service) -> Result<(String, ServiceKeys), Failure> {
        let target = lock(&self.target);
        let (at, keys) = target.as_ref().ok_or("the proxy has no target")?;
        let url = match service {
            Service::Table => at.dynamodb.clone(),
            Service::Bucket => at.s3.clone(),
            Service::Queue => at.sqs.clone(),
        };
        Ok((url, keys.clone()))
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
    forwarder.handle(request).await.unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

impl Forwarder {
    async fn handle(&self, request: Request) -> Result<Response, Failure> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await?;
        let function = request::caller(&parts);
        let operation = request::operation(self.service, &parts);
        let request = CallRequest {
            function: &function,
            service: self.service,
            operation: &operation,
            parts: &parts,
            body: &body,
        };
        let policy = self.shared.options.policy.as_ref();
        if let Some(Err(reason)) = policy.map(|policy| policy.check_request(&request)) {
            return Ok(policy::denied(self.service, &reason));
        }
        let (response, units) = self.send(&request).await?;
        if let Some(Err(reason)) = policy.map(|policy| policy.check_response(&request, response.status())) {
            return Ok(policy::denied(self.service, &reason));
        }
        let (service, sort_key, bytes) = (self.service, request::sort_key(&request), body.len());
        let finished = Instant::now();
        let call = Call { function, service, operation, sort_key, bytes, started, finished, units };
        lock(&self.shared.calls).push(call);
        Ok(response)
    }

    /// Sends the call to its service. Returns the response, and the capacity units that the call consumed.
    async fn send(&self, request: &CallRequest<'_>) -> Result<(Response, f64), Failure> {
        let is_metered = self.shared.options.is_metered && self.service == Service::Table;
        let (target, keys) = self.shared.target(self.service)?;
        let (headers, body) =
            if is_metered { request::metered(request, &keys)? } else { request::unchanged(request) };
        let path = request.parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let url = format!("{target}{path}");
        let delay = *lock(&self.shared.delay);
        tokio::time::sleep(delay).await;
        let sent = self.http.request(request.parts.method.clone(), url).headers(headers).body(body);
        let received = sent.send().await?;
        let (status, headers) = (received.status(), received.headers().clone());
        let body = received.bytes().await?;
        let units = if is_metered { request::consumed_units(&body) } else { 0.0 };
        let mut response = Response::new(Body::from(body));
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok((response, units))
    }
}
