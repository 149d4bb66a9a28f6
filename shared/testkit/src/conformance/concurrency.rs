//! One of many concurrent writers wins.

use futures::future::join_all;
use protocol::{
    id::AttemptId,
    transition::take_over::{self, Purpose},
};
use turns::ports::{Order, Store, WriteError};

use super::{Tenant, at};

/// The number of concurrent writers.
const WRITERS: usize = 50;

pub(super) async fn check(store: &impl Store, run: &str) {
    one_of_many_takers_wins(store, run).await;
    one_of_many_starts_wins(store, run).await;
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
