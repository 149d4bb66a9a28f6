//! Open connections of a server, in a bounded number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::{AbortHandle, JoinSet};

/// The open connections. Dropping them closes all.
#[derive(Debug)]
pub(super) struct Connections {
    limit: usize,
    /// Number of the next connection.
    next: u64,
    open: BTreeMap<u64, (Arc<Connection>, AbortHandle)>,
    tasks: JoinSet<u64>,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection(Mutex<Activity>);

#[derive(Debug)]
struct Activity {
    /// Requests without a complete response.
    requests: u32,
    /// End of the last request, or the start of the connection.
    idle_since: Instant,
}

/// A request in progress. Dropping it ends it.
#[derive(Debug)]
pub(super) struct RequestGuard(Arc<Connection>);

impl Connections {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, next: 0, open: BTreeMap::new(), tasks: JoinSet::new() }
    }

    /// Serves a connection in a task of its own.
    pub(super) fn spawn<F>(&mut self, serve: impl FnOnce(Arc<Connection>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let number = self.next;
        self.next += 1;
        let connection = Arc::new(Connection::new());
        let serving = serve(Arc::clone(&connection));
        let task = self.tasks.spawn(async move {
            serving.await;
            number
        });
        self.open.insert(number, (connection, task));
    }

    /// Returns once another connection may be opened. Closes the one that is idle for the longest time if necessary, or
    /// waits until one ends if none is idle.
    pub(super) async fn make_room(&mut self) {
        while let Some(ended) = self.tasks.try_join_next() {
            self.forget(ended);
        }
        while self.open.len() >= self.limit && !self.close_idle() {
            match self.tasks.join_next().await {
                Some(ended) => self.forget(ended),
                None => return,
            }
        }
    }

    /// Closes the connection that is idle for the longest time. Returns false if none is idle.
    pub(super) fn close_idle(&mut self) -> bool {
        let idle = self.open.iter().filter_map(|(number, (connection, _))| {
            let activity = connection.activity();
            (activity.requests == 0).then_some((activity.idle_since, *number))
        });
        let Some((_, number)) = idle.min() else { return false };
        if let Some((_, task)) = self.open.remove(&number) {
            task.abort();
        }
        true
    }

    /// Removes an ended connection. One that was aborted is removed already.
    fn forget(&mut self, ended: Result<u64, tokio::task::JoinError>) {
        if let Ok(number) = ended {
            self.open.remove(&number);
        }
    }
}

impl Connection {
    fn new() -> Self {
        Self(Mutex::new(Activity { requests: 0, idle_since: Instant::now() }))
    }

    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> RequestGuard {
        self.activity().requests += 1;
        RequestGuard(Arc::clone(self))
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.requests = activity.requests.saturating_sub(1);
        activity.idle_since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn idle_connection_makes_room_and_busy_one_is_waited_for() {
        let mut connections = Connections::new(2);
        let (mut guards, mut closed) = (Vec::new(), Vec::new());
        for is_busy in [true, false] {
            connections.make_room().await;
            let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
            connections.spawn(|connection| {
                guards.extend(is_busy.then(|| connection.begin_request()));
                async move {
                    let _held = sender;
                    tokio::time::sleep(Duration::from_millis(if is_busy { 200 } else { 60_000 })).await;
                }
            });
            closed.push(receiver);
        }
        let mut idle = closed.pop().unwrap();
        assert!(idle.try_recv().is_err());
        connections.make_room().await;
        assert!(tokio::time::timeout(Duration::from_secs(5), idle).await.is_ok(), "the idle one is closed");

        connections.spawn(|connection| {
            guards.push(connection.begin_request());
            std::future::pending()
        });
        assert!(!connections.close_idle());
        let waited = tokio::time::timeout(Duration::from_secs(5), connections.make_room()).await;
        assert!(waited.is_ok(), "a busy one has ended");
        drop(guards);
        assert!(connections.close_idle());
    }
}
