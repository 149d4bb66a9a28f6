//! Connections over which nothing was sent, because their sender had to prove first that it may.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

/// A connection to a checked address.
pub(crate) type Connection = Pin<Box<dyn Stream>>;

/// What a connection reads and writes.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Stream for T {}

/// The longest time that a connection waits. A target may close it after a longer one, and the request would be lost.
const MAX_AGE: Duration = Duration::from_secs(2);
/// The most connections that wait.
const MAX_PARKED: usize = 16;

/// The connections that wait.
#[derive(Clone, Default)]
pub(crate) struct Parked(Arc<Mutex<Vec<Entry>>>);

struct Entry {
    url: Url,
    stream: Connection,
    /// Both clocks: one may stand still while a function is frozen.
    since: (Instant, SystemTime),
}

impl Entry {
    fn is_fresh(&self) -> bool {
        let (monotonic, wall) = self.since;
        monotonic.elapsed() < MAX_AGE && wall.elapsed().is_ok_and(|age| age < MAX_AGE)
    }

    fn is_to(&self, url: &Url) -> bool {
        let place = |url: &Url| {
            (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
        };
        place(&self.url) == place(url)
    }
}

impl Parked {
    /// Takes a connection to the host of a URL.
    pub(crate) fn take(&self, url: &Url) -> Option<Connection> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(Entry::is_fresh);
        let index = entries.iter().position(|entry| entry.is_to(url))?;
        Some(entries.swap_remove(index).stream)
    }

    /// Adds a connection to the host of a URL.
    pub(crate) fn put(&self, url: Url, stream: Connection) {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(Entry::is_fresh);
        if entries.len() < MAX_PARKED {
            entries.push(Entry { url, stream, since: (Instant::now(), SystemTime::now()) });
        }
    }
}
