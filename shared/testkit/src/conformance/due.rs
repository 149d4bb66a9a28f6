//! The sparse index: exactly what is due, in order, page by page.

use contracts::Timestamp;
use protocol::{id::TurnKey, transition::sweep};
use turns::ports::{DUE_SHARDS, Store};

use super::{Tenant, at, later};

/// More than one page of any implementation.
const TURNS: u64 = 130;

pub(super) async fn check(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "due");
    let mut started = Vec::new();
    for number in 0..TURNS {
        // Long ago, so that turns of other cases come later.
        let created = Timestamp::from_millis(1_000_000_000_000 + i64::try_from(number).unwrap() * 1_000);
        started.push(tenant.start_turn("ann", &tenant.turn(&format!("s{number}"), "t"), created).await);
    }
    let first = started[0].due.unwrap();
    assert!(due(store, first, &tenant).await.is_empty(), "due is what was due before now");

    let half = later(first, TURNS / 2);
    let mut nominated = due(store, half, &tenant).await;
    nominated.sort();
    let mut expected: Vec<_> = started.iter().filter(|turn| turn.due.unwrap() < half).collect();
    expected.sort_by_key(|turn| &turn.key);
    assert!(nominated.iter().eq(expected.iter().map(|turn| &turn.key)));

    // A live turn moves in the index, and a terminal one leaves it.
    let now = later(first, TURNS);
    let (moved, gone) = (&started[1], &started[2]);
    let alive = protocol::transition::renew::renew(moved, later(now, 30)).unwrap();
    assert!(tenant.write(&alive).await);
    let sweep::Action::Reschedule(change) = sweep::action(&alive.after, now, &tenant.timing) else {
        panic!("a live turn is looked at again later");
    };
    assert!(tenant.write(&change).await);
    tenant.finalize_turn(gone, at(0)).await;
    let nominated = due(store, now, &tenant).await;
    assert_eq!(nominated.len() as u64, TURNS - 2);
    assert!(!nominated.contains(&moved.key) && !nominated.contains(&gone.key));
    assert!(due(store, later(now, 300), &tenant).await.contains(&moved.key));
}

/// Returns the tenant's due turns from every page of every shard.
async fn due<S: Store>(store: &S, now: Timestamp, tenant: &Tenant<'_, S>) -> Vec<TurnKey> {
    let mut all: Vec<TurnKey> = Vec::new();
    for shard in 0..DUE_SHARDS {
        let (mut after, mut pages, mut last) = (None, 0, None);
        loop {
            let page = store.due(shard, now, after.clone()).await.unwrap();
            pages += 1;
            assert!(pages < 1_000, "the pages of shard {shard} do not end");
            assert!(page.items.len() <= 1_000, "a page is bounded");
            for key in page.items.iter().filter(|key| key.session.org == tenant.org) {
                let turn = store.turn(key).await.unwrap().unwrap();
                assert!(turn.due >= last, "the due times of a shard are in order");
                last = turn.due;
                assert!(!all.contains(key), "{key:?} came twice");
                all.push(key.clone());
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    all
}
