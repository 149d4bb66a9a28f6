//! State of one function process, and the means to assign work to it or to stop it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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
    /// The process has answered it. It works on until it polls again.
    Answered,
    /// The process has ended it.
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
    /// None once the reply has started.
    reply: Option<ReplyTo>,
    progress: watch::Sender<InvocationState>,
    /// Time of the answer, once the process has answered.
    answered: Option<Instant>,
}

/// A function process, with as many invocations at a time as it has slots.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) function: Function,
    /// Invocation timeout.
    pub(crate) timeout: Duration,
    /// Set if the process was started with the URL of the embedded vector database.
    pub(crate) can_search: bool,
    /// Invocations that the process may have at a time, at least one.
    pub(crate) slots: usize,
    work: mpsc::Sender<Delivery>,
    inbox: AsyncMutex<mpsc::Receiver<Delivery>>,
    /// Its invocations, by request id.
    running: Mutex<HashMap<String, Running>>,
    /// Set once the process has polled for work, which means that its init succeeded.
    ready: AtomicBool,
    /// Time of the last delivery of an invocation.
    last_delivery: Mutex<Option<Instant>>,
    desired: watch::Sender<DesiredState>,
    exited: watch::Sender<bool>,
}

impl Instance {
    pub(crate) fn new(
        id: String,
        function: Function,
        timeout: Duration,
        can_search: bool,
        slots: usize,
    ) -> Self {
        let (work, inbox) = mpsc::channel(slots);
        Self {
            id,
            function,
            timeout,
            can_search,
            slots,
            work,
            inbox: AsyncMutex::new(inbox),
            running: Mutex::default(),
            ready: AtomicBool::new(false),
            last_delivery: Mutex::default(),
            desired: watch::Sender::new(DesiredState::Running),
            exited: watch::Sender::new(false),
        }
    }

    /// Assigns an invocation. The instance must have a free slot.
    pub(crate) fn assign(
        &self,
        request_id: String,
        event: Bytes,
        reply: ReplyTo,
    ) -> watch::Receiver<InvocationState> {
        let progress = watch::Sender::new(InvocationState::Waiting);
        let receiver = progress.subscribe();
        let invocation = Running { reply: Some(reply), progress, answered: None };
        self.running().insert(request_id.clone(), invocation);
        // The inbox has room for an invocation per slot.
        let _ = self.work.try_send(Delivery { request_id, event });
        receiver
    }

    /// Waits for the next event. Backs the process's poll.
    pub(crate) async fn next(&self) -> Option<Delivery> {
        self.ready.store(true, Ordering::Release);
        self.finish_earlier();
        let mut inbox = self.inbox.lock().await;
        loop {
            let delivery = inbox.recv().await?;
            // An invocation that has timed out by now is not delivered.
            if let Some(running) = self.running().get(&delivery.request_id) {
                running.progress.send_replace(InvocationState::Delivered);
                *self.last_delivery.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                return Some(delivery);
            }
        }
    }

    /// Ends the invocation that a poll ends. With several slots, a poll does not tell which of the answered ones.
    fn finish_earlier(&self) {
        let earlier = {
            let running = self.running();
            let answered = running.iter().filter_map(|(id, running)| Some((running.answered?, id)));
            let answered = answered.min().map(|(_, id)| id.clone());
            // A process with one slot that polls again has ended its invocation, or abandoned it.
            let is_delivered = |running: &Running| *running.progress.borrow() == InvocationState::Delivered;
            let abandoned = running.iter().find(|(_, running)| self.slots == 1 && is_delivered(running));
            answered.or_else(|| abandoned.map(|(id, _)| id.clone()))
        };
        if let Some(request_id) = earlier {
            self.fail(&request_id, InvokeError::Crashed);
        }
    }

    /// Returns the time of the last delivery of an invocation.
    pub(crate) fn last_delivery(&self) -> Option<Instant> {
        *self.last_delivery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the process has ever polled for work.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Takes the sender for the reply to this request. Succeeds once per invocation.
    pub(crate) fn begin_reply(&self, request_id: &str) -> Option<ReplyTo> {
        self.running().get_mut(request_id)?.reply.take()
    }

    /// Marks the invocation of this request as answered.
    pub(crate) fn mark_answered(&self, request_id: &str) {
        if let Some(running) = self.running().get_mut(request_id) {
            running.answered = Some(Instant::now());
            running.progress.send_replace(InvocationState::Answered);
        }
    }

    /// Ends an invocation, unless it has ended. It fails unless it was answered.
    pub(crate) fn fail(&self, request_id: &str, error: InvokeError) {
        let ended = self.running().remove(request_id);
        if let Some(running) = ended {
            if let Some(reply) = running.reply {
                let _ = reply.send(Err(error));
            }
            running.progress.send_replace(InvocationState::Finished);
        }
    }

    /// Takes back an invocation that was never delivered.
    pub(crate) fn recall(&self, request_id: &str) -> Option<ReplyTo> {
        self.running().remove(request_id)?.reply
    }

    /// Returns true if the process has an invocation.
    pub(crate) fn is_busy(&self) -> bool {
        !self.running().is_empty()
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

    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
