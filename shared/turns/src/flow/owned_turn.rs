//! A turn that this process owns, and the renewal of its lease.

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
    turn::{StepRef, Turn},
};

use super::{
    invocation::RequestScope,
    write::{self, WriteOutcome},
};
use crate::ports::{Clock, Deps, Timer};

/// A turn that this process owns.
pub(crate) struct OwnedTurn {
    /// Its head, as this attempt wrote it.
    pub(crate) turn: Turn,
    /// The lease on it.
    pub(crate) lease: Lease,
    /// The scope of the request that works on it.
    pub(crate) scope: RequestScope,
    /// The last recorded step.
    recorded: Mutex<Option<StepRef>>,
}

impl OwnedTurn {
    /// Creates the owner's view of a turn after the write that acquired it.
    pub(crate) fn new(turn: Turn, lease: Lease, scope: &RequestScope) -> Self {
        Self { turn, lease, scope: scope.clone(), recorded: Mutex::default() }
    }

    /// Returns the last recorded step, by whichever attempt.
    pub(crate) fn recorded(&self) -> Option<StepRef> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the last recorded step.
    pub(crate) fn set_recorded(&self, step: Option<StepRef>) {
        *self.recorded.lock().unwrap_or_else(PoisonError::into_inner) = step;
    }
}

/// A lease as its holder sees it: measured by the holder's own monotonic clock, and a little shorter than in everyone
/// else's view.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The end of the lease on [`Timer::monotonic`], in milliseconds.
    ends: AtomicU64,
    /// The start of the last write or read that confirmed ownership, in milliseconds.
    confirmed: AtomicU64,
    stop_margin: Duration,
}

impl Lease {
    /// Creates a lease whose write started at `requested`. The stored lease can't end before the one computed from
    /// this instant.
    pub(crate) fn starting_at(requested: Duration, timing: &Timing) -> Self {
        let lease =
            Self { ends: AtomicU64::new(0), confirmed: AtomicU64::new(0), stop_margin: timing.stop_margin };
        lease.extend(requested, timing.lease);
        lease
    }

    /// Returns the time for which the holder may still act.
    pub(crate) fn remaining(&self, timer: &impl Timer) -> Duration {
        Duration::from_millis(self.ends.load(Ordering::Relaxed))
            .saturating_sub(self.stop_margin)
            .saturating_sub(timer.monotonic())
    }

    /// Returns the instant up to which ownership is confirmed.
    pub(crate) fn last_confirmed(&self) -> Duration {
        Duration::from_millis(self.confirmed.load(Ordering::Relaxed))
    }

    /// Confirms ownership by a read or write that started at `began`.
    pub(crate) fn confirm(&self, started: Duration) {
        self.confirmed.fetch_max(millis(started), Ordering::Relaxed);
    }

    fn extend(&self, requested: Duration, by: Duration) {
        self.ends.store(millis(requested.saturating_add(by)), Ordering::Relaxed);
        self.confirm(requested);
    }
}

fn millis(instant: Duration) -> u64 {
    u64::try_from(instant.as_millis()).unwrap_or(u64::MAX)
}

/// Renews the lease until it is lost: taken over, settled by someone else, or expired because the table is
/// unreachable. Runs in the same task as the work. Never extends the lease past the moment at which the function is
/// stopped.
///
/// It is polled before the work each time, and the work computes for a bounded time between two polls: the model
/// client yields after each chunk, and answers are filtered in steps. So the work can't starve it, dropping the
/// attempt drops it, and simulations need no extra tasks.
pub(crate) async fn keep_lease(deps: &impl Deps, owned: &OwnedTurn) {
    let OwnedTurn { turn, lease, scope, .. } = owned;
    let (host, timing) = (deps.host(), deps.timing());
    loop {
        let left = lease.remaining(host);
        if left.is_zero() {
            return;
        }
        host.sleep(timing.renewal_interval().min(left)).await;
        let requested = host.monotonic();
        let by = timing.lease.min(scope.deadline.saturating_sub(requested));
        if lease.remaining(host).is_zero() || by.is_zero() {
            return;
        }
        let Ok(change) = renew(turn, host.now().after(by)) else {
            return;
        };
        // The lease bounds the write, because each try may hang for as long as the adapter allows. Otherwise a holder
        // that waits for an unreachable table would continue, and pay, under an expired lease.
        let renewal = pin!(write::turn(deps, &change));
        let over = pin!(host.sleep(lease.remaining(host)));
        match select(renewal, over).await {
            Either::Left((Ok(WriteOutcome::Applied), _)) => lease.extend(requested, by),
            Either::Left((Ok(WriteOutcome::Superseded(_)), _)) | Either::Right(_) => return,
            // The table is unreachable. The lease still holds, so try again until it ends.
            Either::Left((Err(_), _)) => {}
        }
    }
}
