//! The tasks that an invocation starts: work that continues after its response, and work that ends with its deadline.
//!
//! Lambda stops a process once it asks for its next invocation, not when it has answered. So the runtime asks when the
//! background work of the invocation has ended. Invocations of the same process don't wait for each other's work.

use std::{
    future::Future,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures::{FutureExt, future::BoxFuture};
use lambda_http::{
    Error, Service,
    lambda_runtime::LambdaInvocation,
    tower::{Layer, layer::layer_fn},
};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};

use crate::telemetry::traces;

tokio::task_local! {
    /// The tasks of the invocation that the current task serves.
    static CURRENT: Tasks;
}

/// Starts background work of the current invocation, which ends when the work has ended.
pub fn spawn_background(work: impl Future<Output = ()> + Send + 'static) {
    match CURRENT.try_with(Tasks::clone) {
        Ok(tasks) => _ = tasks.running().background.spawn(work),
        Err(_) => drop(tokio::spawn(work)),
    }
}

/// Starts a task that may outlive the response of the current invocation, but not its deadline.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let task = tokio::spawn(work);
    let _ = CURRENT.try_with(|tasks| tasks.running().bounded.push(task.abort_handle()));
    task
}

/// The tasks of one invocation.
#[derive(Debug, Clone, Default)]
struct Tasks(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    background: JoinSet<()>,
    bounded: Vec<AbortHandle>,
}

impl Tasks {
    /// Waits until the background work has ended.
    async fn finish(&self) {
        let mut background = mem::take(&mut self.running().background);
        if background.is_empty() {
            return;
        }
        while background.join_next().await.is_some() {}
        traces::flush().await;
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Aborts the tasks of an invocation that doesn't come to its own end, unless disarmed.
struct AbortGuard(Option<Tasks>);

impl AbortGuard {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for AbortGuard {
    fn drop(&mut self) {
        if let Some(tasks) = self.0.take() {
            let mut running = tasks.running();
            running.background.abort_all();
            running.bounded.iter().for_each(AbortHandle::abort);
        }
    }
}

/// Returns a layer that ends an invocation when its background work has ended.
pub(crate) fn layer<S>() -> impl Layer<S, Service = Finishing<S>> {
    layer_fn(|inner| Finishing { inner })
}

/// Answers invocations, and ends each one when the work that it left behind has ended.
#[derive(Debug, Clone)]
pub(crate) struct Finishing<S> {
    inner: S,
}

impl<S> Service<LambdaInvocation> for Finishing<S>
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
        let tasks = Tasks::default();
        let answered = CURRENT.sync_scope(tasks.clone(), || self.inner.call(invocation));
        let (current, guard) = (tasks.clone(), AbortGuard(Some(tasks.clone())));
        let ended = async move {
            let answered = answered.await;
            current.finish().await;
            guard.disarm();
            answered
        };
        CURRENT.scope(tasks, ended).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use bytes::Bytes;
    use futures::channel::oneshot;
    use lambda_http::lambda_runtime::service_fn;
    use tokio::task::yield_now;

    use super::*;

    fn invocation() -> LambdaInvocation {
        let (parts, ()) = http::Response::new(()).into_parts();
        LambdaInvocation { parts, body: Bytes::new(), context: lambda_http::Context::default() }
    }

    async fn settle() {
        for _ in 0..10 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn invocation_ends_with_its_own_work_alone() {
        let (end, ended) = oneshot::channel::<()>();
        let mut ended = Some(ended);
        let answer = service_fn(move |_: LambdaInvocation| {
            if let Some(ended) = ended.take() {
                spawn_background(async move { _ = ended.await });
            }
            ready(Ok::<_, Error>(()))
        });
        let mut service = layer().layer(answer);
        let first = tokio::spawn(service.call(invocation()));
        let second = tokio::spawn(service.call(invocation()));
        settle().await;
        assert!(!first.is_finished(), "its work still runs");
        second.await.unwrap().unwrap();
        end.send(()).unwrap();
        first.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn panic_of_work_ends_it() {
        let answer = service_fn(|_: LambdaInvocation| async {
            spawn_background(async { panic!("in the background") });
            Ok::<_, Error>(())
        });
        layer().layer(answer).call(invocation()).await.unwrap();
    }

    #[tokio::test]
    async fn dropped_invocation_aborts_its_tasks() {
        let (started, mut handles) = futures::channel::mpsc::unbounded();
        let answer = service_fn(move |_: LambdaInvocation| {
            let started = started.clone();
            async move {
                let (background, aborted) = oneshot::channel::<()>();
                spawn_background(async move {
                    let _background = background;
                    pending().await
                });
                started.unbounded_send((spawn(pending::<()>()), aborted)).unwrap();
                pending::<Result<(), Error>>().await
            }
        });
        let call = tokio::spawn(layer().layer(answer).call(invocation()));
        settle().await;
        let (bounded, background) = handles.try_recv().unwrap();
        call.abort();
        assert!(bounded.await.unwrap_err().is_cancelled());
        assert!(background.await.is_err(), "dropped with its task");
    }

    #[tokio::test]
    async fn bounded_task_outlives_a_response() {
        let (handle, mut handles) = futures::channel::mpsc::unbounded();
        let answer = service_fn(move |_: LambdaInvocation| {
            let handle = handle.clone();
            async move {
                let task = spawn(async {
                    settle().await;
                    7
                });
                handle.unbounded_send(task).unwrap();
                Ok::<_, Error>(())
            }
        });
        layer().layer(answer).call(invocation()).await.unwrap();
        assert_eq!(handles.try_recv().unwrap().await.unwrap(), 7);
    }
}
