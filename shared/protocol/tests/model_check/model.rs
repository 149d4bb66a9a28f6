//! The state space: the possible steps, and the state that each leads to.

use protocol::{
    purge::Stage,
    transition::{purging, sweep},
};
use stateright::{Model, Property};

use crate::{
    config::{Config, Role},
    coverage::{Coverage, Event},
    fixtures::{END, QUIESCENCE, at, timing},
    properties,
    rules::Rule,
    state::{Answer, Faults, OutcomeKind, Process, ProcessState, State},
    step::Step,
};

/// The life of turns in one configuration.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    pub(crate) config: Config,
    pub(crate) coverage: Coverage,
}

/// A transition of the state space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// The length of a lease passes.
    Tick,
    /// Time passes until every time limit is over, with no process at work.
    Pass,
    /// A process performs its next effect.
    Step(u8, Choice),
    /// A process dies.
    Crash(u8),
    /// A process dies just after its write was applied.
    CrashApplied(u8),
    /// A process dies while its write is on its way.
    CrashSending(u8),
    /// The write in flight arrives.
    Arrive,
    /// The write in flight never arrives.
    Vanish,
    /// The queue loses a message.
    LoseMessage(u8),
}

/// The nondeterministic choice in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The effect succeeds.
    Proceed,
    /// The client calls.
    Call,
    /// A message about the turn is delivered. It stays in the queue if it is delivered `again` later.
    Deliver { turn: u8, again: bool },
    /// The index nominates the turn.
    Nominate(u8),
    /// The session is read first, or next.
    ReadSession,
    /// The turn is read first, or next.
    ReadTurn,
    /// The next entry of a purged session is removed.
    Remove,
    /// The model replies.
    Reply(OutcomeKind),
    /// The holder renews its lease during its work.
    Renew,
    /// The object can't be stored, despite retries.
    Fail,
    /// The wait times out.
    GiveUp,
    /// The write is applied, its reply is lost.
    ReplyLost,
    /// The write is not applied, and its sender doesn't know.
    Unsent,
}

impl Lifecycle {
    pub(crate) fn new(config: Config) -> Self {
        Self { config, coverage: Coverage::default() }
    }

    pub(crate) fn is_disabled(&self, rule: Rule) -> bool {
        self.config.disabled_rules.contains(&rule)
    }

    /// Returns the turn that this one reruns.
    pub(crate) fn rerun_of(&self, turn: u8) -> Option<u8> {
        self.config.reruns.iter().find(|(again, _)| *again == turn).map(|(_, original)| *original)
    }

    /// True if no further action is possible.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        let over = state.now == END && state.is_quiet();
        over && {
            let mut actions = Vec::new();
            self.actions(state, &mut actions);
            actions.is_empty()
        }
    }

    /// True if the process's client got an answer to its last request.
    pub(crate) fn is_answered(&self, state: &State, role: &Role) -> bool {
        let Role::Executor { requests, .. } = role else { return true };
        requests.last().is_none_or(|(turn, _)| {
            state
                .client_answers
                .iter()
                .any(|given| given.turn == *turn && !matches!(given.answer, Answer::Calls(_)))
        })
    }

    /// Normalizes parts of the state that no longer matter, so that states which differ only in those are merged.
    fn normalize(&self, state: &mut State) {
        for (role, process) in self.config.roles.iter().zip(&mut state.processes) {
            if process.state == ProcessState::Idle {
                process.renewals = 0;
                let is_persistent = matches!(role, Role::Executor { persistent: true, .. });
                let serves = matches!(role, Role::Finalizer | Role::Sweep | Role::Purger);
                if !is_persistent && !serves && usize::from(process.calls) == role.max_calls() {
                    process.crashed = true;
                }
            }
        }
    }

    fn steps(&self, state: &State, role: &Role, process: &Process, push: &mut impl FnMut(Choice)) {
        match &process.state {
            ProcessState::Idle => self.wake_ups(state, role, process, push),
            ProcessState::ReadingSnapshot { session, turn }
                if self.config.fine_grained && matches!(role, Role::Executor { .. }) =>
            {
                if session.is_none() {
                    push(Choice::ReadSession);
                }
                if turn.is_none() {
                    push(Choice::ReadTurn);
                }
                if session.is_some() && turn.is_some() {
                    push(Choice::Proceed);
                }
            }
            ProcessState::Sending { .. } => {
                push(Choice::Proceed);
                if state.faults.replies > 0 {
                    push(Choice::ReplyLost);
                    push(Choice::Unsent);
                }
            }
            ProcessState::CallingModel { turn } => {
                let round = Step::round(turn);
                for kind in (self.config.model_replies)(crate::fixtures::number(&turn.key.turn), round) {
                    push(Choice::Reply(*kind));
                }
                if process.renewals < self.config.renewals {
                    push(Choice::Renew);
                }
            }
            ProcessState::Storing { .. } => {
                push(Choice::Proceed);
                if self.config.unstorable {
                    push(Choice::Fail);
                }
                if process.renewals < self.config.renewals {
                    push(Choice::Renew);
                }
            }
            ProcessState::Waiting { turn } => {
                let ready = state.turn(*turn).is_none_or(|turn| !Step::is_held(turn, state.now));
                push(if ready { Choice::Proceed } else { Choice::GiveUp });
            }
            ProcessState::ReadingSnapshot { .. }
            | ProcessState::ReadingBack { .. }
            | ProcessState::Fenced { .. }
            | ProcessState::StoringResults { .. }
            | ProcessState::Finalizing { .. }
            | ProcessState::ReadingPurge { .. }
            | ProcessState::ReadingOpenTurn { .. } => push(Choice::Proceed),
        }
    }

    /// Pushes the choices that wake an idle process.
    fn wake_ups(&self, state: &State, role: &Role, process: &Process, push: &mut impl FnMut(Choice)) {
        let has_calls = usize::from(process.calls) < role.max_calls() && state.now < QUIESCENCE;
        match role {
            Role::Executor { persistent, .. } => {
                let times = if state.now == END { 4 } else { 2 };
                let calls_again = *persistent
                    && state.now >= QUIESCENCE
                    && process.final_calls < times
                    && !self.is_answered(state, role);
                if has_calls || calls_again {
                    push(Choice::Call);
                }
            }
            Role::Tools { turn, .. } => {
                let called = state
                    .client_answers
                    .iter()
                    .any(|given| given.turn == *turn && matches!(given.answer, Answer::Calls(_)));
                if has_calls && called {
                    push(Choice::Call);
                }
            }
            Role::Canceller { turn } => {
                if has_calls && state.turn(*turn).is_some() {
                    push(Choice::Call);
                }
            }
            Role::Importer => {
                if has_calls {
                    push(Choice::Call);
                }
            }
            Role::Admin { .. } => {
                if has_calls && state.session.is_some() {
                    push(Choice::Call);
                }
            }
            Role::Finalizer => {
                for (turn, messages) in (0..).zip(&state.queue) {
                    if *messages > 0 {
                        push(Choice::Deliver { turn, again: false });
                        if state.faults.duplicates > 0 {
                            push(Choice::Deliver { turn, again: true });
                        }
                    }
                }
            }
            Role::Purger => {
                let Some(purge) = &state.purge else { return };
                // The recheck starts after any function that was running at the purge's start has ended.
                let at_work = state.processes.iter().any(|process| process.state != ProcessState::Idle);
                let waits = purge.stage == Stage::Rechecking && (at_work || state.in_flight.is_some());
                let (session, open) = (state.session.as_deref(), state.open_turn());
                match purging::action(session, open, purge, at(state.now), &timing()) {
                    purging::Action::Remove | purging::Action::Finalize(_) if !waits => push(Choice::Remove),
                    _ => {}
                }
            }
            Role::Sweep => {
                for (number, turn) in (0..).zip(&state.turns) {
                    let due = |turn: &protocol::turn::Turn| turn.due.is_some_and(|due| due <= at(state.now));
                    let Some(turn) = turn.as_ref().filter(|turn| due(turn)) else { continue };
                    let trusted = self.is_disabled(Rule::IndexProvesNothing);
                    if trusted || sweep::action(turn, at(state.now), &timing()) != sweep::Action::Skip {
                        push(Choice::Nominate(number));
                    }
                }
            }
        }
    }
}

impl Model for Lifecycle {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let turns = self
            .config
            .roles
            .iter()
            .flat_map(|role| match role {
                Role::Executor { requests, .. } => requests.iter().map(|(turn, _)| turn + 1).collect(),
                Role::Importer => vec![1],
                _ => Vec::new(),
            })
            .max()
            .unwrap_or(0);
        let turns = usize::from(turns);
        let process =
            Process { state: ProcessState::Idle, calls: 0, final_calls: 0, renewals: 0, crashed: false };
        vec![State {
            now: 0,
            session: None,
            purge: None,
            turns: vec![None; turns],
            details: vec![None; turns],
            objects: Vec::new(),
            instructions: Vec::new(),
            results: Vec::new(),
            queue: vec![0; turns],
            processes: vec![process; self.config.roles.len()],
            in_flight: None,
            faults: Faults {
                replies: self.config.lost_replies,
                messages: self.config.lost_messages,
                duplicates: self.config.duplicates,
            },
            client_answers: Vec::new(),
            model_calls: vec![0; turns],
            counted: vec![0; turns],
            violations: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (me, (role, process)) in (0..).zip(self.config.roles.iter().zip(&state.processes)) {
            self.steps(state, role, process, &mut |choice| actions.push(Action::Step(me, choice)));
            let may_crash = state.now < QUIESCENCE && !process.crashed && self.config.crashes.contains(&me);
            // A process that only reads or waits has no half-done work to leave behind.
            let idle = matches!(
                process.state,
                ProcessState::Idle
                    | ProcessState::ReadingSnapshot { .. }
                    | ProcessState::ReadingPurge { .. }
                    | ProcessState::Waiting { .. }
            );
            if may_crash && !idle {
                actions.push(Action::Crash(me));
                if matches!(process.state, ProcessState::Sending { .. }) {
                    actions.push(Action::CrashApplied(me));
                    if self.config.late_writes && state.in_flight.is_none() {
                        actions.push(Action::CrashSending(me));
                    }
                }
            }
        }
        if state.now < self.config.ticks {
            actions.push(Action::Tick);
        }
        if state.in_flight.is_some() {
            actions.push(Action::Arrive);
            actions.push(Action::Vanish);
        }
        if state.faults.messages > 0 {
            actions.extend(
                (0..)
                    .zip(&state.queue)
                    .filter(|(_, messages)| **messages > 0)
                    .map(|(turn, _)| Action::LoseMessage(turn)),
            );
        }
        // During the quiescence, every possible step comes before time passes.
        let done = state.now == self.config.ticks || (state.now == QUIESCENCE && actions.is_empty());
        if done && state.is_quiet() {
            actions.push(Action::Pass);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Tick => next.now += 1,
            Action::Pass => next.now = if last.now < QUIESCENCE { QUIESCENCE } else { END },
            Action::Step(me, choice) => Step { model: self, state: &mut next, me }.run(choice),
            Action::Crash(me) => Step { model: self, state: &mut next, me }.crash(),
            Action::CrashApplied(me) => {
                let ProcessState::Sending { write, .. } = &last.processes[usize::from(me)].state else {
                    return None;
                };
                let mut step = Step { model: self, state: &mut next, me };
                if !step.apply(write) {
                    return None;
                }
                step.crash();
            }
            Action::CrashSending(me) => {
                if let ProcessState::Sending { write, .. } = &last.processes[usize::from(me)].state {
                    next.in_flight = Some(write.clone());
                }
                Step { model: self, state: &mut next, me }.crash();
            }
            Action::Arrive => {
                let write = next.in_flight.take()?;
                if (Step { model: self, state: &mut next, me: 0 }).apply(&write) {
                    self.coverage.note(Event::LateWrite);
                }
            }
            Action::Vanish => next.in_flight = None,
            Action::LoseMessage(turn) => {
                next.queue[usize::from(turn)] -= 1;
                next.faults.messages -= 1;
            }
        }
        self.normalize(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = properties::always();
        all.extend(self.config.expected_events.iter().map(|event| event.property()));
        all
    }
}
