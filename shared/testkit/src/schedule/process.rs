//! A simulated process: one invocation, with its own view of time and its own bad luck.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use contracts::Timestamp;
use protocol::id::AttemptId;
use turns::ports::{Random, Timer};

use crate::{
    clock::{Clock, ProcessId},
    fault::{Effect, Fault, Rates},
    ledger::{Event, Ledger},
};

/// Which effects of a process fail.
#[derive(Debug, Clone, Default)]
pub enum Faults {
    /// None.
    #[default]
    None,
    /// These, counted from zero in the order in which the process reaches them.
    At(BTreeMap<usize, Fault>),
    /// Every effect of this kind.
    Reaching(Effect, Fault),
    /// The effect of this kind before which so many of its kind were reached.
    Nth(Effect, usize, Fault),
    /// Any, as the seed has it.
    Drawn(Rates),
}

#[derive(Debug)]
struct Inner {
    id: ProcessId,
    name: String,
    clock: Clock,
    ledger: Ledger,
    wall_ahead_millis: i64,
    faults: Faults,
    reached: Mutex<Vec<Effect>>,
    throttled: Mutex<u32>,
    cut_off: Option<Range<Duration>>,
}

/// A process. Handles share it.
#[derive(Debug, Clone)]
pub struct Process(Arc<Inner>);

impl Process {
    #[must_use]
    pub fn new(id: ProcessId, name: String, clock: Clock, ledger: Ledger, faults: Faults) -> Self {
        let cut_off = match &faults {
            Faults::Drawn(rates) => clock.draw(|chance| rates.cut_off(chance)),
            Faults::None | Faults::At(_) | Faults::Reaching(..) | Faults::Nth(..) => None,
        };
        let cut_off = cut_off.map(|(from, to)| clock.monotonic() + from..clock.monotonic() + to);
        // Clocks of different machines differ by a little.
        let wall_ahead_millis = match faults {
            Faults::Drawn(_) => clock.draw(|chance| chance.i64(-400..=400)),
            Faults::None | Faults::At(_) | Faults::Reaching(..) | Faults::Nth(..) => 0,
        };
        Self(Arc::new(Inner {
            id,
            name,
            clock,
            ledger,
            wall_ahead_millis,
            faults,
            reached: Mutex::default(),
            throttled: Mutex::default(),
            cut_off,
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

    /// The effects this process has reached so far, in order.
    #[must_use]
    pub fn reached(&self) -> Vec<Effect> {
        self.0.reached.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// On the way to an effect: what is going to happen to it. Never returns when the process crashes.
    pub(crate) async fn reach(&self, effect: Effect) -> Option<Fault> {
        let cut_off = effect != Effect::CallModel && self.is_cut_off();
        let latency = if cut_off { self.0.clock.timeout() } else { self.0.clock.latency() };
        self.pass(latency).await;
        // What was on its way when the network went may still arrive, long after its sender gave up.
        let lost = || match self.0.clock.draw(fastrand::Rng::bool) {
            true => Fault::NotApplied,
            false => Fault::LandsLate,
        };
        let fault = self.fault(effect).or_else(|| cut_off.then(lost));
        self.0.clock.trace_effect(self.0.id, &self.0.name, effect, fault);
        if fault == Some(Fault::CrashBefore) {
            self.crash().await;
        }
        fault
    }

    /// On the way back from it.
    pub(crate) async fn leave(&self, fault: Option<Fault>) {
        if fault == Some(Fault::CrashAfter) {
            self.crash().await;
        }
        self.pass(self.0.clock.latency()).await;
    }

    /// Whether nothing that this process sends arrives.
    fn is_cut_off(&self) -> bool {
        let now = self.0.clock.monotonic();
        !self.0.clock.is_calm() && self.0.cut_off.as_ref().is_some_and(|times| times.contains(&now))
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
        let (index, of_its_kind) = {
            let mut reached = self.0.reached.lock().unwrap_or_else(PoisonError::into_inner);
            let of_its_kind = reached.iter().filter(|one| **one == effect).count();
            reached.push(effect);
            (reached.len() - 1, of_its_kind)
        };
        let mut throttled = self.0.throttled.lock().unwrap_or_else(PoisonError::into_inner);
        if *throttled > 0 {
            *throttled -= 1;
            return Some(Fault::Throttled(1));
        }
        let fault = match &self.0.faults {
            Faults::None => None,
            Faults::At(faults) => faults.get(&index).copied(),
            Faults::Reaching(kind, fault) => (effect == *kind).then_some(*fault),
            Faults::Nth(kind, nth, fault) => (effect == *kind && of_its_kind == *nth).then_some(*fault),
            Faults::Drawn(_) if self.0.clock.is_calm() => None,
            Faults::Drawn(rates) => self.0.clock.draw(|chance| rates.draw(chance)),
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

impl turns::ports::Clock for Process {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.clock.wall().as_millis() + self.0.wall_ahead_millis)
    }
}

impl Random for Process {
    fn attempt_id(&self) -> AttemptId {
        let random = self.0.clock.draw(|chance| chance.u64(..));
        let attempt = AttemptId::new(format!("{}-{random:016x}", self.0.id.0));
        self.0.ledger.note(Event::AttemptId { process: self.0.id, attempt: attempt.clone() });
        attempt
    }

    fn jitter(&self, most: Duration) -> Duration {
        most.mul_f64(self.0.clock.draw(fastrand::Rng::f64))
    }
}
