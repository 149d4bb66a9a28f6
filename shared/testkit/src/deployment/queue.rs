//! The finalize queue: loses, repeats, delays and so reorders, as much as it is told to.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use protocol::announcement::FinalizeMessage;
use protocol::id::TurnKey;
use turns::ports::{FinalizeQueue, Unavailable};

use crate::schedule::{Clock, Cue};

/// How often a message is delivered before it is a dead letter.
const MOST_RECEIVES: u32 = 5;

/// What the queue does to messages, in parts of a hundred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Temper {
    pub loses: u32,
    pub repeats: u32,
    /// How late a message may be, beyond its second.
    pub latest: Duration,
}

impl Temper {
    /// Every message once, in order.
    pub const RELIABLE: Self = Self { loses: 0, repeats: 0, latest: Duration::ZERO };
}

/// A message on its way to the finalizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub message: FinalizeMessage,
    receives: u32,
}

impl Delivery {
    /// The first delivery of a message.
    #[must_use]
    pub fn of(turn: &TurnKey) -> Self {
        let message = FinalizeMessage::TurnSettled {
            org: turn.session.org.clone(),
            session: turn.session.session.clone(),
            turn: turn.turn.clone(),
            correlation: None,
        };
        Self { message, receives: 1 }
    }
}

/// The queue. Handles share it.
#[derive(Debug, Clone)]
pub struct Queue {
    clock: Clock,
    temper: Temper,
    coming: Arc<Mutex<BTreeMap<Cue, Delivery>>>,
}

impl Queue {
    #[must_use]
    pub fn new(clock: Clock, temper: Temper) -> Self {
        Self { clock, temper, coming: Arc::default() }
    }

    fn coming(&self) -> MutexGuard<'_, BTreeMap<Cue, Delivery>> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, delivery: Delivery, after: Duration) {
        let cue = self.clock.cue(after);
        self.coming().insert(cue, delivery);
    }

    /// The message that was to come at this instant, if the instant was one of the queue's.
    #[must_use]
    pub fn take(&self, cue: Cue) -> Option<Delivery> {
        self.coming().remove(&cue)
    }

    /// Nobody acknowledged the message: it comes again, or becomes a dead letter.
    pub fn again(&self, delivery: Delivery) {
        if delivery.receives < MOST_RECEIVES {
            let receives = delivery.receives + 1;
            self.deliver(Delivery { receives, ..delivery }, Duration::from_secs(10));
        }
    }
}

impl FinalizeQueue for Queue {
    async fn send(&self, message: &FinalizeMessage) -> Result<(), Unavailable> {
        let Temper { loses, repeats, latest } = self.temper;
        let copies = match self.clock.draw(|chance| chance.u32(0..100)) {
            _ if self.clock.is_calm() => 1,
            draw if draw < loses => 0,
            draw if draw < loses + repeats => self.clock.draw(|chance| chance.u32(2..4)),
            _ => 1,
        };
        for _ in 0..copies {
            let late = latest.mul_f64(self.clock.draw(fastrand::Rng::f64).powi(2));
            let delivery = Delivery { message: message.clone(), receives: 1 };
            self.deliver(delivery, Duration::from_secs(1) + late);
        }
        Ok(())
    }
}
