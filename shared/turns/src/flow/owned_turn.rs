//! A turn that this process owns, and keeping the lease on it.

use std::{
    pin::pin,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use futures::future::{Either, select};
use protocol::{timing::Timing, transition::renew::renew, turn::Turn};

use super::{
    executor::Term,
    write::{self, Written},
};
use crate::ports::{Clock, Deps, Timer};

/// A turn that this process owns.
pub(super) struct OwnedTurn {
    /// Its head, as this attempt wrote it.
    pub(super) turn: Turn,
    /// The lease on it.
    pub(super) lease: Lease,
    /// How long this process may work on it.
    pub(super) term: Term,
}

/// A lease as its holder sees it: by its own clock, which never jumps, and a little shorter than
/// everybody else's view of it.
#[derive(Debug)]
pub(super) struct Lease {
    /// On [`Timer::monotonic`], in milliseconds.
    ends: AtomicU64,
    stop_early: Duration,
}

impl Lease {
    /// A lease whose write began at `requested`, so it can't be over earlier than we think.
    pub(super) fn held_since(requested: Duration, timing: &Timing) -> Self {
        let lease = Self { ends: AtomicU64::new(0), stop_early: timing.stop_early };
        lease.extend(requested, timing.lease);
        lease
    }

    /// How much longer the holder may act.
    pub(super) fn left(&self, timer: &impl Timer) -> Duration {
        Duration::from_millis(self.ends.load(Ordering::Relaxed))
            .saturating_sub(self.stop_early)
            .saturating_sub(timer.monotonic())
    }

    fn extend(&self, requested: Duration, by: Duration) {
        let ends = requested.saturating_add(by).as_millis();
        self.ends.store(u64::try_from(ends).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Renews the lease until it is lost: taken, settled by someone else, or over because the table could
/// not be reached. Never past the moment when the function itself is about to be stopped.
pub(super) async fn keep_lease(deps: &impl Deps, owned: &OwnedTurn) {
    let OwnedTurn { turn, lease, term } = owned;
    let (host, timing) = (deps.host(), deps.timing());
    loop {
        let left = lease.left(host);
        if left.is_zero() {
            return;
        }
        host.sleep(timing.renew_every().min(left)).await;
        let requested = host.monotonic();
        let by = timing.lease.min(term.ends.saturating_sub(requested));
        if lease.left(host).is_zero() || by.is_zero() {
            return;
        }
        let Ok(change) = renew(turn, host.now().after(by)) else {
            return;
        };
        // Every try of the write may hang as long as the adapter lets it, so the lease ends it: a holder
        // that waited for an unreachable table would work on, and pay, under a lease that is over.
        let renewal = pin!(write::turn(deps, &change));
        let over = pin!(host.sleep(lease.left(host)));
        match select(renewal, over).await {
            Either::Left((Ok(Written::Applied), _)) => lease.extend(requested, by),
            Either::Left((Ok(Written::Stands(_)), _)) | Either::Right(_) => return,
            // The table can't be reached: the lease still runs, so try again while it does.
            Either::Left((Err(_), _)) => {}
        }
    }
}
