//! Open connections of a server, in a bounded number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, JoinSet};

use crate::client_wait::{ClientWait, MAX_WAIT_UNDER_LOAD};

/// Time between looks for a connection that may be closed, while every one is busy.
const ROOM_POLL_INTERVAL: Duration = Duration::from_millis(100);

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
    /// Wait for the client to send the rest of a request.
    sender: ClientWait,
    /// Wait for the client to read a response.
    reader: ClientWait,
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

    /// Returns once another connection may be opened. Closes one if necessary, or waits until one ends or may be closed.
    pub(super) async fn make_room(&mut self) {
        while let Some(ended) = self.tasks.try_join_next() {
            self.forget(ended);
        }
        while self.open.len() >= self.limit && !self.close_one() {
            match tokio::time::timeout(ROOM_POLL_INTERVAL, self.tasks.join_next()).await {
                Ok(Some(ended)) => self.forget(ended),
                Ok(None) => return,
                Err(_) => {}
            }
        }
    }

    /// Closes the connection that is idle for the longest time, or else the one whose client has made no progress for
    /// the longest time. Returns false if there is neither.
    pub(super) fn close_one(&mut self) -> bool {
        let activities =
            || self.open.iter().map(|(number, (connection, _))| (*number, connection.activity()));
        let idle = activities()
            .filter(|(_, activity)| activity.requests == 0)
            .map(|(number, activity)| (activity.idle_since, number));
        let stalled = || {
            activities()
                .map(|(number, activity)| (activity.sender.elapsed().max(activity.reader.elapsed()), number))
                .filter(|(wait, _)| *wait >= MAX_WAIT_UNDER_LOAD)
                .max()
        };
        let Some(number) = idle.min().map(|(_, number)| number).or_else(|| Some(stalled()?.1)) else {
            return false;
        };
        self.close(number);
        true
    }

    /// Closes the connections whose clients have not read their response for this time.
    pub(super) fn close_unread(&mut self, time: Duration) {
        let unread =
            self.open.iter().filter(|(_, (connection, _))| connection.activity().reader.elapsed() >= time);
        let unread: Vec<u64> = unread.map(|(number, _)| *number).collect();
        unread.into_iter().for_each(|number| self.close(number));
    }

    fn close(&mut self, number: u64) {
        if let Some((_, task)) = self.open.remove(&number) {
            task.abort();
        }
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
        let (sender, reader) = <(ClientWait, ClientWait)>::default();
        Self(Mutex::new(Activity { requests: 0, idle_since: Instant::now(), sender, reader }))
    }

    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> RequestGuard {
        self.activity().requests += 1;
        RequestGuard(Arc::clone(self))
    }

    /// Records that the client has to send more of its request.
    pub(super) fn wait_for_sender(&self) {
        self.activity().sender.begin();
    }

    /// Counts bytes of a request.
    pub(super) fn client_sent(&self, bytes: usize) {
        self.activity().sender.progress(bytes);
    }

    /// Records that the request is complete, or that nothing reads it any more.
    pub(super) fn client_has_sent_all(&self) {
        self.activity().sender.end();
    }

    /// Records that the client has to read before more can be written.
    pub(super) fn wait_for_reader(&self) {
        self.activity().reader.begin();
    }

    /// Counts written bytes.
    pub(super) fn client_read(&self, bytes: usize) {
        self.activity().reader.progress(bytes);
    }

    /// Records that everything is written.
    pub(super) fn client_has_read_all(&self) {
        self.activity().reader.end();
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
        assert!(!connections.close_one());
        let waited = tokio::time::timeout(Duration::from_secs(5), connections.make_room()).await;
        assert!(waited.is_ok(), "a busy one has ended");
        drop(guards);
        assert!(connections.close_one());
    }
}
