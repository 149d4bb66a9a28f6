//! A user turn: stores the instruction, reads, decides and starts.

use std::sync::Arc;

use protocol::{
    ancestry::RerunOf,
    change::Condition,
    session::{Session, SessionClosed},
    transition::{
        begin::{self, Basis, Closing, Decision, ParentState, Setup, Snapshot},
        finalize, settle,
        spend::{self, Seal},
        take_over::Purpose,
    },
    turn::{EndReason, State as TurnState, Turn},
};

use super::{Step, outcome_answer};
use crate::{
    config::Role,
    coverage::Event,
    fixtures::{self, at, number, setup, submission, timing},
    model::Choice,
    properties::parent_answer,
    rules::Rule,
    state::{Continuation, Instruction, ProcessState, ReadResult, Write, insert},
};

impl Step<'_> {
    /// Returns the turn and body of the request that an executor runs for.
    pub(super) fn request(&self) -> Option<(u8, u8)> {
        let Role::Executor { requests, .. } = self.role() else { return None };
        let process = &self.state.processes[usize::from(self.me)];
        match process.final_calls {
            0 => requests.get(usize::from(process.calls).saturating_sub(1)).copied(),
            _ => requests.last().copied(),
        }
    }

    /// The client calls. The instruction is stored at the same time as the read; the order does not matter.
    pub(super) fn call(&mut self) {
        let at_the_end = self.state.now >= fixtures::QUIESCENCE;
        let process = self.process();
        if at_the_end {
            process.final_calls += 1;
        } else {
            process.calls += 1;
        }
        process.renewals = 0;
        if let Some((turn, body)) = self.request() {
            let key = (!self.is_disabled(Rule::InstructionCarriesFingerprint)).then_some(body);
            let stored = |stored: &Instruction| stored.turn == turn && stored.key == key;
            if !self.state.instructions.iter().any(stored) {
                insert(&mut self.state.instructions, Instruction { turn, key, body });
            }
        }
        self.restart_read();
    }

    /// Discards everything that was read and reads again.
    pub(super) fn restart_read(&mut self) {
        if self.model.config.fine_grained {
            self.process().state = ProcessState::ReadingSnapshot { session: None, turn: None };
        } else {
            self.read_snapshot(None, None, Choice::Proceed);
        }
    }

    /// Reads, and decides as soon as everything is read.
    pub(super) fn read_snapshot(
        &mut self,
        session: ReadResult<Option<Arc<Session>>>,
        turn: ReadResult<Option<Arc<Turn>>>,
        choice: Choice,
    ) {
        let Some((requested, _)) = self.request() else { return self.decide_results() };
        let session = match (session, choice) {
            (None, Choice::ReadSession | Choice::Proceed) => Some(self.state.session.clone()),
            (session, _) => session,
        };
        let turn = match (turn, choice) {
            (None, Choice::ReadTurn | Choice::Proceed) => Some(self.state.turn(requested).cloned()),
            (turn, _) => turn,
        };
        let (Some(seen_session), Some(seen_turn)) = (&session, &turn) else {
            self.process().state = ProcessState::ReadingSnapshot { session, turn };
            return;
        };
        let named = seen_session.as_ref().and_then(|session| session.open_turn.as_ref()).map(number);
        let open = named.filter(|open| *open != requested || seen_turn.is_none());
        match open {
            None => self.decide(seen_session.clone(), seen_turn.clone(), None),
            // The open turn is read after the session that names it, as a separate effect.
            Some(open) if choice == Choice::Proceed => {
                let open = self.state.turn(open).cloned();
                self.decide(seen_session.clone(), seen_turn.clone(), open);
            }
            Some(_) => self.process().state = ProcessState::ReadingSnapshot { session, turn },
        }
    }

    fn decide(&mut self, session: Option<Arc<Session>>, turn: Option<Arc<Turn>>, open: Option<Arc<Turn>>) {
        let Some((requested, body)) = self.request() else { return };
        // A request that was read before the purge is refused by its conditions.
        if session.as_ref().is_some_and(|session| session.is_purged()) && self.is_refused_as_purged() {
            return;
        }
        if let Some(original) = self.model.rerun_of(requested)
            && self.state.turn(original).is_none_or(|original| original.settlement().is_none())
        {
            return self.note(Event::Busy);
        }
        let seen = Snapshot {
            session: session.as_deref().cloned(),
            turn: turn.as_deref().cloned(),
            open: open.as_deref().cloned(),
        };
        let decision = begin::decide(&seen, submission(requested, body), at(self.state.now), &timing());
        if self.is_disabled(Rule::ReplayDecidesOnHead)
            && matches!(decision, Decision::Wait(_) | Decision::TakeOver(_))
        {
            let stored = self.state.objects.iter().find(|object| object.turn == requested);
            if let Some(answer) = stored.map(|object| outcome_answer(object.kind, object.text)) {
                return self.answer_client(requested, answer);
            }
        }
        match decision {
            Decision::Begin => self.begin(session, None),
            Decision::BeginClosing(open) => self.begin(session, Some(open)),
            Decision::SalvageFirst(_) if self.is_disabled(Rule::StartSalvages) => {}
            Decision::SalvageFirst(open) => {
                self.note(Event::StartSalvaged);
                self.fence(&open, Purpose::Salvage);
            }
            Decision::Replay(turn) => {
                self.note(Event::Replayed);
                self.answer_from_head(&Arc::new(turn));
            }
            Decision::Wait(_) => self.process().state = ProcessState::Waiting { turn: requested },
            Decision::TakeOver(turn) => self.fence(&turn, Purpose::Retry),
            Decision::Conflict => self.note(Event::Conflict),
            Decision::Busy { .. } => self.note(Event::Busy),
            Decision::Closed(SessionClosed::Deleted) => self.note(Event::RefusedAsDeleted),
            Decision::Closed(SessionClosed::Quarantined) => self.note(Event::RefusedAsQuarantined),
            Decision::ContextMismatch => unreachable!("all requests name the same contexts"),
            Decision::SessionConflict => unreachable!("clients choose all ids"),
        }
    }

    /// Prepares the start transaction and the writes that come before it.
    pub(super) fn begin(&mut self, session: Option<Arc<Session>>, open: Option<Turn>) {
        let Some((requested, body)) = self.request() else { return };
        let (now, timing) = (at(self.state.now), timing());
        let closing = match (&session, &open) {
            (Some(session), Some(open)) => {
                let awaits = matches!(open.state, TurnState::AwaitingTools { .. });
                if awaits && self.is_disabled(Rule::SupersedeInStart) {
                    let change = settle::end(open, EndReason::Superseded, now, &timing)
                        .expect("the turn must await results");
                    let write = Arc::new(Write::Turn { change, take: false });
                    let continuation = Continuation::SupersedeFirst { session: session.clone() };
                    self.process().state = ProcessState::Sending { write, continuation };
                    return;
                }
                if let Seal::Write(mut change) = spend::seal(open, now, timing.short_usage_grace) {
                    if self.is_disabled(Rule::SpentIsFinalOnce) {
                        change.condition = Condition::same_owner(open);
                    }
                    return self.prepare_send(*change, Continuation::SealFirst);
                }
                let outcome = self.load(open);
                let closing = Closing::new(session, open, outcome.as_ref(), now, &timing);
                Some(closing.expect("the decision checked the phase"))
            }
            _ => None,
        };
        let attempt = self.attempt_id(1);
        let commit = begin::begin(
            session.as_deref(),
            closing,
            submission(requested, body),
            &self.setup_of(requested),
            attempt,
            false,
            now,
            &timing,
        );
        let write = Arc::new(Write::Commit(commit));
        self.process().state = ProcessState::Sending { write, continuation: Continuation::Begin };
    }

    /// Returns the setup of a turn. A rerun has the parent of the turn that it repeats.
    fn setup_of(&mut self, requested: u8) -> Setup {
        let original = self.model.rerun_of(requested).and_then(|original| self.state.turn(original).cloned());
        let Some(original) = original else { return setup().clone() };
        let chain = parent_answer(self.state, &original)
            .and_then(|object| finalize::chain_head(&fixtures::findings(object, false).report));
        self.note(Event::Rerun);
        let basis = ParentState { turn: original.parent.clone(), chain, mode: original.mode.clone() };
        let repeats = RerunOf { turn: original.key.turn.clone(), model: None };
        Setup { basis: Some(Basis { rerun_of: Some(repeats), parent: basis }), ..setup().clone() }
    }

    /// Polls the turn that the process waits for: it may have an answer, or have died.
    pub(super) fn poll(&mut self, turn: u8) {
        match self.state.turn(turn).cloned() {
            Some(head) if matches!(head.state, TurnState::Running { .. }) => self.restart_read(),
            Some(head) => {
                self.note(Event::Replayed);
                self.answer_from_head(&head);
            }
            None => {}
        }
    }
}
