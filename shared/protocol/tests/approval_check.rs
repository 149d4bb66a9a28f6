//! Model check of approvals: a turn that waits for two answers, people who approve or deny one of them at any moment, an
//! expiry, a cancel, and continuations that die. Writes are those of the protocol: an answer requires that the turn waits with the
//! attempt whose calls were read, and a resumption requires the same.
//!
//! Nobody sends a request again. A message continues the turn: the person's process sends it after the answer, unless it dies
//! first, and the sweep sends others. A message may be lost or come twice.
//!
//! The second call of an attempt that died isn't sent again, as the ledger of effects has it (`effect_check.rs`). Each mutation
//! breaks one rule, and must have a counterexample.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use stateright::{Checker, HasDiscoveries, Model, Property};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mutation {
    /// The answer doesn't require that the turn waits.
    AnswerUnconditional,
    /// The answer replaces an earlier one.
    AnswerReplaced,
    /// The turn continues after the first answer.
    ContinuesEarly,
    /// The continuation runs what isn't denied.
    RunsUnanswered,
    /// Both continuations run, since the resumption has no condition.
    ResumedTwice,
    /// The sweep doesn't look at turns that have an answer.
    SweepBlind,
}

const MUTATIONS: [Mutation; 6] = [
    Mutation::AnswerUnconditional,
    Mutation::AnswerReplaced,
    Mutation::ContinuesEarly,
    Mutation::RunsUnanswered,
    Mutation::ResumedTwice,
    Mutation::SweepBlind,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    Approved,
    Denied,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Waiting,
    Running,
    Ended,
}

/// A process that works for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Idle,
    /// It has read that the turn waits and that every approval is answered or has expired.
    Ready {
        is_expired: bool,
    },
    /// It owns the turn.
    Owner {
        is_expired: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    phase: Phase,
    is_expired: bool,
    answers: [Option<Answer>; 2],
    /// The answers that people were told are accepted, oldest first.
    accepted: Vec<(usize, Answer)>,
    /// The person's request that has read the waiting turn, and not written its answer yet.
    read: [bool; 2],
    processes: [Step; 2],
    /// Messages on their way.
    messages: u8,
    /// The person's processes that have stored an answer, and not sent the message yet.
    unsent: u8,
    /// True if the attempt that ran the turn died.
    is_dead: bool,
    /// True once a continuation has its intent.
    is_intended: bool,
    sent: [u8; 2],
    /// True for calls that were sent without an accepted approval.
    is_unapproved: bool,
    sent_after_cancel: bool,
    /// True if an answer was accepted after the turn had stopped waiting.
    is_late: bool,
    is_cancelled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Action {
    Read(usize),
    Write(usize, Answer),
    Expire,
    /// The person's process reads the approvals after its write, and sends the message if none is open.
    Send,
    /// The person's process dies before.
    DieUnsent,
    Lose,
    Sweep,
    /// A message arrives. With `true`, it arrives once more.
    Deliver(usize, bool),
    Resume(usize),
    Run(usize),
    /// The attempt dies, before its intent or with `true` after its calls.
    Die(usize, bool),
    Cancel,
}

#[derive(Debug, Clone, Copy)]
struct Approvals {
    mutation: Option<Mutation>,
}

impl Approvals {
    fn has(self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    fn write(self, state: &mut State, call: usize, answer: Answer) {
        state.read[call] = false;
        let waits = state.phase == Phase::Waiting || self.has(Mutation::AnswerUnconditional);
        let is_open = state.answers[call].is_none() || self.has(Mutation::AnswerReplaced);
        if waits && is_open && !state.is_expired {
            state.answers[call] = Some(answer);
            state.accepted.push((call, answer));
            // Its own read follows the write, so it sees every answer that was stored before.
            state.unsent += 1;
            state.is_late |= state.phase != Phase::Waiting;
        }
    }

    fn is_ready(self, state: &State) -> bool {
        let answered = state.answers.iter().filter(|answer| answer.is_some()).count();
        answered == 2 || state.is_expired || (self.has(Mutation::ContinuesEarly) && answered == 1)
    }

    /// True if a message has something to do.
    fn is_continuable(self, state: &State) -> bool {
        match state.phase {
            Phase::Waiting => self.is_ready(state),
            Phase::Running => state.is_dead,
            Phase::Ended => false,
        }
    }

    /// Makes the calls, unless the attempt doesn't own the turn any more.
    fn run(self, state: &mut State, is_expired: bool) {
        // The intent requires that its attempt runs the turn. Its taker sends nothing that it names.
        if state.phase != Phase::Running || (state.is_intended && !self.has(Mutation::ResumedTwice)) {
            return;
        }
        state.is_intended = true;
        for call in 0..2 {
            let is_approved = match state.answers[call] {
                Some(answer) => answer == Answer::Approved,
                None => {
                    self.has(Mutation::RunsUnanswered) || (self.has(Mutation::ContinuesEarly) && !is_expired)
                }
            };
            if is_approved {
                state.sent[call] += 1;
                state.sent_after_cancel |= state.is_cancelled;
                let accepted = state.accepted.iter().rev().find(|(answered, _)| *answered == call);
                state.is_unapproved |= accepted.is_none_or(|(_, answer)| *answer == Answer::Denied);
            }
        }
    }
}

impl Model for Approvals {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            phase: Phase::Waiting,
            is_expired: false,
            answers: [None; 2],
            accepted: Vec::new(),
            read: [false; 2],
            processes: [Step::Idle; 2],
            messages: 0,
            unsent: 0,
            is_dead: false,
            is_intended: false,
            sent: [0; 2],
            is_unapproved: false,
            sent_after_cancel: false,
            is_late: false,
            is_cancelled: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for call in 0..2 {
            if state.read[call] {
                actions.extend([Action::Write(call, Answer::Approved), Action::Write(call, Answer::Denied)]);
            } else if state.accepted.len() < 4 && state.phase == Phase::Waiting {
                actions.push(Action::Read(call));
            }
        }
        if state.unsent > 0 {
            actions.extend([Action::Send, Action::DieUnsent]);
        }
        if state.messages > 0 {
            actions.push(Action::Lose);
        } else if self.is_continuable(state) && !self.has(Mutation::SweepBlind) {
            actions.push(Action::Sweep);
        }
        for at in 0..2 {
            match state.processes[at] {
                Step::Idle if state.messages > 0 => {
                    actions.extend([Action::Deliver(at, false), Action::Deliver(at, true)]);
                }
                Step::Idle => {}
                Step::Ready { .. } => actions.push(Action::Resume(at)),
                Step::Owner { .. } => {
                    actions.extend([Action::Run(at), Action::Die(at, false), Action::Die(at, true)]);
                }
            }
        }
        if !state.is_expired {
            actions.push(Action::Expire);
        }
        if !state.is_cancelled {
            actions.push(Action::Cancel);
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Read(call) => state.read[call] = true,
            Action::Write(call, answer) => self.write(&mut state, call, answer),
            Action::Expire => state.is_expired = true,
            Action::Send => {
                state.unsent -= 1;
                if self.is_ready(&state) {
                    state.messages = (state.messages + 1).min(2);
                }
            }
            Action::DieUnsent => state.unsent -= 1,
            Action::Lose => state.messages -= 1,
            Action::Sweep => state.messages = 1,
            Action::Deliver(at, is_repeated) => {
                state.messages -= u8::from(!is_repeated);
                let is_expired = state.is_expired;
                if self.is_continuable(&state) {
                    // A takeover fences the dead attempt with one write.
                    state.processes[at] = match state.phase {
                        Phase::Waiting => Step::Ready { is_expired },
                        Phase::Running | Phase::Ended => Step::Owner { is_expired },
                    };
                    state.is_dead = false;
                }
            }
            Action::Resume(at) => {
                let Step::Ready { is_expired } = state.processes[at] else { return None };
                let is_free = state.phase == Phase::Waiting
                    || (self.has(Mutation::ResumedTwice) && state.phase == Phase::Running);
                state.processes[at] = if is_free { Step::Owner { is_expired } } else { Step::Idle };
                if is_free {
                    state.phase = Phase::Running;
                }
            }
            Action::Run(at) => {
                let Step::Owner { is_expired } = state.processes[at] else { return None };
                self.run(&mut state, is_expired);
                state.processes[at] = Step::Idle;
                state.phase = Phase::Ended;
            }
            // What it sent is in the intent.
            Action::Die(at, has_sent) => {
                let Step::Owner { is_expired } = state.processes[at] else { return None };
                if has_sent {
                    self.run(&mut state, is_expired);
                }
                state.processes[at] = Step::Idle;
                state.is_dead = state.phase == Phase::Running;
            }
            Action::Cancel => {
                state.is_cancelled = true;
                state.phase = Phase::Ended;
            }
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always("a call is sent at most once", |_, state| {
                state.sent.iter().all(|sent| *sent <= 1)
            }),
            Property::<Self>::always("a call is sent only after its approval", |_, state| {
                !state.is_unapproved
            }),
            Property::<Self>::always("an accepted answer is the only one", |_, state| {
                let of =
                    |call: usize| state.accepted.iter().filter(|(answered, _)| *answered == call).count();
                of(0) <= 1 && of(1) <= 1
            }),
            Property::<Self>::always("an answer is accepted only while the turn waits", |_, state| {
                !state.is_late
            }),
            Property::<Self>::always("nothing is sent after a cancel", |_, state| !state.sent_after_cancel),
            Property::<Self>::always("an answered turn is continued by somebody", |model, state| {
                let is_held = state.processes.iter().any(|step| *step != Step::Idle);
                let has_sweep = !model.has(Mutation::SweepBlind);
                !model.is_continuable(state) || is_held || has_sweep || state.messages + state.unsent > 0
            }),
            Property::<Self>::sometimes("both calls are sent", |_, state| state.sent == [1, 1]),
            Property::<Self>::sometimes("one is denied and the other is sent", |_, state| {
                state.sent == [1, 0] && state.answers[1] == Some(Answer::Denied)
            }),
            Property::<Self>::sometimes("one expires and the other is sent", |_, state| {
                state.sent == [0, 1] && state.answers[0].is_none()
            }),
        ]
    }
}

#[test]
fn calls_are_sent_once_and_after_their_approval() {
    let checker = Approvals { mutation: None }.checker().spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    checker.assert_properties();
}

#[test]
fn every_mutation_has_a_counterexample() {
    for mutation in MUTATIONS {
        let checker = Approvals { mutation: Some(mutation) }
            .checker()
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        let failed =
            checker.discoveries().into_keys().any(|name| name.starts_with('a') || name.starts_with('n'));
        assert!(failed, "{mutation:?} breaks nothing");
    }
}
