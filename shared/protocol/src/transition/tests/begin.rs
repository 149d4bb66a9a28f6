//! Starts of a turn.

use contracts::{
    Fingerprint,
    id::{TurnId, UserId},
    read::{TurnStatus, Visibility},
};

use super::{answer, at, attempt, completed, running, setup, submission};
use crate::{
    caller::User,
    chain::{ChainStart, ReplayReason},
    change::Condition,
    session::{Contexts, Deletion, Hints, IdOrigin, Session, SessionClosed, SolutionChange, SolutionContext},
    timing::Timing,
    transition::{
        begin::{self, Closing, Decision, Snapshot, Submission},
        settle, suspend,
    },
    turn::{EndReason, Phase, Turn, Verdict},
};

#[test]
fn first_turn_creates_session_and_participant() {
    let commit = begin::begin(
        None,
        None,
        &submission("t1", "one"),
        &setup(),
        attempt("a"),
        true,
        at(0),
        &Timing::default(),
    );
    assert_eq!(commit.session.condition, None);
    let (session, turn) = (&commit.session.after, &commit.turns[0]);
    assert_eq!((session.rev, session.turn_count, session.mode.as_str()), (1, 1, "general"));
    assert_eq!(session.open_turn.as_ref().map(TurnId::as_str), Some("t1"));
    assert_eq!((turn.after.sequence, &turn.condition), (1, &Condition::Absent));
    assert_eq!(commit.participant.unwrap().user.as_str(), "ada");
}

#[test]
fn same_request_waits_takes_over_or_replays_by_turn_state() {
    let timing = Timing::default();
    let (session, turn) = running();
    let snapshot =
        |turn: &Turn| Snapshot { session: Some(session.clone()), turn: Some(turn.clone()), open: None };
    let request = submission("t1", "one");
    assert!(matches!(begin::decide(&snapshot(&turn), &request, at(31), &timing), Decision::Wait(_)));
    assert!(matches!(begin::decide(&snapshot(&turn), &request, at(32), &timing), Decision::TakeOver(_)));
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    assert!(matches!(begin::decide(&snapshot(&waiting), &request, at(32), &timing), Decision::Replay(_)));
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &timing).unwrap().after;
    assert!(matches!(begin::decide(&snapshot(&settled), &request, at(4), &timing), Decision::Replay(_)));
}

#[test]
fn same_turn_id_with_other_request_or_user_conflicts() {
    let (session, turn) = running();
    let snapshot = Snapshot { session: Some(session), turn: Some(turn), open: None };
    assert_eq!(
        begin::decide(&snapshot, &submission("t1", "two"), at(1), &Timing::default()),
        Decision::Conflict
    );
    let mut stranger = submission("t1", "one");
    stranger.requested_by.id = UserId::new("bob").unwrap();
    assert_eq!(begin::decide(&snapshot, &stranger, at(1), &Timing::default()), Decision::Conflict);
}

#[test]
fn derived_session_id_admits_a_new_session_or_ones_own() {
    let (own, turn) = running();
    let own = Session { open_turn: None, ..own };
    let deletion = Deletion { at: at(1), by: own.owner.id.clone(), retained_until: at(2), purged: false };
    let deleted = Session { deleted: Some(deletion.clone()), ..own.clone() };
    let purged = Session { deleted: Some(Deletion { purged: true, ..deletion }), ..own.clone() }.tombstone();
    let bob = User { id: UserId::new("bob").unwrap(), name: "Bob".to_owned() };
    let foreign = Session { owner: bob, ..own.clone() };
    let private = Session { visibility: Visibility::Participants, ..foreign.clone() };
    let decided = |id_origin: IdOrigin, session: &Session, turn: Option<&Turn>| {
        let snapshot = Snapshot { session: Some(session.clone()), turn: turn.cloned(), open: None };
        begin::decide(
            &snapshot,
            &Submission { id_origin, ..submission("t1", "one") },
            at(1),
            &Timing::default(),
        )
    };
    assert_eq!(decided(IdOrigin::Derived, &own, None), Decision::Begin);
    assert!(matches!(decided(IdOrigin::Derived, &own, Some(&turn)), Decision::Wait(_)));
    for other in [&foreign, &private, &deleted, &purged] {
        for turn in [None, Some(&turn)] {
            assert_eq!(decided(IdOrigin::Derived, other, turn), Decision::SessionConflict);
            assert_ne!(decided(IdOrigin::Client, other, turn), Decision::SessionConflict);
        }
    }
    // A session that appears after the decision fails the write.
    let derived = Submission { id_origin: IdOrigin::Derived, ..submission("t1", "one") };
    assert_eq!(begin::decide(&Snapshot::default(), &derived, at(1), &Timing::default()), Decision::Begin);
    let timing = Timing::default();
    let commit = begin::begin(None, None, &derived, &setup(), attempt("a"), true, at(1), &timing);
    assert_eq!(commit.session.condition, None, "it requires that there is no session");
}

#[test]
fn unstored_turn_shares_its_session_with_no_other() {
    let timing = Timing::default();
    let unstored = Submission { unstored: true, ..submission("t1", "one") };
    let commit = begin::begin(None, None, &unstored, &setup(), attempt("a"), true, at(0), &timing);
    let (session, turn) = (commit.session.after, commit.turns[0].after.clone());
    assert!(turn.is_unstored);
    let decide = |submission: &Submission, open: Option<&Turn>| {
        let snapshot = Snapshot { session: Some(session.clone()), turn: None, open: open.cloned() };
        begin::decide(&snapshot, submission, at(5), &timing)
    };
    let next = submission("t2", "two");
    assert_eq!(decide(&next, Some(&turn)), Decision::Closed(SessionClosed::Deleted));
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &timing).unwrap().after;
    assert_eq!(decide(&next, Some(&settled)), Decision::Closed(SessionClosed::Deleted));
    // A purge would remove the stored turns, too.
    let unstored = Submission { unstored: true, ..next };
    assert_eq!(decide(&unstored, None), Decision::SessionConflict);
}

#[test]
fn turn_seen_only_through_session_belongs_to_request() {
    let (session, turn) = running();
    let snapshot = Snapshot { session: Some(session), turn: None, open: Some(turn) };
    assert!(matches!(
        begin::decide(&snapshot, &submission("t1", "one"), at(1), &Timing::default()),
        Decision::Wait(_)
    ));
}

#[test]
fn open_turn_is_busy_salvaged_superseded_or_folded_by_state() {
    let timing = Timing::default();
    let (session, turn) = running();
    let next = submission("t2", "two");
    let decide = |open: &Turn, now| {
        begin::decide(
            &Snapshot { session: Some(session.clone()), turn: None, open: Some(open.clone()) },
            &next,
            now,
            &timing,
        )
    };
    assert!(matches!(decide(&turn, at(31)), Decision::Busy { .. }));
    assert!(matches!(decide(&turn, at(32)), Decision::SalvageFirst(_)));
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    assert!(matches!(decide(&waiting, at(5)), Decision::BeginClosing(_)));
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &timing).unwrap().after;
    assert!(matches!(decide(&settled, at(5)), Decision::BeginClosing(_)));
}

#[test]
fn start_folds_settled_turn_and_chains_from_it() {
    let timing = Timing::default();
    let (session, turn) = running();
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &timing).unwrap().after;
    let closing = Closing::new(&session, &settled, Some(&answer("resp_1")), at(5), &timing).unwrap();
    let commit = begin::begin(
        Some(&session),
        Some(closing),
        &submission("t2", "two"),
        &setup(),
        attempt("b"),
        false,
        at(5),
        &timing,
    );
    let after = &commit.session.after;
    assert_eq!((commit.session.condition, after.rev, after.turn_count), (Some(1), 2, 2));
    assert_eq!((after.usage.total_tokens, after.last_turn.clone().unwrap().status), (5, TurnStatus::Pending));
    assert_eq!(commit.turns[0].after.chain.previous_response_id(), Some("resp_1"));
    assert_eq!(commit.turns[1].after.state.phase(), Phase::Finalized);
    assert_eq!(commit.result.map(|result| result.key), Some(settled.key));
}

#[test]
fn start_supersedes_waiting_turn_in_one_transaction() {
    let timing = Timing::default();
    let (session, turn) = running();
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    let spent = answer("resp_1");
    let closing = Closing::new(&session, &waiting, Some(&spent), at(5), &timing).unwrap();
    let commit = begin::begin(
        Some(&session),
        Some(closing),
        &submission("t2", "two"),
        &setup(),
        attempt("b"),
        false,
        at(5),
        &timing,
    );
    let superseded = &commit.turns[1];
    assert_eq!(superseded.condition, Condition::same_owner(&waiting));
    assert_eq!(superseded.after.settlement().unwrap().verdict, Verdict::Ended(EndReason::Superseded));
    assert_eq!(commit.result.unwrap().report.usage, spent.report.usage, "usage is kept");
    assert_eq!(commit.session.after.usage.total_tokens, 5);
    assert_eq!(commit.turns[0].after.chain, ChainStart::Replay(ReplayReason::NotStored));
}

#[test]
fn solution_context_stays_until_replaced_or_removed() {
    let context = |turn: &str, text: &str| SolutionContext {
        session: None,
        turn: TurnId::new(turn).unwrap(),
        request: Fingerprint::hash_bytes(turn.as_bytes()),
        submission_id: None,
        text: Fingerprint::hash_bytes(text.as_bytes()),
    };
    let replaced = |turn: &str, text: &str| SolutionChange::Replaced(context(turn, text));
    let first = Submission { solution: replaced("t1", "rust"), ..submission("t1", "one") };
    let session = begin::begin(None, None, &first, &setup(), attempt("a"), true, at(0), &Timing::default())
        .session
        .after;
    assert_eq!(session.solution, Some(context("t1", "rust")), "it applies to the turn that sets it");
    let latched = |solution: SolutionChange| {
        let next = Submission { solution, ..submission("t2", "two") };
        let commit = begin::begin(
            Some(&session),
            None,
            &next,
            &setup(),
            attempt("b"),
            false,
            at(1),
            &Timing::default(),
        );
        commit.session.after.solution
    };
    assert_eq!(latched(SolutionChange::Unchanged), Some(context("t1", "rust")));
    assert_eq!(latched(replaced("t2", "go")), Some(context("t2", "go")));
    assert_eq!(latched(replaced("t2", "rust")), Some(context("t1", "rust")), "the same text changes nothing");
    assert_eq!(latched(SolutionChange::Removed), None);
}

#[test]
fn first_turn_fixes_contexts_and_hints_stay_until_replaced() {
    let timing = Timing::default();
    let hints = |repo: &str| Hints { repo: Some(repo.to_owned()), ..Hints::default() };
    let first = Submission { hints: hints("one"), ..submission("t1", "one") };
    let session =
        begin::begin(None, None, &first, &setup(), attempt("a"), true, at(0), &timing).session.after;
    let latched = |hints: Hints| {
        let next = Submission { hints, ..submission("t2", "two") };
        begin::begin(Some(&session), None, &next, &setup(), attempt("b"), false, at(1), &timing)
            .session
            .after
            .hints
            .repo
            .unwrap()
    };
    assert_eq!(latched(Hints::default()), "one");
    assert_eq!(latched(hints("two")), "two");
    let agent = Some(contracts::id::AgentContextId::new("other").unwrap());
    let other = Submission { contexts: Contexts { agent, ..Contexts::default() }, ..submission("t2", "two") };
    let snapshot = Snapshot { session: Some(session), ..Snapshot::default() };
    assert_eq!(begin::decide(&snapshot, &other, at(1), &timing), Decision::ContextMismatch);
}
