//! Yields of a loop whose next step may always be ready.

use std::time::Duration;

use tokio::{task::yield_now, time::Instant};

/// The longest time that a loop runs between two yields.
const MAX_RUN: Duration = Duration::from_millis(1);

/// Yields to other work at intervals.
///
/// On a runtime with one thread, a yield polls the driver of I/O and timers, which is a system call. One per chunk of a
/// stream costs more than reading the chunk.
#[derive(Debug)]
pub(crate) struct YieldInterval {
    resumed: Instant,
}

impl YieldInterval {
    /// Starts the first interval.
    pub(crate) fn start() -> Self {
        Self { resumed: Instant::now() }
    }

    /// Yields if the interval has passed.
    pub(crate) async fn tick(&mut self) {
        if self.is_over(Instant::now()) {
            yield_now().await;
            self.resumed = Instant::now();
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.resumed) >= MAX_RUN
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        task::{Context, Waker},
    };

    use super::*;

    #[test]
    fn loop_runs_for_a_millisecond_between_yields() {
        let interval = YieldInterval::start();
        assert!(!interval.is_over(interval.resumed));
        assert!(!interval.is_over(interval.resumed + MAX_RUN - Duration::from_nanos(1)));
        assert!(interval.is_over(interval.resumed + MAX_RUN));
    }

    #[test]
    fn tick_after_the_interval_yields_once() {
        let context = &mut Context::from_waker(Waker::noop());
        let mut interval = YieldInterval { resumed: Instant::now() - MAX_RUN };
        {
            let mut tick = pin!(interval.tick());
            assert!(tick.as_mut().poll(context).is_pending());
            assert!(tick.as_mut().poll(context).is_ready());
        }
        // In the future, so that the interval isn't over however slow this test runs.
        interval.resumed += Duration::from_secs(60);
        assert!(pin!(interval.tick()).poll(context).is_ready());
    }
}
