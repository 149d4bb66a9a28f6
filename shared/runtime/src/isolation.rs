//! Keeps the failure of one invocation from affecting the others of its process.
//!
//! `lambda_runtime` polls with one worker for each concurrent invocation, and a worker ends with the first error or
//! panic that reaches it. Lambda marks an invocation that exceeds its time as failed and leaves its code running. So a
//! failure ends here: the invocation is reported as failed, and its worker polls for the next one.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context, Poll},
};

use futures::{FutureExt, future::BoxFuture};
use http::{HeaderValue, Method, Request};
use lambda_http::{
    Error, Service,
    lambda_runtime::LambdaInvocation,
    tower::{Layer, layer::layer_fn},
};
use lambda_runtime_api_client::{PooledClient, body::Body, build_request};
use serde_json::json;
use tokio::time::timeout;

use crate::deadline::RemainingTime;

/// The id of the invocation besides its request id. It keeps a late response from answering another invocation.
pub(crate) const INVOCATION_ID: &str = "lambda-runtime-invocation-id";

/// The failure of an invocation, by which Lambda groups errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It panicked.
    Panic,
    /// It exceeded its time.
    Timeout,
    /// It could not be answered.
    NoAnswer,
    /// Its event is no HTTP request.
    InvalidEvent,
}

impl Failure {
    const fn error_type(self) -> &'static str {
        match self {
            Self::Panic => "Runtime.Panic",
            Self::Timeout => "Runtime.Timeout",
            Self::NoAnswer => "Runtime.ResponseError",
            Self::InvalidEvent => "Runtime.InvalidEvent",
        }
    }
}

/// Returns a layer that ends every failure of an invocation.
pub(crate) fn layer<S>(client: Arc<PooledClient>) -> impl Layer<S, Service = Isolated<S>> {
    layer_fn(move |inner| Isolated { inner, client: Arc::clone(&client) })
}

/// Handles invocations, and reports those that fail.
#[derive(Debug, Clone)]
pub(crate) struct Isolated<S> {
    inner: S,
    client: Arc<PooledClient>,
}

impl<S> Service<LambdaInvocation> for Isolated<S>
where
    S: Service<LambdaInvocation, Response = (), Error = Error>,
    S::Future: Send + 'static,
{
    type Response = ();
    type Error = Error;
    type Future = BoxFuture<'static, Result<(), Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, invocation: LambdaInvocation) -> Self::Future {
        let request_id = invocation.context.request_id.clone();
        let invocation_id = invocation.parts.headers.get(INVOCATION_ID).cloned();
        let RemainingTime(time) = RemainingTime::until(Some(invocation.context.deadline));
        let handled = catch_unwind(AssertUnwindSafe(|| self.inner.call(invocation)));
        let handled = async { AssertUnwindSafe(handled?).catch_unwind().await };
        let client = Arc::clone(&self.client);
        async move {
            // Leaves the match before the report, so that the memory of the invocation is free.
            let failure = match timeout(time, handled).await {
                Ok(Ok(Ok(()))) => return Ok(()),
                Ok(Ok(Err(error))) => {
                    tracing::error!(request_id, %error, "{}", contracts::log::INVOCATION_FAILED);
                    Failure::NoAnswer
                }
                Ok(Err(_)) => {
                    tracing::error!(request_id, "{}", contracts::log::HANDLER_PANICKED);
                    Failure::Panic
                }
                Err(_) => {
                    tracing::error!(request_id, "{}", contracts::log::INVOCATION_TIMED_OUT);
                    Failure::Timeout
                }
            };
            // Lambda refuses the report if the answer has begun. It then broke off, which is all a client can be told.
            if let Ok(report) = report(&request_id, invocation_id, failure) {
                let _ = client.call(report).await;
            }
            Ok(())
        }
        .boxed()
    }
}

/// Reports an invocation whose event is no HTTP request. The process continues.
pub(crate) async fn report_invalid_event(
    client: Arc<PooledClient>,
    request_id: String,
    invocation_id: Option<HeaderValue>,
) -> Result<(), Error> {
    tracing::error!(request_id, "{}", contracts::log::EVENT_INVALID);
    let report = report(&request_id, invocation_id, Failure::InvalidEvent)?;
    client.call(report).await?;
    Ok(())
}

/// Builds the report of a failed invocation.
pub(crate) fn report(
    request_id: &str,
    invocation_id: Option<HeaderValue>,
    failure: Failure,
) -> Result<Request<Body>, http::Error> {
    let body = json!({"errorType": failure.error_type(), "errorMessage": "The invocation failed."});
    let mut request = build_request()
        .method(Method::POST)
        .uri(format!("/2018-06-01/runtime/invocation/{request_id}/error"))
        .header("lambda-runtime-function-error-type", failure.error_type())
        .body(Body::from(body.to_string()))?;
    if let Some(id) = invocation_id {
        request.headers_mut().insert(INVOCATION_ID, id);
    }
    Ok(request)
}
