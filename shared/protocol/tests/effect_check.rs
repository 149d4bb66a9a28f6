//! Model check of the ledger of effects (rule 14): one turn whose model makes a call with an effect and a keyed one, an
//! attempt that may stop anywhere, another that takes over at any moment, a cancel, and requests that arrive arbitrarily late.
//!
//! No clock protects anything here: the first attempt may be frozen before each of its steps, and go on after the fence. A
//! crash is an attempt that takes no further step. Each mutation breaks one rule, and must have a counterexample.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use stateright::{Checker, HasDiscoveries, Model, Property};

/// The calls of the reply: one of class `effect`, one of class `keyed`.
const EFFECT: usize = 0;
const KEYED: usize = 1;

/// A broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mutation {
    NoIntent,
    UnconditionalIntent,
    IntentBeforeRound,
    IntentInHead,
    LookBeforeFence,
    EffectRepeated,
    KeyPerAttempt,
    ResultAfterTelling,
    ModelAskedAgain,
}

const MUTATIONS: [Mutation; 9] = [
    Mutation::NoIntent,
    Mutation::UnconditionalIntent,
    Mutation::IntentBeforeRound,
    Mutation::IntentInHead,
    Mutation::LookBeforeFence,
    Mutation::EffectRepeated,
    Mutation::KeyPerAttempt,
    Mutation::ResultAfterTelling,
    Mutation::ModelAskedAgain,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Outcome {
    Done,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Wire {
    Queued,
    Performed,
    Dropped,
}

/// A request to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Request {
    attempt: usize,
    reply: u8,
    call: usize,
    wire: Wire,
}

/// The next step of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Idle,
    Fence,
    Look,
    AskModel,
    StoreRound,
    SendIntent,
    AwaitIntent,
    /// After the intent: its round, if the mutation stores it that late.
    LateRound,
    RunCalls,
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Attempt {
    step: Step,
    reply: u8,
    /// True if it continues another attempt's round.
    is_taken_over: bool,
    /// The results that it found when it looked.
    found: [Option<Outcome>; 2],
    sent: [bool; 2],
    outcomes: [Option<Outcome>; 2],
    stored: [bool; 2],
}

/// An intent: its attempt and the reply whose calls it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Intent {
    attempt: usize,
    reply: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    owner: usize,
    is_cancelled: bool,
    is_finalized: bool,
    replies: u8,
    intent: Option<Intent>,
    rounds: [Option<u8>; 2],
    results: [[Option<Outcome>; 2]; 2],
    wire: Vec<Request>,
    attempts: [Attempt; 2],
    /// What the model was told: the reply, and the outcomes of its calls.
    told: Vec<(u8, [Outcome; 2])>,
    /// The calls that the finalization of a cancelled turn accounts for.
    accounted: Option<Intent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Action {
    Advance(usize),
    IntentArrives(usize),
    Send(usize, usize),
    Answer(usize, usize),
    GiveUp(usize, usize),
    StoreResult(usize, usize),
    Tell(usize),
    Renew(usize),
    Perform(usize),
    Drop(usize),
    Cancel,
    Finalize,
}

#[derive(Debug, Clone, Copy)]
struct Ledger {
    mutation: Option<Mutation>,
}

impl Ledger {
    fn has(self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    fn advance(self, state: &mut State, at: usize) {
        let runs = !state.is_cancelled;
        let step = match state.attempts[at].step {
            Step::Idle if self.has(Mutation::LookBeforeFence) => Step::Look,
            Step::Idle => Step::Fence,
            Step::Fence if !runs => Step::Stopped,
            Step::Fence => {
                state.owner = at;
                match self.has(Mutation::LookBeforeFence) {
                    true if state.attempts[at].is_taken_over => Step::RunCalls,
                    true => Step::AskModel,
                    false => Step::Look,
                }
            }
            Step::Look => {
                let intent = state.intent.filter(|_| !self.has(Mutation::ModelAskedAgain));
                let next = match intent.and_then(|intent| state.rounds[intent.attempt]) {
                    Some(reply) => {
                        state.attempts[at].is_taken_over = true;
                        state.attempts[at].reply = reply;
                        state.attempts[at].found = state.results[0];
                        Step::RunCalls
                    }
                    None => Step::AskModel,
                };
                if self.has(Mutation::LookBeforeFence) { Step::Fence } else { next }
            }
            Step::AskModel => {
                state.attempts[at].reply = state.replies;
                state.replies += 1;
                match self.has(Mutation::IntentBeforeRound) {
                    true => Step::SendIntent,
                    false => Step::StoreRound,
                }
            }
            Step::StoreRound => {
                state.rounds[at] = Some(state.attempts[at].reply);
                if self.has(Mutation::NoIntent) { Step::RunCalls } else { Step::SendIntent }
            }
            Step::LateRound => {
                state.rounds[at] = Some(state.attempts[at].reply);
                Step::RunCalls
            }
            Step::SendIntent => Step::AwaitIntent,
            stays @ (Step::AwaitIntent | Step::RunCalls | Step::Stopped) => stays,
        };
        state.attempts[at].step = step;
    }

    fn intent_arrives(self, state: &mut State, at: usize) {
        let is_owner = state.owner == at && !state.is_cancelled;
        let is_new = state.intent.is_none() || self.has(Mutation::ModelAskedAgain);
        let applies = (is_owner && is_new) || self.has(Mutation::UnconditionalIntent);
        let next = if self.has(Mutation::IntentBeforeRound) { Step::LateRound } else { Step::RunCalls };
        if applies {
            state.intent = Some(Intent { attempt: at, reply: state.attempts[at].reply });
        }
        state.attempts[at].step = if applies { next } else { Step::Stopped };
    }

    /// True if an attempt may send a call now, as far as it knows.
    fn may_send(self, state: &State, at: usize, call: usize) -> bool {
        let attempt = &state.attempts[at];
        let is_open =
            attempt.step == Step::RunCalls && !attempt.sent[call] && attempt.outcomes[call].is_none();
        let repeats = call == KEYED || self.has(Mutation::EffectRepeated);
        is_open && (!attempt.is_taken_over || (repeats && attempt.found[call].is_none()))
    }

    /// Returns the outcome that a taker finds instead of sending.
    fn verdict(self, state: &State, at: usize, call: usize) -> Option<Outcome> {
        let attempt = &state.attempts[at];
        if attempt.step != Step::RunCalls || attempt.outcomes[call].is_some() || attempt.sent[call] {
            return None;
        }
        let is_lost = attempt.is_taken_over && call == EFFECT && !self.has(Mutation::EffectRepeated);
        attempt.found[call].or(is_lost.then_some(Outcome::Unknown))
    }

    fn may_tell(self, state: &State, at: usize) -> bool {
        let attempt = &state.attempts[at];
        let are_stored = attempt.stored == [true; 2] || self.has(Mutation::ResultAfterTelling);
        attempt.step == Step::RunCalls && attempt.outcomes.iter().all(Option::is_some) && are_stored
    }

    /// Returns the number of times that the target performed a call. It performs a keyed call once per key.
    fn performed(self, state: &State, call: usize) -> usize {
        let performed =
            state.wire.iter().filter(|request| request.call == call && request.wire == Wire::Performed);
        match call {
            EFFECT => performed.count(),
            _ => {
                let key = |request: &Request| {
                    (request.reply, if self.has(Mutation::KeyPerAttempt) { request.attempt } else { 0 })
                };
                performed.map(key).collect::<std::collections::BTreeSet<_>>().len()
            }
        }
    }
}

impl Model for Ledger {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let attempt = |step| Attempt {
            step,
            reply: 0,
            is_taken_over: false,
            found: [None; 2],
            sent: [false; 2],
            outcomes: [None; 2],
            stored: [false; 2],
        };
        vec![State {
            owner: 0,
            is_cancelled: false,
            is_finalized: false,
            replies: 0,
            intent: None,
            rounds: [None; 2],
            results: [[None; 2]; 2],
            wire: Vec::new(),
            attempts: [attempt(Step::AskModel), attempt(Step::Idle)],
            told: Vec::new(),
            accounted: None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for at in 0..2 {
            let attempt = &state.attempts[at];
            match attempt.step {
                Step::AwaitIntent => actions.push(Action::IntentArrives(at)),
                Step::RunCalls | Step::Stopped => {}
                _ => actions.push(Action::Advance(at)),
            }
            for call in [EFFECT, KEYED] {
                if self.may_send(state, at, call) {
                    actions.push(Action::Send(at, call));
                }
                let is_waiting = attempt.sent[call] && attempt.outcomes[call].is_none();
                let is_performed = state.wire.iter().any(|request| {
                    request.attempt == at && request.call == call && request.wire == Wire::Performed
                });
                if is_waiting && is_performed {
                    actions.push(Action::Answer(at, call));
                }
                if is_waiting || self.verdict(state, at, call).is_some() {
                    actions.push(Action::GiveUp(at, call));
                }
                if attempt.outcomes[call].is_some() && !attempt.stored[call] {
                    actions.push(Action::StoreResult(at, call));
                }
            }
            if self.may_tell(state, at) {
                actions.push(Action::Tell(at));
            }
            if self.has(Mutation::IntentInHead) && state.owner == at && state.intent.is_some() {
                actions.push(Action::Renew(at));
            }
        }
        for (index, request) in state.wire.iter().enumerate() {
            if request.wire == Wire::Queued {
                actions.extend([Action::Perform(index), Action::Drop(index)]);
            }
        }
        if !state.is_cancelled {
            actions.push(Action::Cancel);
        } else if !state.is_finalized {
            actions.push(Action::Finalize);
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Advance(at) => self.advance(&mut state, at),
            Action::IntentArrives(at) => self.intent_arrives(&mut state, at),
            Action::Send(at, call) => {
                state.attempts[at].sent[call] = true;
                let reply = state.attempts[at].reply;
                state.wire.push(Request { attempt: at, reply, call, wire: Wire::Queued });
            }
            Action::Answer(at, call) => state.attempts[at].outcomes[call] = Some(Outcome::Done),
            Action::GiveUp(at, call) => {
                let verdict = self.verdict(&state, at, call);
                state.attempts[at].outcomes[call] = Some(verdict.unwrap_or(Outcome::Unknown));
            }
            Action::StoreResult(at, call) => {
                state.attempts[at].stored[call] = true;
                state.results[at][call] = state.attempts[at].outcomes[call];
            }
            Action::Tell(at) => {
                let attempt = &mut state.attempts[at];
                attempt.step = Step::Stopped;
                let outcome = |call: usize| attempt.outcomes[call].unwrap();
                // An attempt that was fenced or cancelled may still tell the model, which changes nothing.
                if state.owner == at && !state.is_cancelled {
                    state.told.push((attempt.reply, [outcome(EFFECT), outcome(KEYED)]));
                }
            }
            // The snapshot is from before the intent.
            Action::Renew(_) => state.intent = None,
            Action::Perform(index) => state.wire[index].wire = Wire::Performed,
            Action::Drop(index) => state.wire[index].wire = Wire::Dropped,
            Action::Cancel => state.is_cancelled = true,
            Action::Finalize => {
                state.is_finalized = true;
                state.accounted = state.intent;
            }
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always("E1: an effect is performed at most once", |model, state| {
                model.performed(state, EFFECT) <= 1
            }),
            Property::<Self>::always("E1: a keyed call is performed once", |model, state| {
                model.performed(state, KEYED) <= 1
            }),
            Property::<Self>::always("E1: an intent has its round", |_, state| {
                state.intent.is_none_or(|intent| state.rounds[intent.attempt].is_some())
            }),
            Property::<Self>::always("E2: what the model was told doesn't change", |_, state| {
                state.told.windows(2).all(|told| told[0] == told[1])
            }),
            Property::<Self>::always("E2: the model was told of every effect", |_, state| {
                state
                    .told
                    .last()
                    .is_none_or(|(reply, _)| state.wire.iter().all(|request| request.reply == *reply))
            }),
            Property::<Self>::always("E2: what is said to be done was performed", |model, state| {
                let is_done =
                    |call: usize| state.told.iter().any(|(_, outcomes)| outcomes[call] == Outcome::Done);
                [EFFECT, KEYED].into_iter().all(|call| !is_done(call) || model.performed(state, call) > 0)
            }),
            Property::<Self>::always("E5: a cancelled turn accounts for what was sent", |_, state| {
                let is_known =
                    |request: &Request| state.accounted.is_some_and(|intent| intent.reply == request.reply);
                !state.is_finalized || state.wire.iter().all(is_known)
            }),
            Property::<Self>::sometimes("an effect is known to be done", |_, state| {
                state.told.iter().any(|(_, outcomes)| outcomes == &[Outcome::Done; 2])
            }),
            Property::<Self>::sometimes(
                "an effect was performed and is said to be unknown",
                |model, state| {
                    let is_unknown =
                        |(_, outcomes): &(u8, [Outcome; 2])| outcomes[EFFECT] == Outcome::Unknown;
                    state.told.iter().any(is_unknown) && model.performed(state, EFFECT) == 1
                },
            ),
            Property::<Self>::sometimes(
                "a taker repeats a keyed call that was performed once",
                |model, state| {
                    let keyed = state.wire.iter().filter(|request| request.call == KEYED);
                    keyed.count() == 2 && model.performed(state, KEYED) == 1
                },
            ),
        ]
    }
}

#[test]
fn ledger_keeps_its_promises() {
    let checker = Ledger { mutation: None }.checker().spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    checker.assert_properties();
}

#[test]
fn every_mutation_has_a_counterexample() {
    for mutation in MUTATIONS {
        let checker = Ledger { mutation: Some(mutation) }
            .checker()
            .finish_when(HasDiscoveries::AnyFailures)
            .spawn_bfs()
            .join();
        let broken: Vec<&str> =
            checker.discoveries().into_keys().filter(|name| name.starts_with('E')).collect();
        println!("{mutation:?}: {broken:?}");
        assert!(!broken.is_empty(), "{mutation:?} breaks nothing");
    }
}
