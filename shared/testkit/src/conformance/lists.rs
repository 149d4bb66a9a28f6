//! Lists: turns and mode changes in order, and sessions by activity, page by page.

use contracts::id::UserId;
use protocol::{
    detail::{Feedback, ModeChange, ModeChangePosition, Participant},
    transition::{
        purging,
        session_edits::{self, Edit},
    },
};
use turns::ports::{ListError, Order, Reads, Store, TimeRange};

use super::{Tenant, at};
use crate::build;

pub(super) async fn check(store: &impl Store, run: &str) {
    turns_are_listed_by_sequence(store, run).await;
    mode_changes_are_paged_newest_first(store, run).await;
    sessions_are_listed_by_latest_activity(store, run).await;
    token_of_another_list_is_rejected(store, run).await;
    feedback_is_unique_per_user_and_keeps_creation_time(store, run).await;
    ratings_count_each_feedback_once(store, run).await;
}

async fn turns_are_listed_by_sequence(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "turns");
    // Ids that don't sort in creation order, and more turns than fit one digit.
    let ids: Vec<String> = (0..12).map(|number| format!("t{}", (number * 7) % 12)).collect();
    for (number, id) in ids.iter().enumerate() {
        let turn = tenant.start_turn("ann", &tenant.turn("s", id), at(number as u64)).await;
        tenant.finalize_turn(&turn, at(number as u64)).await;
    }
    tenant.start_turn("ann", &tenant.turn("s2", "t0"), at(0)).await;
    let earlier = async |before, limit| -> Vec<u64> {
        let heads = store.turns_before(&tenant.session("s"), before, limit).await.unwrap();
        assert!(heads.iter().all(|head| head.key.session == tenant.session("s")));
        heads.iter().map(|head| head.sequence).collect()
    };
    assert_eq!(earlier(12, 4).await, [11, 10, 9, 8], "newest first, and not the one it is before");
    assert_eq!(earlier(3, 4).await, [2, 1]);
    assert!(earlier(1, 4).await.is_empty());
    let keys = ["t2", "nobody", "t1"].map(|turn| tenant.session("s").turn(turn.parse().unwrap()));
    let mut heads = store.turns(&keys).await.unwrap();
    heads.sort_by_key(|head| head.sequence);
    assert_eq!(heads.iter().map(|head| &head.key).collect::<Vec<_>>(), [&keys[0], &keys[2]]);
    assert!(store.turns(&[]).await.unwrap().is_empty());
    let read = async |after, order, limit| -> Vec<(u64, String)> {
        let records = store.records(&tenant.session("s"), after, order, limit).await.unwrap();
        let shown = |record: &turns::ports::Record| {
            assert!(record.result.is_some(), "a terminal turn has its detail");
            assert_eq!(record.request.key, record.turn.key);
            (record.turn.sequence, record.turn.key.turn.to_string())
        };
        records.iter().map(shown).collect()
    };
    let all: Vec<(u64, String)> = (1..).zip(ids).collect();
    let (on, back) = (Order::OldestFirst, Order::NewestFirst);
    assert_eq!(read(None, on, 100).await, all);
    assert_eq!(read(None, on, 5).await, all[..5]);
    assert_eq!(read(Some(5), on, 5).await, all[5..10]);
    assert_eq!(read(Some(10), on, 5).await, all[10..]);
    assert_eq!(read(Some(12), on, 5).await, []);
    let reversed: Vec<_> = all.iter().rev().cloned().collect();
    assert_eq!(read(None, back, 100).await, reversed);
    assert_eq!(read(None, back, 5).await, reversed[..5]);
    assert_eq!(read(Some(8), back, 5).await, reversed[5..10]);
    assert_eq!(read(Some(1), back, 5).await, []);
}

async fn mode_changes_are_paged_newest_first(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "modes");
    let mut written = Vec::new();
    for number in 1..=11 {
        let turn = tenant.turn("s", &format!("t{number}"));
        let before = store.session(&turn.session).await.unwrap();
        let mut commit = tenant.start(before.as_ref(), "ann", &turn, at(number));
        // As many as a turn may have, with different numbers of digits.
        commit.mode_changes = (0..16)
            .map(|number_in_turn| ModeChange {
                key: turn.clone(),
                position: ModeChangePosition { sequence: number, number: number_in_turn },
                previous: "general".to_owned(),
                new: format!("mode_{number}_{number_in_turn}"),
                reason: "So it was asked.".to_owned(),
                branch: number % 2 == 0,
                at: at(number),
                by: build::user("ann").id,
            })
            .collect();
        store.commit(&commit).await.unwrap();
        written.extend(commit.mode_changes);
    }
    written.reverse();
    let session = tenant.session("s");
    let (mut read, mut before) = (Vec::new(), None);
    loop {
        let page = store.mode_history(&session, before, 30).await.unwrap();
        assert!(page.len() <= 30);
        let Some(last) = page.last() else { break };
        before = Some(last.position);
        read.extend(page);
    }
    assert_eq!(read, written);
}

async fn pages<S: Reads>(
    store: &S,
    tenant: &Tenant<'_, S>,
    user: Option<&UserId>,
    limit: usize,
) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.sessions(&tenant.org, user, &TimeRange::default(), limit, after).await.unwrap();
        assert!(page.items.len() <= limit);
        all.extend(page.items.iter().map(|session| session.key.session.to_string()));
        assert!(all.len() < 100, "the pages do not end");
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

async fn sessions_are_listed_by_latest_activity(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "sessions");
    let names: Vec<String> = (0..7).map(|number| format!("s{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        let user = if number % 2 == 0 { "ann" } else { "ben" };
        let turn = tenant.start_turn(user, &tenant.turn(name, "t"), at(number as u64)).await;
        tenant.finalize_turn(&turn, at(number as u64)).await;
    }
    // The oldest session becomes active again, and ben joins one of ann's.
    let turn = tenant.start_turn("ben", &tenant.turn("s0", "again"), at(50)).await;
    tenant.finalize_turn(&turn, at(55)).await;
    let (ann, ben) = (build::user("ann").id, build::user("ben").id);
    for limit in [1, 2, 3, 7, 100] {
        assert_eq!(pages(store, &tenant, None, limit).await, ["s0", "s6", "s5", "s4", "s3", "s2", "s1"]);
        assert_eq!(pages(store, &tenant, Some(&ann), limit).await, ["s6", "s4", "s2", "s0"]);
        assert_eq!(pages(store, &tenant, Some(&ben), limit).await, ["s0", "s5", "s3", "s1"]);
    }
    let session = tenant.session("s2");
    let touch = Participant { session, user: ann.clone(), name: None, last_activity: at(70) };
    tenant.set_activity(touch).await;
    assert_eq!(pages(store, &tenant, Some(&ann), 2).await, ["s2", "s6", "s4", "s0"]);
    assert!(pages(store, &tenant, Some(&build::user("cleo").id), 2).await.is_empty());
    let between = async |user: Option<&UserId>, from: Option<u64>, to: Option<u64>| {
        let active = TimeRange { from: from.map(at), to: to.map(at) };
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = store.sessions(&tenant.org, user, &active, 2, after).await.unwrap();
            all.extend(page.items.iter().map(|session| session.key.session.to_string()));
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    };
    assert_eq!(between(None, Some(3), Some(5)).await, ["s5", "s4", "s3"], "both ends belong to it");
    assert_eq!(between(None, Some(6), None).await, ["s0", "s6"]);
    assert_eq!(between(None, None, Some(2)).await, ["s2", "s1"]);
    assert_eq!(between(Some(&ann), Some(60), None).await, ["s2"]);
    let participants = store.participants(&tenant.session("s0"), 10).await.unwrap();
    let of: Vec<_> = participants.iter().map(|of| (of.user.as_str(), of.name.is_some())).collect();
    assert_eq!(of, [("ann", true), ("ben", true)]);
    assert_eq!(store.participants(&tenant.session("s0"), 1).await.unwrap().len(), 1);
    assert!(store.participants(&tenant.session("none"), 1).await.unwrap().is_empty());
}

async fn token_of_another_list_is_rejected(store: &impl Store, run: &str) {
    let (one, other) = (Tenant::new(store, run, "token"), Tenant::new(store, run, "token of another"));
    for tenant in [&one, &other] {
        for session in ["s1", "s2"] {
            tenant.start_turn("ann", &tenant.turn(session, "t"), at(0)).await;
        }
    }
    let token = store.sessions(&other.org, None, &TimeRange::default(), 1, None).await.unwrap().next.unwrap();
    for bad in [token, String::new(), "x".to_owned(), "bm90IGEgdG9rZW4".to_owned()] {
        let refused = store.sessions(&one.org, None, &TimeRange::default(), 1, Some(bad.clone())).await;
        assert!(matches!(refused, Err(ListError::InvalidToken)), "{bad:?}: {refused:?}");
    }
}

async fn feedback_is_unique_per_user_and_keeps_creation_time(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "feedback");
    let turn = tenant.turn("s", "t");
    let feedback = |of: &str, by: &str, rating: u8, seconds: u64| Feedback {
        turn: tenant.turn("s", of),
        by: build::user(by),
        rating,
        label: (rating > 3).then(|| "good".to_owned()),
        note: None,
        created: at(seconds),
        at: at(seconds),
    };
    assert!(store.feedback(&turn, None, 10).await.unwrap().is_empty());
    assert_eq!(store.put_feedback(&feedback("t", "ann", 5, 1)).await.unwrap(), None, "there is no session");
    tenant.start_turn("ann", &turn, at(0)).await;
    for (of, by, rating) in [("t", "ann", 5), ("t", "ben", 1), ("t2", "ann", 3), ("t", "cleo", 4)] {
        store.put_feedback(&feedback(of, by, rating, 1)).await.unwrap();
    }
    let again = store.put_feedback(&feedback("t", "ann", 2, 9)).await.unwrap().unwrap();
    assert_eq!(again, Feedback { created: at(1), ..feedback("t", "ann", 2, 9) });
    let (mut all, mut after): (Vec<Feedback>, Option<UserId>) = (Vec::new(), None);
    loop {
        let page = store.feedback(&turn, after.as_ref(), 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.by.id.clone());
        all.extend(page);
    }
    all.sort_by(|one, other| one.by.id.cmp(&other.by.id));
    assert_eq!(all, [again, feedback("t", "ben", 1, 1), feedback("t", "cleo", 4, 1)]);
}

async fn ratings_count_each_feedback_once(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "ratings");
    let turn = tenant.turn("s", "t");
    let started = tenant.start_turn("ann", &turn, at(0)).await;
    let rate = async |by: &str, rating: u8| {
        let feedback = Feedback {
            turn: turn.clone(),
            by: build::user(by),
            rating,
            label: None,
            note: None,
            created: at(1),
            at: at(1),
        };
        store.put_feedback(&feedback).await.unwrap().unwrap();
    };
    let ratings = async || {
        let session = store.session(&turn.session).await.unwrap().unwrap();
        (session.ratings.count, session.ratings.sum)
    };
    assert_eq!(ratings().await, (0, 0));
    // A transaction that read the session before the feedback leaves its ratings as they are.
    let read = store.session(&turn.session).await.unwrap().unwrap();
    rate("ann", 5).await;
    let renamed = Edit { name: Some("Renamed".to_owned()), ..Edit::default() };
    let commit = session_edits::edit(&read, &renamed, at(2)).unwrap().unwrap();
    store.commit(&commit).await.unwrap();
    assert_eq!(ratings().await, (1, 5));
    for (by, rating, expected) in
        [("ben", 2, (2, 7)), ("ann", 1, (2, 3)), ("ann", 1, (2, 3)), ("ben", 4, (2, 5))]
    {
        rate(by, rating).await;
        assert_eq!(ratings().await, expected, "{by} {rating}");
    }
    tenant.finalize_turn(&started, at(3)).await;
    assert_eq!(ratings().await, (2, 5));
    let session = store.session(&turn.session).await.unwrap().unwrap();
    let purge =
        purging::begin(&session, None, &build::user("ann").id, at(4), &tenant.timing).unwrap().unwrap();
    store.commit(&purge).await.unwrap();
    assert_eq!(ratings().await, (0, 0), "a tombstone has none");
}
