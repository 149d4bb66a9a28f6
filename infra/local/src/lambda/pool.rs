//! The processes of one function: who is idle, who may be started, and what becomes of an invocation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::function::Function;
use super::instance::{Instance, Progress, Wanted};
use super::invocation::{InvokeError, Reply, ReplyTo};
use super::logs::LogFile;
use super::process::Launcher;

/// How long a process may take until it asks for work.
const INIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a process may be idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// How many processes may die under an invocation that was not delivered yet.
const MAX_TRIES: usize = 3;

/// The processes of one function.
pub(crate) struct Pool {
    function: Function,
    cap: usize,
    launcher: Arc<Launcher>,
    log: Arc<LogFile>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Every process that has not been seen to end.
    live: HashMap<String, Arc<Instance>>,
    /// Those without an invocation, the one idle for longest first.
    idle: Vec<(Instant, Arc<Instance>)>,
    closed: bool,
}

impl Pool {
    pub(crate) fn new(function: Function, cap: usize, launcher: Arc<Launcher>, log: Arc<LogFile>) -> Self {
        Self { function, cap, launcher, log, state: Mutex::default() }
    }

    /// Invokes the function. What is under way goes on when the caller loses interest.
    pub(crate) async fn invoke(self: &Arc<Self>, event: Bytes) -> Result<Reply, InvokeError> {
        let instance = self.acquire()?;
        let (reply, replied) = oneshot::channel();
        tokio::spawn(Arc::clone(self).run(instance, event, reply));
        replied.await.unwrap_or(Err(InvokeError::Crashed))
    }

    /// Sees an invocation through, on another process when one died before it took it.
    async fn run(self: Arc<Self>, mut instance: Arc<Instance>, event: Bytes, mut reply: ReplyTo) {
        for _ in 0..MAX_TRIES {
            let request_id = Uuid::new_v4().to_string();
            let mut progress = instance.assign(request_id.clone(), event.clone(), reply);
            let delivered = tokio::select! {
                at_least = progress.wait_for(|progress| *progress >= Progress::Delivered) => at_least.is_ok(),
                () = instance.exited() => false,
                () = tokio::time::sleep(INIT_TIMEOUT) => false,
            };
            if delivered {
                return self.see_through(&instance, &request_id, progress).await;
            }
            instance.want(Wanted::Killed);
            if !instance.is_ready() {
                self.log.note("a process ended or hung before it asked for work");
                return instance.fail(InvokeError::Crashed);
            }
            let Some(recalled) = instance.recall() else {
                return;
            };
            match self.acquire() {
                Ok(other) => (instance, reply) = (other, recalled),
                Err(error) => {
                    let _ = recalled.send(Err(error));
                    return;
                }
            }
        }
        self.release(instance);
        let _ = reply.send(Err(InvokeError::Crashed));
    }

    async fn see_through(
        &self,
        instance: &Arc<Instance>,
        request_id: &str,
        mut progress: tokio::sync::watch::Receiver<Progress>,
    ) {
        tokio::select! {
            biased;
            _ = progress.wait_for(|progress| *progress == Progress::Finished) => {
                self.release(Arc::clone(instance));
            }
            () = instance.exited() => {
                self.log.note(&format!("invocation {request_id}: the process ended"));
                instance.fail(InvokeError::Crashed);
            }
            () = tokio::time::sleep(instance.timeout) => {
                self.log.note(&format!("invocation {request_id}: timed out"));
                instance.want(Wanted::Killed);
                instance.fail(InvokeError::TimedOut);
            }
        }
    }

    /// The process that was busy last, else a new one.
    fn acquire(self: &Arc<Self>) -> Result<Arc<Instance>, InvokeError> {
        let mut state = self.state();
        if state.closed {
            return Err(InvokeError::Closed);
        }
        let searches = self.launcher.searches();
        while let Some((_, instance)) = state.idle.pop() {
            if instance.searches != searches {
                instance.want(Wanted::Stopped);
            } else if !instance.has_exited() {
                return Ok(instance);
            }
        }
        if state.live.len() >= self.cap {
            return Err(InvokeError::Throttled);
        }
        let timeout = self.function.timeout(self.launcher.timeout);
        let instance =
            Arc::new(Instance::new(Uuid::new_v4().simple().to_string(), self.function, timeout, searches));
        let process = self.launcher.spawn(&instance, &self.log);
        let process = process.map_err(|error| InvokeError::NotStarted(error.to_string()))?;
        state.live.insert(instance.id.clone(), Arc::clone(&instance));
        let (pool, supervised) = (Arc::clone(self), Arc::clone(&instance));
        tokio::spawn(async move {
            process.supervise(&supervised).await;
            pool.forget(&supervised);
        });
        Ok(instance)
    }

    fn release(&self, instance: Arc<Instance>) {
        let mut state = self.state();
        if !instance.has_exited() && state.live.contains_key(&instance.id) {
            state.idle.push((Instant::now(), instance));
        }
    }

    fn forget(&self, instance: &Instance) {
        let mut state = self.state();
        state.live.remove(&instance.id);
        state.idle.retain(|(_, idle)| idle.id != instance.id);
    }

    /// Ends what has been idle for long.
    pub(crate) fn reap(&self) {
        self.state().idle.retain(|(since, instance)| {
            let keep = since.elapsed() < IDLE_TIMEOUT;
            if !keep {
                instance.want(Wanted::Stopped);
            }
            keep
        });
    }

    /// Takes no more invocations.
    pub(crate) fn refuse(&self) {
        self.state().closed = true;
    }

    /// Takes no more invocations and asks every process to end.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.live.values().for_each(|instance| instance.want(Wanted::Stopped));
    }

    /// Kills every process.
    pub(crate) fn kill_all(&self) {
        self.state().live.values().for_each(|instance| instance.want(Wanted::Killed));
    }

    pub(crate) fn processes(&self) -> usize {
        self.state().live.len()
    }

    pub(crate) fn busy(&self) -> bool {
        let state = self.state();
        state.live.len() > state.idle.len()
    }

    pub(crate) fn instance(&self, id: &str) -> Option<Arc<Instance>> {
        self.state().live.get(id).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
