//! Ends of a turn: settlement, finalization and the sweep.

use contracts::{Fingerprint, Usage, read::TurnStatus};

use super::{after, answer as answer_of, at, attempt, completed, running};
use crate::{
    approval,
    change::Condition,
    cost::{Amount, Cost},
    detail::{OutcomeSummary, Report, StagedMode},
    payload::Kind,
    purge::{Purge, Stage},
    session::{Contexts, Session},
    timing::Timing,
    transition::{answer, finalize, purging, renew, resume, settle, spend, suspend, sweep},
    turn::{EndReason, MAX_TAKEOVERS, Settlement, State, Turn, Verdict},
};

#[test]
fn outcome_writer_of_ended_turn_is_its_last_suspension() {
    let timing = Timing::default();
    let (_, turn) = running();
    assert_eq!(turn.outcome_writer(), None);
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    let cancelled = settle::end(&waiting, EndReason::Cancelled, at(6), &timing).unwrap().after;
    assert_eq!(cancelled.outcome_writer(), Some(&attempt("a")));
    let results = Fingerprint::hash_bytes(b"results");
    let resumed = resume::resume(&waiting, attempt("b"), results, at(10), &timing).unwrap().after;
    let cancelled = settle::end(&resumed, EndReason::Cancelled, at(11), &timing).unwrap().after;
    assert_eq!(cancelled.outcome_writer(), Some(&attempt("a")), "not the attempt that was interrupted");
    let answered = settle::settle(&resumed, completed("b"), at(12), at(12), &timing).unwrap().after;
    assert_eq!(answered.outcome_writer(), Some(&attempt("b")));
}

#[test]
fn turn_costs_add_up_per_currency() {
    let cost =
        |micros, currency: &str| Cost { amount: Amount::from_micros(micros), currency: currency.to_owned() };
    let mut costly = answer_of("resp_1");
    costly.report.cost = Some(cost(5, "USD"));
    let session = after(&costly);
    assert_eq!(session.costs, [cost(5, "USD")]);
    let with = |next: Option<Cost>| crate::session::add_cost(session.costs.clone(), next.as_ref());
    assert_eq!(with(Some(cost(7, "USD"))), [cost(12, "USD")]);
    assert_eq!(with(Some(cost(7, "EUR"))), [cost(5, "USD"), cost(7, "EUR")]);
    assert_eq!(with(None), [cost(5, "USD")]);
}

#[test]
fn results_at_the_deadline_end_the_turn_like_the_sweep() {
    let timing = Timing::default();
    let (_, turn) = running();
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    let results = Fingerprint::hash_bytes(b"results");
    let resume = |now| resume::resume(&waiting, attempt("b"), results, now, &timing);
    assert!(resume(at(499)).is_ok());
    assert_eq!(resume(at(500)), Err(resume::ResumeError::DeadlinePassed));
    assert_eq!(settle::end_overdue(&waiting, at(499), &timing), None);
    let ended = settle::end_overdue(&waiting, at(500), &timing).unwrap();
    assert_eq!(sweep::action(&waiting, at(500), &timing), sweep::Action::End(ended.clone()));
    assert_eq!(ended.after.settlement().unwrap().verdict, Verdict::Ended(EndReason::ToolDeadline));
    assert_eq!(
        settle::end_overdue(&turn, at(1_000_000), &timing),
        None,
        "a running turn has no such deadline"
    );
    // A turn that ran keeps its index entry. One that waited for days has no due time that is near.
    let cancelled = settle::end(&turn, EndReason::Cancelled, at(7), &timing).unwrap();
    assert_eq!(cancelled.after.due, turn.due);
    assert_eq!(ended.after.due, Some(at(500).after(timing.settled_grace)));
}

#[test]
fn ended_turn_keeps_report_of_its_suspension() {
    let timing = Timing::default();
    let (session, turn) = running();
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    let mut suspended_report = answer_of("resp_1").report;
    suspended_report.provider = Some("p".to_owned());
    suspended_report.received_at = Some(at(2));
    suspended_report.client_tool_ms = Some(7);
    suspended_report.server_tool_ms = Some(3);
    suspended_report.tool_rounds = Some(2);
    suspended_report.last_raw_payload = Some(1);
    suspended_report.warnings = vec!["Careful.".to_owned()];
    let outcome = OutcomeSummary { report: suspended_report.clone(), modes: Vec::new() };
    for reason in [EndReason::Cancelled, EndReason::Superseded, EndReason::ToolDeadline, EndReason::Abandoned]
    {
        let ended = settle::end(&waiting, reason, at(6), &timing).unwrap().after;
        let finalized = finalize::finalize(&session, &ended, Some(&outcome)).unwrap();
        let expected = Report {
            errors: vec![reason.error().message],
            answer_summary: None,
            chain_expires: None,
            last_raw_payload: None,
            ..suspended_report.clone()
        };
        assert_eq!(finalized.result.report, expected);
        assert_eq!(finalized.session.chain, None, "nothing continues from it");
    }
}

#[test]
fn imported_turn_counts_in_its_session_and_in_no_usage() {
    let (session, turn) = running();
    let settled = settle::settle(&turn, completed("a"), at(3), at(4), &Timing::default()).unwrap().after;
    let outcome = OutcomeSummary {
        report: Report {
            usage: Some(Usage { total_tokens: 5, ..Usage::default() }),
            ..answer_of("r").report
        },
        ..OutcomeSummary::default()
    };
    for is_imported in [false, true] {
        let turn = Turn { is_imported, ..settled.clone() };
        let finalized = finalize::finalize(&session, &turn, Some(&outcome)).unwrap();
        assert_eq!(finalized.session.usage.total_tokens, 5);
        assert_eq!(finalized.usage.is_none(), is_imported);
        assert_eq!(finalized.commit(&session).usage.is_empty(), is_imported);
    }
}

#[test]
fn finalize_rolls_up_once_and_failure_keeps_chain_and_mode() {
    let timing = Timing::default();
    let (session, turn) = running();
    let mut outcome = answer_of("resp_1");
    let staged =
        |mode: &str| StagedMode { mode: mode.to_owned(), reason: "why".to_owned(), branch: false, at: at(2) };
    outcome.modes = ["workflow_authoring", "workflow_authoring", "ddr_authoring"].map(staged).to_vec();
    let settled = settle::settle(&turn, completed("a"), at(3), at(4), &timing).unwrap().after;
    let finalized = finalize::finalize(&session, &settled, Some(&outcome)).unwrap();
    assert_eq!(
        (finalized.session.open_turn.clone(), finalized.session.mode.as_str()),
        (None, "ddr_authoring")
    );
    assert_eq!(
        (finalized.session.last_activity, finalized.session.last_turn.clone().unwrap().at),
        (at(3), at(3))
    );
    let changes: Vec<_> = finalized
        .mode_changes
        .iter()
        .map(|change| (change.previous.as_str(), change.new.as_str(), change.position.to_string()))
        .collect();
    let expected = [
        ("general", "workflow_authoring", "1-0".to_owned()),
        ("workflow_authoring", "ddr_authoring", "1-1".to_owned()),
    ];
    assert_eq!(changes, expected, "every effective change, in order");
    assert_eq!(finalized.turn.after.due, None);
    outcome.modes = vec![staged("general")];
    let unchanged = finalize::finalize(&session, &settled, Some(&outcome)).unwrap();
    assert_eq!(unchanged.mode_changes, [], "no change to the same mode");
    assert!(finalize::finalize(&finalized.session, &finalized.turn.after, Some(&outcome)).is_err());

    let failed = settle::end(&turn, EndReason::Cancelled, at(4), &timing).unwrap().after;
    assert!(finalize::finalize(&session, &failed, None).is_err(), "its attempt may still tell what it spent");
    let finalized = finalize::finalize(&session, &spend::sealed(&failed), None).unwrap();
    assert_eq!((finalized.session.chain, finalized.session.mode.as_str()), (None, "general"));
    assert_eq!(
        (finalized.session.last_turn.clone().unwrap().status, finalized.result.report.errors.len()),
        (TurnStatus::Failed, 1)
    );
}

#[test]
fn sweep_acts_on_head_and_not_on_index() {
    let timing = Timing::default();
    let (_, turn) = running();
    assert_eq!(sweep::action(&turn, at(151), &timing), sweep::Action::Skip);
    assert_eq!(sweep::action(&turn, at(152), &timing), sweep::Action::Salvage);
    let renewed = renew::renew(&turn, at(170)).unwrap().after;
    let sweep::Action::Reschedule(moved) = sweep::action(&renewed, at(152), &timing) else {
        panic!("the turn must be early")
    };
    assert_eq!((moved.condition.clone(), moved.after.due), (Condition::same_lease(&renewed), Some(at(292))));
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    assert_eq!(sweep::action(&waiting, at(499), &timing), sweep::Action::Skip);
    assert!(matches!(sweep::action(&waiting, at(500), &timing), sweep::Action::End(_)));
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &timing).unwrap().after;
    assert_eq!(sweep::action(&settled, at(40), &timing), sweep::Action::Finalize);
}

#[test]
fn turn_that_the_sweep_failed_is_due_a_minute_later() {
    let timing = Timing::default();
    let (_, turn) = running();
    let moved = sweep::postpone(&turn, at(200)).unwrap();
    assert_eq!((moved.condition, moved.after.due), (Condition::same_lease(&turn), Some(at(260))));
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &timing).unwrap().after;
    let moved = sweep::postpone(&settled, at(200)).unwrap();
    assert_eq!((moved.condition, moved.after.due), (Condition::same_owner(&settled), Some(at(260))));
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    assert_eq!(sweep::postpone(&waiting, at(200)), None, "its due time is its deadline");
}

#[test]
fn sweep_continues_an_answered_turn_and_one_whose_attempt_died() {
    let timing = Timing::default();
    let (_, turn) = running();
    let waiting = suspend::suspend_for_approval(&turn, attempt("a"), at(500), at(4_100)).unwrap().after;
    assert_eq!(
        (waiting.due, sweep::action(&waiting, at(499), &timing)),
        (Some(at(500)), sweep::Action::Skip)
    );
    let continued = |turn: &Turn, now| match sweep::action(turn, at(now), &timing) {
        sweep::Action::Continue(change) => change,
        other => panic!("{other:?}"),
    };
    let expired = continued(&waiting, 500);
    assert_eq!((expired.condition, expired.after.due), (Condition::same_owner(&waiting), Some(at(620))));
    assert_eq!(
        sweep::action(&expired.after, at(619), &timing),
        sweep::Action::Skip,
        "a message is on its way"
    );
    assert_eq!(continued(&waiting, 4_000).after.due, Some(at(4_100)), "not after the deadline");
    assert!(matches!(sweep::action(&waiting, at(4_100), &timing), sweep::Action::End(_)));

    let answered = answer::answer(&waiting, at(60), &timing).unwrap();
    assert_eq!((answered.condition, answered.after.due), (Condition::same_owner(&waiting), Some(at(180))));
    let with_client = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    let unmoved = answer::answer(&with_client, at(60), &timing).unwrap().after;
    assert_eq!(unmoved, with_client, "it continues with the client's results");
    assert!(answer::answer(&turn, at(60), &timing).is_err());

    let resumed = |results| resume::resume(&waiting, attempt("b"), results, at(100), &timing).unwrap().after;
    let with_results = resumed(Fingerprint::hash_bytes(b"results"));
    assert_eq!((with_results.is_unattended(), with_results.due), (false, Some(at(252))));
    let unattended = resumed(approval::resumption(1));
    assert_eq!((unattended.is_unattended(), unattended.due), (true, Some(at(132))));
    assert_eq!(sweep::action(&unattended, at(131), &timing), sweep::Action::Skip);
    let dead = continued(&unattended, 132);
    assert_eq!((dead.condition, dead.after.due), (Condition::same_lease(&unattended), Some(at(252))));
    let renewed = renew::renew(&unattended, at(170)).unwrap().after;
    assert!(matches!(sweep::action(&renewed, at(132), &timing), sweep::Action::Reschedule(_)));
    assert_eq!(sweep::action(&unattended, at(130 + 3_600), &timing), sweep::Action::Salvage);
    let tried = Turn { takeovers: MAX_TAKEOVERS, ..unattended };
    assert_eq!(sweep::action(&tried, at(132), &timing), sweep::Action::Salvage);
}

#[test]
fn purge_waits_until_its_open_turn_is_counted() {
    let timing = Timing::default();
    let (session, turn) = running();
    let agent = Some("coder".parse().unwrap());
    let session = Session { contexts: Contexts { agent, ..session.contexts.clone() }, ..session };
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &timing).unwrap().after;
    let by = &turn.requested_by;
    let begun = purging::begin(&session, Some(&settled), by, at(9), &timing).unwrap().unwrap();
    assert!(begun.turns.is_empty(), "it is settled");
    let (tombstone, record) = (begun.session.after, begun.purge.unwrap());
    assert_eq!(tombstone.open_turn.as_ref(), Some(&turn.key.turn));
    let action = |open| purging::action(Some(&tombstone), open, &record, at(9), &timing);
    assert_eq!(action(Some(&settled)), purging::Action::Finalize(turn.key.turn.clone()));
    assert_eq!(action(None), purging::Action::Remove, "its head is gone");

    let mut outcome = answer_of("resp_1");
    outcome.report.usage = Some(contracts::Usage { total_tokens: 36, ..contracts::Usage::default() });
    let commit = finalize::finalize(&tombstone, &settled, Some(&outcome)).unwrap().commit(&tombstone);
    let counted = &commit.usage[0];
    assert_eq!((counted.key.agent.as_str(), counted.amounts.usage.total_tokens), ("coder", 36));
    let after = &commit.session.after;
    assert_eq!((after.rev, commit.session.condition), (tombstone.rev + 1, Some(tombstone.rev)));
    assert_eq!(*after, after.tombstone(), "nothing of the turn shows");
    assert!(commit.result.is_none() && commit.activity.is_none() && commit.mode_changes.is_empty());
    assert!(matches!(commit.turns[0].after.state, State::Finalized(_)));
    assert!(finalize::finalize(after, &settled, Some(&outcome)).is_err(), "it is named no more");
}

#[test]
fn purge_from_before_tombstones_named_turns_still_counts_one() {
    let (session, turn) = running();
    let started =
        Purge { stage: Stage::Removing, started_at: Some(at(1)), ..Purge::scheduled(&session, at(1)) };
    let naming = |record: Option<&Purge>| purging::naming(&session.tombstone(), &turn.key.turn, record);
    assert_eq!(naming(Some(&started)).unwrap().open_turn.as_ref(), Some(&turn.key.turn));
    let import = Purge { import: Some(Fingerprint::hash_bytes(b"document")), ..started.clone() };
    let reserved = Purge { started_at: None, ..import.clone() };
    for record in [None, Some(&import), Some(&reserved)] {
        assert_eq!(naming(record), None, "{record:?}");
    }
}

#[test]
fn round_of_a_turn_ended_from_outside_is_kept_whoever_wrote_it() {
    let (_, turn) = running();
    let round = Kind::Round(attempt("before_a_takeover"), 1);
    for (verdict, is_kept) in [
        (Verdict::Ended(EndReason::Cancelled), true),
        (Verdict::Ended(EndReason::Abandoned), true),
        (Verdict::Ended(EndReason::Superseded), false),
        (completed("a"), false),
    ] {
        let state = State::Finalized(Settlement { verdict, at: at(3) });
        let ended = Turn { state, ..turn.clone() };
        assert_eq!(ended.references(&round), is_kept, "{:?}", ended.state);
    }
}
