//! The state space: which steps are possible, and what each leads to.

use protocol::{
    purge::Stage,
    transition::{purging, sweep},
};
use stateright::{Model, Property};

use crate::{
    cast::{CALM, END, at, timing},
    coverage::{Coverage, Event},
    properties,
    rules::Rule,
    scene::{Role, Scene},
    state::{Answer, At, Faults, Process, Said, State},
    step::Step,
};

/// A turn's life in one scene.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    pub(crate) scene: Scene,
    pub(crate) coverage: Coverage,
}

/// Something happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// A lease's length passes.
    Tick,
    /// Everything rests until every time limit has passed.
    Pass,
    /// A process has its next effect.
    Step(u8, How),
    /// A process dies.
    Crash(u8),
    /// A process dies just after its write was applied.
    CrashApplied(u8),
    /// A process dies while its write is on its way.
    CrashSending(u8),
    /// That write arrives.
    Arrive,
    /// That write never arrives.
    Vanish,
    /// The queue loses a message.
    LoseMessage(u8),
}

/// How a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// As it should.
    Go,
    /// The client calls.
    Call,
    /// A message about the turn is delivered; it stays in the queue if it is delivered `again` later.
    Deliver { turn: u8, again: bool },
    /// The index nominates the turn.
    Nominate(u8),
    /// The session is read first, or next.
    ReadSession,
    /// The turn is read first, or next.
    ReadTurn,
    /// What is left of a purged session is looked for, and the first piece of it removed.
    Remove,
    /// The model replies.
    Reply(Said),
    /// The holder renews its lease beside its work.
    Renew,
    /// The object can't be stored, however often it is tried.
    Fail,
    /// The waiting takes too long.
    GiveUp,
    /// The write is applied, its reply is lost.
    ReplyLost,
    /// The write is not applied, and nobody says so.
    Unsent,
}

impl Lifecycle {
    pub(crate) fn of(scene: Scene) -> Self {
        Self { scene, coverage: Coverage::default() }
    }

    pub(crate) fn is_out(&self, rule: Rule) -> bool {
        self.scene.out.contains(&rule)
    }

    /// Which turn this one runs again.
    pub(crate) fn rerun_of(&self, turn: u8) -> Option<u8> {
        self.scene.reruns.iter().find(|(again, _)| *again == turn).map(|(_, original)| *original)
    }

    /// Whether nothing can happen any more.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        let over = state.now == END && state.is_quiet();
        over && {
            let mut actions = Vec::new();
            self.actions(state, &mut actions);
            actions.is_empty()
        }
    }

    /// Whether the process's client was answered for the turn it asked for last.
    pub(crate) fn is_answered(&self, state: &State, role: &Role) -> bool {
        let Role::Executor { requests, .. } = role else { return true };
        requests.last().is_none_or(|(turn, _)| {
            state.told.iter().any(|told| told.turn == *turn && !matches!(told.answer, Answer::Calls(_)))
        })
    }

    /// Levels what can't matter any more, so that states that differ in nothing else are one.
    fn forget_the_past(&self, state: &mut State) {
        for (role, process) in self.scene.roles.iter().zip(&mut state.processes) {
            if process.at == At::Rest {
                process.renewals = 0;
                let insists = matches!(role, Role::Executor { insists: true, .. });
                let serves = matches!(role, Role::Finalizer | Role::Sweep | Role::Purger);
                if !insists && !serves && usize::from(process.calls) == role.calls() {
                    process.crashed = true;
                }
            }
        }
    }

    fn steps(&self, state: &State, role: &Role, process: &Process, push: &mut impl FnMut(How)) {
        match &process.at {
            At::Rest => self.calls(state, role, process, push),
            At::Looking { session, turn } if self.scene.fine && matches!(role, Role::Executor { .. }) => {
                if session.is_none() {
                    push(How::ReadSession);
                }
                if turn.is_none() {
                    push(How::ReadTurn);
                }
                if session.is_some() && turn.is_some() {
                    push(How::Go);
                }
            }
            At::Sending { .. } => {
                push(How::Go);
                if state.faults.replies > 0 {
                    push(How::ReplyLost);
                    push(How::Unsent);
                }
            }
            At::Thinking { turn } => {
                let round = Step::round(turn);
                for said in (self.scene.replies)(crate::cast::number(&turn.key.turn), round) {
                    push(How::Reply(*said));
                }
                if process.renewals < self.scene.renewals {
                    push(How::Renew);
                }
            }
            At::Storing { .. } => {
                push(How::Go);
                if self.scene.unstorable {
                    push(How::Fail);
                }
                if process.renewals < self.scene.renewals {
                    push(How::Renew);
                }
            }
            At::Waiting { turn } => {
                let ready = state.turn(*turn).is_none_or(|turn| !Step::is_held(turn, state.now));
                push(if ready { How::Go } else { How::GiveUp });
            }
            At::Looking { .. }
            | At::Publishing { .. }
            | At::ReadingBack { .. }
            | At::Fenced { .. }
            | At::StoringResults { .. }
            | At::Finalizing { .. }
            | At::Keeping { .. } => push(How::Go),
        }
    }

    /// What wakes a process that rests.
    fn calls(&self, state: &State, role: &Role, process: &Process, push: &mut impl FnMut(How)) {
        let has_calls = usize::from(process.calls) < role.calls() && state.now < CALM;
        match role {
            Role::Executor { insists, .. } => {
                let times = if state.now == END { 4 } else { 2 };
                let insisting = *insists
                    && state.now >= CALM
                    && process.insisted < times
                    && !self.is_answered(state, role);
                if has_calls || insisting {
                    push(How::Call);
                }
            }
            Role::Tools { turn, .. } => {
                let called = state
                    .told
                    .iter()
                    .any(|told| told.turn == *turn && matches!(told.answer, Answer::Calls(_)));
                if has_calls && called {
                    push(How::Call);
                }
            }
            Role::Canceller { turn } => {
                if has_calls && state.turn(*turn).is_some() {
                    push(How::Call);
                }
            }
            Role::Keeper { .. } => {
                if has_calls && state.session.is_some() {
                    push(How::Call);
                }
            }
            Role::Finalizer => {
                for (turn, messages) in (0..).zip(&state.queue) {
                    if *messages > 0 {
                        push(How::Deliver { turn, again: false });
                        if state.faults.duplicates > 0 {
                            push(How::Deliver { turn, again: true });
                        }
                    }
                }
            }
            Role::Purger => {
                let Some(purge) = &state.purge else { return };
                // No function that was at work when it began is still, once it looks again: that takes longer than
                // any runs.
                let at_work = state.processes.iter().any(|process| process.at != At::Rest);
                let waits = purge.stage == Stage::Rechecking && (at_work || state.on_its_way.is_some());
                let action = purging::action(state.session.as_deref(), purge, at(state.now), &timing());
                if action == purging::Action::Remove && !waits {
                    push(How::Remove);
                }
            }
            Role::Sweep => {
                for (number, turn) in (0..).zip(&state.turns) {
                    let due = |turn: &protocol::turn::Turn| turn.due.is_some_and(|due| due <= at(state.now));
                    let Some(turn) = turn.as_ref().filter(|turn| due(turn)) else { continue };
                    let trusted = self.is_out(Rule::IndexProvesNothing);
                    if trusted || sweep::action(turn, at(state.now), &timing()) != sweep::Action::Skip {
                        push(How::Nominate(number));
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
            .scene
            .roles
            .iter()
            .flat_map(|role| match role {
                Role::Executor { requests, .. } => requests.iter().map(|(turn, _)| turn + 1).collect(),
                _ => Vec::new(),
            })
            .max()
            .unwrap_or(0);
        let turns = usize::from(turns);
        let process = Process { at: At::Rest, calls: 0, insisted: 0, renewals: 0, crashed: false };
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
            processes: vec![process; self.scene.roles.len()],
            on_its_way: None,
            faults: Faults {
                replies: self.scene.lost_replies,
                messages: self.scene.lost_messages,
                duplicates: self.scene.duplicates,
            },
            told: Vec::new(),
            model_calls: vec![0; turns],
            broken: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (me, (role, process)) in (0..).zip(self.scene.roles.iter().zip(&state.processes)) {
            self.steps(state, role, process, &mut |how| actions.push(Action::Step(me, how)));
            let may_crash = state.now < CALM && !process.crashed && self.scene.crashes.contains(&me);
            // Who only looks or waits has done nothing that a crash could leave half done.
            let idle = matches!(process.at, At::Rest | At::Looking { .. } | At::Waiting { .. });
            if may_crash && !idle {
                actions.push(Action::Crash(me));
                if matches!(process.at, At::Sending { .. }) {
                    actions.push(Action::CrashApplied(me));
                    if self.scene.late_writes && state.on_its_way.is_none() {
                        actions.push(Action::CrashSending(me));
                    }
                }
            }
        }
        if state.now < self.scene.ticks {
            actions.push(Action::Tick);
        }
        if state.on_its_way.is_some() {
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
        // In the calm, whoever has something to do gets to do it before time goes on.
        let done = state.now == self.scene.ticks || (state.now == CALM && actions.is_empty());
        if done && state.is_quiet() {
            actions.push(Action::Pass);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        match action {
            Action::Tick => next.now += 1,
            Action::Pass => next.now = if last.now < CALM { CALM } else { END },
            Action::Step(me, how) => Step { model: self, state: &mut next, me }.run(how),
            Action::Crash(me) => Step { model: self, state: &mut next, me }.crash(),
            Action::CrashApplied(me) => {
                let At::Sending { write, .. } = &last.processes[usize::from(me)].at else { return None };
                let mut step = Step { model: self, state: &mut next, me };
                if !step.apply(write) {
                    return None;
                }
                step.crash();
            }
            Action::CrashSending(me) => {
                if let At::Sending { write, .. } = &last.processes[usize::from(me)].at {
                    next.on_its_way = Some(write.clone());
                }
                Step { model: self, state: &mut next, me }.crash();
            }
            Action::Arrive => {
                let write = next.on_its_way.take()?;
                if (Step { model: self, state: &mut next, me: 0 }).apply(&write) {
                    self.coverage.note(Event::LateWrite);
                }
            }
            Action::Vanish => next.on_its_way = None,
            Action::LoseMessage(turn) => {
                next.queue[usize::from(turn)] -= 1;
                next.faults.messages -= 1;
            }
        }
        self.forget_the_past(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = properties::always();
        all.extend(self.scene.shows.iter().map(|event| event.property()));
        all
    }
}
