//! Lines on values alone: reruns, and forks.

use super::{
    begin::{self, ParentState, PurgedAncestor, Rerun, Setup},
    finalize::{self, Finalization, chain_head},
    fork::{self, ForkRequest},
    settle,
    tests::{answer, at, attempt, setup, submission},
};
use crate::{
    ancestry::{ParentRef, RerunOf},
    chain::{ChainStart, ReplayReason},
    detail::StagedMode,
    id::SessionKey,
    session::{Session, SolutionContext},
    timing::Timing,
    turn::{EndReason, Turn, Verdict},
};

fn begun(session: Option<&Session>, turn: &str, setup: &Setup) -> (Session, Turn) {
    let mut submission = submission(turn, turn);
    if let Some(session) = session {
        submission.key.session.clone_from(&session.key);
    }
    let commit =
        begin::begin(session, None, &submission, setup, attempt(turn), false, at(1), &Timing::default());
    (commit.session.after, commit.turns[0].after.clone())
}

fn ended(session: &Session, turn: &Turn, verdict: Verdict, modes: Vec<StagedMode>) -> Finalization {
    let settled = settle::settle(turn, verdict, at(2), at(2), &Timing::default()).unwrap();
    let findings = crate::detail::OutcomeSummary { modes, ..answer(turn.key.turn.as_str()) };
    finalize::finalize(session, &settled.after, Some(&findings)).unwrap()
}

fn completed(session: &Session, turn: &Turn) -> Session {
    let verdict = Verdict::Completed { writer: turn.attempt.clone() };
    ended(session, turn, verdict, Vec::new()).session
}

/// A session of three completed turns, and those.
fn talk() -> (Session, Vec<Turn>) {
    let mut session = None;
    let mut turns = Vec::new();
    for name in ["t1", "t2", "t3"] {
        let (after, turn) = begun(session.as_ref(), name, &setup());
        session = Some(completed(&after, &turn));
        turns.push(turn);
    }
    (session.unwrap(), turns)
}

/// A rerun of this turn, in this mode.
fn again(of: &Turn, mode: &str) -> Setup {
    let gone_on_from = of.parent.sequence;
    let basis = ParentState {
        turn: of.parent.clone(),
        chain: chain_head(&answer(&format!("t{gone_on_from}")).report).filter(|_| gone_on_from > 0),
        mode: mode.to_owned(),
    };
    let repeats = RerunOf { turn: of.key.turn.clone(), model: None };
    Setup { rerun: Some(Rerun { rerun_of: repeats, parent: basis }), ..setup() }
}

#[test]
fn an_ordinary_turn_goes_on_from_the_one_before_it() {
    let (session, turns) = talk();
    let after: Vec<ParentRef> = turns.iter().map(|turn| turn.parent.clone()).collect();
    assert_eq!(after, [0, 1, 2].map(ParentRef::in_session));
    assert_eq!((session.tip.clone(), session.next_parent()), (None, ParentRef::in_session(3)));
    assert_eq!(turns[0].resolved_parent(), None);
    let second = turns[2].resolved_parent().unwrap();
    assert_eq!((second.session, second.sequence, second.depth), (session.key, 2, 2));
}

#[test]
fn a_rerun_goes_on_from_where_the_old_turn_did_and_the_session_from_the_rerun() {
    let (session, turns) = talk();
    let (open, rerun) = begun(Some(&session), "t4", &again(&turns[1], "general"));
    assert_eq!((rerun.sequence, &rerun.parent), (4, &ParentRef::in_session(1)));
    assert_eq!(rerun.chain, ChainStart::Continue("t1".to_owned()));
    assert_eq!(open.tip, Some(ParentRef::in_session(3)), "until it is completed, nothing has changed");
    let session = completed(&open, &rerun);
    assert_eq!((session.tip.clone(), session.next_parent()), (None, ParentRef::in_session(4)));
    let (_, next) = begun(Some(&session), "t5", &setup());
    assert_eq!((next.parent, next.chain), (ParentRef::in_session(4), ChainStart::Continue("t4".to_owned())));
}

#[test]
fn a_rerun_of_a_first_turn_has_nothing_before_it() {
    let (session, turns) = talk();
    let (_, rerun) = begun(Some(&session), "t4", &again(&turns[0], "general"));
    assert_eq!((rerun.chain.clone(), rerun.resolved_parent()), (ChainStart::First, None));
}

#[test]
fn after_a_rerun_that_failed_the_session_goes_on_from_where_it_was() {
    let (session, turns) = talk();
    let (open, rerun) = begun(Some(&session), "t4", &again(&turns[0], "ddr_authoring"));
    let failed = ended(&open, &rerun, Verdict::Ended(EndReason::Cancelled), Vec::new());
    assert!(failed.mode_changes.is_empty());
    assert_eq!((&failed.session.tip, &failed.session.mode), (&Some(ParentRef::in_session(3)), &session.mode));
    let (open, next) = begun(Some(&failed.session), "t5", &setup());
    assert_eq!((&next.parent, &next.chain), (&ParentRef::in_session(3), &ChainStart::Continue("t3".to_owned())));
    // From here on the newest turn leads there by itself.
    assert_eq!(open.tip, None);
    let failed = ended(&open, &next, Verdict::Ended(EndReason::Cancelled), Vec::new()).session;
    let (_, last) = begun(Some(&failed), "t6", &setup());
    assert_eq!((last.parent, last.chain), (ParentRef::in_session(5), ChainStart::Continue("t3".to_owned())));
}

#[test]
fn a_session_is_in_the_mode_of_a_completed_rerun_and_its_history_says_so_once() {
    let (session, turns) = talk();
    let (open, rerun) = begun(Some(&session), "t4", &again(&turns[1], "ddr_authoring"));
    assert_eq!((rerun.mode.as_str(), open.mode.as_str()), ("ddr_authoring", "general"));
    let verdict = || Verdict::Completed { writer: rerun.attempt.clone() };
    let done = ended(&open, &rerun, verdict(), Vec::new());
    let change = &done.mode_changes[0];
    assert_eq!((change.previous.as_str(), change.new.as_str()), ("general", "ddr_authoring"));
    assert_eq!((done.mode_changes.len(), done.session.mode.as_str()), (1, "ddr_authoring"));
    // A tool that changed it has the say.
    let staged = StagedMode { mode: "other".into(), reason: "r".into(), branch: false, at: at(2) };
    let done = ended(&open, &rerun, verdict(), vec![staged]);
    let change = &done.mode_changes[0];
    assert_eq!((change.previous.as_str(), change.new.as_str()), ("general", "other"));
    assert_eq!((done.mode_changes.len(), done.session.mode.as_str()), (1, "other"));
}

#[test]
fn a_fork_goes_on_from_the_turn_that_it_was_made_from_in_places_after_it() {
    let (session, turns) = talk();
    let verdict = Verdict::Completed { writer: turns[1].attempt.clone() };
    let second = settle::settle(&turns[1], verdict, at(2), at(2), &Timing::default()).unwrap().after;
    let key = SessionKey { session: "f".parse().unwrap(), ..session.key.clone() };
    let forking = || ForkRequest { key: key.clone(), by: session.owner.clone(), name: None };
    let report = answer("t2").report;
    assert!(fork::fork(&session, &turns[1], &report, "m".into(), forking(), at(3)).is_err(), "it runs");
    let made = fork::fork(&session, &second, &report, "m".into(), forking(), at(3)).unwrap();
    assert_eq!((made.session.condition, made.turns.len()), (None, 0));
    let fork = made.session.after;
    assert_eq!((fork.turn_count, &fork.last_turn, fork.mode.as_str()), (0, &None, "m"));

    let (open, first) = begun(Some(&fork), "f1", &setup());
    assert_eq!((first.sequence, first.depth(), open.tip.clone()), (1, 3, None));
    assert_eq!(first.chain, ChainStart::Continue("t2".to_owned()));
    let before = first.resolved_parent().unwrap();
    assert_eq!((before.session, before.sequence, before.depth), (session.key.clone(), 2, 2));

    let failed = ended(&open, &first, Verdict::Ended(EndReason::Cancelled), Vec::new()).session;
    let (open, next) = begun(Some(&failed), "f2", &setup());
    assert_eq!((&next.parent, next.depth()), (&ParentRef::in_session(1), 4));
    let own = next.resolved_parent().unwrap();
    assert_eq!((own.session, own.sequence, own.depth), (key, 1, 3));
    // A rerun of a fork's first turn leads out of it as that one did.
    let session = completed(&open, &next);
    let (_, rerun) = begun(Some(&session), "f3", &again(&first, "general"));
    assert_eq!(rerun.resolved_parent(), first.resolved_parent());
}

#[test]
fn a_fork_whose_origin_was_purged_goes_on_behind_it_once_and_then_from_its_own() {
    let (session, turns) = talk();
    let verdict = Verdict::Completed { writer: turns[1].attempt.clone() };
    let second = settle::settle(&turns[1], verdict, at(2), at(2), &Timing::default()).unwrap().after;
    let key = SessionKey { session: "fork".parse().unwrap(), ..session.key.clone() };
    let forking = ForkRequest { key: key.clone(), by: session.owner.clone(), name: None };
    let fork = fork::fork(&session, &second, &answer("t2").report, "m".into(), forking, at(3)).unwrap();
    let solution = |of: &SessionKey| SolutionContext {
        session: Some(of.session.clone()),
        turn: second.key.turn.clone(),
        request: second.fingerprint,
        submission_id: None,
        text: second.fingerprint,
    };
    let fork = Session { solution: Some(solution(&session.key)), ..fork.session.after };

    let purged = PurgedAncestor { session: session.key.session.clone(), remaining_ancestors: Vec::new() };
    let (open, first) = begun(Some(&fork), "f1", &Setup { purged_ancestor: Some(purged), ..setup() });
    assert_eq!(
        first.chain,
        ChainStart::Replay(ReplayReason::Purged),
        "its provider would remember what is gone"
    );
    assert_eq!((open.cutoff_depth(), &open.solution), (first.depth(), &None));
    let session = completed(&open, &first);
    let (_, next) = begun(Some(&session), "f2", &setup());
    assert_eq!(next.chain, ChainStart::Continue("f1".to_owned()), "that response knows nothing of it");

    let own = Session { solution: Some(solution(&key)), ..fork.clone() };
    assert!(own.with_cutoff(&second.key.session.session, &[]).solution.is_some(), "it is the fork's own");
    let between = Session { key: SessionKey { session: "deeper".parse().unwrap(), ..key.clone() }, ..own };
    let purged = &second.key.session.session;
    assert!(between.with_cutoff(purged, std::slice::from_ref(&key.session)).solution.is_some());
    assert!(between.with_cutoff(purged, &[]).solution.is_none(), "it lies behind what is gone");
}
