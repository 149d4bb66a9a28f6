//! The wait for a client that doesn't send or read, and its progress.
//!
//! A few bytes are no progress: a client that sends one byte a second would never be late.

use std::time::{Duration, Instant};

/// The bytes that end a wait.
const PROGRESS_BYTES: usize = 64 * 1024;

/// A wait after which the client may be cut off, if others need its place.
pub(crate) const MAX_WAIT_UNDER_LOAD: Duration = Duration::from_secs(2);

/// The wait for a client. `None` without one.
#[derive(Debug, Default)]
pub(crate) struct ClientWait {
    since: Option<Instant>,
    /// The bytes that the client has sent or read since then.
    bytes: usize,
}

impl ClientWait {
    /// Begins a wait, unless one has begun.
    pub(crate) fn begin(&mut self) {
        if self.since.is_none() {
            *self = Self { since: Some(Instant::now()), bytes: 0 };
        }
    }

    /// Counts bytes that the client has sent or read. Enough of them end the wait.
    pub(crate) fn progress(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes >= PROGRESS_BYTES {
            self.end();
        }
    }

    /// Ends the wait.
    pub(crate) fn end(&mut self) {
        self.since = None;
    }

    /// Returns the time since the wait began. Zero without a wait.
    pub(crate) fn elapsed(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_ends_with_enough_bytes_and_not_with_a_few() {
        let mut wait = ClientWait::default();
        assert_eq!(wait.elapsed(), Duration::ZERO);
        wait.begin();
        std::thread::sleep(Duration::from_millis(20));
        wait.begin();
        wait.progress(PROGRESS_BYTES - 1);
        assert!(wait.elapsed() >= Duration::from_millis(20));
        wait.progress(1);
        assert_eq!(wait.elapsed(), Duration::ZERO);
        wait.begin();
        wait.progress(1);
        wait.end();
        assert_eq!(wait.elapsed(), Duration::ZERO);
    }
}
