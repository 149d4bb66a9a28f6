//! A turn that this process owns, and the lease on it.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use agent::{mode::Catalog, tool::remote::RemoteOutcome};
use protocol::{
    budget::Amounts,
    effect::Intent,
    spent::Spent,
    timing::Timing,
    turn::{StepRef, Turn},
};

use crate::flow::{invocation::RequestScope, spending::Spending};
use crate::ports::{Deps, Timer};

/// A turn that this process owns.
pub(crate) struct OwnedTurn {
    /// Its head, as this attempt wrote it.
    pub(crate) turn: Turn,
    /// The lease on it.
    pub(crate) lease: Lease,
    /// The scope of the request that works on it.
    pub(crate) scope: RequestScope,
    /// The modes that it may use: the built-in ones, and those of its org.
    pub(crate) catalog: Catalog,
    /// The amounts that the turn's start reserved in its meters. Zero after a takeover or a resumption.
    pub(crate) reserved: Amounts,
    /// Spending by attempts that died; none if no attempt did.
    pub(crate) lost: Option<Spent>,
    /// Spending of the turn.
    pub(crate) spending: Spending,
    /// The round that an attempt that died left with calls of unknown fate.
    pub(crate) open_round: Option<OpenRound>,
    /// The last recorded step.
    recorded: Mutex<Option<StepRef>>,
    /// The number of remote calls whose results aren't stored yet.
    in_flight: AtomicUsize,
    is_lost: AtomicBool,
    is_ended: AtomicBool,
}

/// A round whose calls with effects another attempt intended, with the results that are stored.
#[derive(Debug, Clone)]
pub(crate) struct OpenRound {
    /// The intent.
    pub(crate) intent: Intent,
    /// The results, by the places of their calls.
    pub(crate) results: BTreeMap<u32, RemoteOutcome>,
}

/// A remote call on its way. Ends when it is dropped.
pub(crate) struct InFlight<'a>(&'a AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl OwnedTurn {
    /// Creates the owner's view of a turn after the write that acquired it.
    pub(crate) fn new(turn: Turn, lease: Lease, scope: &RequestScope, catalog: &Catalog) -> Self {
        Self {
            turn,
            lease,
            scope: scope.clone(),
            catalog: catalog.clone(),
            reserved: Amounts::default(),
            lost: None,
            spending: Spending::default(),
            open_round: None,
            recorded: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            is_lost: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
        }
    }

    /// Counts a remote call as on its way.
    pub(crate) fn begin_remote_call(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(&self.in_flight)
    }

    /// True if the result of a remote call isn't stored yet.
    pub(crate) fn has_remote_calls(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) > 0
    }

    /// Records that the attempt no longer owns the turn. Nothing is sent afterwards.
    pub(crate) fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
    }

    /// True if the attempt is known to own the turn no longer.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Records that the turn was ended from outside. No attempt needs its calls any more.
    pub(crate) fn end(&self) {
        self.is_ended.store(true, Ordering::Relaxed);
    }

    /// True if the turn is known to have ended from outside.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Returns the time left for models and tools before the turn must be settled.
    pub(crate) fn time_left(&self, deps: &impl Deps) -> Duration {
        let settle_by = self.scope.deadline.saturating_sub(deps.timing().settle_reserve);
        settle_by.saturating_sub(deps.host().monotonic())
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

    /// Extends the lease by a renewal that started at `requested`.
    pub(crate) fn extend(&self, requested: Duration, by: Duration) {
        self.ends.store(millis(requested.saturating_add(by)), Ordering::Relaxed);
        self.confirm(requested);
    }
}

fn millis(instant: Duration) -> u64 {
    u64::try_from(instant.as_millis()).unwrap_or(u64::MAX)
}
