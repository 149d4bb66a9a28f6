//! How often, and for how long, something is sent again.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, Retry};

/// How often in a row without any progress.
const MOST: u32 = 10;
/// How long in all since the last progress.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// The first pause; each is twice the one before.
const FIRST: Duration = Duration::from_millis(250);
/// The longest pause that nobody asked for.
const LONGEST: Duration = Duration::from_secs(8);

/// The failures since the last progress.
#[derive(Debug)]
pub(crate) struct Tries {
    failures: u32,
    since: Instant,
}

impl Tries {
    pub(crate) fn new() -> Self {
        Self { failures: 0, since: Instant::now() }
    }

    /// Something was got: what failed before no longer counts.
    pub(crate) fn progress(&mut self) {
        *self = Self::new();
    }

    /// The pause before the next try, or the error where there is none.
    pub(crate) fn after(&mut self, error: Error) -> Result<Duration, Error> {
        if error.retry() != Retry::SameRequest || self.failures >= MOST {
            return Err(error);
        }
        let longest = FIRST.saturating_mul(1 << self.failures).min(LONGEST);
        // Half of it is chance, so that clients that failed together don't come back together.
        let pause = longest.mul_f64(0.5 + fastrand::f64() / 2.0).max(error.after().unwrap_or_default());
        if self.since.elapsed() + pause > PATIENCE {
            return Err(error);
        }
        self.failures += 1;
        Ok(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_tried_again_so_often_and_progress_counts_anew() {
        let mut tries = Tries::new();
        let pauses: Vec<_> = std::iter::from_fn(|| tries.after(Error::Interrupted).ok()).collect();
        assert_eq!(pauses.len(), MOST as usize);
        assert!(pauses.iter().all(|pause| *pause <= LONGEST));
        tries.progress();
        assert!(tries.after(Error::Interrupted).is_ok());
    }

    #[test]
    fn what_can_not_help_is_not_tried() {
        assert_eq!(Tries::new().after(Error::Unreadable(404)), Err(Error::Unreadable(404)));
    }
}
