//! A purge completes and leaves nothing of the session behind, whichever fault hits whichever effect.

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

use agent::outcome::provider_response;
use bytes::Bytes;
use contracts::Timestamp;
use futures::FutureExt;
use protocol::{
    id::{AttemptId, SessionKey},
    payload::{Kind, Payload},
    purge::{IndexRemoval, PurgeReport, Stage},
};
use testkit::{
    build,
    deployment::{ClientRequest, Deployment, ProcessOutcome, SessionEdit, Settings},
    fault::Fault,
    schedule::{Faults, Latency},
};
use turns::{
    ports::{Indexed, Payloads},
    refusal::Refusal,
};

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
/// Longer than any function runs.
const LATER: Duration = Duration::from_secs(1_000);

fn key() -> SessionKey {
    build::session_key("s")
}

/// Creates a session of two users with finished turns, and a second session.
fn deployment() -> Deployment {
    with_sessions(Deployment::new(Settings::quiet()))
}

fn with_sessions(mut deployment: Deployment) -> Deployment {
    for (user, session, turn) in [("ada", "s", "t1"), ("bob", "s", "t2"), ("ada", "other", "t1")] {
        let sent = ClientRequest::new(user, session, turn, "What is a lease?");
        let process = deployment.execute(&sent, BUDGET, Faults::None);
        assert!(matches!(deployment.finish(&process), Some(ProcessOutcome::Executed(Ok(_)))));
        deployment.wait(Duration::from_secs(5));
        add_to_index(&deployment, session);
    }
    deployment
}

/// Adds a session to the index.
fn add_to_index(deployment: &Deployment, session: &str) {
    let session = build::session_key(session);
    let last_activity = Timestamp::from_millis(0);
    let entry =
        Indexed { key: session.clone(), last_activity, users: BTreeSet::new(), terms: BTreeSet::new() };
    deployment.index.contents().sessions.insert(session, entry);
}

fn order_purge(deployment: &mut Deployment, faults: Faults) -> usize {
    let process = deployment.order_purge(&build::caller("ada"), &key(), faults);
    deployment.finish(&process);
    process.reached().len()
}

/// Sweeps until the purge is done.
fn sweep_until_done(deployment: &mut Deployment) {
    for _ in 0..4 {
        deployment.wait(LATER);
        let process = deployment.sweep_purges(Faults::None);
        assert!(matches!(deployment.finish(&process), Some(ProcessOutcome::Purged(Ok(_)))));
    }
}

/// Checks the table, the bucket and the other session.
fn audit(deployment: &Deployment) -> PurgeReport {
    let contents = deployment.table.contents();
    assert_eq!(contents.items_left(&key()), 0, "items are left");
    let purge = &contents.purges[&key()];
    assert_eq!((purge.stage, purge.due), (Stage::Done, None));
    let session = &contents.sessions[&key()];
    assert!(session.is_purged() && session.name.is_empty() && session.open_turn.is_none());
    let other = build::session_key("other");
    assert!(contents.items_left(&other) > 0 && !contents.sessions[&other].is_purged());
    let found = purge.report.clone();
    drop(contents);
    let index = deployment.index.contents().sessions.keys().cloned().collect::<Vec<_>>();
    assert!(index.iter().eq([&other]), "the index has the other session, and no more");
    let stored = deployment.objects.stored();
    assert!(stored.keys().all(|payload| payload.turn.session != key()), "objects are left");
    let other_objects = stored.iter().filter(|(payload, _)| payload.turn.session == other);
    let stored_responses: BTreeSet<String> = other_objects
        .filter_map(|(_, body)| provider_response::find_in_object(body))
        .map(|response| response.response_id)
        .collect();
    assert!(!stored_responses.is_empty());
    assert_eq!(
        deployment.provider.stored_responses(),
        stored_responses,
        "only the other session's responses remain"
    );
    found
}

fn expected_report() -> (PurgeReport, usize, usize) {
    let mut deployment = deployment();
    let order = order_purge(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    let effects = process.reached().len();
    sweep_until_done(&mut deployment);
    (audit(&deployment), order, effects)
}

#[test]
fn purge_completes_and_counts_once_after_any_fault() {
    let (expected, _, effects) = expected_report();
    assert_eq!((expected.items["turns"], expected.items["participants"]), (2, 2), "{expected:?}");
    assert_eq!(
        (expected.provider_responses_removed, expected.provider_responses_remaining),
        (2, 0),
        "{expected:?}"
    );
    assert_eq!(expected.index_removal, Some(IndexRemoval { removed: true, attempts: 0 }), "{expected:?}");
    for at in 0..effects {
        for fault in Fault::ALL {
            let mut deployment = deployment();
            order_purge(&mut deployment, Faults::None);
            deployment.wait(Duration::from_secs(5));
            let process = deployment.sweep_purges(Faults::AtIndex(BTreeMap::from([(at, fault)])));
            deployment.finish(&process);
            sweep_until_done(&mut deployment);
            assert_eq!(audit(&deployment), expected, "{fault:?} at effect {at}");
        }
    }
    println!("{effects} effects, {} faults each", Fault::ALL.len());
}

#[test]
fn purge_completes_under_random_latency() {
    for seed in 0..10 {
        let deployment = Deployment::new(Settings { seed, latency: Latency::Random, ..Settings::quiet() });
        // The latency stays random, and is at most some milliseconds.
        deployment.schedule.clock().stop_faults();
        let mut deployment = with_sessions(deployment);
        order_purge(&mut deployment, Faults::None);
        sweep_until_done(&mut deployment);
        let report = audit(&deployment);
        assert_eq!((report.items["turns"], report.provider_responses_removed), (2, 2), "seed {seed}");
    }
}

#[test]
fn retried_purge_order_starts_one_purge() {
    let (expected, order, _) = expected_report();
    for at in 0..order {
        for fault in Fault::ALL {
            let mut deployment = deployment();
            order_purge(&mut deployment, Faults::AtIndex(BTreeMap::from([(at, fault)])));
            order_purge(&mut deployment, Faults::None);
            sweep_until_done(&mut deployment);
            assert_eq!(audit(&deployment), expected, "{fault:?} at effect {at}");
        }
    }
}

#[test]
fn purged_session_rejects_retries_and_removes_late_writes() {
    let mut deployment = deployment();
    let before = deployment.table.contents().heads[&key().turn("t2".parse().unwrap())].clone();
    order_purge(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    // A function that was still running stores its outcome, and a client retries.
    let late_payload =
        Payload { turn: before.key.clone(), kind: Kind::Outcome(AttemptId::new("late".to_owned())) };
    let participant = protocol::detail::Participant {
        session: key(),
        user: before.requested_by.clone(),
        last_activity: before.created,
        name: None,
    };
    deployment.objects.put(&late_payload, Bytes::from_static(b"{}")).now_or_never().unwrap().unwrap();
    let place = (key(), participant.user.clone());
    deployment.table.contents().participants.insert(place, participant);
    for turn in ["t2", "t3"] {
        let again = ClientRequest::new("bob", "s", turn, "What is a lease?");
        let process = deployment.execute(&again, BUDGET, Faults::None);
        let done = deployment.finish(&process);
        assert!(matches!(done, Some(ProcessOutcome::Executed(Err(Refusal::SessionNotFound)))), "{done:?}");
    }
    assert!(deployment.table.contents().items_left(&key()) > 0);
    sweep_until_done(&mut deployment);
    let found = audit(&deployment);
    assert_eq!(found.items["participants"], 3, "the late participant is counted: {found:?}");
}

#[test]
fn restored_session_is_not_purged() {
    let mut deployment = deployment();
    deployment.settings.timing.retention = Duration::from_secs(60);
    let executor = |deployment: &mut Deployment, restores: bool| {
        let edit = if restores { SessionEdit::Restore } else { SessionEdit::Delete };
        let process = deployment.edit_session(&build::caller("ada"), &key(), edit, Faults::None);
        assert!(matches!(deployment.finish(&process), Some(ProcessOutcome::SessionEdited(Ok(())))));
    };
    executor(&mut deployment, false);
    executor(&mut deployment, true);
    sweep_until_done(&mut deployment);
    assert!(deployment.table.contents().items_left(&key()) > 0, "it was restored");
    executor(&mut deployment, false);
    sweep_until_done(&mut deployment);
    audit(&deployment);
}

#[test]
fn purge_completes_and_names_provider_that_refuses() {
    let mut deployment = deployment();
    deployment.provider.refuse_removals(true);
    order_purge(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    assert_eq!(deployment.table.contents().items_left(&key()), 0);
    assert!(deployment.objects.stored().keys().all(|payload| payload.turn.session != key()));
    assert_ne!(deployment.table.contents().purges[&key()].stage, Stage::Done, "it asks again");
    for _ in 0..5 {
        sweep_until_done(&mut deployment);
    }
    let purge = deployment.table.contents().purges[&key()].clone();
    assert_eq!((purge.stage, purge.has_provider_responses()), (Stage::Done, false), "{purge:?}");
    assert_eq!((purge.report.provider_responses_removed, purge.report.provider_responses_remaining), (0, 2));
    let named: BTreeSet<_> =
        purge.report.remaining_responses.into_iter().map(|left| left.response_id).collect();
    assert!(named.len() == 2 && named.is_subset(&deployment.provider.stored_responses()));
}

#[test]
fn purge_retries_recovered_provider() {
    let mut deployment = deployment();
    deployment.provider.refuse_removals(true);
    order_purge(&mut deployment, Faults::None);
    for refuses in [true, true, false] {
        deployment.provider.refuse_removals(refuses);
        deployment.wait(LATER);
        let process = deployment.sweep_purges(Faults::None);
        deployment.finish(&process);
    }
    sweep_until_done(&mut deployment);
    assert_eq!(audit(&deployment), expected_report().0);
}

#[test]
fn purge_completes_and_reports_unreachable_index() {
    let mut deployment = deployment();
    deployment.index.contents().is_down = true;
    order_purge(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    assert_eq!(deployment.table.contents().items_left(&key()), 0);
    assert_ne!(deployment.table.contents().purges[&key()].stage, Stage::Done, "it asks again");
    for _ in 0..5 {
        sweep_until_done(&mut deployment);
    }
    let purge = deployment.table.contents().purges[&key()].clone();
    assert_eq!(purge.stage, Stage::Done, "{purge:?}");
    assert!(purge.report.index_removal.is_some_and(|index| !index.removed), "{purge:?}");
    assert!(deployment.index.contents().sessions.contains_key(&key()));
}

#[test]
fn purge_recheck_removes_late_index_entry() {
    let mut deployment = deployment();
    order_purge(&mut deployment, Faults::None);
    deployment.wait(Duration::from_secs(5));
    let process = deployment.sweep_purges(Faults::None);
    deployment.finish(&process);
    // A slow function read the session before the purge.
    add_to_index(&deployment, "s");
    sweep_until_done(&mut deployment);
    audit(&deployment);
}
