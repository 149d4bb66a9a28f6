//! The ledger of effects: intents under their conditions, and calls whose outcome is unknown.

use std::collections::BTreeSet;

use contracts::Fingerprint;
use protocol::{
    effect::{IntendedCall, Intent, UnknownEffect},
    id::{AttemptId, TurnKey},
    purge::PurgeEntry,
    transition::settle,
    turn::{EndReason, Verdict},
};
use turns::ports::{Store, WriteError};

use super::Tenant;
use crate::build::instant;

pub(super) async fn check(store: &impl Store, run: &str) {
    intent_is_written_once_by_the_attempt_that_runs_the_turn(&Tenant::new(store, run, "intents")).await;
    call_that_equals_an_unknown_one_is_refused_until_it_is_resolved(&Tenant::new(store, run, "unknown"))
        .await;
    finalization_stores_unknown_calls_of_its_turn(&Tenant::new(store, run, "finalized")).await;
}

fn call(index: u32, arguments: &str) -> IntendedCall {
    IntendedCall {
        index,
        tool: "refund".to_owned(),
        connection: "shop".to_owned(),
        revision: 2,
        key: format!("key-{index}-{arguments}"),
        hash: Fingerprint::hash_bytes(arguments.as_bytes()),
        is_keyed: index % 2 == 1,
    }
}

fn intent(turn: &TurnKey, round: u32, attempt: &AttemptId, calls: &[IntendedCall]) -> Intent {
    Intent { turn: turn.clone(), round, attempt: attempt.clone(), at: instant(1), calls: calls.to_vec() }
}

fn is_refused(written: Result<(), WriteError>) -> bool {
    matches!(written, Err(WriteError::ConditionFailed))
}

async fn intent_is_written_once_by_the_attempt_that_runs_the_turn<S: Store>(tenant: &Tenant<'_, S>) {
    let (store, key) = (tenant.store, tenant.turn("s", "t1"));
    let turn = tenant.start_turn("ann", &key, instant(0)).await;
    assert_eq!(store.newest_intent(&key).await.unwrap(), None);
    let other = AttemptId::new("somebody".to_owned());
    let first = intent(&key, 2, &turn.attempt, &[call(0, "a"), call(1, "a"), call(3, "b")]);
    assert!(is_refused(store.put_intent(&Intent { attempt: other, ..first.clone() }).await));
    let nowhere = tenant.turn("s", "t");
    assert!(is_refused(store.put_intent(&Intent { turn: nowhere.clone(), ..first.clone() }).await));
    assert_eq!(store.newest_intent(&key).await.unwrap(), None);
    store.put_intent(&first).await.unwrap();
    assert!(is_refused(store.put_intent(&first).await), "it is there");
    let later = intent(&key, 11, &turn.attempt, &[call(0, "c")]);
    store.put_intent(&later).await.unwrap();
    assert_eq!(store.newest_intent(&key).await.unwrap(), Some(later));
    // The id of the other turn is the beginning of this one's.
    assert_eq!(store.newest_intent(&nowhere).await.unwrap(), None);
    let ended = Verdict::Ended(EndReason::Cancelled);
    let settled = settle::settle(&turn, ended, instant(2), instant(2), &tenant.timing).unwrap();
    store.write_turn(&settled).await.unwrap();
    assert!(is_refused(store.put_intent(&intent(&key, 12, &turn.attempt, &[call(0, "d")])).await));
    let entries: Vec<PurgeEntry> = store.items(&key.session).await.unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.kind == "intents").count(), 2);
    store.remove_items(&key.session, &entries).await.unwrap();
    assert_eq!(store.newest_intent(&key).await.unwrap(), None);
}

async fn call_that_equals_an_unknown_one_is_refused_until_it_is_resolved<S: Store>(tenant: &Tenant<'_, S>) {
    let (store, key) = (tenant.store, tenant.turn("s", "t1"));
    let turn = tenant.start_turn("ann", &key, instant(0)).await;
    let first = intent(&key, 1, &turn.attempt, &[call(0, "a"), call(1, "b")]);
    store.put_intent(&first).await.unwrap();
    let unknown = |index: usize| first.unknown(&first.calls[index], instant(3));
    let other = AttemptId::new("somebody".to_owned());
    assert!(is_refused(store.put_unknown_effects(&key, &other, &[unknown(0)]).await));
    store.put_unknown_effects(&key, &turn.attempt, &[unknown(0), unknown(0)]).await.unwrap();
    let hashes = first.hashes();
    assert_eq!(store.unknown_effects(&key.session, &hashes).await.unwrap(), [unknown(0)]);
    assert_eq!(store.unknown_effects(&tenant.session("s2"), &hashes).await.unwrap(), []);
    assert_eq!(store.unknown_effects(&key.session, &BTreeSet::new()).await.unwrap(), []);
    let again = |round, call| intent(&key, round, &turn.attempt, &[call]);
    assert!(is_refused(store.put_intent(&again(2, call(7, "a"))).await));
    assert_eq!(store.newest_intent(&key).await.unwrap(), Some(first.clone()), "nothing was written");
    store.put_intent(&again(2, call(7, "b"))).await.unwrap();
    let replaced = UnknownEffect { round: 9, ..unknown(0) };
    assert!(is_refused(store.remove_unknown_effect(&replaced).await), "it is another one");
    store.remove_unknown_effect(&unknown(0)).await.unwrap();
    assert!(is_refused(store.remove_unknown_effect(&unknown(0)).await));
    store.put_intent(&again(3, call(7, "a"))).await.unwrap();
}

async fn finalization_stores_unknown_calls_of_its_turn<S: Store>(tenant: &Tenant<'_, S>) {
    let (store, key) = (tenant.store, tenant.turn("s", "t1"));
    let turn = tenant.start_turn("ann", &key, instant(0)).await;
    let intent = intent(&key, 1, &turn.attempt, &[call(0, "a"), call(1, "b"), call(2, "b")]);
    store.put_intent(&intent).await.unwrap();
    let session = store.session(&key.session).await.unwrap().unwrap();
    let ended = Verdict::Ended(EndReason::Abandoned);
    let settled = settle::settle(&turn, ended, instant(2), instant(2), &tenant.timing).unwrap();
    store.write_turn(&settled).await.unwrap();
    let sealed = protocol::transition::spend::sealed(&settled.after);
    let finalized = protocol::transition::finalize::finalize(&session, &sealed, None).unwrap();
    let unknown = intent.calls.iter().zip(5..).map(|(call, second)| intent.unknown(call, instant(second)));
    let unknown: Vec<UnknownEffect> = unknown.collect();
    store.commit(&finalized.with_unknown_effects(unknown.clone()).commit(&session)).await.unwrap();
    let mut listed = Vec::new();
    let mut next = None;
    loop {
        let page = store.unknown_effects_of_org(&tenant.org, 1, next).await.unwrap();
        listed.extend(page.items);
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    let calls: Vec<&str> = listed.iter().map(|effect| effect.call.key.as_str()).collect();
    assert_eq!((listed.len(), calls[0]), (2, "key-0-a"), "equal calls are one");
    assert_eq!(store.unknown_effects(&key.session, &intent.hashes()).await.unwrap().len(), 2);
}
