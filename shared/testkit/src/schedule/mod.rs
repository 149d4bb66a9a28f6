//! Virtual time: tasks interleave at every port call, in the same way for a seed.
//!
//! There is one thread and no runtime. Tasks wait only for points in time. The earliest comes next, and the seed
//! breaks ties. A crash drops a task's future where it is.

mod process;

use std::{
    collections::BTreeMap,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

pub use process::{Faults, Process};

use crate::clock::Wake;
pub use crate::clock::{Alarm, Clock, Latency, ProcessId};
pub use crate::trace::Trace;

/// The most wake-ups of a run. More mean that it doesn't end.
const MAX_WAKES: u64 = 2_000_000;

/// An event that the driver of a run reacts to.
#[derive(Debug)]
pub enum RunEvent<T> {
    /// A task finished.
    Finished(ProcessId, T),
    /// A task crashed and will never report back.
    Crashed(ProcessId),
    /// An alarm that the driver set.
    Alarm(Alarm),
}

type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The scheduler of a run.
pub struct Schedule<T> {
    clock: Clock,
    tasks: BTreeMap<ProcessId, Task<T>>,
    wakes: u64,
}

impl<T> Schedule<T> {
    /// Creates a run that `seed` determines.
    #[must_use]
    pub fn new(seed: u64, latency: Latency, verbose: bool) -> Self {
        Self { clock: Clock::new(seed, latency, verbose), tasks: BTreeMap::new(), wakes: 0 }
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

    /// Kills a process wherever it is. Returns false if it has already finished.
    pub fn kill(&mut self, process: ProcessId) -> bool {
        self.tasks.remove(&process).is_some()
    }

    /// Returns the number of running tasks.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// Runs until something happens that concerns the driver. Returns `None` if nothing will, or not before `until`.
    pub fn next(&mut self, until: Duration) -> Option<RunEvent<T>> {
        while let Some(wake) = self.clock.pop(until) {
            self.wakes += 1;
            assert!(self.wakes < MAX_WAKES, "the run does not end");
            match wake {
                Wake::Alarm(alarm) => return Some(RunEvent::Alarm(alarm)),
                Wake::DelayedEffect(id) => self.land(id),
                Wake::Task(id) => {
                    if let Some(event) = self.poll(id) {
                        return Some(event);
                    }
                }
            }
        }
        None
    }

    fn poll(&mut self, id: ProcessId) -> Option<RunEvent<T>> {
        let task = self.tasks.get_mut(&id)?;
        let polled = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if self.clock.take_crashed(id) {
            self.tasks.remove(&id);
            return Some(RunEvent::Crashed(id));
        }
        match polled {
            Poll::Ready(done) => {
                self.tasks.remove(&id);
                Some(RunEvent::Finished(id, done))
            }
            Poll::Pending => None,
        }
    }

    /// Applies an effect whose sender has stopped waiting.
    fn land(&self, id: u64) {
        if let Some(mut effect) = self.clock.take_delayed_effect(id) {
            // In-memory ports never wait, so one poll suffices.
            let _ = effect.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}
