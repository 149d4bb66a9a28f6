//! Tests of ancestries: reruns and forks, on values alone.

use contracts::id::SessionId;

use super::{answer, at, attempt, setup, submission};
use crate::{
    ancestry::{LossReason, LostAncestor, ParentRef, RerunOf},
    chain::{ChainStart, ReplayReason},
    detail::StagedMode,
    id::SessionKey,
    session::{Session, SolutionContext},
    timing::Timing,
    transition::{
        begin::{self, Basis, ParentState, Setup},
        finalize::{self, Finalization, chain_head},
        fork::{self, ForkRequest},
        settle, spend,
    },
    turn::{EndReason, Turn, Verdict},
};

fn start(session: Option<&Session>, turn: &str, setup: &Setup) -> (Session, Turn) {
    let mut submission = submission(turn, turn);
    if let Some(session) = session {
        submission.key.session.clone_from(&session.key);
    }
    let commit =
        begin::begin(session, None, &submission, setup, attempt(turn), false, at(1), &Timing::default());
    (commit.session.after, commit.turns[0].after.clone())
}

fn end(session: &Session, turn: &Turn, verdict: Verdict, modes: Vec<StagedMode>) -> Finalization {
    let settled = settle::settle(turn, verdict, at(2), at(2), &Timing::default()).unwrap();
    let outcome = crate::detail::OutcomeSummary { modes, ..answer(turn.key.turn.as_str()) };
    finalize::finalize(session, &spend::sealed(&settled.after), Some(&outcome)).unwrap()
}

fn complete(session: &Session, turn: &Turn) -> Session {
    let verdict = Verdict::Completed { writer: turn.attempt.clone() };
    end(session, turn, verdict, Vec::new()).session
}

/// A session of three completed turns, and the turns.
fn three_turns() -> (Session, Vec<Turn>) {
    let mut session = None;
    let mut turns = Vec::new();
    for name in ["t1", "t2", "t3"] {
        let (after, turn) = start(session.as_ref(), name, &setup());
        session = Some(complete(&after, &turn));
        turns.push(turn);
    }
    (session.unwrap(), turns)
}

/// A rerun of this turn, in this mode.
fn rerun_setup(original: &Turn, mode: &str) -> Setup {
    let parent_sequence = original.parent.sequence;
    let parent = ParentState {
        turn: original.parent.clone(),
        chain: chain_head(&answer(&format!("t{parent_sequence}")).report).filter(|_| parent_sequence > 0),
        mode: mode.to_owned(),
    };
    let rerun_of = RerunOf { turn: original.key.turn.clone(), model: None };
    Setup { basis: Some(Basis { rerun_of: Some(rerun_of), parent }), ..setup() }
}

#[test]
fn ordinary_turn_continues_from_previous_one() {
    let (session, turns) = three_turns();
    let after: Vec<ParentRef> = turns.iter().map(|turn| turn.parent.clone()).collect();
    assert_eq!(after, [0, 1, 2].map(ParentRef::in_session));
    assert_eq!((session.tip.clone(), session.next_parent()), (None, ParentRef::in_session(3)));
    assert_eq!(turns[0].resolved_parent(), None);
    let second = turns[2].resolved_parent().unwrap();
    assert_eq!((second.session, second.sequence, second.depth), (session.key, 2, 2));
}

#[test]
fn rerun_has_original_parent_and_session_continues_from_it() {
    let (session, turns) = three_turns();
    let (open, rerun) = start(Some(&session), "t4", &rerun_setup(&turns[1], "general"));
    assert_eq!((rerun.sequence, &rerun.parent), (4, &ParentRef::in_session(1)));
    assert_eq!(rerun.chain, ChainStart::Continue("t1".to_owned()));
    assert_eq!(open.tip, Some(ParentRef::in_session(3)), "unchanged until it is completed");
    let session = complete(&open, &rerun);
    assert_eq!((session.tip.clone(), session.next_parent()), (None, ParentRef::in_session(4)));
    let (_, next) = start(Some(&session), "t5", &setup());
    assert_eq!((next.parent, next.chain), (ParentRef::in_session(4), ChainStart::Continue("t4".to_owned())));
}

#[test]
fn rerun_of_first_turn_has_no_parent() {
    let (session, turns) = three_turns();
    let (_, rerun) = start(Some(&session), "t4", &rerun_setup(&turns[0], "general"));
    assert_eq!((rerun.chain.clone(), rerun.resolved_parent()), (ChainStart::First, None));
}

#[test]
fn session_keeps_parent_after_failed_rerun() {
    let (session, turns) = three_turns();
    let (open, rerun) = start(Some(&session), "t4", &rerun_setup(&turns[0], "ddr_authoring"));
    let failed = end(&open, &rerun, Verdict::Ended(EndReason::Cancelled), Vec::new());
    assert!(failed.mode_changes.is_empty());
    assert_eq!((&failed.session.tip, &failed.session.mode), (&Some(ParentRef::in_session(3)), &session.mode));
    let (open, next) = start(Some(&failed.session), "t5", &setup());
    assert_eq!(
        (&next.parent, &next.chain),
        (&ParentRef::in_session(3), &ChainStart::Continue("t3".to_owned()))
    );
    // From here on the newest turn itself leads there.
    assert_eq!(open.tip, None);
    let failed = end(&open, &next, Verdict::Ended(EndReason::Cancelled), Vec::new()).session;
    let (_, last) = start(Some(&failed), "t6", &setup());
    assert_eq!((last.parent, last.chain), (ParentRef::in_session(5), ChainStart::Continue("t3".to_owned())));
}

#[test]
fn rerun_mode_holds_for_that_turn_unless_a_tool_changes_it() {
    let (session, turns) = three_turns();
    let (open, rerun) = start(Some(&session), "t4", &rerun_setup(&turns[1], "ddr_authoring"));
    assert_eq!((rerun.mode.as_str(), open.mode.as_str()), ("ddr_authoring", "general"));
    let verdict = || Verdict::Completed { writer: rerun.attempt.clone() };
    let done = end(&open, &rerun, verdict(), Vec::new());
    assert_eq!((done.mode_changes.len(), done.session.mode.as_str()), (0, "general"));
    let staged = StagedMode { mode: "other".into(), reason: "r".into(), branch: false, at: at(2) };
    let done = end(&open, &rerun, verdict(), vec![staged]);
    let change = &done.mode_changes[0];
    assert_eq!((change.previous.as_str(), change.new.as_str()), ("general", "other"));
    assert_eq!((done.mode_changes.len(), done.session.mode.as_str()), (1, "other"));
}

#[test]
fn fork_continues_from_its_origin_at_greater_depth() {
    let (session, turns) = three_turns();
    let verdict = Verdict::Completed { writer: turns[1].attempt.clone() };
    let second = settle::settle(&turns[1], verdict, at(2), at(2), &Timing::default()).unwrap().after;
    let key = SessionKey { session: "f".parse().unwrap(), ..session.key.clone() };
    let request = || ForkRequest {
        key: key.clone(),
        by: session.owner.clone(),
        name: None,
        visibility: session.visibility,
    };
    let report = answer("t2").report;
    assert!(fork::fork(&session, &turns[1], &report, "m".into(), request(), at(3)).is_err(), "the turn runs");
    let commit = fork::fork(&session, &second, &report, "m".into(), request(), at(3)).unwrap();
    assert_eq!((commit.session.condition, commit.turns.len()), (None, 0));
    let fork = commit.session.after;
    assert_eq!((fork.turn_count, &fork.last_turn, fork.mode.as_str()), (0, &None, "m"));

    let (open, first) = start(Some(&fork), "f1", &setup());
    assert_eq!((first.sequence, first.depth(), open.tip.clone()), (1, 3, None));
    assert_eq!(first.chain, ChainStart::Continue("t2".to_owned()));
    let before = first.resolved_parent().unwrap();
    assert_eq!((before.session, before.sequence, before.depth), (session.key.clone(), 2, 2));

    let failed = end(&open, &first, Verdict::Ended(EndReason::Cancelled), Vec::new()).session;
    let (open, next) = start(Some(&failed), "f2", &setup());
    assert_eq!((&next.parent, next.depth()), (&ParentRef::in_session(1), 4));
    let own = next.resolved_parent().unwrap();
    assert_eq!((own.session, own.sequence, own.depth), (key, 1, 3));
    // A rerun of a fork's first turn has the same parent outside the fork.
    let session = complete(&open, &next);
    let (_, rerun) = start(Some(&session), "f3", &rerun_setup(&first, "general"));
    assert_eq!(rerun.resolved_parent(), first.resolved_parent());
}

fn lost(session: &SessionId, remaining_ancestors: &[SessionId]) -> LostAncestor {
    LostAncestor {
        session: session.clone(),
        reason: LossReason::Purged,
        remaining_ancestors: remaining_ancestors.to_vec(),
        hidden_depth: 0,
    }
}

#[test]
fn hidden_ancestor_is_left_out_for_good() {
    let (session, turns) = three_turns();
    let verdict = Verdict::Completed { writer: turns[1].attempt.clone() };
    let second = settle::settle(&turns[1], verdict, at(2), at(2), &Timing::default()).unwrap().after;
    let key = SessionKey { session: "fork".parse().unwrap(), ..session.key.clone() };
    let request = ForkRequest { key, by: session.owner.clone(), name: None, visibility: session.visibility };
    let fork = fork::fork(&session, &second, &answer("t2").report, "m".into(), request, at(3)).unwrap();
    let hidden = LostAncestor {
        reason: LossReason::Hidden,
        hidden_depth: second.depth(),
        ..lost(&session.key.session, &[])
    };
    let (open, first) =
        start(Some(&fork.session.after), "f1", &Setup { lost_ancestor: Some(hidden), ..setup() });
    assert_eq!(first.chain, ChainStart::Replay(ReplayReason::Hidden));
    assert_eq!((open.hidden_depth(), open.cutoff_depth()), (second.depth(), first.depth()));
    let session = complete(&open, &first);
    let (open, next) = start(Some(&session), "f2", &setup());
    assert_eq!(next.chain, ChainStart::Continue("f1".to_owned()), "that response lacks the hidden turns");
    assert_eq!(open.hidden_depth(), second.depth());
}

#[test]
fn fork_survives_purged_parent() {
    let (session, turns) = three_turns();
    let verdict = Verdict::Completed { writer: turns[1].attempt.clone() };
    let second = settle::settle(&turns[1], verdict, at(2), at(2), &Timing::default()).unwrap().after;
    let key = SessionKey { session: "fork".parse().unwrap(), ..session.key.clone() };
    let request = ForkRequest {
        key: key.clone(),
        by: session.owner.clone(),
        name: None,
        visibility: session.visibility,
    };
    let fork = fork::fork(&session, &second, &answer("t2").report, "m".into(), request, at(3)).unwrap();
    let solution = |of: &SessionKey| SolutionContext {
        session: Some(of.session.clone()),
        turn: second.key.turn.clone(),
        request: second.fingerprint,
        submission_id: None,
        text: second.fingerprint,
    };
    let fork = Session { solution: Some(solution(&session.key)), ..fork.session.after };

    let purged = lost(&session.key.session, &[]);
    let (open, first) = start(Some(&fork), "f1", &Setup { lost_ancestor: Some(purged), ..setup() });
    assert_eq!(
        first.chain,
        ChainStart::Replay(ReplayReason::Purged),
        "the provider's response has the purged turns"
    );
    assert_eq!((open.cutoff_depth(), &open.solution), (first.depth(), &None));
    let session = complete(&open, &first);
    let (_, next) = start(Some(&session), "f2", &setup());
    assert_eq!(next.chain, ChainStart::Continue("f1".to_owned()), "that response lacks the purged turns");

    let own = Session { solution: Some(solution(&key)), ..fork.clone() };
    assert!(
        own.with_cutoff(&lost(&second.key.session.session, &[])).solution.is_some(),
        "it is the fork's own"
    );
    let between = Session { key: SessionKey { session: "deeper".parse().unwrap(), ..key.clone() }, ..own };
    let purged = &second.key.session.session;
    assert!(between.with_cutoff(&lost(purged, std::slice::from_ref(&key.session))).solution.is_some());
    assert!(between.with_cutoff(&lost(purged, &[])).solution.is_none(), "it is before the purged session");
}
