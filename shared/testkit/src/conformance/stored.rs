//! What is written is what is read.

use contracts::{ContentHash, Fingerprint, read::AgentSessionActiveFileRef};
use protocol::{
    detail::Report,
    id::AttemptId,
    transition::{finalize::finalize, renew, resume, settle, suspend},
    turn::{Reason, State, Verdict},
};
use turns::ports::{Order, Store};

use super::{Tenant, at, later};
use crate::build;

pub(super) async fn check(store: &impl Store, run: &str) {
    what_is_not_there_is_none(store, run).await;
    a_start_is_read_back_whole(store, run).await;
    a_head_is_read_back_in_every_state(store, run).await;
    a_detail_is_the_last_one_written(store, run).await;
}

async fn what_is_not_there_is_none(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "nothing");
    let turn = tenant.turn("s", "t");
    assert_eq!(store.session(&turn.session).await.unwrap(), None);
    assert_eq!(store.turn(&turn).await.unwrap(), None);
    assert_eq!(store.request_detail(&turn).await.unwrap(), None);
    assert_eq!(store.record(&turn).await.unwrap(), None);
    assert!(!store.takes_part(&turn.session, &build::user("ann").id).await.unwrap());
    assert!(store.records(&turn.session, None, Order::OldestFirst, 10).await.unwrap().is_empty());
    assert!(store.mode_history(&turn.session, None, 10).await.unwrap().is_empty());
}

async fn a_start_is_read_back_whole(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "start");
    let turn = tenant.turn("s", "t");
    let mut commit = tenant.start(None, "ann", &turn, at(0));
    commit.request.as_mut().unwrap().active_file_refs = vec![AgentSessionActiveFileRef {
        path: "src/Bücher.rs".to_owned(),
        content_hash: ContentHash::of_text("fn main() {}"),
        size_bytes: 12,
        is_touched: true,
        was_sent_to_llm: false,
        was_too_large_to_send: true,
    }];
    store.commit(&commit).await.unwrap();
    assert_eq!(store.request_detail(&turn).await.unwrap(), commit.request);
    assert_eq!(store.session(&turn.session).await.unwrap().as_ref(), Some(&commit.session.after));
    assert_eq!(store.turn(&turn).await.unwrap().as_ref(), Some(&commit.turns[0].after));
    assert!(store.takes_part(&turn.session, &build::user("ann").id).await.unwrap());
    assert!(!store.takes_part(&turn.session, &build::user("ben").id).await.unwrap());
    let record = store.record(&turn).await.unwrap().unwrap();
    assert_eq!(Some(&record.request), commit.request.as_ref());
    assert_eq!(record.result, None);
}

async fn a_head_is_read_back_in_every_state(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "states");
    let timing = tenant.timing;
    let attempt = |name: &str| AttemptId::new(name.to_owned());
    let started = tenant.started("ann", &tenant.turn("s", "t"), at(0)).await;
    let renewed = renew::renew(&started, later(at(0), 40)).unwrap();
    let suspended = suspend::suspend(&renewed.after, started.attempt.clone(), at(900)).unwrap();
    let results = Fingerprint::of_bytes(b"results");
    let resumed = resume::resume(&suspended.after, attempt("two"), results, at(60), &timing).unwrap();
    let completed = Verdict::Completed { writer: attempt("two") };
    let settled = settle::settle(&resumed.after, completed, at(61), at(62), &timing).unwrap();
    for change in [renewed, suspended, resumed, settled.clone()] {
        assert!(tenant.write(&change).await, "{:?}", change.after.state.phase());
        assert_eq!(tenant.stands(&started.key).await.as_ref(), Some(&change.after));
    }
    let session = store.session(&started.key.session).await.unwrap().unwrap();
    let commit = finalize(&session, &settled.after, None).unwrap().commit(&session);
    store.commit(&commit).await.unwrap();
    assert_eq!(tenant.stands(&started.key).await.as_ref(), Some(&commit.turns[0].after));
    assert_eq!(store.session(&session.key).await.unwrap().as_ref(), Some(&commit.session.after));

    let reasons = [Reason::Cancelled, Reason::Abandoned, Reason::Superseded, Reason::ToolDeadline];
    for (number, reason) in reasons.into_iter().enumerate() {
        let other = tenant.started("ann", &tenant.turn(&format!("s{number}"), "t"), at(0)).await;
        let ended = settle::end(&other, reason, at(5), &timing).unwrap();
        assert!(tenant.write(&ended).await);
        let stands = tenant.stands(&other.key).await.unwrap();
        assert_eq!(stands, ended.after);
        assert!(matches!(stands.state, State::Settled(_)));
    }
}

async fn a_detail_is_the_last_one_written(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "details");
    let started = tenant.started("ann", &tenant.turn("s", "t"), at(0)).await;
    let mut result = tenant.finalized(&started, at(9)).await.result;
    let read = async || store.record(&started.key).await.unwrap().unwrap().result;
    assert_eq!(read().await.as_ref(), Some(&result));
    result.report = Report {
        answer_summary: Some("Bücher 😀".to_owned()),
        answered_by: Some("gpt-5-2026".to_owned()),
        ..result.report
    };
    store.put_result_detail(&result).await.unwrap();
    assert_eq!(read().await, Some(result));
}
