//! The process pool of one function: starts, reuses and stops processes, and runs invocations on them.

use std::collections::{HashMap, HashSet};
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
/// Time in which a process that has answered usually polls again. An invocation waits for that before another process is
/// started.
const POLL_GRACE: Duration = Duration::from_millis(200);
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
    /// Told, again and again, while an invocation waits for a process.
    starved: Notify,
}

#[derive(Default)]
struct State {
    /// Every process that is not known to have exited.
    live: HashMap<String, Arc<Instance>>,
    /// Slots without an invocation, longest idle first. A process is here once for each of its idle slots.
    idle: Vec<(Instant, Arc<Instance>)>,
    /// Answered invocations whose process doesn't poll yet, by request id, with the process and the time of the answer.
    answered: HashMap<String, (String, Instant)>,
    closed: bool,
}

impl Pool {
    pub(crate) fn new(function: Function, cap: usize, launcher: Arc<Launcher>, log: Arc<LogFile>) -> Self {
        let (state, queue) = (Mutex::default(), FairMutex::default());
        let (freed, starved) = (Notify::new(), Notify::new());
        Self { function, cap, launcher, log, state, queue, freed, starved }
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
                self.release(instance, None);
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
                return instance.fail(&request_id, InvokeError::Crashed);
            }
            let Some(recalled_reply) = instance.recall(&request_id) else {
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
        self.release(instance, None);
        let _ = reply.send(Err(InvokeError::Crashed));
    }

    async fn wait_until_finished(
        &self,
        instance: &Arc<Instance>,
        request_id: &str,
        mut progress: tokio::sync::watch::Receiver<InvocationState>,
    ) {
        let ended = async {
            let _ = progress.wait_for(|progress| *progress >= InvocationState::Answered).await;
            let answer = (instance.id.clone(), Instant::now());
            self.state().answered.insert(request_id.to_owned(), answer);
            let _ = progress.wait_for(|progress| *progress == InvocationState::Finished).await;
        };
        tokio::select! {
            biased;
            () = ended => self.release(Arc::clone(instance), Some(request_id)),
            () = instance.exited() => {
                self.log.note(&format!("invocation {request_id}: the process exited"));
                instance.fail(request_id, InvokeError::Crashed);
            }
            () = tokio::time::sleep(instance.timeout) => {
                self.log.note(&format!("invocation {request_id}: timed out"));
                // Lambda ends a process whose invocation exceeds its time, unless others share the process.
                if instance.slots == 1 {
                    instance.request_state(DesiredState::Killed);
                }
                instance.fail(request_id, InvokeError::TimedOut);
                if instance.slots > 1 {
                    self.release(Arc::clone(instance), Some(request_id));
                }
            }
        }
    }

    /// Returns a process for an invocation. Waits for one in order of arrival, but not longer than [`MAX_QUEUE_TIME`].
    async fn acquire(self: &Arc<Self>) -> Result<Arc<Instance>, InvokeError> {
        let acquired = async {
            let _first = self.queue.lock().await;
            loop {
                match self.try_acquire() {
                    Err(InvokeError::Throttled) => {
                        self.starved.notify_waiters();
                        let _ = tokio::time::timeout(POLL_GRACE, self.freed.notified()).await;
                    }
                    other => return other,
                }
            }
        };
        tokio::time::timeout(MAX_QUEUE_TIME, acquired).await.unwrap_or(Err(InvokeError::Throttled))
    }

    /// Returns the process of the most recently used idle slot, or starts a new one if the cap allows and none will be
    /// idle soon.
    fn try_acquire(self: &Arc<Self>) -> Result<Arc<Instance>, InvokeError> {
        let mut state = self.state();
        if state.closed {
            return Err(InvokeError::Closed);
        }
        let can_search = self.launcher.can_search();
        while let Some((_, instance)) = state.idle.pop() {
            if instance.can_search != can_search {
                // Its other slots may be in use. The last one of them to be idle stops it.
                if !instance.is_busy() {
                    instance.request_state(DesiredState::Stopped);
                }
            } else if !instance.has_exited() {
                return Ok(instance);
            }
        }
        let is_soon_idle = state.answered.values().any(|(_, answered)| answered.elapsed() < POLL_GRACE);
        if is_soon_idle || state.live.len() >= self.cap {
            return Err(InvokeError::Throttled);
        }
        let timeout = self.function.timeout(self.launcher.timeout);
        let (id, slots) = (Uuid::new_v4().simple().to_string(), self.launcher.slots(self.function));
        let instance = Arc::new(Instance::new(id, self.function, timeout, can_search, slots));
        let process = self.launcher.spawn(&instance, &self.log);
        let process = process.map_err(|error| InvokeError::NotStarted(error.to_string()))?;
        state.live.insert(instance.id.clone(), Arc::clone(&instance));
        let others = (1..slots).map(|_| (Instant::now(), Arc::clone(&instance)));
        state.idle.extend(others);
        let (pool, supervised) = (Arc::clone(self), Arc::clone(&instance));
        tokio::spawn(async move {
            process.supervise(&supervised).await;
            pool.remove(&supervised);
        });
        Ok(instance)
    }

    /// Takes back the slot of an invocation, or one that had none.
    fn release(&self, instance: Arc<Instance>, request_id: Option<&str>) {
        let mut state = self.state();
        if let Some(request_id) = request_id {
            state.answered.remove(request_id);
        }
        if !instance.has_exited() && state.live.contains_key(&instance.id) {
            state.idle.push((Instant::now(), instance));
            self.freed.notify_one();
        }
    }

    fn remove(&self, instance: &Instance) {
        let mut state = self.state();
        state.live.remove(&instance.id);
        state.answered.retain(|_, (id, _)| *id != instance.id);
        state.idle.retain(|(_, idle)| idle.id != instance.id);
        self.freed.notify_one();
    }

    /// Stops processes all of whose slots have been idle for too long.
    pub(crate) fn reap(&self) {
        let mut state = self.state();
        let recent = state.idle.iter().filter(|(since, _)| since.elapsed() < IDLE_TIMEOUT);
        let recent: HashSet<String> = recent.map(|(_, instance)| instance.id.clone()).collect();
        state.idle.retain(|(_, instance)| {
            let keep = recent.contains(&instance.id) || instance.is_busy();
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

    /// Waits until an invocation waits for a process.
    pub(crate) async fn starved(&self) {
        self.starved.notified().await;
    }

    pub(crate) fn processes(&self) -> usize {
        self.state().live.len()
    }

    pub(crate) fn last_delivery(&self) -> Option<Instant> {
        self.state().live.values().filter_map(|instance| instance.last_delivery()).max()
    }

    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state();
        state.live.values().map(|instance| instance.slots).sum::<usize>() > state.idle.len()
    }

    pub(crate) fn instance(&self, id: &str) -> Option<Arc<Instance>> {
        self.state().live.get(id).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
