//! A write applies only if its condition holds.

use protocol::{
    change::{Condition, TurnChange},
    id::AttemptId,
    spent::Spent,
    transition::{renew, settle, spend},
    turn::{EndReason, Phase, State, Turn},
};
use turns::ports::{Store, WriteError};

use super::{Tenant, at, later};
use crate::build;

pub(super) async fn check(store: &impl Store, run: &str) {
    existing_head_fails_absent_condition(store, run).await;
    condition_compares_phase_owner_and_lease_end(store, run).await;
    figure_of_an_ended_turn_becomes_final_once(store, run).await;
    missing_head_fails_condition(store, run).await;
    condition_compares_session_rev(store, run).await;
    failed_condition_rolls_back_transaction(store, run).await;
}

fn is_condition_failure(result: Result<(), WriteError>) -> bool {
    matches!(result, Err(WriteError::ConditionFailed))
}

async fn existing_head_fails_absent_condition(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "absent");
    let started = tenant.start_turn("ann", &tenant.turn("s", "t"), at(0)).await;
    let again = TurnChange {
        condition: Condition::Absent,
        after: Turn { attempt: AttemptId::new("another".to_owned()), ..started.clone() },
    };
    assert!(!tenant.write(&again).await);
    assert_eq!(tenant.head(&started.key).await, Some(started));
}

async fn condition_compares_phase_owner_and_lease_end(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "given");
    let started = tenant.start_turn("ann", &tenant.turn("s", "t"), at(0)).await;
    let change = settle::end(&started, EndReason::Cancelled, at(1), &tenant.timing).unwrap();
    let State::Running { lease_ends, .. } = started.state else { unreachable!("it was just started") };
    let (attempt, other) = (started.attempt.clone(), AttemptId::new("other".to_owned()));
    let wrong = [
        (Phase::AwaitingTools, attempt.clone(), None),
        (Phase::Settled, attempt.clone(), None),
        (Phase::Finalized, attempt.clone(), None),
        (Phase::Running, other.clone(), None),
        (Phase::Running, other, Some(lease_ends)),
        (Phase::Running, attempt.clone(), Some(later(lease_ends, 1))),
        (Phase::Running, attempt.clone(), Some(at(0))),
    ];
    for (phase, attempt, lease_ends) in wrong {
        let condition = Condition::Unchanged { phase, attempt, lease_ends };
        assert!(
            !tenant.write(&TurnChange { condition: condition.clone(), ..change.clone() }).await,
            "{condition:?}"
        );
    }
    assert_eq!(tenant.head(&started.key).await.as_ref(), Some(&started));
    let renewed = renew::renew(&started, later(lease_ends, 10)).unwrap();
    assert!(tenant.write(&renewed).await);
    let stale = TurnChange { condition: Condition::same_lease(&started), ..change.clone() };
    assert!(!tenant.write(&stale).await, "the lease was renewed meanwhile");
    let right = TurnChange { condition: Condition::same_lease(&renewed.after), ..change.clone() };
    assert!(tenant.write(&right).await);
    assert!(!tenant.write(&right).await, "the same write twice");
    assert_eq!(tenant.head(&started.key).await, Some(change.after));
}

async fn figure_of_an_ended_turn_becomes_final_once(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "spent");
    let started = tenant.start_turn("ann", &tenant.turn("s", "t"), at(0)).await;
    let ended = settle::end(&started, EndReason::Cancelled, at(1), &tenant.timing).unwrap();
    let told = Spent { model_calls: 2, ..Spent::default() };
    let early = TurnChange {
        condition: Condition::Unsealed { attempt: started.attempt.clone() },
        after: ended.after.clone(),
    };
    assert!(!tenant.write(&early).await, "the turn runs");
    assert!(tenant.write(&ended).await);
    let other = Condition::Unsealed { attempt: AttemptId::new("other".to_owned()) };
    assert!(!tenant.write(&TurnChange { condition: other, after: ended.after.clone() }).await);
    let record = spend::record(&ended.after, &started.attempt, told).unwrap();
    assert!(tenant.write(&record).await);
    assert!(!tenant.write(&record).await, "the figure is final");
    assert_eq!(tenant.head(&started.key).await, Some(record.after));
}

async fn missing_head_fails_condition(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "missing");
    let turn = tenant.turn("s", "t");
    let never = tenant.start(None, "ann", &turn, at(0)).turns[0].after.clone();
    let change = settle::end(&never, EndReason::Cancelled, at(1), &tenant.timing).unwrap();
    assert!(!tenant.write(&change).await);
    assert_eq!(tenant.head(&turn).await, None);
}

async fn condition_compares_session_rev(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "rev");
    tenant.start_turn("ann", &tenant.turn("s", "one"), at(0)).await;
    let session = store.session(&tenant.session("s")).await.unwrap().unwrap();
    let two = tenant.turn("s", "two");
    for condition in [None, Some(session.rev - 1), Some(session.rev + 1)] {
        let mut commit = tenant.start(Some(&session), "ann", &two, at(1));
        commit.session.condition = condition;
        assert!(is_condition_failure(store.commit(&commit).await), "{condition:?}");
    }
    let unborn = tenant.turn("unborn", "t");
    let mut commit = tenant.start(None, "ann", &unborn, at(1));
    commit.session.condition = Some(0);
    assert!(is_condition_failure(store.commit(&commit).await), "there is no session to have a Rev");
    assert_eq!(store.session(&session.key).await.unwrap(), Some(session));
    for turn in [two, unborn] {
        assert_eq!(store.record(&turn).await.unwrap(), None);
        assert_eq!(tenant.head(&turn).await, None);
    }
}

async fn failed_condition_rolls_back_transaction(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "all or nothing");
    let one = tenant.start_turn("ann", &tenant.turn("s", "one"), at(0)).await;
    let session = store.session(&tenant.session("s")).await.unwrap().unwrap();
    let two = tenant.turn("s", "two");
    let start = tenant.start(Some(&session), "ben", &two, at(1));

    let mut second_head = start.clone();
    let condition = Condition::Unchanged {
        phase: Phase::Running,
        attempt: AttemptId::new("other".to_owned()),
        lease_ends: None,
    };
    second_head.turns.push(TurnChange { condition, after: Turn { due: None, ..one.clone() } });
    let mut old_turn = start.clone();
    old_turn.turns[0].after.key = one.key.clone();
    let mut participant = start.clone();
    participant.participant.as_mut().unwrap().user = build::user("ann").id;
    let mut old_request = start.clone();
    old_request.request.as_mut().unwrap().key = one.key.clone();
    for (commit, what) in [
        (second_head, "a second head's owner"),
        (old_turn, "a head that was to be new"),
        (participant, "a participant who was to be new"),
        (old_request, "a detail that was to be new"),
    ] {
        assert!(is_condition_failure(store.commit(&commit).await), "{what}");
        assert_eq!(store.session(&session.key).await.unwrap().as_ref(), Some(&session), "{what}");
        assert_eq!(tenant.head(&one.key).await.as_ref(), Some(&one), "{what}");
        assert_eq!(tenant.head(&two).await, None, "{what}");
        assert!(!store.is_participant(&session.key, &build::user("ben").id).await.unwrap(), "{what}");
    }
    store.commit(&start).await.unwrap();
    assert_eq!(tenant.head(&two).await.as_ref(), Some(&start.turns[0].after));
}
