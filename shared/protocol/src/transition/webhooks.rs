//! The events of a turn that becomes terminal, for the webhooks of its org.

use contracts::{Fingerprint, id::BUILT_IN_CONTEXT, read::DeliveryState, webhook::WebhookEvent};

use super::finalize::Finalization;
use crate::{
    id::{SessionKey, TurnKey},
    turn::{Turn, Verdict},
    webhook::{Delivery, LaneKey, LanePosition, MAX_AGE, Subscription},
};

/// Returns the events of a turn that becomes terminal, for every webhook that wants them.
#[must_use]
pub fn deliveries(finalization: &Finalization, subscriptions: &[Subscription]) -> Vec<Delivery> {
    let (turn, session) = (&finalization.turn.after, &finalization.session);
    let Some(settlement) = turn.settlement().filter(|_| !session.is_purged() && !turn.is_imported) else {
        return Vec::new();
    };
    let mut events = vec![match settlement.verdict {
        Verdict::Completed { .. } => WebhookEvent::TurnCompleted,
        Verdict::Failed { .. } | Verdict::Ended(_) => WebhookEvent::TurnFailed,
    }];
    let unknown_calls = u32::try_from(finalization.unknown_effects.len()).unwrap_or(u32::MAX);
    if unknown_calls > 0 {
        events.push(WebhookEvent::EffectUnknown);
    }
    let agent = session.contexts.agent.as_ref().map_or(BUILT_IN_CONTEXT, |agent| agent.as_str());
    let admits = |subscription: &&Subscription| {
        subscription.agents.as_ref().is_none_or(|agents| agents.iter().any(|admitted| admitted == agent))
    };
    let mut deliveries = Vec::new();
    for subscription in subscriptions.iter().filter(admits) {
        for (number, event) in (0..).zip(&events) {
            if subscription.events.contains(event) {
                deliveries.push(Delivery {
                    lane: LaneKey::new(turn.key.session.clone(), subscription.webhook.clone()),
                    place: LanePosition { sequence: turn.sequence, number },
                    id: event_id(turn, *event),
                    turn: turn.key.turn.clone(),
                    event: *event,
                    at: settlement.at,
                    deadline: settlement.at.after(MAX_AGE),
                    unknown_calls,
                    state: DeliveryState::Pending,
                    attempts: 0,
                    last: None,
                });
            }
        }
    }
    deliveries
}

/// Returns the id of an event. It follows from the event, so every attempt and every webhook has the same.
fn event_id(turn: &Turn, event: WebhookEvent) -> String {
    let TurnKey { session: SessionKey { org, session }, turn } = &turn.key;
    let parts = ["aptix-event-1", org.as_str(), session.as_str(), turn.as_str(), event.name()];
    let mut hash = Fingerprint::hash_bytes(parts.join("\n").as_bytes()).to_string();
    hash.truncate(32);
    format!("evt_{hash}")
}
