//! The process pool of one function: starts, reuses and stops processes, and runs invocations on them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Mutex as FairMutex, Notify, oneshot};
use uuid::Uuid;

use super::init_check::InitError;
use super::instance::{DesiredState, Instance, InvocationState};
use super::invocation::{InvokeError, Reply, ReplyTo};
use super::logs::LogFile;
use super::process::Launcher;
use crate::function::Function;

/// Timeout of a process's init, until it polls for work.
const INIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between looks at a process that is starting.
const READY_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Longest wait for a process, as Lambda's front end waits while it scales. A process is busy a moment longer than its answer.
const MAX_QUEUE_TIME: Duration = Duration::from_secs(1);
/// Time after which an idle process is stopped.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Processes that are tried for an invocation that was not delivered yet.
const MAX_ATTEMPTS: usize = 3;

/// The processes of one function.
pub(crate) struct Pool {
    function: Function,
    cap: usize,
    launcher: Arc<Launcher>,
    log: Arc<LogFile>,
    state: Mutex<State>,
    /// Held by the first invocation in the queue; the others wait for it in order.
    queue: FairMutex<()>,
    /// Told when a process is idle or has exited.
    freed: Notify,
}

#[derive(Default)]
struct State {
    /// Every process that is not known to have exited.
    live: HashMap<String, Arc<Instance>>,
    /// Processes without an invocation, longest idle first.
    idle: Vec<(Instant, Arc<Instance>)>,
    closed: bool,
}

impl Pool {
    pub(crate) fn new(function: Function, cap: usize, launcher: Arc<Launcher>, log: Arc<LogFile>) -> Self {
        let (state, queue, freed) = (Mutex::default(), FairMutex::default(), Notify::new());
        Self { function, cap, launcher, log, state, queue, freed }
    }

    /// Invokes the function. The invocation continues if the caller goes away.
    pub(crate) async fn invoke(self: &Arc<Self>, event: Bytes) -> Result<Reply, InvokeError> {
        let instance = self.acquire().await?;
        let (reply, replied) = oneshot::channel();
        tokio::spawn(Arc::clone(self).run(instance, event, reply));
        replied.await.unwrap_or(Err(InvokeError::Crashed))
    }

    /// Starts a process unless one is idle, and waits until it polls for work. It stays for the first invocation.
    pub(crate) async fn check_init(self: &Arc<Self>) -> Result<(), InitError> {
        let offset = self.log.length();
        let Ok(instance) = self.acquire().await else { return Ok(()) };
        let polls = async {
            while !instance.is_ready() {
                tokio::time::sleep(READY_POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            () = polls => {
                self.release(instance);
                Ok(())
            }
            () = instance.exited() => Err(InitError::read(self.function, self.log.path(), offset).await),
            () = tokio::time::sleep(INIT_TIMEOUT) => {
                instance.request_state(DesiredState::Killed);
                Err(InitError::read(self.function, self.log.path(), offset).await)
            }
        }
    }

    /// Runs an invocation to its end. Moves to another process if one exits before it takes the invocation.
    async fn run(self: Arc<Self>, mut instance: Arc<Instance>, event: Bytes, mut reply: ReplyTo) {
        for _ in 0..MAX_ATTEMPTS {
            let request_id = Uuid::new_v4().to_string();
            let mut progress = instance.assign(request_id.clone(), event.clone(), reply);
            let delivered = tokio::select! {
                at_least = progress.wait_for(|progress| *progress >= InvocationState::Delivered) => at_least.is_ok(),
                () = instance.exited() => false,
                () = tokio::time::sleep(INIT_TIMEOUT) => false,
            };
            if delivered {
                return self.wait_until_finished(&instance, &request_id, progress).await;
            }
            instance.request_state(DesiredState::Killed);
            if !instance.is_ready() {
                self.log.note("a process exited or hung during its init");
                return instance.fail(InvokeError::Crashed);
            }
            let Some(recalled_reply) = instance.recall() else {
                return;
            };
            match self.acquire().await {
                Ok(other) => (instance, reply) = (other, recalled_reply),
                Err(error) => {
                    let _ = recalled_reply.send(Err(error));
                    return;
                }
            }
        }
        self.release(instance);
        let _ = reply.send(Err(InvokeError::Crashed));
    }

    async fn wait_until_finished(
        &self,
        instance: &Arc<Instance>,
        request_id: &str,
        mut progress: tokio::sync::watch::Receiver<InvocationState>,
    ) {
        tokio::select! {
            biased;
            _ = progress.wait_for(|progress| *progress == InvocationState::Finished) => {
                self.release(Arc::clone(instance));
            }
            () = instance.exited() => {
                self.log.note(&format!("invocation {request_id}: the process exited"));
                instance.fail(InvokeError::Crashed);
            }
            () = tokio::time::sleep(instance.timeout) => {
                self.log.note(&format!("invocation {request_id}: timed out"));
                instance.request_state(DesiredState::Killed);
                instance.fail(InvokeError::TimedOut);
            }
        }
    }

    /// Returns a process for an invocation. Waits for one in order of arrival, but not longer than [`MAX_QUEUE_TIME`].
    async fn acquire(self: &Arc<Self>) -> Result<Arc<Instance>, InvokeError> {
        let acquired = async {
            let _first = self.queue.lock().await;
            loop {
                match self.try_acquire() {
                    Err(InvokeError::Throttled) => self.freed.notified().await,
                    other => return other,
                }
            }
        };
        tokio::time::timeout(MAX_QUEUE_TIME, acquired).await.unwrap_or(Err(InvokeError::Throttled))
    }

    /// Returns the most recently used idle process, or starts a new one if the cap allows.
    fn try_acquire(self: &Arc<Self>) -> Result<Arc<Instance>, InvokeError> {
        let mut state = self.state();
        if state.closed {
            return Err(InvokeError::Closed);
        }
        let can_search = self.launcher.can_search();
        while let Some((_, instance)) = state.idle.pop() {
            if instance.can_search != can_search {
                instance.request_state(DesiredState::Stopped);
            } else if !instance.has_exited() {
                return Ok(instance);
            }
        }
        if state.live.len() >= self.cap {
            return Err(InvokeError::Throttled);
        }
        let timeout = self.function.timeout(self.launcher.timeout);
        let instance =
            Arc::new(Instance::new(Uuid::new_v4().simple().to_string(), self.function, timeout, can_search));
        let process = self.launcher.spawn(&instance, &self.log);
        let process = process.map_err(|error| InvokeError::NotStarted(error.to_string()))?;
        state.live.insert(instance.id.clone(), Arc::clone(&instance));
        let (pool, supervised) = (Arc::clone(self), Arc::clone(&instance));
        tokio::spawn(async move {
            process.supervise(&supervised).await;
            pool.remove(&supervised);
        });
        Ok(instance)
    }

    fn release(&self, instance: Arc<Instance>) {
        let mut state = self.state();
        if !instance.has_exited() && state.live.contains_key(&instance.id) {
            state.idle.push((Instant::now(), instance));
            self.freed.notify_one();
        }
    }

    fn remove(&self, instance: &Instance) {
        let mut state = self.state();
        state.live.remove(&instance.id);
        state.idle.retain(|(_, idle)| idle.id != instance.id);
        self.freed.notify_one();
    }

    /// Stops processes that have been idle for too long.
    pub(crate) fn reap(&self) {
        self.state().idle.retain(|(since, instance)| {
            let keep = since.elapsed() < IDLE_TIMEOUT;
            if !keep {
                instance.request_state(DesiredState::Stopped);
            }
            keep
        });
    }

    /// Refuses new invocations.
    pub(crate) fn stop_accepting(&self) {
        self.state().closed = true;
        self.freed.notify_one();
    }

    /// Refuses new invocations and requests every process to stop.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.live.values().for_each(|instance| instance.request_state(DesiredState::Stopped));
        self.freed.notify_one();
    }

    /// Kills every process.
    pub(crate) fn kill_all(&self) {
        self.state().live.values().for_each(|instance| instance.request_state(DesiredState::Killed));
    }

    pub(crate) fn processes(&self) -> usize {
        self.state().live.len()
    }

    pub(crate) fn is_busy(&self) -> bool {
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
