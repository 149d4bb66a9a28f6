//! API Gateway: a REST API with streaming Lambda integrations and a token authorizer.
//!
//! The gateway matches a request to a route, verifies the caller, and converts the request to the event that a
//! function receives on AWS. It passes on the function's streamed reply. Its own responses have the envelope and the
//! CORS headers of every other response.

mod authorizer;
mod body;
mod envelope;
mod event;
mod response;
mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Method, Request, Response};
use runtime::dialect::Dialect;
use uuid::Uuid;

use crate::disk_space::DiskSpace;
use crate::lambda::Lambda;
pub(crate) use authorizer::Authorizer;
use envelope::Refusal;
use routes::{Match, Routes};

/// API Gateway's limit for a request body.
const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;
/// Lambda's limit for the serialized event.
const MAX_EVENT_BYTES: usize = 6 * 1024 * 1024;
/// Timeout for receiving the request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Integration timeout, as in `template.yaml`.
const INTEGRATION_TIMEOUT: Duration = Duration::from_millis(900_000);
/// Header with the request id.
const REQUEST_ID: &str = "x-amzn-requestid";

/// State of the gateway.
#[derive(Clone)]
pub(crate) struct Gateway {
    lambda: Arc<Lambda>,
    authorizer: Authorizer,
    /// Address of the gateway; events name it as the host.
    address: SocketAddr,
    routes: Arc<Routes>,
    disk: DiskSpace,
}

/// Returns the REST API.
pub(crate) fn router(gateway: Gateway) -> Router {
    Router::new().fallback(handle).with_state(gateway)
}

async fn handle(State(gateway): State<Gateway>, request: Request<Body>) -> Response<Body> {
    let request_id = Uuid::new_v4().to_string();
    let dialect = Dialect::of(request.uri().path(), request.headers());
    let answered = gateway.answer(request, &request_id).await;
    let mut response =
        answered.unwrap_or_else(|refusal| envelope::refusal_response(refusal, dialect, &request_id));
    if let Ok(request_id) = HeaderValue::from_str(&request_id) {
        response.headers_mut().entry(REQUEST_ID).or_insert(request_id);
    }
    response
}

impl Gateway {
    /// Creates a gateway that listens at this address.
    ///
    /// # Errors
    /// Fails if two resources have the same path.
    pub(crate) fn new(
        lambda: Arc<Lambda>,
        authorizer: Authorizer,
        address: SocketAddr,
        disk: DiskSpace,
    ) -> Result<Self, matchit::InsertError> {
        Ok(Self { lambda, authorizer, address, routes: Arc::new(Routes::new()?), disk })
    }

    async fn answer(&self, request: Request<Body>, request_id: &str) -> Result<Response<Body>, Refusal> {
        let (request, body) = request.into_parts();
        let route = match self.routes.find(&request.method, request.uri.path()) {
            Match::Route(route) => route,
            Match::OtherMethods(methods) if request.method == Method::OPTIONS => {
                return Ok(envelope::preflight(&methods));
            }
            Match::OtherMethods(methods) => return Err(Refusal::MethodNotAllowed(methods)),
            Match::Unknown => return Err(Refusal::NotFound),
        };
        let caller = self.authorizer.caller(&self.lambda, &request).await?;
        // Deletions are let through, since they free space.
        if [Method::POST, Method::PUT, Method::PATCH].contains(&request.method)
            && let Some(message) = self.disk.shortage()
        {
            return Err(Refusal::DiskFull(message));
        }
        let body = body::read(body, MAX_BODY_BYTES, BODY_TIMEOUT).await?;
        let event = event::build(&event::Parts {
            request: &request,
            body: &body,
            route: &route,
            caller: &caller.context,
            usage_key: caller.usage_key.as_deref(),
            request_id,
            host: self.address,
        });
        if event.len() > MAX_EVENT_BYTES {
            return Err(Refusal::PayloadTooLarge);
        }
        let reply = async {
            let reply = self.lambda.invoke(route.function, event.into()).await?;
            response::from_reply(reply).await
        };
        match tokio::time::timeout(INTEGRATION_TIMEOUT, reply).await {
            Ok(response) => response,
            Err(_) => Err(Refusal::TimedOut),
        }
    }
}
