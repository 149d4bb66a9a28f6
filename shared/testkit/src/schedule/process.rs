//! A simulated process: one invocation, with its own view of time and its own faults.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contracts::Timestamp;
use protocol::{budget::EntryId, id::AttemptId};
use turns::ports::{Host, Timer};

use crate::{
    clock::{Clock, ProcessId},
    fault::{Effect, Fault, Rates},
    ledger::{Event, Ledger},
};

/// The faults of a process.
#[derive(Debug, Clone, Default)]
pub enum Faults {
    /// No faults.
    #[default]
    None,
    /// These faults, by the index of the effect in the order in which the process reaches them.
    AtIndex(BTreeMap<usize, Fault>),
    /// A fault at every effect of this kind.
    EveryOfKind(Effect, Fault),
    /// A fault at the effect of this kind with this index.
    Nth(Effect, usize, Fault),
    /// Random faults.
    Random(Rates),
}

#[derive(Debug)]
struct Inner {
    id: ProcessId,
    name: String,
    clock: Clock,
    ledger: Ledger,
    wall_offset_millis: i64,
    faults: Faults,
    reached: Mutex<Vec<Effect>>,
    throttled: Mutex<u32>,
    partition: Option<Range<Duration>>,
}

/// A process. Clones share it.
#[derive(Debug, Clone)]
pub struct Process(Arc<Inner>);

impl Process {
    #[must_use]
    pub fn new(id: ProcessId, name: String, clock: Clock, ledger: Ledger, faults: Faults) -> Self {
        let partition = match &faults {
            Faults::Random(rates) => clock.draw(|chance| rates.partition(chance)),
            Faults::None | Faults::AtIndex(_) | Faults::EveryOfKind(..) | Faults::Nth(..) => None,
        };
        let partition = partition.map(|(from, to)| clock.monotonic() + from..clock.monotonic() + to);
        // Clocks of different machines differ slightly.
        let wall_offset_millis = match faults {
            Faults::Random(_) => clock.draw(|chance| chance.i64(-400..=400)),
            Faults::None | Faults::AtIndex(_) | Faults::EveryOfKind(..) | Faults::Nth(..) => 0,
        };
        Self(Arc::new(Inner {
            id,
            name,
            clock,
            ledger,
            wall_offset_millis,
            faults,
            reached: Mutex::default(),
            throttled: Mutex::default(),
            partition,
        }))
    }

    #[must_use]
    pub fn id(&self) -> ProcessId {
        self.0.id
    }

    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// Returns the effects that this process has reached so far, in order.
    #[must_use]
    pub fn reached(&self) -> Vec<Effect> {
        self.0.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Draws the fault of an effect before it is applied. Never returns if the process crashes.
    pub(crate) async fn reach(&self, effect: Effect) -> Option<Fault> {
        let partition = effect != Effect::CallModel && self.is_partitioned();
        let latency = if partition { self.0.clock.timeout() } else { self.0.clock.latency() };
        self.pass(latency).await;
        // Messages under way when the network went may still arrive, long after their sender gave up.
        let lost = || match self.0.clock.draw(fastrand::Rng::bool) {
            true => Fault::NotApplied,
            false => Fault::AppliedLate,
        };
        let fault = self.fault(effect).or_else(|| partition.then(lost));
        self.0.clock.trace_effect(self.0.id, &self.0.name, effect, fault);
        if fault == Some(Fault::CrashBefore) {
            self.crash().await;
        }
        fault
    }

    /// Finishes an effect after it was applied.
    pub(crate) async fn leave(&self, fault: Option<Fault>) {
        if fault == Some(Fault::CrashAfter) {
            self.crash().await;
        }
        self.pass(self.0.clock.latency()).await;
    }

    /// Returns true if nothing that this process sends arrives.
    fn is_partitioned(&self) -> bool {
        let now = self.0.clock.monotonic();
        !self.0.clock.faults_stopped() && self.0.partition.as_ref().is_some_and(|times| times.contains(&now))
    }

    async fn pass(&self, time: Duration) {
        if self.0.clock.is_crashed(self.0.id) {
            std::future::pending::<()>().await;
        }
        self.0.clock.sleep_until(self.0.id, self.0.clock.monotonic() + time).await;
    }

    async fn crash(&self) {
        self.0.clock.crash(self.0.id);
        std::future::pending::<()>().await;
    }

    fn fault(&self, effect: Effect) -> Option<Fault> {
        let (index, same_kind) = {
            let mut reached = self.0.reached.lock().unwrap_or_else(PoisonError::into_inner);
            let same_kind = reached.iter().filter(|one| **one == effect).count();
            reached.push(effect);
            (reached.len() - 1, same_kind)
        };
        let mut throttled = self.0.throttled.lock().unwrap_or_else(PoisonError::into_inner);
        if *throttled > 0 {
            *throttled -= 1;
            return Some(Fault::Throttled(1));
        }
        let fault = match &self.0.faults {
            Faults::None => None,
            Faults::AtIndex(faults) => faults.get(&index).copied(),
            Faults::EveryOfKind(kind, fault) => (effect == *kind).then_some(*fault),
            Faults::Nth(kind, nth, fault) => (effect == *kind && same_kind == *nth).then_some(*fault),
            Faults::Random(_) if self.0.clock.faults_stopped() => None,
            Faults::Random(rates) => self.0.clock.draw(|chance| rates.draw(chance)),
        };
        if let Some(Fault::Throttled(times)) = fault {
            *throttled = times.saturating_sub(1);
        }
        fault
    }
}

impl Timer for Process {
    fn monotonic(&self) -> Duration {
        self.0.clock.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        self.pass(duration).await;
    }
}

impl Host for Process {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.clock.wall().as_millis() + self.0.wall_offset_millis)
    }

    fn attempt_id(&self) -> AttemptId {
        let random = self.0.clock.draw(|chance| chance.u64(..));
        let attempt = AttemptId::new(format!("{}-{random:016x}", self.0.id.0));
        self.0.ledger.record(Event::AttemptId { process: self.0.id, attempt: attempt.clone() });
        attempt
    }

    fn jitter(&self, most: Duration) -> Duration {
        most.mul_f64(self.0.clock.draw(fastrand::Rng::f64))
    }

    fn entry_id(&self) -> EntryId {
        EntryId(self.0.clock.draw(|chance| chance.u32(..)))
    }
}
