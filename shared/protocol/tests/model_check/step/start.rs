//! A user turn: the instruction, the look, the decision, the start transaction.

use std::sync::Arc;

use protocol::{
    ancestry::RerunOf,
    session::Session,
    transition::{
        begin::{self, Closing, Decision, ParentState, Rerun, Setup, Snapshot},
        finalize, settle,
        take_over::Purpose,
    },
    turn::{EndReason, State as Standing, Turn},
};

use super::{Step, says};
use crate::{
    cast::{self, at, number, setup, submission, timing},
    coverage::Event,
    model::How,
    properties::gone_on_from,
    rules::Rule,
    scene::Role,
    state::{At, Instruction, Read, Then, Write, insert},
};

impl Step<'_> {
    /// Turn and body of the request that an executor runs for.
    pub(super) fn request(&self) -> Option<(u8, u8)> {
        let Role::Executor { requests, .. } = self.role() else { return None };
        let process = &self.state.processes[usize::from(self.me)];
        match process.insisted {
            0 => requests.get(usize::from(process.calls).saturating_sub(1)).copied(),
            _ => requests.last().copied(),
        }
    }

    /// The client calls. The instruction is stored beside the look; nothing depends on which is first.
    pub(super) fn call(&mut self) {
        let at_the_end = self.state.now >= cast::CALM;
        let process = self.process();
        if at_the_end {
            process.insisted += 1;
        } else {
            process.calls += 1;
        }
        process.renewals = 0;
        if let Some((turn, body)) = self.request() {
            let key = (!self.is_out(Rule::InstructionCarriesFingerprint)).then_some(body);
            let there = |stored: &Instruction| stored.turn == turn && stored.key == key;
            if !self.state.instructions.iter().any(there) {
                insert(&mut self.state.instructions, Instruction { turn, key, body });
            }
        }
        self.look_again();
    }

    /// Everything that was read is forgotten.
    pub(super) fn look_again(&mut self) {
        if self.model.scene.fine {
            self.process().at = At::Looking { session: None, turn: None };
        } else {
            self.look(None, None, How::Go);
        }
    }

    /// Reads; and decides as soon as everything is read.
    pub(super) fn look(
        &mut self,
        session: Read<Option<Arc<Session>>>,
        turn: Read<Option<Arc<Turn>>>,
        how: How,
    ) {
        let Some((asked, _)) = self.request() else { return self.look_at_results() };
        let session = match (session, how) {
            (None, How::ReadSession | How::Go) => Some(self.state.session.clone()),
            (session, _) => session,
        };
        let turn = match (turn, how) {
            (None, How::ReadTurn | How::Go) => Some(self.state.turn(asked).cloned()),
            (turn, _) => turn,
        };
        let (Some(seen_session), Some(seen_turn)) = (&session, &turn) else {
            self.process().at = At::Looking { session, turn };
            return;
        };
        let named = seen_session.as_ref().and_then(|session| session.open_turn.as_ref()).map(number);
        let open = named.filter(|open| *open != asked || seen_turn.is_none());
        match open {
            None => self.decide(seen_session.clone(), seen_turn.clone(), None),
            // The open turn is read after the session that names it, as an effect of its own.
            Some(open) if how == How::Go => {
                let open = self.state.turn(open).cloned();
                self.decide(seen_session.clone(), seen_turn.clone(), open);
            }
            Some(_) => self.process().at = At::Looking { session, turn },
        }
    }

    fn decide(&mut self, session: Option<Arc<Session>>, turn: Option<Arc<Turn>>, open: Option<Arc<Turn>>) {
        let Some((asked, body)) = self.request() else { return };
        // What was seen before the purge is refused by its conditions.
        if session.as_ref().is_some_and(|session| session.is_purged()) && self.is_refused_as_purged() {
            return;
        }
        if let Some(original) = self.model.rerun_of(asked)
            && self.state.turn(original).is_none_or(|original| original.settlement().is_none())
        {
            return self.note(Event::Busy);
        }
        let seen = Snapshot {
            session: session.as_deref().cloned(),
            turn: turn.as_deref().cloned(),
            open: open.as_deref().cloned(),
        };
        let decision = begin::decide(&seen, submission(asked, body), at(self.state.now), &timing());
        if self.is_out(Rule::ReplayDecidesOnHead)
            && matches!(decision, Decision::Wait(_) | Decision::TakeOver(_))
        {
            let lies_there = self.state.objects.iter().find(|object| object.turn == asked);
            if let Some(answer) = lies_there.map(|object| says(object.said, object.text)) {
                return self.tell(asked, answer);
            }
        }
        match decision {
            Decision::Begin => self.begin(session, None),
            Decision::BeginClosing(open) => self.begin(session, Some(open)),
            Decision::SalvageFirst(_) if self.is_out(Rule::StartSalvages) => {}
            Decision::SalvageFirst(open) => {
                self.note(Event::StartSalvaged);
                self.fence(&open, Purpose::Salvage);
            }
            Decision::Replay(turn) => {
                self.note(Event::Replayed);
                self.what_stands(&Arc::new(turn));
            }
            Decision::Wait(_) => self.process().at = At::Waiting { turn: asked },
            Decision::TakeOver(turn) => self.fence(&turn, Purpose::Retry),
            Decision::Conflict => self.note(Event::Conflict),
            Decision::Busy { .. } => self.note(Event::Busy),
            Decision::Deleted => self.note(Event::RefusedAsDeleted),
            Decision::ContextMismatch => unreachable!("all requests name the same contexts"),
        }
    }

    /// Prepares the start transaction, and what has to be written before it.
    pub(super) fn begin(&mut self, session: Option<Arc<Session>>, open: Option<Turn>) {
        let Some((asked, body)) = self.request() else { return };
        let (now, timing) = (at(self.state.now), timing());
        let closing = match (&session, &open) {
            (Some(session), Some(open)) => {
                let awaits = matches!(open.state, Standing::AwaitingTools { .. });
                if awaits && self.is_out(Rule::SupersedeInStart) {
                    let change = settle::end(open, EndReason::Superseded, now, &timing).expect("it awaits");
                    let write = Arc::new(Write::Turn { change, take: false });
                    let then = Then::SupersededFirst { session: session.clone() };
                    self.process().at = At::Sending { write, then };
                    return;
                }
                let outcome = self.load(open);
                let closing = Closing::new(session, open, outcome.as_ref(), now, &timing);
                Some(closing.expect("the decision looked at its phase"))
            }
            _ => None,
        };
        let settled_before = closing.as_ref().is_some_and(|closing| closing.result_before_commit().is_some());
        let attempt = self.attempt_id(1);
        let commit = begin::begin(
            session.as_deref(),
            closing,
            submission(asked, body),
            &self.setup_of(asked),
            attempt,
            false,
            now,
            &timing,
        );
        let write = Arc::new(Write::Commit(commit));
        match open.filter(|_| settled_before) {
            Some(open) => self.publish_then_send(Arc::new(open), write, Then::Begun),
            None => self.process().at = At::Sending { write, then: Then::Begun },
        }
    }

    /// What a turn is begun with: a rerun goes on from where the turn did that it repeats.
    fn setup_of(&mut self, asked: u8) -> Setup {
        let original = self.model.rerun_of(asked).and_then(|original| self.state.turn(original).cloned());
        let Some(original) = original else { return setup().clone() };
        let chain = gone_on_from(self.state, &original)
            .and_then(|object| finalize::chain_head(&cast::findings(object, false).report));
        self.note(Event::Rerun);
        let basis = ParentState { turn: original.parent.clone(), chain, mode: original.mode.clone() };
        let repeats = RerunOf { turn: original.key.turn.clone(), model: None };
        Setup { rerun: Some(Rerun { rerun_of: repeats, parent: basis }), ..setup().clone() }
    }

    /// Looks whether the turn that was waited for has something to answer with, or died.
    pub(super) fn poll(&mut self, turn: u8) {
        match self.state.turn(turn).cloned() {
            Some(head) if matches!(head.state, Standing::Running { .. }) => self.look_again(),
            Some(head) => {
                self.note(Event::Replayed);
                self.what_stands(&head);
            }
            None => {}
        }
    }
}
