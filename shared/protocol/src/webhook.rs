//! Deliveries of events to webhooks: the outbox that a turn's last transaction writes, and the decisions of a sender.
//!
//! The events of a session for a webhook form a lane. A lane delivers in order, and one sender at a time holds its lease.

use std::{collections::BTreeSet, time::Duration};

use contracts::{
    Timestamp,
    id::{TurnId, WebhookId},
    read::DeliveryState,
    webhook::WebhookEvent,
};

use crate::id::{AttemptId, SessionKey, TurnKey};

/// The longest time for one request to a receiver.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The lease of a lane. It outlasts a request, and each recorded attempt starts it again.
pub const LANE_LEASE: Duration = Duration::from_secs(20);
/// The time from an event after which it is given up. It gets at least one attempt.
pub const MAX_AGE: Duration = Duration::from_hours(72);
/// The time of failures after which a webhook is disabled.
pub const MAX_FAILING: Duration = Duration::from_hours(120);
/// The interval at which a lane of a paused or disabled webhook is looked at.
pub const HOLD: Duration = Duration::from_mins(15);
/// The time that deliveries are kept.
pub const RETENTION: Duration = Duration::from_hours(720);
/// The time that a replaced secret signs beside its successor.
pub const SECRET_OVERLAP: Duration = Duration::from_hours(24);
/// The first pause between attempts. Each further one is three times as long.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause between attempts.
const MAX_PAUSE: Duration = Duration::from_hours(4);

/// A webhook, as far as events are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The webhook.
    pub webhook: WebhookId,
    /// The types of its events.
    pub events: BTreeSet<WebhookEvent>,
    /// The ids of the agents whose events it gets. `None` for all.
    pub agents: Option<Vec<String>>,
}

/// The events of a session for a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneKey {
    /// The session.
    pub session: SessionKey,
    /// The webhook.
    pub webhook: WebhookId,
}

/// The place of an event in its lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LanePosition {
    /// The sequence number of its turn.
    pub sequence: u64,
    /// The number among the events of the turn.
    pub number: u8,
}

/// An event for a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The lane.
    pub lane: LaneKey,
    /// The place in the lane.
    pub place: LanePosition,
    /// The id, which every attempt sends.
    pub id: String,
    /// The turn.
    pub turn: TurnId,
    /// The type.
    pub event: WebhookEvent,
    /// The time of the event.
    pub at: Timestamp,
    /// The time after which a failed attempt is the last.
    pub deadline: Timestamp,
    /// The number of the turn's calls with an unknown outcome.
    pub unknown_calls: u32,
    /// The state.
    pub state: DeliveryState,
    /// The number of attempts.
    pub attempts: u32,
    /// The last attempt.
    pub last: Option<Attempt>,
}

/// An attempt to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The time.
    pub at: Timestamp,
    /// The status of the response.
    pub status: Option<u16>,
    /// The reason for the failure. Never text of the receiver.
    pub message: Option<String>,
}

/// A lane that a sender holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// The lane.
    pub key: LaneKey,
    /// The sender.
    pub owner: AttemptId,
    /// A place that no pending event precedes.
    pub next: LanePosition,
    /// The number of writes that added events. An idle lane has seen all of them.
    pub added: u64,
}

/// The health of a webhook, which its senders share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// The number of writes. Every write requires the one before it.
    pub rev: u64,
    /// The time since which every attempt has failed.
    pub failing_since: Option<Timestamp>,
    /// The time at which the service disabled the webhook, and the version of its document.
    pub disabled: Option<(Timestamp, u32)>,
    /// The time of the newest secret.
    pub secret_at: Option<Timestamp>,
}

/// The next step for a delivery after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The lane goes on with the next event.
    Proceed,
    /// The lane tries the same event again after this time.
    Retry(Duration),
}

impl LaneKey {
    /// Returns the lane of a session for a webhook.
    #[must_use]
    pub fn new(session: SessionKey, webhook: WebhookId) -> Self {
        Self { session, webhook }
    }
}

impl LanePosition {
    /// Returns the place after this one.
    #[must_use]
    pub fn following(self) -> Self {
        match self.number.checked_add(1) {
            Some(number) => Self { number, ..self },
            None => Self { sequence: self.sequence.saturating_add(1), number: 0 },
        }
    }
}

impl Health {
    /// Returns the health after an attempt with this document. `None` if nothing changes.
    #[must_use]
    pub fn after(&self, attempt: &Attempt, version: u32) -> Option<Self> {
        if attempt.is_success() {
            let is_well = self.failing_since.is_none() && self.disabled.is_none();
            return (!is_well).then(|| Self { failing_since: None, disabled: None, ..self.clone() });
        }
        let since = self.failing_since.unwrap_or(attempt.at);
        let is_hopeless = attempt.is_gone() || since.until(attempt.at) >= MAX_FAILING;
        let disabled = if is_hopeless { Some((attempt.at, version)) } else { self.disabled };
        let after = Self { failing_since: Some(since), disabled, ..self.clone() };
        (after != *self && !self.is_disabled(version)).then_some(after)
    }

    /// True if the service has disabled this version of the document.
    #[must_use]
    pub fn is_disabled(&self, version: u32) -> bool {
        self.disabled.is_some_and(|(_, disabled)| disabled == version)
    }
}

impl Attempt {
    /// True if the receiver has accepted the event.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.message.is_none() && self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// True if the receiver wants no more events.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }
}

impl Delivery {
    /// Returns the delivery after an attempt, and the next step. The receiver may have asked for a longer pause; `jitter`
    /// draws a random time below its argument.
    #[must_use]
    pub fn after(
        self,
        attempt: Attempt,
        asked: Option<Duration>,
        jitter: impl FnOnce(Duration) -> Duration,
    ) -> (Self, Next) {
        let attempts = self.attempts.saturating_add(1);
        let (state, next) = if attempt.is_success() {
            (DeliveryState::Delivered, Next::Proceed)
        } else if attempt.is_gone() || attempt.at >= self.deadline {
            (DeliveryState::Dead, Next::Proceed)
        } else {
            let pause = FIRST_PAUSE.saturating_mul(3_u32.saturating_pow(attempts.saturating_sub(1)));
            let half = pause.min(MAX_PAUSE) / 2;
            let pause = half.saturating_add(jitter(half)).max(asked.unwrap_or_default().min(MAX_PAUSE));
            (DeliveryState::Pending, Next::Retry(pause))
        };
        (Self { state, attempts, last: Some(attempt), ..self }, next)
    }

    /// Returns the delivery without its event: the webhook or the session was deleted.
    #[must_use]
    pub fn dropped(self) -> Self {
        Self { state: DeliveryState::Dropped, ..self }
    }

    /// Returns the delivery as it is queued again, with a new deadline.
    #[must_use]
    pub fn replayed(self, now: Timestamp) -> Self {
        Self { state: DeliveryState::Pending, attempts: 0, deadline: now.after(MAX_AGE), ..self }
    }

    /// Returns the turn.
    #[must_use]
    pub fn turn_key(&self) -> TurnKey {
        self.lane.session.turn(self.turn.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn delivery() -> Delivery {
        let session = SessionKey { org: "acme".parse().unwrap(), session: "s".parse().unwrap() };
        Delivery {
            lane: LaneKey::new(session, "w".parse().unwrap()),
            place: LanePosition::default(),
            id: "evt_1".to_owned(),
            turn: "t".parse().unwrap(),
            event: WebhookEvent::TurnCompleted,
            at: at(0),
            deadline: at(0).after(MAX_AGE),
            unknown_calls: 0,
            state: DeliveryState::Pending,
            attempts: 0,
            last: None,
        }
    }

    fn status(seconds: i64, status: u16) -> Attempt {
        let message = (!(200..300).contains(&status)).then(|| "refused".to_owned());
        Attempt { at: at(seconds), status: Some(status), message }
    }

    #[test]
    fn pauses_triple_up_to_four_hours_and_keep_half_without_jitter() {
        let (mut delivery, mut pauses) = (delivery(), Vec::new());
        for second in 1..=10 {
            let (after, next) = delivery.after(status(second, 500), None, |_| Duration::ZERO);
            let Next::Retry(pause) = next else { panic!("{next:?}") };
            pauses.push(pause.as_millis());
            delivery = after;
        }
        assert_eq!(pauses.get(..4), Some([2_500, 7_500, 22_500, 67_500].as_slice()));
        assert_eq!(pauses.last(), Some(&(MAX_PAUSE / 2).as_millis()));
        assert_eq!(delivery.attempts, 10);
    }

    #[test]
    fn receiver_may_ask_for_a_longer_pause_up_to_the_longest() {
        for (asked, pause) in [(1, 2_500), (60, 60_000), (86_400, MAX_PAUSE.as_millis())] {
            let asked = Some(Duration::from_secs(asked));
            let (_, next) = delivery().after(status(1, 429), asked, |_| Duration::ZERO);
            assert_eq!(next, Next::Retry(Duration::from_millis(u64::try_from(pause).unwrap())));
        }
    }

    #[test]
    fn old_event_is_dead_after_one_more_attempt() {
        let late = i64::try_from(MAX_AGE.as_secs()).unwrap();
        let (dead, next) = delivery().after(status(late, 503), None, |_| Duration::ZERO);
        assert_eq!((dead.state, next), (DeliveryState::Dead, Next::Proceed));
        let (accepted, _) = delivery().after(status(late, 204), None, |_| Duration::ZERO);
        assert_eq!(accepted.state, DeliveryState::Delivered);
        assert_eq!(delivery().after(status(1, 410), None, |_| Duration::ZERO).0.state, DeliveryState::Dead);
    }

    #[test]
    fn webhook_is_disabled_after_five_days_of_failures_until_its_next_version() {
        let failing = Health::default().after(&status(0, 500), 3).unwrap();
        assert_eq!(failing.after(&status(60, 500), 3), None);
        let end = i64::try_from(MAX_FAILING.as_secs()).unwrap();
        let disabled = failing.after(&status(end, 500), 3).unwrap();
        assert!(disabled.is_disabled(3) && !disabled.is_disabled(4));
        assert_eq!(disabled.after(&status(end, 200), 3), Some(Health::default()));
        assert!(Health::default().after(&status(0, 410), 1).unwrap().is_disabled(1));
        assert_eq!(Health::default().after(&status(0, 200), 1), None);
    }
}
