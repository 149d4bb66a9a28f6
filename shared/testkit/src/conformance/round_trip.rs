//! Reads return what was written.

use contracts::{ContentHash, Fingerprint, read::AgentSessionActiveFileRef};
use protocol::{
    detail::Report,
    id::AttemptId,
    transition::{finalize::finalize, renew, resume, settle, spend, suspend},
    turn::{EndReason, State, Verdict},
};
use turns::ports::{Order, Store};

use super::{Tenant, at, later};
use crate::build;

pub(super) async fn check(store: &impl Store, run: &str) {
    missing_items_read_as_none(store, run).await;
    start_round_trips(store, run).await;
    head_round_trips_in_every_state(store, run).await;
    result_of_a_finalization_is_read(store, run).await;
}

async fn missing_items_read_as_none(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "nothing");
    let turn = tenant.turn("s", "t");
    assert_eq!(store.session(&turn.session).await.unwrap(), None);
    assert_eq!(store.turn(&turn).await.unwrap(), None);
    assert_eq!(store.request_detail(&turn).await.unwrap(), None);
    assert_eq!(store.record(&turn).await.unwrap(), None);
    assert_eq!(store.session_and_record(&turn).await.unwrap(), (None, None, None));
    assert!(!store.is_participant(&turn.session, &build::user("ann").id).await.unwrap());
    assert!(store.records(&turn.session, None, Order::OldestFirst, 10).await.unwrap().is_empty());
    assert!(store.mode_history(&turn.session, None, 10).await.unwrap().is_empty());
}

async fn start_round_trips(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "start");
    let turn = tenant.turn("s", "t");
    let mut commit = tenant.start(None, "ann", &turn, at(0));
    commit.request.as_mut().unwrap().active_file_refs = vec![AgentSessionActiveFileRef {
        path: "src/Bücher.rs".to_owned(),
        content_hash: ContentHash::hash_text("fn main() {}"),
        size_bytes: 12,
        is_touched: true,
        was_sent_to_llm: false,
        was_too_large_to_send: true,
    }];
    let commit = commit.with_inline_request(Some("{\"Instruction\":\"Bücher 😀\"}".to_owned()));
    store.commit(&commit).await.unwrap();
    assert_eq!(store.request_detail(&turn).await.unwrap(), commit.request);
    assert_eq!(store.session(&turn.session).await.unwrap().as_ref(), Some(&commit.session.after));
    assert_eq!(store.turn(&turn).await.unwrap().as_ref(), Some(&commit.turns[0].after));
    assert!(store.is_participant(&turn.session, &build::user("ann").id).await.unwrap());
    assert!(!store.is_participant(&turn.session, &build::user("ben").id).await.unwrap());
    let record = store.record(&turn).await.unwrap().unwrap();
    assert_eq!(Some(&record.request), commit.request.as_ref());
    assert_eq!(record.result, None);
}

async fn head_round_trips_in_every_state(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "states");
    let timing = tenant.timing;
    let attempt = |name: &str| AttemptId::new(name.to_owned());
    let started = tenant.start_turn("ann", &tenant.turn("s", "t"), at(0)).await;
    let renewed = renew::renew(&started, later(at(0), 40)).unwrap();
    let suspended = suspend::suspend(&renewed.after, started.attempt.clone(), at(900)).unwrap();
    let results = Fingerprint::hash_bytes(b"results");
    let resumed = resume::resume(&suspended.after, attempt("two"), results, at(60), &timing).unwrap();
    let completed = Verdict::Completed { writer: attempt("two") };
    let settled = settle::settle(&resumed.after, completed, at(61), at(62), &timing).unwrap();
    for change in [renewed, suspended, resumed, settled.clone()] {
        assert!(tenant.write(&change).await, "{:?}", change.after.state.phase());
        assert_eq!(tenant.head(&started.key).await.as_ref(), Some(&change.after));
    }
    let session = store.session(&started.key.session).await.unwrap().unwrap();
    let commit = finalize(&session, &settled.after, None).unwrap().commit(&session);
    store.commit(&commit).await.unwrap();
    assert_eq!(tenant.head(&started.key).await.as_ref(), Some(&commit.turns[0].after));
    assert_eq!(store.session(&session.key).await.unwrap().as_ref(), Some(&commit.session.after));

    let reasons =
        [EndReason::Cancelled, EndReason::Abandoned, EndReason::Superseded, EndReason::ToolDeadline];
    for (number, reason) in reasons.into_iter().enumerate() {
        let other = tenant.start_turn("ann", &tenant.turn(&format!("s{number}"), "t"), at(0)).await;
        let ended = settle::end(&other, reason, at(5), &timing).unwrap();
        assert!(tenant.write(&ended).await);
        let head = tenant.head(&other.key).await.unwrap();
        assert_eq!(head, ended.after);
        assert!(matches!(head.state, State::Settled(_)));
    }
}

async fn result_of_a_finalization_is_read(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "details");
    let started = tenant.start_turn("ann", &tenant.turn("s", "t"), at(0)).await;
    let verdict = Verdict::Ended(EndReason::Abandoned);
    let settled = settle::settle(&started, verdict, at(9), at(9), &tenant.timing).unwrap();
    assert!(tenant.write(&settled).await);
    let session = store.session(&started.key.session).await.unwrap().unwrap();
    let mut finalized = finalize(&session, &spend::sealed(&settled.after), None).unwrap();
    finalized.result.report = Report {
        answer_summary: Some("Bücher 😀".to_owned()),
        response_model: Some("gpt-5-2026".to_owned()),
        ..finalized.result.report
    };
    let result = finalized.result.clone();
    store.commit(&finalized.commit(&session)).await.unwrap();
    let (session, turn, request) = store.session_and_record(&started.key).await.unwrap();
    let record = store.record(&started.key).await.unwrap().unwrap();
    assert_eq!((turn, request), (Some(record.turn), Some(record.request)));
    assert_eq!(session, store.session(&started.key.session).await.unwrap());
    assert_eq!(record.result, Some(result));
}
