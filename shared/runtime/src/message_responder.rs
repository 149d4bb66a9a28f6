//! Handles the batches of a queue in a function that serves HTTP requests too.
//!
//! `lambda_http` takes nothing but requests. A layer receives every invocation, so it handles those that are batches.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
};

use contracts::json_bytes;
use futures::{FutureExt, future::BoxFuture};
use http::Method;
use lambda_http::{Error, LambdaEvent, Service, lambda_runtime::LambdaInvocation, tower::Layer};
use lambda_runtime_api_client::{PooledClient, body::Body, build_request};

use crate::{
    isolation::{self, Failure, INVOCATION_ID},
    sqs::{SqsEvent, SqsHandler},
};

/// Returns a layer that handles batches with this handler, if there is one.
pub(crate) fn layer(handler: Option<SqsHandler>) -> MessageLayer {
    MessageLayer { handler, client: Arc::new(PooledClient::builder().build()) }
}

/// See [`layer`].
#[derive(Clone)]
pub(crate) struct MessageLayer {
    handler: Option<SqsHandler>,
    client: Arc<PooledClient>,
}

impl<S> Layer<S> for MessageLayer {
    type Service = MessageResponder<S>;

    fn layer(&self, inner: S) -> Self::Service {
        MessageResponder { inner, layer: self.clone() }
    }
}

/// Handles batches, and leaves other invocations to the service inside.
#[derive(Clone)]
pub(crate) struct MessageResponder<S> {
    inner: S,
    layer: MessageLayer,
}

impl<S> Service<LambdaInvocation> for MessageResponder<S>
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
        let MessageLayer { handler, client } = self.layer.clone();
        let batch = handler.and_then(|handler| Some((handler, batch(&invocation.body)?)));
        let Some((handler, batch)) = batch else { return self.inner.call(invocation).boxed() };
        let LambdaInvocation { parts, context, .. } = invocation;
        let (request_id, invocation_id) =
            (context.request_id.clone(), parts.headers.get(INVOCATION_ID).cloned());
        let handled = AssertUnwindSafe(async move { handler(LambdaEvent::new(batch, context)).await });
        async move {
            let request = match handled.catch_unwind().await {
                Ok(failed) => {
                    let mut request = build_request()
                        .method(Method::POST)
                        .uri(format!("/2018-06-01/runtime/invocation/{request_id}/response"))
                        .body(Body::from(serde_json::to_string(&failed)?))?;
                    if let Some(id) = invocation_id {
                        request.headers_mut().insert(INVOCATION_ID, id);
                    }
                    request
                }
                // The whole batch returns to its queue.
                Err(_) => {
                    tracing::error!(request_id, "{}", contracts::log::HANDLER_PANICKED);
                    isolation::report(&request_id, invocation_id, Failure::Panic)?
                }
            };
            let status = client.call(request).await?.status();
            if !status.is_success() {
                tracing::error!(status = status.as_u16(), "{}", contracts::log::RESPONSE_REJECTED);
            }
            Ok(())
        }
        .boxed()
    }
}

/// Parses an event of a queue.
fn batch(event: &[u8]) -> Option<SqsEvent> {
    json_bytes::from_slice(event).ok()
}
