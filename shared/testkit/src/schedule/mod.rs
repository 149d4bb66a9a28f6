//! Virtual time: tasks that interleave at every port call, the same way every time for a seed.
//!
//! There is one thread and no runtime. A task waits for nothing but instants; the earliest comes next,
//! and a draw from the seed decides between equals. A crash drops a task's future where it stands.

mod process;

use std::{
    collections::BTreeMap,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

pub use process::{Faults, Process};

use crate::clock::Wake;
pub use crate::clock::{Clock, Cue, Pace, ProcessId};
pub use crate::trace::Trace;

/// A run that takes more wake-ups than this does not end.
const MOST_WAKES: u64 = 2_000_000;

/// Something the driver of a run has to react to.
#[derive(Debug)]
pub enum Happened<T> {
    /// A task came to its end.
    Finished(ProcessId, T),
    /// A task crashed; nobody will hear from it.
    Crashed(ProcessId),
    /// An instant that the driver asked for.
    Cue(Cue),
}

type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The scheduler of a run.
pub struct Schedule<T> {
    clock: Clock,
    tasks: BTreeMap<ProcessId, Task<T>>,
    wakes: u64,
}

impl<T> Schedule<T> {
    /// A run that `seed` decides.
    #[must_use]
    pub fn new(seed: u64, pace: Pace, verbose: bool) -> Self {
        Self { clock: Clock::new(seed, pace, verbose), tasks: BTreeMap::new(), wakes: 0 }
    }

    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Starts a task in its process, now.
    pub fn spawn(&mut self, process: &Process, task: impl Future<Output = T> + Send + 'static) {
        self.tasks.insert(process.id(), Box::pin(task));
        self.clock.wake_at(self.clock.monotonic(), Wake::Task(process.id()));
    }

    /// Kills a process wherever it stands. False when it is over already.
    pub fn kill(&mut self, process: ProcessId) -> bool {
        self.tasks.remove(&process).is_some()
    }

    /// How many tasks are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// Runs until something happens that concerns the driver; none when nothing ever will, or not
    /// before `until`.
    pub fn next(&mut self, until: Duration) -> Option<Happened<T>> {
        while let Some(wake) = self.clock.pop(until) {
            self.wakes += 1;
            assert!(self.wakes < MOST_WAKES, "the run does not end");
            match wake {
                Wake::Cue(cue) => return Some(Happened::Cue(cue)),
                Wake::Late(id) => self.land(id),
                Wake::Task(id) => {
                    if let Some(happened) = self.poll(id) {
                        return Some(happened);
                    }
                }
            }
        }
        None
    }

    fn poll(&mut self, id: ProcessId) -> Option<Happened<T>> {
        let task = self.tasks.get_mut(&id)?;
        let polled = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if self.clock.take_crashed(id) {
            self.tasks.remove(&id);
            return Some(Happened::Crashed(id));
        }
        match polled {
            Poll::Ready(done) => {
                self.tasks.remove(&id);
                Some(Happened::Finished(id, done))
            }
            Poll::Pending => None,
        }
    }

    /// Applies an effect whose sender has stopped waiting for it.
    fn land(&self, id: u64) {
        if let Some(mut late) = self.clock.take_late(id) {
            // In-memory ports never wait, so one poll is all of it.
            let _ = late.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}
