//! Properties of every state, numbered like the design's invariants.

use protocol::{
    session::Session,
    transition::{
        begin::{self, Decision, Snapshot},
        spend,
    },
    turn::{EndReason, State as TurnState, Turn, Verdict},
};
use stateright::Property;

use crate::{
    config::Role,
    fixtures::{self, FIRST_MODE, TURNS, at, number, response_id, results_fingerprint, submission, timing},
    model::Lifecycle,
    state::{Answer, Object, OutcomeKind, ProcessState, State, Violation},
};

/// A decision is made once and a terminal head never changes.
pub(crate) const DECIDED_ONCE: &str = "I1, I2: a turn is decided once and terminal for good";
/// Sequence numbers are 1..n in order of creation.
pub(crate) const GAP_FREE: &str = "I3: sequence numbers have no gap and no repeat";
/// An outcome that the owner stored decides the turn, unless a cancel was faster.
pub(crate) const NOT_LOST: &str = "I4: what the attempt stored is what the turn ends with";
/// Clients got the answers that are stored.
pub(crate) const ANSWERS_MATCH_STORE: &str = "I5, I8, I9: what was answered is what is stored";
/// Tool results match the calls of the suspension they answer, and are stored.
pub(crate) const EXACT_RESULTS: &str = "I6: tool results are exact or nothing";
/// A request is never answered with another request's turn.
pub(crate) const SAME_REQUEST: &str = "I9: an answer belongs to the request that was sent";
/// An attempt id has one holder, and a live lease is not taken.
pub(crate) const ONE_HOLDER: &str = "I9: a lease has one holder until it is over";
/// No model call where an outcome was durable for the owner to find.
pub(crate) const NO_DUPLICATE_CALL: &str = "I9: no model call where an outcome was durable";
/// Instruction, outcome, details and results are there when a head names them.
pub(crate) const NOTHING_MISSING: &str = "I10: committed metadata never points at a missing payload";
/// At most one turn is open, and the session names it.
pub(crate) const ONE_OPEN: &str = "the session's open turn is the only one that is not terminal";
/// A running turn is the one that the session names.
pub(crate) const RUNNING_IS_NAMED: &str = "a turn that runs is the session's open turn";
/// Session and turns continue from the last completed turn.
pub(crate) const CHAIN: &str = "the chain continues from the last completed turn";
/// The session's mode is the one that completed turns set.
pub(crate) const MODE: &str = "a mode changes with a completed turn only";
/// Status of the newest turn and totals count every turn once.
pub(crate) const ROLL_UP: &str = "I8: the session counts every turn once";
/// The org's usage has each turn once, with the calls of its outcome.
pub(crate) const COUNTED_ONCE: &str = "I8: usage is counted once for each paid call";
/// The spending of an ended turn is one figure for everybody who counts it.
pub(crate) const SPENT_ONCE: &str = "I8: what a turn has spent is final once";
/// A superseded turn has a successor.
pub(crate) const SUPERSEDED_BY: &str = "a superseded turn has a successor";
/// A deletion or quarantine persists until it is undone by a restore or release.
pub(crate) const DELETION_PERSISTS: &str =
    "rule 12: what did not know of a deletion or quarantine does not undo it";
/// In a deleted or quarantined session everything is decided.
pub(crate) const NOTHING_RUNS: &str =
    "rule 12: in a deleted or quarantined session no turn runs or awaits results";
/// A purge is final, and the tombstone shows nothing.
pub(crate) const PURGE_IS_FINAL: &str =
    "rule 12: nothing brings a purged session back, and nothing of it shows";
/// Nothing of a purged session is left.
pub(crate) const NOTHING_LEFT: &str = "rule 12: once a purge is done and nobody is at work, nothing is left";
/// Identical imports don't refuse each other.
pub(crate) const IMPORTS_AGREE: &str = "rule 13: no import is refused because of an identical one";
/// Reading back resolves lost replies correctly.
pub(crate) const READ_BACK: &str = "I11: what was not applied never counts as applied";
/// Nothing stays open.
pub(crate) const ALL_TERMINAL: &str = "I12: in the end every turn is terminal";
/// Within a lease from now, a new user turn is accepted.
pub(crate) const USABLE: &str = "I16: within a lease the next user turn can start";
/// A client that keeps retrying gets its answer.
pub(crate) const ANSWERED: &str = "I16: who insists is answered";

/// Returns the properties that hold in every state.
pub(crate) fn always() -> Vec<Property<Lifecycle>> {
    vec![
        Property::always(DECIDED_ONCE, |_, state: &State| {
            none(state, &[Violation::DecisionChanged, Violation::TerminalChanged, Violation::IdentityChanged])
        }),
        Property::always(GAP_FREE, |_, state: &State| state.is_purged() || gap_free(state)),
        Property::always(NOT_LOST, |_, state: &State| {
            state.is_purged() || state.objects.iter().all(|object| decides(state, object))
        }),
        Property::always(ANSWERS_MATCH_STORE, |_, state: &State| {
            none(state, &[Violation::WrongAnswer, Violation::UnfoundedCancel])
                && (state.is_purged() || answers_match_store(state))
        }),
        Property::always(EXACT_RESULTS, |_, state: &State| {
            state.is_purged() || turns(state).all(|turn| results_are_exact(state, turn))
        }),
        Property::always(SAME_REQUEST, |_, state: &State| none(state, &[Violation::ForeignAnswer])),
        Property::always(ONE_HOLDER, |_, state: &State| {
            none(state, &[Violation::LiveLeaseTaken]) && one_holder(state)
        }),
        Property::always(NO_DUPLICATE_CALL, |_, state: &State| none(state, &[Violation::DuplicateModelCall])),
        Property::always(NOTHING_MISSING, |_, state: &State| {
            none(state, &[Violation::MissingObject]) && (state.is_purged() || nothing_missing(state))
        }),
        Property::always(ONE_OPEN, |_, state: &State| state.is_purged() || one_open(state)),
        Property::always(RUNNING_IS_NAMED, |_, state: &State| running_is_named(state)),
        Property::always(CHAIN, |model, state: &State| state.is_purged() || chained(model, state)),
        Property::always(MODE, |model, state: &State| state.is_purged() || mode(model, state)),
        Property::always(ROLL_UP, |_, state: &State| state.is_purged() || rolled_up(state)),
        Property::always(COUNTED_ONCE, |model, state: &State| {
            none(state, &[Violation::Miscounted]) && counted_once(model, state)
        }),
        Property::always(SPENT_ONCE, |_, state: &State| {
            none(state, &[Violation::SpentChanged])
                && turns(state).filter(|turn| is_terminal(turn)).all(|turn| !may_grow(turn))
        }),
        Property::always(SUPERSEDED_BY, |_, state: &State| state.is_purged() || superseded_by(state)),
        Property::always(DELETION_PERSISTS, |_, state: &State| none(state, &[Violation::DeletionUndone])),
        Property::always(NOTHING_RUNS, |_, state: &State| {
            let closed = state.session.as_ref().is_some_and(|session| session.ensure_open().is_err());
            !closed || turns(state).all(|turn| turn.settlement().is_some())
        }),
        Property::always(PURGE_IS_FINAL, |_, state: &State| {
            none(state, &[Violation::PurgeUndone]) && (!state.is_purged() || is_tombstone(state))
        }),
        Property::always(NOTHING_LEFT, |model, state: &State| {
            let purges = state.is_purged() && model.config.roles.contains(&Role::Purger);
            let over = purges && model.is_over(state);
            let done = purges && state.is_purge_done() && state.is_quiet();
            (!over || state.is_purge_done())
                && (!done || state.is_empty_but_for_messages())
                && (!over || state.is_empty())
        }),
        Property::always(IMPORTS_AGREE, |_, state: &State| none(state, &[Violation::FalseRefusal])),
        Property::always(READ_BACK, |_, state: &State| none(state, &[Violation::FalselyApplied])),
        Property::always(ALL_TERMINAL, |model, state: &State| {
            let swept = model.config.roles.contains(&Role::Sweep);
            !swept || state.is_purged() || !model.is_over(state) || turns(state).all(is_terminal)
        }),
        Property::always(USABLE, |_, state: &State| usable(state)),
        Property::always(ANSWERED, |model, state: &State| {
            let is_answered_if_persistent = |role: &Role| {
                !matches!(role, Role::Executor { persistent: true, .. }) || model.is_answered(state, role)
            };
            state.is_purged()
                || !model.is_over(state)
                || model.config.roles.iter().all(is_answered_if_persistent)
        }),
    ]
}

fn none(state: &State, violations: &[Violation]) -> bool {
    !state.violations.iter().any(|one| violations.contains(one))
}

fn turns(state: &State) -> impl Iterator<Item = &Turn> {
    state.turns.iter().flatten().map(AsRef::as_ref)
}

fn is_terminal(turn: &Turn) -> bool {
    matches!(turn.state, TurnState::Finalized(_))
}

fn completed_by(turn: &Turn) -> Option<&protocol::id::AttemptId> {
    match &turn.settlement()?.verdict {
        Verdict::Completed { writer } => Some(writer),
        Verdict::Failed { .. } | Verdict::Ended(_) => None,
    }
}

fn object<'a>(state: &'a State, turn: &Turn, writer: &protocol::id::AttemptId) -> Option<&'a Object> {
    let number = number(&turn.key.turn);
    let own = state.objects.iter().find(|object| object.turn == number && object.key == *writer);
    // If payloads carry no writer (rule 1 disabled), one object serves all attempts.
    own.or_else(|| {
        state.objects.iter().find(|object| object.turn == number && object.key.as_str().is_empty())
    })
}

fn gap_free(state: &State) -> bool {
    let mut numbers: Vec<_> = turns(state).map(|turn| turn.sequence).collect();
    numbers.sort_unstable();
    let count = state.session.as_ref().map_or(0, |session| session.turn_count);
    none(state, &[Violation::OutOfOrder]) && numbers.into_iter().eq(1..=count)
}

/// True if the object decides the turn, provided that the turn's owner stored it while the turn ran. Suspensions are
/// not checked here: the head holds them.
fn decides(state: &State, object: &Object) -> bool {
    let Some(turn) = state.turn(object.turn) else { return false };
    let Some(settlement) = turn.settlement() else { return true };
    if !object.by_owner || object.kind == OutcomeKind::Calls {
        return true;
    }
    match &settlement.verdict {
        Verdict::Completed { writer } => object.kind == OutcomeKind::Answer && *writer == object.writer,
        Verdict::Failed { writer } => object.kind == OutcomeKind::Failure && *writer == object.writer,
        Verdict::Ended(reason) => *reason == EndReason::Cancelled,
    }
}

fn answers_match_store(state: &State) -> bool {
    state.client_answers.iter().all(|given| {
        let Some(turn) = state.turn(given.turn) else { return false };
        let verdict = turn.settlement().map(|settlement| &settlement.verdict);
        let holds = |writer, kind, text| {
            object(state, turn, writer).is_some_and(|object| object.kind == kind && object.text == text)
        };
        match (given.answer, verdict) {
            (Answer::Text(text), Some(Verdict::Completed { writer })) => {
                holds(writer, OutcomeKind::Answer, text)
            }
            (Answer::Failure(text), Some(Verdict::Failed { writer })) => {
                holds(writer, OutcomeKind::Failure, text)
            }
            (Answer::Ended(end), Some(Verdict::Ended(reason))) => end == (*reason).into(),
            // The turn may have continued since. The answer was compared with the head at the time.
            (Answer::Calls(text), _) => {
                state.objects.iter().any(|object| object.turn == given.turn && object.text == text)
            }
            (Answer::Text(_) | Answer::Failure(_) | Answer::Ended(_), _) => false,
        }
    })
}

fn results_are_exact(state: &State, turn: &Turn) -> bool {
    let Some(answered) = &turn.accepted_results else { return true };
    let number = number(&turn.key.turn);
    let calls =
        object(state, turn, &answered.suspended_by).filter(|object| object.kind == OutcomeKind::Calls);
    let results =
        state.results.iter().find(|results| results.turn == number && results.attempt == answered.resumed_by);
    let (Some(calls), Some(results)) = (calls, results) else { return false };
    results.calls == calls.text && answered.results == results_fingerprint(results.calls, results.content)
}

fn one_holder(state: &State) -> bool {
    let held = |at: &ProcessState| match at {
        ProcessState::CallingModel { turn }
        | ProcessState::Storing { turn, .. }
        | ProcessState::Fenced { turn, .. } => Some((turn.key.clone(), turn.attempt.clone())),
        _ => None,
    };
    let mut holders: Vec<_> = state.processes.iter().filter_map(|process| held(&process.state)).collect();
    let all = holders.len();
    holders.sort_unstable();
    holders.dedup();
    holders.len() == all
}

fn nothing_missing(state: &State) -> bool {
    turns(state).all(|turn| {
        let number = number(&turn.key.turn);
        let body = fixtures::body(turn.fingerprint);
        let instruction = state.instructions.iter().any(|stored| {
            stored.turn == number && stored.key.is_none_or(|key| key == body) && stored.body == body
        });
        let writer = match &turn.state {
            TurnState::Running { .. } => None,
            TurnState::AwaitingTools { .. } => Some(&turn.attempt),
            TurnState::Settled(settlement) | TurnState::Finalized(settlement) => settlement.verdict.writer(),
        };
        let outcome = writer.is_none_or(|writer| object(state, turn, writer).is_some());
        let details = !is_terminal(turn) || state.details[usize::from(number)].is_some();
        instruction && outcome && details
    })
}

fn one_open(state: &State) -> bool {
    let named = state.session.as_ref().and_then(|session| session.open_turn.as_ref());
    let mut open = turns(state).filter(|turn| !is_terminal(turn)).map(|turn| &turn.key.turn);
    open.next() == named && open.next().is_none()
}

/// True if a terminal turn's figure could still change, because it was never final.
fn may_grow(turn: &Turn) -> bool {
    let Some(settlement) = turn.settlement().cloned() else { return false };
    spend::is_open(&Turn { state: TurnState::Settled(settlement), ..turn.clone() })
}

fn running_is_named(state: &State) -> bool {
    let named = state.session.as_ref().and_then(|session| session.open_turn.as_ref());
    let mut running = turns(state).filter(|turn| matches!(turn.state, TurnState::Running { .. }));
    running.all(|turn| named == Some(&turn.key.turn))
}

/// Returns the response that the next turn continues from, after all terminal turns with a smaller sequence number.
fn chain_before(state: &State, sequence: u64) -> Option<String> {
    let before = turns(state).filter(|turn| turn.sequence < sequence && is_terminal(turn));
    let last = before.filter(|turn| completed_by(turn).is_some()).max_by_key(|turn| turn.sequence)?;
    let answer = object(state, last, completed_by(last)?)?;
    Some(response_id(answer.turn, answer.text))
}

/// True if the session is exactly the tombstone of a purge. Until the turn is counted that was open at the start, the
/// tombstone names it and its agent.
fn is_tombstone(state: &State) -> bool {
    state.session.as_ref().is_some_and(|session| {
        let named = match state.open_turn() {
            Some(open) if !is_terminal(open) => session.open_turn.clone(),
            _ => None,
        };
        session.is_purged() && **session == Session { open_turn: named, ..session.tombstone() }
    })
}

/// True if no turn is counted twice, and if in the end every turn that called the model is counted.
fn counted_once(model: &Lifecycle, state: &State) -> bool {
    let ends = match state.is_purged() {
        true => state.is_purge_done(),
        false => model.config.roles.contains(&Role::Sweep) && model.is_over(state),
    };
    state.counted.iter().zip(&state.model_calls).all(|(counted, calls)| match *counted {
        0 => !ends || *calls == 0,
        counted => counted == 1,
    })
}

/// Returns the answer that a rerun of this turn continues from, as the turn itself did.
pub(crate) fn parent_answer<'a>(state: &'a State, original: &Turn) -> Option<&'a Object> {
    let mut before = original.parent.sequence;
    loop {
        let turn = turns(state).find(|turn| turn.sequence == before)?;
        if let Some(writer) = completed_by(turn) {
            return object(state, turn, writer);
        }
        before = turn.parent.sequence;
    }
}

fn chained(model: &Lifecycle, state: &State) -> bool {
    let session = state.session.as_ref().is_none_or(|session| {
        session.chain.as_ref().map(|chain| chain.response_id.clone()) == chain_before(state, u64::MAX)
    });
    let expected = |turn: &Turn| {
        let original = model.rerun_of(number(&turn.key.turn)).and_then(|original| state.turn(original));
        match original {
            Some(original) => {
                parent_answer(state, original).map(|answer| response_id(answer.turn, answer.text))
            }
            None => chain_before(state, turn.sequence),
        }
    };
    session && turns(state).all(|turn| turn.chain.previous_response_id() == expected(turn).as_deref())
}

fn mode(model: &Lifecycle, state: &State) -> bool {
    let stages = model.config.stages_mode.and_then(|turn| Some((turn, state.turn(turn)?)));
    let expected = match stages {
        Some((number, turn)) if is_terminal(turn) && completed_by(turn).is_some() => {
            fixtures::mode_of(number)
        }
        _ => FIRST_MODE.to_owned(),
    };
    state.session.as_ref().is_none_or(|session| session.mode == expected)
}

fn rolled_up(state: &State) -> bool {
    let Some(session) = &state.session else { return turns(state).next().is_none() };
    let has_outcome = |turn: &&Turn| is_terminal(turn) && turn.outcome_writer().is_some();
    let counted = turns(state).filter(has_outcome).count() as u64;
    let Some(last) = turns(state).max_by_key(|turn| turn.sequence) else { return false };
    let status = if is_terminal(last) { last.status() } else { contracts::read::TurnStatus::Pending };
    session.usage.prompt_tokens == counted
        && session.last_turn.as_ref().is_some_and(|shown| shown.id == last.key.turn && shown.status == status)
}

fn superseded_by(state: &State) -> bool {
    let superseded = |turn: &&Turn| {
        turn.settlement()
            .is_some_and(|settlement| settlement.verdict == Verdict::Ended(EndReason::Superseded))
    };
    turns(state).filter(superseded).all(|turn| turns(state).any(|other| other.sequence == turn.sequence + 1))
}

fn usable(state: &State) -> bool {
    let open = state.session.as_ref().and_then(|session| session.open_turn.as_ref());
    let open = open.and_then(|open| state.turn(number(open)));
    let decision = |later: u8| {
        let seen = Snapshot {
            session: state.session.as_deref().cloned(),
            turn: None,
            open: open.map(|open| open.as_ref().clone()),
        };
        begin::decide(&seen, submission(TURNS, 0), at(later), &timing())
    };
    // A lease that starts now expires one tick later.
    open.is_none()
        || matches!(
            decision(state.now + 1),
            Decision::Begin | Decision::BeginClosing(_) | Decision::SalvageFirst(_) | Decision::Closed(_)
        )
}
