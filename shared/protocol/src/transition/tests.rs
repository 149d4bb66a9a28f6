//! Tests of the transitions, on values alone.

use std::time::Duration;

use crate::caller::User;
use contracts::{
    Fingerprint, Timestamp, Usage,
    id::{OrgId, SessionId, TurnId, UserId},
    read::{TurnStatus, Visibility},
};

use super::{
    begin::{self, Closing, Decision, Setup, Snapshot, Submission},
    finalize, renew, resume, settle, suspend, sweep, take_over,
};
use crate::{
    chain::{ChainStart, ConversationStatePolicy, HistoryOwner, ReplayReason, Target},
    change::Condition,
    cost::{Amount, Cost},
    detail::{Excerpt, OutcomeSummary, Report, StagedMode},
    id::{AttemptId, SessionKey},
    session::{ChainHead, Contexts, Hints, Session, SolutionChange, SolutionContext},
    timing::Timing,
    turn::{EndReason, Phase, State, Turn, Verdict},
};

pub(super) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000_000_000).after(Duration::from_secs(seconds))
}

pub(super) fn attempt(name: &str) -> AttemptId {
    AttemptId::new(name.to_owned())
}

fn target(model: &str, provider: &str) -> Target {
    Target { model: model.to_owned(), provider: provider.to_owned(), ..Target::default() }
}

pub(super) fn submission(turn: &str, instruction: &str) -> Submission {
    let session = SessionKey { org: OrgId::new("acme").unwrap(), session: SessionId::new("s").unwrap() };
    Submission {
        key: session.turn(TurnId::new(turn).unwrap()),
        requested_by: User { id: UserId::new("ada").unwrap(), name: "Ada".to_owned() },
        fingerprint: Fingerprint::hash_bytes(instruction.as_bytes()),
        id: None,
        contexts: Contexts::default(),
        hints: Hints::default(),
        session_name: instruction.to_owned(),
        instruction_summary: Excerpt { text: instruction.to_owned(), is_truncated: false },
        streamed: false,
        solution: SolutionChange::Unchanged,
    }
}

pub(super) fn setup() -> Setup {
    Setup {
        contexts: Contexts::default(),
        visibility: Visibility::Org,
        initial_mode: "general".to_owned(),
        target: target("m", "p"),
        files: Vec::new(),
        rerun: None,
        purged_ancestor: None,
    }
}

/// A session whose first turn runs since `at(0)`.
pub(super) fn running() -> (Session, Turn) {
    let timing = Timing::default();
    let commit =
        begin::begin(None, None, &submission("t1", "one"), &setup(), attempt("a"), true, at(0), &timing);
    (commit.session.after, commit.turns[0].after.clone())
}

pub(super) fn answer(id: &str) -> OutcomeSummary {
    let report = Report {
        response_id: Some(id.to_owned()),
        model: Some("m".to_owned()),
        received_at: Some(at(3)),
        chain_expires: Some(at(1_000)),
        usage: Some(Usage { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5, ..Usage::default() }),
        ..Report::default()
    };
    OutcomeSummary { report, modes: Vec::new() }
}

fn completed(writer: &str) -> Verdict {
    Verdict::Completed { writer: attempt(writer) }
}

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
    assert!(closing.result_before_commit().is_some());
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
    assert_eq!(commit.result, None);
}

#[test]
fn start_supersedes_waiting_turn_in_one_transaction() {
    let timing = Timing::default();
    let (session, turn) = running();
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    let spent = answer("resp_1");
    let closing = Closing::new(&session, &waiting, Some(&spent), at(5), &timing).unwrap();
    assert!(closing.result_before_commit().is_none(), "it may still end differently before the transaction");
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

/// The session after its first turn had this outcome.
fn after(outcome: &OutcomeSummary) -> Session {
    let (session, turn) = running();
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &Timing::default()).unwrap().after;
    finalize::finalize(&session, &settled, Some(outcome)).unwrap().session
}

#[test]
fn chain_continues_only_for_its_model_and_provider_until_expiry() {
    let mut first = answer("resp_1");
    first.report.provider = Some("p".to_owned());
    let session = after(&first);
    let start = |session: &Session, target: Target, now| {
        let setup = Setup { target, ..setup() };
        let next = submission("t2", "two");
        let commit =
            begin::begin(Some(session), None, &next, &setup, attempt("b"), false, now, &Timing::default());
        let turn = &commit.turns[0].after;
        (turn.chain.previous_response_id().map(str::to_owned), turn.chain.replay_reason())
    };
    let chained = (Some("resp_1".to_owned()), None);
    assert_eq!(start(&session, target("m", "p"), at(999)), chained);
    assert_eq!(start(&session, target("m", "p"), at(1_000)), (None, Some(ReplayReason::Expired)));
    assert_eq!(start(&session, target("n", "p"), at(5)), (None, Some(ReplayReason::ModelChanged)));
    assert_eq!(start(&session, target("m", "q"), at(5)), (None, Some(ReplayReason::ProviderChanged)));
    let local = Target { policy: ConversationStatePolicy::Local, ..target("m", "p") };
    assert_eq!(start(&session, local, at(5)), (None, Some(ReplayReason::NotStored)));

    let recorded = session.chain.clone().unwrap();
    let unrecorded = Session { chain: Some(ChainHead { provider: None, ..recorded }), ..session };
    assert_eq!(start(&unrecorded, target("m", "q"), at(5)), chained, "older sessions keep their chain");
    first.report.chain_expires = None;
    let not_stored = (None, Some(ReplayReason::NotStored));
    assert_eq!(
        start(&after(&first), target("m", "p"), at(5)),
        not_stored,
        "nothing was stored at the provider"
    );
}

#[test]
fn stateless_provider_gets_history_unless_policy_forces_it() {
    let mut stateless = answer("resp_1");
    stateless.report.stateless_provider = Some("p".to_owned());
    let session = after(&stateless);
    assert_eq!(session.stateless_provider.as_deref(), Some("p"), "the session remembers it");
    let history_owner = |target: Target| target.upstream_for(&session).history_owner;
    let policy = |policy| Target { policy, ..target("m", "p") };
    assert_eq!(history_owner(policy(ConversationStatePolicy::Auto)), HistoryOwner::Local);
    assert_eq!(history_owner(policy(ConversationStatePolicy::Provider)), HistoryOwner::Provider);
    assert_eq!(history_owner(policy(ConversationStatePolicy::Local)), HistoryOwner::Local);
    assert_eq!(history_owner(target("m", "q")), HistoryOwner::Provider, "another provider may store them");
    assert_eq!(
        history_owner(Target { is_stateless: true, ..target("m", "q") }),
        HistoryOwner::Local,
        "the process knows"
    );

    let next = submission("t2", "two");
    let setup = Setup { target: target("m", "p"), ..setup() };
    let commit =
        begin::begin(Some(&session), None, &next, &setup, attempt("b"), false, at(5), &Timing::default());
    assert_eq!(
        commit.turns[0].after.chain,
        ChainStart::Replay(ReplayReason::NotStored),
        "nothing is asked for in vain"
    );
    assert_eq!(commit.request.unwrap().upstream.history_owner, HistoryOwner::Local);
}

#[test]
fn first_turn_starts_without_history() {
    let (_, turn) = running();
    assert_eq!(turn.chain, ChainStart::First);
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
fn turn_costs_add_up_per_currency() {
    let cost =
        |micros, currency: &str| Cost { amount: Amount::from_micros(micros), currency: currency.to_owned() };
    let mut costly = answer("resp_1");
    costly.report.cost = Some(cost(5, "USD"));
    let session = after(&costly);
    assert_eq!(session.costs, [cost(5, "USD")]);
    let with = |next: Option<Cost>| crate::session::add_cost(session.costs.clone(), next.as_ref());
    assert_eq!(with(Some(cost(7, "USD"))), [cost(12, "USD")]);
    assert_eq!(with(Some(cost(7, "EUR"))), [cost(5, "USD"), cost(7, "EUR")]);
    assert_eq!(with(None), [cost(5, "USD")]);
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
    let other = Submission { contexts: Contexts { agent, conversation: None }, ..submission("t2", "two") };
    let snapshot = Snapshot { session: Some(session), ..Snapshot::default() };
    assert_eq!(begin::decide(&snapshot, &other, at(1), &timing), Decision::ContextMismatch);
}

#[test]
fn expired_lease_allows_three_attempts_then_only_salvage() {
    let timing = Timing::default();
    let (_, mut turn) = running();
    let early = take_over::take_over(&turn, attempt("b"), take_over::Purpose::Retry, at(31), &timing);
    assert_eq!(early, Err(take_over::TakeOverError::LeaseActive { takeover_after: at(32) }));
    let mut now = 32;
    for name in ["b", "c"] {
        let change =
            take_over::take_over(&turn, attempt(name), take_over::Purpose::Retry, at(now), &timing).unwrap();
        assert_eq!(change.condition, Condition::same_lease(&turn));
        turn = change.after;
        now += 32;
    }
    let fourth = take_over::take_over(&turn, attempt("d"), take_over::Purpose::Retry, at(now), &timing);
    assert_eq!(fourth, Err(take_over::TakeOverError::NoAttemptLeft));
    let salvaged = take_over::take_over(&turn, attempt("d"), take_over::Purpose::Salvage, at(now), &timing)
        .unwrap()
        .after;
    let State::Running { stage, .. } = &salvaged.state else { panic!("the turn must still run") };
    assert_eq!(stage.attempts, [attempt("a"), attempt("b"), attempt("c")]);
}

#[test]
fn attempts_before_suspension_count_after_it() {
    let timing = Timing::default();
    let (_, turn) = running();
    let taken =
        take_over::take_over(&turn, attempt("b"), take_over::Purpose::Retry, at(32), &timing).unwrap().after;
    let waiting = suspend::suspend(&taken, attempt("b"), at(500)).unwrap().after;
    let results = Fingerprint::hash_bytes(b"results");
    let resumed = resume::resume(&waiting, attempt("c"), results, at(40), &timing).unwrap().after;
    let taken = take_over::take_over(&resumed, attempt("d"), take_over::Purpose::Retry, at(72), &timing)
        .unwrap()
        .after;
    let State::Running { stage, .. } = &taken.state else { panic!("the turn must run") };
    assert_eq!(stage.attempts, [attempt("c"), attempt("d")], "only of this stage");
    let again = take_over::take_over(&taken, attempt("e"), take_over::Purpose::Retry, at(104), &timing);
    assert_eq!(again, Err(take_over::TakeOverError::NoAttemptLeft), "taken over twice already");
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
    let mut suspended_report = answer("resp_1").report;
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
fn tool_results_start_new_stage_and_are_recorded() {
    let timing = Timing::default();
    let (_, turn) = running();
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    assert_eq!(waiting.due, Some(at(500)));
    let results = Fingerprint::hash_bytes(b"results");
    let resumed = resume::resume(&waiting, attempt("b"), results, at(10), &timing).unwrap().after;
    let accepted = resumed.accepted_results.clone().unwrap();
    assert_eq!((accepted.round, accepted.results, accepted.suspended_by), (1, results, attempt("a")));
    let State::Running { stage, .. } = &resumed.state else { panic!("the turn must run") };
    assert_eq!((stage.round, stage.attempts.as_slice()), (1, [attempt("b")].as_slice()));
    assert!(resume::resume(&resumed, attempt("c"), results, at(11), &timing).is_err());
}

#[test]
fn finalize_rolls_up_once_and_failure_keeps_chain_and_mode() {
    let timing = Timing::default();
    let (session, turn) = running();
    let mut outcome = answer("resp_1");
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
    let finalized = finalize::finalize(&session, &failed, None).unwrap();
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
fn lost_renewal_is_not_proved_by_foreign_settlement() {
    let timing = Timing::default();
    let (_, turn) = running();
    let renewal = renew::renew(&turn, at(60)).unwrap();
    let cancelled = settle::end(&turn, EndReason::Cancelled, at(10), &timing).unwrap().after;
    assert!(!renewal.was_applied(&cancelled));
    assert!(renewal.was_applied(&renew::renew(&turn, at(70)).unwrap().after), "a later renewal of ours");
    let start = crate::change::TurnChange { condition: Condition::Absent, after: turn.clone() };
    assert!(start.was_applied(&cancelled), "its attempt proves a start");
}
