//! A turn that suspends. The scripted model of this kit makes no calls, so this process stands in for the
//! executor: the same transitions and the same order of effects, and it gives up at the first failure.

use std::time::Duration;

use bytes::Bytes;
use turns::{
    payload::{Kind, Payload},
    ports::{Payloads, Store, World},
    timing::Timing,
    transition::{
        begin::{self, Decision, Seen},
        suspend,
    },
};

use super::Sent;
use crate::build;

/// How long a suspended turn waits for its results.
const TOOL_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) async fn start(
    store: &impl Store,
    payloads: &impl Payloads,
    world: &impl World,
    timing: &Timing,
    sent: &Sent,
) -> Option<()> {
    let ask = build::ask(&sent.caller, &sent.request);
    let session = store.session(&ask.key.session).await.ok()?;
    let turn = store.turn(&ask.key).await.ok()?;
    let newcomer = match &session {
        Some(session) => !store.takes_part(&session.key, &ask.by.id).await.ok()?,
        None => true,
    };
    if session.as_ref().is_some_and(|session| session.open_turn.is_some()) {
        return None;
    }
    let seen = Seen { session, turn, open: None };
    if begin::decide(&seen, &ask, world.now(), timing) != Decision::Begin {
        return None;
    }
    let instruction = Payload { turn: ask.key.clone(), kind: Kind::Instruction(ask.fingerprint) };
    payloads.put(&instruction, Bytes::from(sent.request.canonical_json())).await.ok()?;
    let owner = world.nonce();
    let session = seen.session.as_ref();
    let commit = begin::begin(session, None, &ask, owner.clone(), newcomer, world.now(), timing);
    store.commit(&commit).await.ok()?;
    world.sleep(Duration::from_secs(2)).await;
    let outcome = build::suspended(&ask.key, owner.as_str());
    let payload = Payload { turn: ask.key.clone(), kind: Kind::Outcome(owner.clone()) };
    payloads.put(&payload, Bytes::from(outcome.to_json())).await.ok()?;
    let running = &commit.turns.first()?.after;
    let change = suspend::suspend(running, owner, world.now().after(TOOL_DEADLINE)).ok()?;
    store.write_turn(&change).await.ok()
}
