//! Lines on values alone: reruns, and forks.

use super::{
    begin::{self, Basis, PurgedOrigin, Rerun, Setup},
    finalize::{self, Finalized, chain_head},
    fork::{self, Forking},
    settle,
    tests::{answer, at, attempt, setup, submission},
};
use crate::{
    chain::{Rebuild, Start},
    detail::StagedMode,
    id::SessionKey,
    line::{After, Repeats},
    session::{Session, SolutionContext},
    timing::Timing,
    turn::{Reason, Turn, Verdict},
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

fn ended(session: &Session, turn: &Turn, verdict: Verdict, modes: Vec<StagedMode>) -> Finalized {
    let settled = settle::settle(turn, verdict, at(2), at(2), &Timing::default()).unwrap();
    let findings = crate::detail::Findings { modes, ..answer(turn.key.turn.as_str()) };
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
    let gone_on_from = of.after.sequence;
    let basis = Basis {
        after: of.after.clone(),
        chain: chain_head(&answer(&format!("t{gone_on_from}")).report).filter(|_| gone_on_from > 0),
        mode: mode.to_owned(),
    };
    let repeats = Repeats { turn: of.key.turn.clone(), model: None };
    Setup { rerun: Some(Rerun { repeats, basis }), ..setup() }
}

#[test]
fn an_ordinary_turn_goes_on_from_the_one_before_it() {
    let (session, turns) = talk();
    let after: Vec<After> = turns.iter().map(|turn| turn.after.clone()).collect();
    assert_eq!(after, [0, 1, 2].map(After::turn));
    assert_eq!((session.tip.clone(), session.next_after()), (None, After::turn(3)));
    assert_eq!(turns[0].predecessor(), None);
    let second = turns[2].predecessor().unwrap();
    assert_eq!((second.session, second.sequence, second.place), (session.key, 2, 2));
}

#[test]
fn a_rerun_goes_on_from_where_the_old_turn_did_and_the_session_from_the_rerun() {
    let (session, turns) = talk();
    let (open, rerun) = begun(Some(&session), "t4", &again(&turns[1], "general"));
    assert_eq!((rerun.sequence, &rerun.after), (4, &After::turn(1)));
    assert_eq!(rerun.chain, Start::Continues("t1".to_owned()));
    assert_eq!(open.tip, Some(After::turn(3)), "until it is completed, nothing has changed");
    let session = completed(&open, &rerun);
    assert_eq!((session.tip.clone(), session.next_after()), (None, After::turn(4)));
    let (_, next) = begun(Some(&session), "t5", &setup());
    assert_eq!((next.after, next.chain), (After::turn(4), Start::Continues("t4".to_owned())));
}

#[test]
fn a_rerun_of_a_first_turn_has_nothing_before_it() {
    let (session, turns) = talk();
    let (_, rerun) = begun(Some(&session), "t4", &again(&turns[0], "general"));
    assert_eq!((rerun.chain.clone(), rerun.predecessor()), (Start::First, None));
}

#[test]
fn after_a_rerun_that_failed_the_session_goes_on_from_where_it_was() {
    let (session, turns) = talk();
    let (open, rerun) = begun(Some(&session), "t4", &again(&turns[0], "ddr_authoring"));
    let failed = ended(&open, &rerun, Verdict::Ended(Reason::Cancelled), Vec::new());
    assert!(failed.mode_changes.is_empty());
    assert_eq!((&failed.session.tip, &failed.session.mode), (&Some(After::turn(3)), &session.mode));
    let (open, next) = begun(Some(&failed.session), "t5", &setup());
    assert_eq!((&next.after, &next.chain), (&After::turn(3), &Start::Continues("t3".to_owned())));
    // From here on the newest turn leads there by itself.
    assert_eq!(open.tip, None);
    let failed = ended(&open, &next, Verdict::Ended(Reason::Cancelled), Vec::new()).session;
    let (_, last) = begun(Some(&failed), "t6", &setup());
    assert_eq!((last.after, last.chain), (After::turn(5), Start::Continues("t3".to_owned())));
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
    let forking = || Forking { key: key.clone(), by: session.owner.clone(), name: None };
    let report = answer("t2").report;
    assert!(fork::fork(&session, &turns[1], &report, "m".into(), forking(), at(3)).is_err(), "it runs");
    let made = fork::fork(&session, &second, &report, "m".into(), forking(), at(3)).unwrap();
    assert_eq!((made.session.condition, made.turns.len()), (None, 0));
    let fork = made.session.after;
    assert_eq!((fork.turn_count, &fork.last_turn, fork.mode.as_str()), (0, &None, "m"));

    let (open, first) = begun(Some(&fork), "f1", &setup());
    assert_eq!((first.sequence, first.place(), open.tip.clone()), (1, 3, None));
    assert_eq!(first.chain, Start::Continues("t2".to_owned()));
    let before = first.predecessor().unwrap();
    assert_eq!((before.session, before.sequence, before.place), (session.key.clone(), 2, 2));

    let failed = ended(&open, &first, Verdict::Ended(Reason::Cancelled), Vec::new()).session;
    let (open, next) = begun(Some(&failed), "f2", &setup());
    assert_eq!((&next.after, next.place()), (&After::turn(1), 4));
    let own = next.predecessor().unwrap();
    assert_eq!((own.session, own.sequence, own.place), (key, 1, 3));
    // A rerun of a fork's first turn leads out of it as that one did.
    let session = completed(&open, &next);
    let (_, rerun) = begun(Some(&session), "f3", &again(&first, "general"));
    assert_eq!(rerun.predecessor(), first.predecessor());
}

#[test]
fn a_fork_whose_origin_was_purged_goes_on_behind_it_once_and_then_from_its_own() {
    let (session, turns) = talk();
    let verdict = Verdict::Completed { writer: turns[1].attempt.clone() };
    let second = settle::settle(&turns[1], verdict, at(2), at(2), &Timing::default()).unwrap().after;
    let key = SessionKey { session: "fork".parse().unwrap(), ..session.key.clone() };
    let forking = Forking { key: key.clone(), by: session.owner.clone(), name: None };
    let fork = fork::fork(&session, &second, &answer("t2").report, "m".into(), forking, at(3)).unwrap();
    let solution = |of: &SessionKey| SolutionContext {
        session: Some(of.session.clone()),
        turn: second.key.turn.clone(),
        request: second.fingerprint,
        request_by: None,
        text: second.fingerprint,
    };
    let fork = Session { solution: Some(solution(&session.key)), ..fork.session.after };

    let purged = PurgedOrigin { session: session.key.session.clone(), reached: Vec::new() };
    let (open, first) = begun(Some(&fork), "f1", &Setup { cut: Some(purged), ..setup() });
    assert_eq!(first.chain, Start::Rebuilds(Rebuild::Purged), "its provider would remember what is gone");
    assert_eq!((open.cut_place(), &open.solution), (first.place(), &None));
    let session = completed(&open, &first);
    let (_, next) = begun(Some(&session), "f2", &setup());
    assert_eq!(next.chain, Start::Continues("f1".to_owned()), "that response knows nothing of it");

    let own = Session { solution: Some(solution(&key)), ..fork.clone() };
    assert!(own.cut_at(&second.key.session.session, &[]).solution.is_some(), "it is the fork's own");
    let between = Session { key: SessionKey { session: "deeper".parse().unwrap(), ..key.clone() }, ..own };
    let purged = &second.key.session.session;
    assert!(between.cut_at(purged, std::slice::from_ref(&key.session)).solution.is_some());
    assert!(between.cut_at(purged, &[]).solution.is_none(), "it lies behind what is gone");
}
