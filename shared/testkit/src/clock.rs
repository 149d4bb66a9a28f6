//! The clock of a run, what is going to happen on it, and the run's only source of chance.

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

/// Which simulated process: one invocation of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

/// Where the wall clock begins.
const EPOCH_MILLIS: i64 = 1_767_225_600_000;

/// An instant that a driver asked to be woken at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cue(pub u64);

/// How long effects take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// No time at all: effects of one process come in the order of its program.
    Instant,
    /// Mostly milliseconds, now and then seconds.
    Drawn,
}

/// Who is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    Task(ProcessId),
    Cue(Cue),
    Late(u64),
}

type Late = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Core {
    now: Duration,
    wall_ahead_millis: i64,
    chance: fastrand::Rng,
    pace: Pace,
    calm: bool,
    // The draw orders what happens at the same instant; the counter makes the order total.
    coming: BinaryHeap<Reverse<(Duration, u32, u64, Wake)>>,
    counter: u64,
    late: BTreeMap<u64, Late>,
    crashed: BTreeSet<ProcessId>,
    trace: Trace,
    struck: BTreeMap<Fault, u64>,
}

/// A handle on the clock of a run.
#[derive(Clone)]
pub struct Clock(Arc<Mutex<Core>>);

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Clock({:?})", self.monotonic())
    }
}

impl Clock {
    pub(crate) fn new(seed: u64, pace: Pace, verbose: bool) -> Self {
        Self(Arc::new(Mutex::new(Core {
            now: Duration::ZERO,
            wall_ahead_millis: 0,
            chance: fastrand::Rng::with_seed(seed),
            pace,
            calm: false,
            coming: BinaryHeap::new(),
            counter: 0,
            late: BTreeMap::new(),
            crashed: BTreeSet::new(),
            trace: Trace::new(verbose),
            struck: BTreeMap::new(),
        })))
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The clock that never jumps.
    #[must_use]
    pub fn monotonic(&self) -> Duration {
        self.core().now
    }

    /// The wall clock.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        let core = self.core();
        let since = i64::try_from(core.now.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(EPOCH_MILLIS + since + core.wall_ahead_millis)
    }

    /// Moves the wall clock alone.
    pub fn jump(&self, millis: i64) {
        self.core().wall_ahead_millis += millis;
        self.trace(|| format!("the wall clock jumps by {millis} ms"));
    }

    /// A draw from the seed.
    pub fn draw<R>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> R) -> R {
        draw(&mut self.core().chance)
    }

    /// From now on nothing fails and everything is quick.
    pub fn calm_down(&self) {
        self.core().calm = true;
        self.trace(|| "faults stop".to_owned());
    }

    #[must_use]
    pub fn is_calm(&self) -> bool {
        self.core().calm
    }

    /// Writes a line into the trace.
    pub fn trace(&self, line: impl FnOnce() -> String) {
        let mut core = self.core();
        let now = core.now;
        core.trace.line(now, line);
    }

    /// Writes an effect and its fate into the trace.
    pub(crate) fn trace_effect(&self, id: ProcessId, name: &str, effect: Effect, fault: Option<Fault>) {
        let mut core = self.core();
        let now = core.now;
        core.trace.fact((id, effect, fault));
        if let Some(fault) = fault {
            *core.struck.entry(fault).or_default() += 1;
        }
        core.trace.line(now, || match fault {
            None => format!("{name}: {effect:?}"),
            Some(fault) => format!("{name}: {effect:?} {fault:?}"),
        });
    }

    /// How often faults of a kind struck.
    pub fn struck(&self, kind: impl Fn(&Fault) -> bool) -> u64 {
        self.core().struck.iter().filter(|(fault, _)| kind(fault)).map(|(_, times)| times).sum()
    }

    /// The trace's hash so far.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.core().trace.hash()
    }

    /// The trace's lines, of a verbose run.
    #[must_use]
    pub fn trace_lines(&self) -> Vec<String> {
        self.core().trace.lines().to_vec()
    }

    /// Wakes the driver after a while.
    pub fn cue(&self, after: Duration) -> Cue {
        let cue = Cue(self.core().counter);
        self.wake_at(self.monotonic() + after, Wake::Cue(cue));
        cue
    }

    /// Has an effect applied after a while, whoever still waits for it.
    pub fn later(&self, after: Duration, effect: impl Future<Output = ()> + Send + 'static) {
        let id = self.core().counter;
        self.core().late.insert(id, Box::pin(effect));
        self.wake_at(self.monotonic() + after, Wake::Late(id));
    }

    pub(crate) fn take_late(&self, id: u64) -> Option<Late> {
        self.core().late.remove(&id)
    }

    pub(crate) fn wake_at(&self, at: Duration, wake: Wake) {
        let mut core = self.core();
        let tie = core.chance.u32(..);
        let counter = core.counter;
        core.counter += 1;
        core.coming.push(Reverse((at, tie, counter, wake)));
    }

    pub(crate) fn pop(&self, until: Duration) -> Option<Wake> {
        let mut core = self.core();
        let next = core.coming.peek().map(|Reverse((at, ..))| *at);
        if next.is_none_or(|at| at > until) {
            if until < Duration::MAX {
                core.now = core.now.max(until);
            }
            return None;
        }
        let Reverse((at, _, _, wake)) = core.coming.pop()?;
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

    /// How long a message or a call travels.
    pub(crate) fn latency(&self) -> Duration {
        let mut core = self.core();
        if core.pace == Pace::Instant {
            return Duration::ZERO;
        }
        let calm = core.calm;
        let micros = match core.chance.u32(0..1_000) {
            _ if calm => core.chance.u64(1_000..8_000),
            0..900 => core.chance.u64(500..15_000),
            900..985 => core.chance.u64(15_000..400_000),
            985..998 => core.chance.u64(400_000..5_000_000),
            // As long as the adapters let a call take.
            _ => core.chance.u64(5_000_000..12_000_000),
        };
        Duration::from_micros(micros)
    }

    /// How long a call without a reply is waited for.
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.draw(|chance| chance.u64(5_000..12_000)))
    }

    /// Waits in a process until an instant.
    pub(crate) async fn sleep_until(&self, process: ProcessId, at: Duration) {
        let mut asked = false;
        std::future::poll_fn(|_| {
            if self.monotonic() >= at {
                return Poll::Ready(());
            }
            if !asked {
                asked = true;
                self.wake_at(at, Wake::Task(process));
            }
            Poll::Pending
        })
        .await;
    }
}
