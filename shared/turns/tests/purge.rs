//! A purge that meets any fault at any of its effects comes to its end, and nothing of the session is left.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test, run to read its figures"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use agent::left_upstream;
use bytes::Bytes;
use contracts::Timestamp;
use futures::FutureExt;
use protocol::{
    id::{AttemptId, SessionKey},
    payload::{Kind, Payload},
    purge::{Found, InIndex, Stage},
};
use testkit::{
    build,
    deployment::{Deployment, Done, Sent, Settings, Upkeep},
    fault::Fault,
    schedule::Faults,
};
use turns::{
    ports::{Indexed, Payloads, Store},
    refusal::Refusal,
};

/// What a function has of its own time.
const BUDGET: Duration = Duration::from_secs(840);
/// Longer than any function runs.
const LATER: Duration = Duration::from_secs(1_000);

fn key() -> SessionKey {
    build::session_key("s")
}

/// A session of two users with turns that are over, and another session beside it.
fn deployment() -> Deployment {
    let mut deployment = Deployment::new(Settings::quiet());
    for (user, session, turn) in [("ada", "s", "t1"), ("bob", "s", "t2"), ("ada", "other", "t1")] {
        let sent = Sent::new(user, session, turn, "What is a lease?");
        let process = deployment.execute(&sent, BUDGET, Faults::None);
        assert!(matches!(deployment.finish(&process), Some(Done::Executed(Ok(_)))));
        deployment.wait(Duration::from_secs(5));
        indexed(&deployment, session);
    }
    deployment
}

/// Puts a session into the index.
fn indexed(deployment: &Deployment, session: &str) {
    let session = build::session_key(session);
    let last_activity = Timestamp::from_millis(0);
    let entry =
        Indexed { key: session.clone(), last_activity, users: BTreeSet::new(), terms: BTreeSet::new() };
    deployment.index.contents().sessions.insert(session, entry);
}

fn ordered(deployment: &mut Deployment, faults: Faults) -> usize {
    let process = deployment.order_purge(&build::caller("ada"), &key(), faults);
    deployment.finish(&process);
    process.reached().len()
}

/// Sweeps until the purge rests for good.
fn swept(deployment: &mut Deployment) {
    for _ in 0..4 {
        deployment.wait(LATER);
        let process = deployment.sweep_purges(Faults::None);
        assert!(matches!(deployment.finish(&process), Some(Done::Purged(Ok(_)))));
    }
}

/// Looks at table, bucket and the other session.
fn audited(deployment: &Deployment) -> Found {
    let contents = deployment.table.contents();
    assert_eq!(contents.left_of(&key()), 0, "items are left");
    let purge = &contents.purges[&key()];
    assert_eq!((purge.stage, purge.due), (Stage::Done, None));
    let session = &contents.sessions[&key()];
    assert!(session.is_purged() && session.name.is_empty() && session.open_turn.is_none());
    let other = build::session_key("other");
    assert!(contents.left_of(&other) > 0 && !contents.sessions[&other].is_purged());
    let found = purge.found.clone();
    drop(contents);
    let index = deployment.index.contents().sessions.keys().cloned().collect::<Vec<_>>();
    assert!(index.iter().eq([&other]), "the index has the other session, and no more");
    let stored = deployment.objects.stored();
    assert!(stored.keys().all(|payload| payload.turn.session != key()), "objects are left");
    let of_other = stored.iter().filter(|(payload, _)| payload.turn.session == other);
    let kept: BTreeSet<String> = of_other
        .filter_map(|(_, body)| left_upstream::of_object(body))
        .map(|response| response.response_id)
        .collect();
    assert!(!kept.is_empty());
    assert_eq!(deployment.provider.kept(), kept, "the provider keeps what is left, and nothing else");
    found
}

fn faultless() -> (Found, usize, usize) {
    let mut deployment = deployment();
    let order = ordered(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    let effects = process.reached().len();
    swept(&mut deployment);
    (audited(&deployment), order, effects)
}

#[test]
fn a_purge_that_meets_any_fault_at_any_effect_ends_and_counts_everything_once() {
    let (expected, _, effects) = faultless();
    assert_eq!((expected.items["turns"], expected.items["participants"]), (2, 2), "{expected:?}");
    assert_eq!((expected.upstream_removed, expected.upstream_left), (2, 0), "{expected:?}");
    assert_eq!(expected.search_index, Some(InIndex { removed: true, rounds: 0 }), "{expected:?}");
    for at in 0..effects {
        for fault in Fault::ALL {
            let mut deployment = deployment();
            ordered(&mut deployment, Faults::None);
            deployment.wait(Duration::from_secs(5));
            let process = deployment.sweep_purges(Faults::At(BTreeMap::from([(at, fault)])));
            deployment.finish(&process);
            swept(&mut deployment);
            assert_eq!(audited(&deployment), expected, "{fault:?} at effect {at}");
        }
    }
    println!("{effects} effects, {} faults each", Fault::ALL.len());
}

#[test]
fn the_order_of_a_purge_that_meets_a_fault_is_sent_again_and_begins_one_purge() {
    let (expected, order, _) = faultless();
    for at in 0..order {
        for fault in Fault::ALL {
            let mut deployment = deployment();
            ordered(&mut deployment, Faults::At(BTreeMap::from([(at, fault)])));
            ordered(&mut deployment, Faults::None);
            swept(&mut deployment);
            assert_eq!(audited(&deployment), expected, "{fault:?} at effect {at}");
        }
    }
}

#[test]
fn late_writers_and_retries_find_a_purged_session_closed_and_what_they_leave_goes_too() {
    let mut deployment = deployment();
    let before = deployment.table.contents().heads[&key().turn("t2".parse().unwrap())].clone();
    ordered(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    // A function that was at work stores what it had, and a retry comes.
    let late = Payload { turn: before.key.clone(), kind: Kind::Outcome(AttemptId::new("late".to_owned())) };
    let participant = protocol::detail::Participant {
        session: key(),
        user: before.requested_by.clone(),
        last_activity: before.created,
        name: None,
    };
    deployment.objects.put(&late, Bytes::from_static(b"{}")).now_or_never().unwrap().unwrap();
    deployment.table.touch(&participant).now_or_never().unwrap().unwrap();
    for turn in ["t2", "t3"] {
        let again = Sent::new("bob", "s", turn, "What is a lease?");
        let process = deployment.execute(&again, BUDGET, Faults::None);
        let done = deployment.finish(&process);
        assert!(matches!(done, Some(Done::Executed(Err(Refusal::SessionNotFound)))), "{done:?}");
    }
    assert!(deployment.table.contents().left_of(&key()) > 0);
    swept(&mut deployment);
    let found = audited(&deployment);
    assert_eq!(found.items["participants"], 3, "the late one was counted as it went: {found:?}");
}

#[test]
fn a_session_that_is_restored_in_time_is_not_purged() {
    let mut deployment = deployment();
    deployment.settings.timing.retention = Duration::from_secs(60);
    let executor = |deployment: &mut Deployment, restores: bool| {
        let upkeep = if restores { Upkeep::Restore } else { Upkeep::Delete };
        let process = deployment.keep(&build::caller("ada"), &key(), upkeep, Faults::None);
        assert!(matches!(deployment.finish(&process), Some(Done::Kept(Ok(())))));
    };
    executor(&mut deployment, false);
    executor(&mut deployment, true);
    swept(&mut deployment);
    assert!(deployment.table.contents().left_of(&key()) > 0, "it was restored");
    executor(&mut deployment, false);
    swept(&mut deployment);
    audited(&deployment);
}

#[test]
fn a_provider_that_removes_nothing_keeps_nothing_of_ours_from_going_and_is_named_in_the_end() {
    let mut deployment = deployment();
    deployment.provider.refuses_to_remove(true);
    ordered(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    assert_eq!(deployment.table.contents().left_of(&key()), 0);
    assert!(deployment.objects.stored().keys().all(|payload| payload.turn.session != key()));
    assert_ne!(deployment.table.contents().purges[&key()].stage, Stage::Done, "it asks again");
    for _ in 0..5 {
        swept(&mut deployment);
    }
    let purge = deployment.table.contents().purges[&key()].clone();
    assert_eq!((purge.stage, purge.is_left_upstream()), (Stage::Done, false), "{purge:?}");
    assert_eq!((purge.found.upstream_removed, purge.found.upstream_left), (0, 2));
    let named: BTreeSet<_> = purge.found.left_upstream.into_iter().map(|left| left.response_id).collect();
    assert!(named.len() == 2 && named.is_subset(&deployment.provider.kept()));
}

#[test]
fn a_provider_that_is_back_is_asked_again() {
    let mut deployment = deployment();
    deployment.provider.refuses_to_remove(true);
    ordered(&mut deployment, Faults::None);
    for refuses in [true, true, false] {
        deployment.provider.refuses_to_remove(refuses);
        deployment.wait(LATER);
        let process = deployment.sweep_purges(Faults::None);
        deployment.finish(&process);
    }
    swept(&mut deployment);
    assert_eq!(audited(&deployment), faultless().0);
}

#[test]
fn an_index_that_forgets_nothing_keeps_nothing_of_ours_from_going_and_the_report_says_so() {
    let mut deployment = deployment();
    deployment.index.contents().is_down = true;
    ordered(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    assert_eq!(deployment.table.contents().left_of(&key()), 0);
    assert_ne!(deployment.table.contents().purges[&key()].stage, Stage::Done, "it asks again");
    for _ in 0..5 {
        swept(&mut deployment);
    }
    let purge = deployment.table.contents().purges[&key()].clone();
    assert_eq!(purge.stage, Stage::Done, "{purge:?}");
    assert!(purge.found.search_index.is_some_and(|index| !index.removed), "{purge:?}");
    assert!(deployment.index.contents().sessions.contains_key(&key()));
}

#[test]
fn what_was_put_into_the_index_behind_a_purge_goes_with_its_second_look() {
    let mut deployment = deployment();
    ordered(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    // A function that read the session before it was purged was slow.
    indexed(&deployment, "s");
    swept(&mut deployment);
    audited(&deployment);
}
