//! A turn that this process owns, and keeping the lease on it.

use std::{
    pin::pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::future::{Either, select};
use protocol::{
    timing::Timing,
    transition::renew::renew,
    turn::{Recorded, Turn},
};

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
    /// The last step that was recorded of its work.
    recorded: Mutex<Option<Recorded>>,
}

impl OwnedTurn {
    /// A turn that is this process's since the write that made it so.
    pub(super) fn new(turn: Turn, lease: Lease, term: &Term) -> Self {
        Self { turn, lease, term: term.clone(), recorded: Mutex::default() }
    }

    /// The last step that was recorded of its work, by whichever attempt.
    pub(super) fn recorded(&self) -> Option<Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another step is recorded.
    pub(super) fn has_recorded(&self, step: Option<Recorded>) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) = step;
    }
}

/// A lease as its holder sees it: by its own clock, which never jumps, and a little shorter than
/// everybody else's view of it.
#[derive(Debug)]
pub(super) struct Lease {
    /// On [`Timer::monotonic`], in milliseconds.
    ends: AtomicU64,
    /// When what last showed the turn to be the attempt's own began: a write of it, or a look.
    seen: AtomicU64,
    stop_early: Duration,
}

impl Lease {
    /// A lease whose write began at `requested`, so it can't be over earlier than we think.
    pub(super) fn held_since(requested: Duration, timing: &Timing) -> Self {
        let lease = Self { ends: AtomicU64::new(0), seen: AtomicU64::new(0), stop_early: timing.stop_early };
        lease.extend(requested, timing.lease);
        lease
    }

    /// How much longer the holder may act.
    pub(super) fn left(&self, timer: &impl Timer) -> Duration {
        Duration::from_millis(self.ends.load(Ordering::Relaxed))
            .saturating_sub(self.stop_early)
            .saturating_sub(timer.monotonic())
    }

    /// Up to when the turn is known to have been the attempt's.
    pub(super) fn seen(&self) -> Duration {
        Duration::from_millis(self.seen.load(Ordering::Relaxed))
    }

    /// Something that began at `began` showed the turn to be the attempt's.
    pub(super) fn was_seen(&self, began: Duration) {
        self.seen.fetch_max(millis(began), Ordering::Relaxed);
    }

    fn extend(&self, requested: Duration, by: Duration) {
        self.ends.store(millis(requested.saturating_add(by)), Ordering::Relaxed);
        self.was_seen(requested);
    }
}

fn millis(instant: Duration) -> u64 {
    u64::try_from(instant.as_millis()).unwrap_or(u64::MAX)
}

/// Renews the lease, beside the work and in its task, until it is lost: taken, settled by someone else, or over
/// because the table could not be reached. Never past the moment when the function itself is about to be stopped.
///
/// It is polled before the work each time, and what the work computes between two polls is bounded: the model's
/// client yields after each piece that it reads, and a reply is guarded in steps. So the work can't starve it, dropping the attempt drops it, and a simulation needs no tasks of its own for it.
pub(super) async fn keep_lease(deps: &impl Deps, owned: &OwnedTurn) {
    let OwnedTurn { turn, lease, term, .. } = owned;
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
