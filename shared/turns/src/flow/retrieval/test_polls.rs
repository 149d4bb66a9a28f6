//! Counts the polls of futures.

use std::{future::poll_fn, pin::pin, task::Poll};

use futures::FutureExt;

/// Becomes ready after this many polls.
pub(super) async fn ready_after<T>(mut polls: u32, value: T) -> T {
    poll_fn(|context| {
        context.waker().wake_by_ref();
        match polls.checked_sub(1) {
            Some(left) => {
                polls = left;
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    })
    .await;
    value
}

/// Returns the number of polls until a future is ready.
pub(super) fn polls_until_ready(future: impl Future) -> u32 {
    let mut future = pin!(future);
    (1..100).find(|_| future.as_mut().now_or_never().is_some()).unwrap_or(100)
}
