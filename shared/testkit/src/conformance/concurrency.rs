//! One of many concurrent writers wins.

use std::time::Duration;

use futures::future::join_all;
use protocol::{
    detail::Participant,
    id::AttemptId,
    transition::take_over::{self, Purpose},
};
use turns::ports::{Order, Store, TimeRange, WriteError};

use super::{Tenant, at};
use crate::build;

/// The number of concurrent writers.
const WRITERS: usize = 50;

pub(super) async fn check(store: &impl Store, run: &str) {
    one_of_many_takers_wins(store, run).await;
    one_of_many_starts_wins(store, run).await;
    latest_of_many_touches_remains(store, run).await;
}

/// Retries a contended write until it is decided.
async fn write_until_decided<F: Future<Output = Result<(), WriteError>>>(write: impl Fn() -> F) -> bool {
    loop {
        match write().await {
            Ok(()) => return true,
            Err(WriteError::ConditionFailed) => return false,
            Err(WriteError::Contended) => {}
            Err(WriteError::Unknown(error)) => panic!("{error}"),
        }
    }
}

async fn one_of_many_takers_wins(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "takers");
    let dead = tenant.start_turn("ann", &tenant.turn("s", "t"), at(0)).await;
    let takers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let attempt = AttemptId::new(format!("taker-{number}"));
            take_over::take_over(&dead, attempt, Purpose::Retry, at(100), &tenant.timing).unwrap()
        })
        .collect();
    let won = join_all(takers.iter().map(|change| write_until_decided(|| store.write_turn(change)))).await;
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    let winner = won.iter().position(|won| *won).unwrap();
    assert_eq!(tenant.head(&dead.key).await.as_ref(), Some(&takers[winner].after));
}

async fn one_of_many_starts_wins(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "starts");
    let starts: Vec<_> = (0..WRITERS)
        .map(|number| tenant.start(None, "ann", &tenant.turn("s", &format!("t{number}")), at(0)))
        .collect();
    let won = join_all(starts.iter().map(|commit| write_until_decided(|| store.commit(commit)))).await;
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    let records = store.records(&tenant.session("s"), None, Order::OldestFirst, WRITERS).await.unwrap();
    assert_eq!(records.len(), 1, "the losers left something behind");
    assert_eq!(store.session(&tenant.session("s")).await.unwrap().unwrap().turn_count, 1);
}

async fn latest_of_many_touches_remains(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "touches");
    for session in ["s1", "s2"] {
        tenant.start_turn("ann", &tenant.turn(session, "t"), at(0)).await;
    }
    let touch = |session: &str, seconds: u64| Participant {
        session: tenant.session(session),
        user: build::user("ann").id,
        name: None,
        last_activity: at(0).after(Duration::from_secs(seconds)),
    };
    store.touch(&touch("s2", 30)).await.unwrap();
    // In whatever order these arrive, the fiftieth second remains and sorts after the other session's thirtieth.
    let touches: Vec<_> = (1..=50).rev().map(|second| touch("s1", second)).collect();
    for result in join_all(touches.iter().map(|touch| store.touch(touch))).await {
        result.unwrap();
    }
    store.touch(&touch("s1", 3)).await.unwrap();
    let user = build::user("ann").id;
    let page = store.sessions(&tenant.org, Some(&user), &TimeRange::default(), 10, None).await.unwrap();
    let order: Vec<_> = page.items.iter().map(|session| session.key.session.as_str()).collect();
    assert_eq!(order, ["s1", "s2"]);
}
