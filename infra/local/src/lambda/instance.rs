//! One function process as the rest of the Lambda service sees it: what it is doing, and the means
//! to give it work or end it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex as AsyncMutex, mpsc, watch};

use super::function::Function;
use super::invocation::{InvokeError, ReplyTo};

/// How far an invocation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Progress {
    /// The process has not asked for it yet.
    Waiting,
    /// The process has it.
    Delivered,
    /// The process is done with it.
    Finished,
}

/// What is wanted of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wanted {
    /// To go on.
    Running,
    /// To end by itself, soon.
    Stopped,
    /// To be killed now.
    Killed,
}

/// An event on its way to the process.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) request_id: String,
    pub(crate) event: Bytes,
}

#[derive(Debug)]
struct Running {
    request_id: String,
    /// Empty once the reply has begun.
    reply: Option<ReplyTo>,
    progress: watch::Sender<Progress>,
}

/// One process. It has at most one invocation at a time.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) function: Function,
    /// How long an invocation may take.
    pub(crate) timeout: Duration,
    /// Whether it was told of the embedded vector database.
    pub(crate) searches: bool,
    work: mpsc::Sender<Delivery>,
    inbox: AsyncMutex<mpsc::Receiver<Delivery>>,
    running: Mutex<Option<Running>>,
    /// Whether it ever asked for work, so that its start succeeded.
    ready: AtomicBool,
    wanted: watch::Sender<Wanted>,
    exited: watch::Sender<bool>,
}

impl Instance {
    pub(crate) fn new(id: String, function: Function, timeout: Duration, searches: bool) -> Self {
        let (work, inbox) = mpsc::channel(1);
        Self {
            id,
            function,
            timeout,
            searches,
            work,
            inbox: AsyncMutex::new(inbox),
            running: Mutex::new(None),
            ready: AtomicBool::new(false),
            wanted: watch::Sender::new(Wanted::Running),
            exited: watch::Sender::new(false),
        }
    }

    /// Gives it an invocation. Only to an instance without one.
    pub(crate) fn assign(
        &self,
        request_id: String,
        event: Bytes,
        reply: ReplyTo,
    ) -> watch::Receiver<Progress> {
        let progress = watch::Sender::new(Progress::Waiting);
        let watched = progress.subscribe();
        *self.running() = Some(Running { request_id: request_id.clone(), reply: Some(reply), progress });
        // The inbox holds one and is empty, since there is at most one invocation at a time.
        let _ = self.work.try_send(Delivery { request_id, event });
        watched
    }

    /// The next event, when there is one: what the process polls for.
    pub(crate) async fn next(&self) -> Option<Delivery> {
        self.ready.store(true, Ordering::Release);
        // A process that asks for more has given up whatever it was doing.
        if self.running().as_ref().is_some_and(|running| *running.progress.borrow() == Progress::Delivered) {
            self.fail(InvokeError::Crashed);
        }
        let delivery = self.inbox.lock().await.recv().await?;
        if let Some(running) = self.running().as_ref() {
            running.progress.send_replace(Progress::Delivered);
        }
        Some(delivery)
    }

    /// Whether the process ever asked for work.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Takes the place where the reply to this request goes, once.
    pub(crate) fn begin_reply(&self, request_id: &str) -> Option<ReplyTo> {
        let mut running = self.running();
        let running = running.as_mut().filter(|running| running.request_id == request_id)?;
        running.reply.take()
    }

    /// The process is done with this request.
    pub(crate) fn finish(&self, request_id: &str) {
        let mut running = self.running();
        if running.as_ref().is_some_and(|running| running.request_id == request_id)
            && let Some(running) = running.take()
        {
            running.progress.send_replace(Progress::Finished);
        }
    }

    /// Whatever is running has failed.
    pub(crate) fn fail(&self, error: InvokeError) {
        if let Some(running) = self.running().take() {
            if let Some(reply) = running.reply {
                let _ = reply.send(Err(error));
            }
            running.progress.send_replace(Progress::Finished);
        }
    }

    /// Takes back an invocation that was never delivered.
    pub(crate) fn recall(&self) -> Option<ReplyTo> {
        self.running().take().and_then(|running| running.reply)
    }

    /// Asks the process to end, or kills it. What was asked before is never softened.
    pub(crate) fn want(&self, wanted: Wanted) {
        self.wanted.send_if_modified(|now| {
            let harder = wanted > *now;
            *now = wanted.max(*now);
            harder
        });
    }

    /// Resolves when this much, or more, is wanted.
    pub(crate) async fn wanted(&self, at_least: Wanted) {
        // The sender lives as long as the instance, so that waiting can't fail.
        let _ = self.wanted.subscribe().wait_for(|wanted| *wanted >= at_least).await;
    }

    pub(crate) fn mark_exited(&self) {
        self.exited.send_replace(true);
    }

    pub(crate) fn has_exited(&self) -> bool {
        *self.exited.borrow()
    }

    /// Resolves when the process is gone.
    pub(crate) async fn exited(&self) {
        let _ = self.exited.subscribe().wait_for(|exited| *exited).await;
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
