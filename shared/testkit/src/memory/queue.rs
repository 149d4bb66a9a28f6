//! The finalize queue, which loses, duplicates, delays and so reorders messages.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use protocol::id::TurnKey;
use protocol::queue_message::{FinalizeMessage, TurnMessage};
use turns::ports::{FinalizeQueue, TurnQueue, Unavailable};

use crate::schedule::{Alarm, Clock};

/// The most deliveries of a message before it becomes a dead letter.
const MAX_RECEIVES: u32 = 5;

/// The queue's faults, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFaults {
    pub loss_percent: u32,
    pub duplicate_percent: u32,
    /// The most delay of a message beyond its second.
    pub max_delay: Duration,
}

impl QueueFaults {
    /// Delivers every message once, in order.
    pub const RELIABLE: Self = Self { loss_percent: 0, duplicate_percent: 0, max_delay: Duration::ZERO };
}

/// A message on its way to the finalizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub message: FinalizeMessage,
    receives: u32,
}

impl Delivery {
    /// Creates the first delivery of a message.
    #[must_use]
    pub fn first(turn: &TurnKey) -> Self {
        let message = FinalizeMessage::TurnSettled {
            org: turn.session.org.clone(),
            session: turn.session.session.clone(),
            turn: turn.turn.clone(),
            correlation: None,
        };
        Self { message, receives: 1 }
    }
}

/// The queue. Clones share it.
#[derive(Debug, Clone)]
pub struct Queue {
    clock: Clock,
    queue_faults: QueueFaults,
    pending: Arc<Mutex<BTreeMap<Alarm, Delivery>>>,
}

impl Queue {
    #[must_use]
    pub fn new(clock: Clock, queue_faults: QueueFaults) -> Self {
        Self { clock, queue_faults, pending: Arc::default() }
    }

    fn pending(&self) -> MutexGuard<'_, BTreeMap<Alarm, Delivery>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, delivery: Delivery, after: Duration) {
        let alarm = self.clock.alarm(after);
        self.pending().insert(alarm, delivery);
    }

    /// Returns the message that this alarm delivers, if the alarm belongs to the queue.
    #[must_use]
    pub fn take(&self, alarm: Alarm) -> Option<Delivery> {
        self.pending().remove(&alarm)
    }

    /// Redelivers an unacknowledged message, or drops it as a dead letter.
    pub fn redeliver(&self, delivery: Delivery) {
        if delivery.receives < MAX_RECEIVES {
            let receives = delivery.receives + 1;
            self.deliver(Delivery { receives, ..delivery }, Duration::from_secs(10));
        }
    }
}

impl FinalizeQueue for Queue {
    async fn send(&self, message: &FinalizeMessage) -> Result<(), Unavailable> {
        let QueueFaults { loss_percent, duplicate_percent, max_delay } = self.queue_faults;
        let copies = match self.clock.draw(|chance| chance.u32(0..100)) {
            _ if self.clock.faults_stopped() => 1,
            draw if draw < loss_percent => 0,
            draw if draw < loss_percent + duplicate_percent => self.clock.draw(|chance| chance.u32(2..4)),
            _ => 1,
        };
        for _ in 0..copies {
            let late = max_delay.mul_f64(self.clock.draw(fastrand::Rng::f64).powi(2));
            let delivery = Delivery { message: message.clone(), receives: 1 };
            self.deliver(delivery, Duration::from_secs(1) + late);
        }
        Ok(())
    }
}

/// The turn queue of a deployment whose turns wait for no approvals, so that nothing is sent.
#[derive(Debug, Clone, Copy)]
pub struct NoTurnQueue;

impl TurnQueue for NoTurnQueue {
    async fn send(&self, _message: &TurnMessage) -> Result<(), Unavailable> {
        Err(Unavailable { what: "the turn queue", source: "this deployment has none".into() })
    }
}
