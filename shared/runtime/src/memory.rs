//! A bound on the memory of concurrent invocations.
//!
//! One invocation at a time can't exceed the function's memory, since every part of a request has a limit. The limits
//! of many add up to more, so each of them reserves its share of the process's memory first.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use contracts::{Error as ApiError, ErrorCode};
use futures::{FutureExt, future::BoxFuture};
use lambda_http::{
    Error, Service,
    lambda_runtime::LambdaInvocation,
    tower::{Layer, ServiceExt, layer::layer_fn},
};
use settings::Env;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{Reply, concurrency};

/// The memory of the program itself in KiB: code, certificates, clients and caches.
const PROGRAM_KIB: u32 = 128 << 10;
/// The memory of an invocation apart from its event, in KiB: history, prompt and reply of a turn.
const INVOCATION_KIB: u32 = 8 << 10;
/// The largest event, in KiB. Every invocation may hold one while it waits for memory.
const MAX_EVENT_KIB: u32 = 6 << 10;
/// The copies of an event that an invocation makes at most: its body, the parsed request, the stored request and the
/// model's request, with room for the overhead of JSON values.
const EVENT_COPIES: u32 = 5;
/// The longest wait for memory.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// The time after which a client may try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// Set while a request is handled for which there is no memory.
    static IS_REFUSED: ();
}

/// The memory of a process that its invocations share, in KiB.
#[derive(Debug, Clone)]
pub(crate) struct MemoryBudget {
    free: Arc<Semaphore>,
    total: u32,
}

impl MemoryBudget {
    /// Creates the budget of a function with the memory that the settings name.
    pub(crate) fn read(env: &mut Env) -> Self {
        let memory = env.read(&settings::AWS_LAMBDA_FUNCTION_MEMORY_SIZE) << 10;
        let events = concurrency::read(env).saturating_mul(MAX_EVENT_KIB);
        Self::with_kib(memory.saturating_sub(PROGRAM_KIB).saturating_sub(events).max(INVOCATION_KIB))
    }

    fn with_kib(total: u32) -> Self {
        let permits = usize::try_from(total).unwrap_or(Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(permits)), total }
    }

    /// Reserves the memory of an invocation with an event of so many bytes. Waits in order of arrival. Returns `None`
    /// if it takes too long.
    async fn reserve(&self, event_bytes: usize) -> Option<OwnedSemaphorePermit> {
        let event = u32::try_from(event_bytes >> 10).unwrap_or(u32::MAX).saturating_mul(EVENT_COPIES);
        // The largest event gets all there is, rather than nothing forever.
        let share = INVOCATION_KIB.saturating_add(event).min(self.total);
        timeout(MAX_WAIT, Arc::clone(&self.free).acquire_many_owned(share)).await.ok()?.ok()
    }

    /// Returns a layer that reserves the memory of each invocation until its end.
    pub(crate) fn layer<S>(self) -> impl Layer<S, Service = MemoryLimited<S>> {
        layer_fn(move |inner| MemoryLimited { inner, budget: self.clone() })
    }
}

/// Handles an invocation once its memory is reserved.
#[derive(Debug, Clone)]
pub(crate) struct MemoryLimited<S> {
    inner: S,
    budget: MemoryBudget,
}

impl<S> Service<LambdaInvocation> for MemoryLimited<S>
where
    S: Service<LambdaInvocation, Response = (), Error = Error> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = ();
    type Error = Error;
    type Future = BoxFuture<'static, Result<(), Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // The clone that handles the invocation gets ready by itself.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, invocation: LambdaInvocation) -> Self::Future {
        let (inner, budget) = (self.inner.clone(), self.budget.clone());
        async move {
            let reserved = budget.reserve(invocation.body.len()).await;
            // Parses the event, so it must not begin earlier.
            let handled = inner.oneshot(invocation);
            match reserved {
                Some(_permit) => handled.await,
                None => IS_REFUSED.scope((), handled).await,
            }
        }
        .boxed()
    }
}

/// Refuses a request for which there is no memory.
pub(crate) async fn refuse_without_memory(request: Request, next: Next) -> Response {
    if IS_REFUSED.try_with(|()| ()).is_err() {
        return next.run(request).await;
    }
    let message = "The service has no memory left for this request. Send it again, unchanged.";
    let error = ApiError::new(ErrorCode::TooManyRequests, message).with_retry_after(RETRY_AFTER);
    Reply::error(error).into_response()
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, routing::get};

    use super::*;
    use crate::api::with_middleware;

    #[tokio::test]
    async fn invocations_share_the_memory_in_order() {
        let budget = MemoryBudget::with_kib(3 * INVOCATION_KIB);
        let small = budget.reserve(1_000).await.unwrap();
        let other = budget.reserve(0).await.unwrap();
        let waiting = budget.reserve(64 << 20).now_or_never();
        assert!(waiting.is_none(), "it gets all the memory, which is in use");
        drop((small, other));
        let large = budget.reserve(64 << 20).await.unwrap();
        assert!(budget.reserve(0).now_or_never().is_none());
        drop(large);
        assert!(budget.reserve(0).now_or_never().flatten().is_some());
    }

    #[test]
    fn budget_is_the_memory_without_program_and_events() {
        let total = |memory: &str| {
            let size = ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", memory);
            let mut env = Env::from_vars([size, ("AWS_LAMBDA_MAX_CONCURRENCY", "64")]);
            MemoryBudget::read(&mut env).total
        };
        assert_eq!(total("2048"), (2048 - 128 - 64 * 6) << 10);
        assert_eq!([total("128"), total("")], [INVOCATION_KIB; 2], "one invocation in any case");
    }

    #[tokio::test]
    async fn request_without_memory_gets_429() {
        let routes = || with_middleware(Router::new().route("/", get(|| async { "served" })));
        let request = || Request::get("/").body(Body::empty()).unwrap();
        let refused = IS_REFUSED.scope((), routes().oneshot(request())).await.unwrap();
        assert_eq!(refused.status().as_u16(), 429);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(routes().oneshot(request()).await.unwrap().status().as_u16(), 200);
    }
}
