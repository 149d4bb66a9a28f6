//! The clock and timers of a run, and its only source of randomness.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use contracts::Timestamp;

use crate::{
    fault::{Effect, Fault},
    trace::Trace,
};

/// The id of a simulated process: one invocation of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

/// The wall clock's start.
const EPOCH_MILLIS: i64 = 1_767_225_600_000;

/// A time at which the driver asked to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Alarm(pub u64);

/// The latency of effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latency {
    /// None. The effects of a process happen in program order.
    Instant,
    /// Mostly milliseconds, sometimes seconds.
    Random,
}

/// The target of a wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    Task(ProcessId),
    Alarm(Alarm),
    DelayedEffect(u64),
}

type DelayedEffect = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Core {
    now: Duration,
    wall_offset_millis: i64,
    chance: fastrand::Rng,
    latency: Latency,
    faults_stopped: bool,
    // A random tie-breaker orders what happens at the same time. The counter makes the order total.
    pending: BinaryHeap<Reverse<(Duration, u32, u64, Wake)>>,
    counter: u64,
    delayed_effects: BTreeMap<u64, DelayedEffect>,
    crashed: BTreeSet<ProcessId>,
    trace: Trace,
    fault_counts: BTreeMap<Fault, u64>,
}

/// A handle to the clock of a run.
#[derive(Clone)]
pub struct Clock(Arc<Mutex<Core>>);

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Clock({:?})", self.monotonic())
    }
}

impl Clock {
    pub(crate) fn new(seed: u64, latency: Latency, verbose: bool) -> Self {
        Self(Arc::new(Mutex::new(Core {
            now: Duration::ZERO,
            wall_offset_millis: 0,
            chance: fastrand::Rng::with_seed(seed),
            latency,
            faults_stopped: false,
            pending: BinaryHeap::new(),
            counter: 0,
            delayed_effects: BTreeMap::new(),
            crashed: BTreeSet::new(),
            trace: Trace::new(verbose),
            fault_counts: BTreeMap::new(),
        })))
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the monotonic time.
    #[must_use]
    pub fn monotonic(&self) -> Duration {
        self.core().now
    }

    /// Returns the wall-clock time.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        let core = self.core();
        let since = i64::try_from(core.now.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(EPOCH_MILLIS + since + core.wall_offset_millis)
    }

    /// Moves the wall clock only.
    pub fn jump(&self, millis: i64) {
        self.core().wall_offset_millis += millis;
        self.trace(|| format!("the wall clock jumps by {millis} ms"));
    }

    /// Draws from the seeded generator.
    pub fn draw<R>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> R) -> R {
        draw(&mut self.core().chance)
    }

    /// Stops all faults and long latencies.
    pub fn stop_faults(&self) {
        self.core().faults_stopped = true;
        self.trace(|| "faults stop".to_owned());
    }

    #[must_use]
    pub fn faults_stopped(&self) -> bool {
        self.core().faults_stopped
    }

    /// Adds a line to the trace.
    pub fn trace(&self, line: impl FnOnce() -> String) {
        let mut core = self.core();
        let now = core.now;
        core.trace.line(now, line);
    }

    /// Adds an effect and its fault to the trace.
    pub(crate) fn trace_effect(&self, id: ProcessId, name: &str, effect: Effect, fault: Option<Fault>) {
        let mut core = self.core();
        let now = core.now;
        core.trace.fact((id, effect, fault));
        if let Some(fault) = fault {
            *core.fault_counts.entry(fault).or_default() += 1;
        }
        core.trace.line(now, || match fault {
            None => format!("{name}: {effect:?}"),
            Some(fault) => format!("{name}: {effect:?} {fault:?}"),
        });
    }

    /// Returns the number of faults of a kind so far.
    pub fn fault_count(&self, kind: impl Fn(&Fault) -> bool) -> u64 {
        self.core().fault_counts.iter().filter(|(fault, _)| kind(fault)).map(|(_, times)| times).sum()
    }

    /// Returns the hash of the trace so far.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.core().trace.hash()
    }

    /// Returns the lines of the trace, if the run is verbose.
    #[must_use]
    pub fn trace_lines(&self) -> Vec<String> {
        self.core().trace.lines().to_vec()
    }

    /// Wakes the driver after a delay.
    pub fn alarm(&self, after: Duration) -> Alarm {
        let alarm = Alarm(self.core().counter);
        self.wake_at(self.monotonic() + after, Wake::Alarm(alarm));
        alarm
    }

    /// Applies an effect after a delay, even if nobody waits for it.
    pub fn apply_later(&self, after: Duration, effect: impl Future<Output = ()> + Send + 'static) {
        let id = self.core().counter;
        self.core().delayed_effects.insert(id, Box::pin(effect));
        self.wake_at(self.monotonic() + after, Wake::DelayedEffect(id));
    }

    pub(crate) fn take_delayed_effect(&self, id: u64) -> Option<DelayedEffect> {
        self.core().delayed_effects.remove(&id)
    }

    pub(crate) fn wake_at(&self, at: Duration, wake: Wake) {
        let mut core = self.core();
        let tie = core.chance.u32(..);
        let counter = core.counter;
        core.counter += 1;
        core.pending.push(Reverse((at, tie, counter, wake)));
    }

    pub(crate) fn pop(&self, until: Duration) -> Option<Wake> {
        let mut core = self.core();
        let next = core.pending.peek().map(|Reverse((at, ..))| *at);
        if next.is_none_or(|at| at > until) {
            if until < Duration::MAX {
                core.now = core.now.max(until);
            }
            return None;
        }
        let Reverse((at, _, _, wake)) = core.pending.pop()?;
        core.now = core.now.max(at);
        Some(wake)
    }

    pub(crate) fn crash(&self, id: ProcessId) {
        self.core().crashed.insert(id);
    }

    pub(crate) fn is_crashed(&self, id: ProcessId) -> bool {
        self.core().crashed.contains(&id)
    }

    pub(crate) fn take_crashed(&self, id: ProcessId) -> bool {
        self.core().crashed.remove(&id)
    }

    /// Returns a latency for a message or a call.
    pub(crate) fn latency(&self) -> Duration {
        let mut core = self.core();
        if core.latency == Latency::Instant {
            return Duration::ZERO;
        }
        let faults_stopped = core.faults_stopped;
        let micros = match core.chance.u32(0..1_000) {
            _ if faults_stopped => core.chance.u64(1_000..8_000),
            0..900 => core.chance.u64(500..15_000),
            900..985 => core.chance.u64(15_000..400_000),
            985..998 => core.chance.u64(400_000..5_000_000),
            // The adapters' own limit for a call.
            _ => core.chance.u64(5_000_000..12_000_000),
        };
        Duration::from_micros(micros)
    }

    /// Returns the time after which a call without a reply is given up.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.draw(|chance| chance.u64(5_000..12_000)))
    }

    /// Sleeps in a process until a time.
    pub(crate) async fn sleep_until(&self, process: ProcessId, at: Duration) {
        let mut is_scheduled = false;
        std::future::poll_fn(|context| {
            if self.monotonic() >= at {
                return Poll::Ready(());
            }
            if !is_scheduled {
                is_scheduled = true;
                self.wake_at(at, Wake::Task(process));
            }
            // A set of futures polls only those that were woken, and time wakes the whole process.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}
