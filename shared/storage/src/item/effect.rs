//! The stored ledger of effects: intents, and calls whose outcome is unknown.

use contracts::{Timestamp, id::TurnId};
use protocol::{
    effect::{IntendedCall, Intent, UnknownEffect},
    id::{AttemptId, SessionKey, TurnKey},
};
use serde::{Deserialize, Serialize};

use super::Entity;
use crate::key;

/// See [`key::Item::Intent`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct IntentItem {
    round: u32,
    attempt: AttemptId,
    at: Timestamp,
    calls: Vec<IntendedCall>,
}

impl Entity for Intent {
    type Item = IntentItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Intent(&self.turn, self.round)
    }
}

impl From<&Intent> for IntentItem {
    fn from(intent: &Intent) -> Self {
        let Intent { turn: _, round, attempt, at, calls } = intent.clone();
        Self { round, attempt, at, calls }
    }
}

impl IntentItem {
    pub(crate) fn into_intent(self, turn: TurnKey) -> Intent {
        let Self { round, attempt, at, calls } = self;
        Intent { turn, round, attempt, at, calls }
    }
}

/// See [`key::Item::UnknownEffect`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct UnknownItem {
    #[serde(rename = "GSI1PK")]
    gsi1pk: String,
    #[serde(rename = "GSI1SK")]
    gsi1sk: String,
    turn: TurnId,
    round: u32,
    call: IntendedCall,
    at: Timestamp,
}

impl Entity for UnknownEffect {
    type Item = UnknownItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::UnknownEffect(&self.turn.session, &self.call.hash)
    }
}

impl From<&UnknownEffect> for UnknownItem {
    fn from(effect: &UnknownEffect) -> Self {
        let UnknownEffect { turn, round, call, at } = effect.clone();
        Self {
            gsi1pk: key::unknown_index(&turn.session.org),
            gsi1sk: key::unknown_at(at, &turn.session, &call.hash),
            turn: turn.turn,
            round,
            call,
            at,
        }
    }
}

impl UnknownItem {
    pub(crate) fn into_effect(self, session: SessionKey) -> UnknownEffect {
        let Self { turn, round, call, at, .. } = self;
        UnknownEffect { turn: session.turn(turn), round, call, at }
    }
}
