//! State of one function process, and the means to assign work to it or to stop it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex as AsyncMutex, mpsc, watch};

use super::invocation::{InvokeError, ReplyTo};
use crate::function::Function;

/// State of an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InvocationState {
    /// The process has not polled for it yet.
    Waiting,
    /// The process has received it.
    Delivered,
    /// The process has finished it.
    Finished,
}

/// Desired state of the process, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DesiredState {
    /// The process keeps running.
    Running,
    /// The process exits by itself, soon.
    Stopped,
    /// The process is killed now.
    Killed,
}

/// An event to deliver to the process.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) request_id: String,
    pub(crate) event: Bytes,
}

#[derive(Debug)]
struct Running {
    request_id: String,
    /// None once the reply has started.
    reply: Option<ReplyTo>,
    progress: watch::Sender<InvocationState>,
}

/// A function process with at most one invocation at a time.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) function: Function,
    /// Invocation timeout.
    pub(crate) timeout: Duration,
    /// Set if the process was started with the URL of the embedded vector database.
    pub(crate) can_search: bool,
    work: mpsc::Sender<Delivery>,
    inbox: AsyncMutex<mpsc::Receiver<Delivery>>,
    running: Mutex<Option<Running>>,
    /// Set once the process has polled for work, which means that its init succeeded.
    ready: AtomicBool,
    desired: watch::Sender<DesiredState>,
    exited: watch::Sender<bool>,
}

impl Instance {
    pub(crate) fn new(id: String, function: Function, timeout: Duration, can_search: bool) -> Self {
        let (work, inbox) = mpsc::channel(1);
        Self {
            id,
            function,
            timeout,
            can_search,
            work,
            inbox: AsyncMutex::new(inbox),
            running: Mutex::new(None),
            ready: AtomicBool::new(false),
            desired: watch::Sender::new(DesiredState::Running),
            exited: watch::Sender::new(false),
        }
    }

    /// Assigns an invocation. The instance must be idle.
    pub(crate) fn assign(
        &self,
        request_id: String,
        event: Bytes,
        reply: ReplyTo,
    ) -> watch::Receiver<InvocationState> {
        let progress = watch::Sender::new(InvocationState::Waiting);
        let receiver = progress.subscribe();
        *self.running() = Some(Running { request_id: request_id.clone(), reply: Some(reply), progress });
        // The inbox has a capacity of one and is empty, since there is at most one invocation at a time.
        let _ = self.work.try_send(Delivery { request_id, event });
        receiver
    }

    /// Waits for the next event. Backs the process's poll.
    pub(crate) async fn next(&self) -> Option<Delivery> {
        self.ready.store(true, Ordering::Release);
        // A process that polls again has abandoned its current invocation.
        if self
            .running()
            .as_ref()
            .is_some_and(|running| *running.progress.borrow() == InvocationState::Delivered)
        {
            self.fail(InvokeError::Crashed);
        }
        let delivery = self.inbox.lock().await.recv().await?;
        if let Some(running) = self.running().as_ref() {
            running.progress.send_replace(InvocationState::Delivered);
        }
        Some(delivery)
    }

    /// Returns true if the process has ever polled for work.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Takes the sender for the reply to this request. Succeeds once per invocation.
    pub(crate) fn begin_reply(&self, request_id: &str) -> Option<ReplyTo> {
        let mut running = self.running();
        let running = running.as_mut().filter(|running| running.request_id == request_id)?;
        running.reply.take()
    }

    /// Marks the invocation of this request as finished.
    pub(crate) fn finish(&self, request_id: &str) {
        let mut running = self.running();
        if running.as_ref().is_some_and(|running| running.request_id == request_id)
            && let Some(running) = running.take()
        {
            running.progress.send_replace(InvocationState::Finished);
        }
    }

    /// Fails the current invocation, if any.
    pub(crate) fn fail(&self, error: InvokeError) {
        if let Some(running) = self.running().take() {
            if let Some(reply) = running.reply {
                let _ = reply.send(Err(error));
            }
            running.progress.send_replace(InvocationState::Finished);
        }
    }

    /// Takes back an invocation that was never delivered.
    pub(crate) fn recall(&self) -> Option<ReplyTo> {
        self.running().take().and_then(|running| running.reply)
    }

    /// Requests that the process stop or be killed. A stricter earlier request is never relaxed.
    pub(crate) fn request_state(&self, state: DesiredState) {
        self.desired.send_if_modified(|now| {
            let is_stricter = state > *now;
            *now = state.max(*now);
            is_stricter
        });
    }

    /// Waits until this state, or a stricter one, is requested.
    pub(crate) async fn reached_desired(&self, at_least: DesiredState) {
        // The sender lives as long as the instance, so waiting can't fail.
        let _ = self.desired.subscribe().wait_for(|desired| *desired >= at_least).await;
    }

    pub(crate) fn mark_exited(&self) {
        self.exited.send_replace(true);
    }

    pub(crate) fn has_exited(&self) -> bool {
        *self.exited.borrow()
    }

    /// Waits until the process has exited.
    pub(crate) async fn exited(&self) {
        let _ = self.exited.subscribe().wait_for(|exited| *exited).await;
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
