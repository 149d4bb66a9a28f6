//! Every event of a turn's whole life has an id of its own, and later ones have greater ids.

use contracts::{
    ErrorCode, Fingerprint, Timestamp,
    stream::{Event, EventId, ResetReason},
};
use proptest::{prelude::*, sample::select};
use protocol::{
    id::AttemptId,
    place::Place,
    timing::Timing,
    transition::{
        resume::resume,
        settle::{end, settle},
        suspend::suspend,
        take::{Purpose, take},
    },
    turn::{Reason, State, Turn, Verdict},
};

use super::{
    conclude::conclude,
    tests::{completed, turn},
    writer::{Cursor, Writer},
};
use agent::outcome::Response;

/// What befalls a turn on its way.
#[derive(Debug, Clone, Copy)]
enum Act {
    Write,
    ToolRound,
    TakeOver,
    Suspend,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Completed,
    Failed,
    StorageUnavailable,
    /// From outside while it runs.
    Cancelled,
    Abandoned,
    /// From outside while it awaits tool results.
    WhileItAwaits(Reason),
}

/// A turn, and all that a client sees of it that misses nothing.
struct Life {
    turn: Turn,
    now: Timestamp,
    attempts: u32,
    /// What the attempt writes into.
    writer: Writer,
    cursor: Cursor,
    /// What the attempt wrote since its last reset.
    text: String,
    ids: Vec<Option<EventId>>,
}

impl Life {
    fn new() -> Self {
        let first = turn(1);
        let writer = Writer::new(true, None);
        writer.begin(&first);
        let now = first.created;
        let cursor = Cursor::after(None);
        Self { turn: first, now, attempts: 0, writer, cursor, text: String::new(), ids: Vec::new() }
    }

    fn act(&mut self, act: Act) {
        let timing = Timing::default();
        match act {
            Act::Write => {
                self.writer.text(&self.turn.key, "Some words. ");
                self.text.push_str("Some words. ");
            }
            Act::ToolRound => self.reset(),
            Act::TakeOver => {
                let State::Running { lease_ends, .. } = self.turn.state else { panic!("it runs") };
                self.now = lease_ends.after(timing.lease);
                let fresh = self.fresh();
                let taken = take(&self.turn, fresh, Purpose::Retry, self.now, &timing);
                let Ok(taken) = taken else { return };
                self.turn = taken.after;
                self.connect();
            }
            Act::Suspend => {
                self.reset();
                self.suspend();
                let results = Fingerprint::of_bytes(&self.attempts.to_be_bytes());
                let fresh = self.fresh();
                let resumed = resume(&self.turn, fresh, results, self.now, &timing).unwrap();
                self.turn = resumed.after;
                self.connect();
            }
        }
        self.read();
    }

    fn suspend(&mut self) {
        let deadline = self.now.after(Timing::default().longest_tool_wait);
        self.turn = suspend(&self.turn, self.turn.attempt.clone(), deadline).unwrap().after;
        self.tell(&Response::error(ErrorCode::Internal.into()));
    }

    /// The turn ends, and whoever is connected is told.
    fn end(&mut self, how: End) {
        let timing = Timing::default();
        let writer = self.turn.attempt.clone();
        let settled = |life: &Self, verdict| settle(&life.turn, verdict, life.now, life.now, &timing);
        let (ended, response) = match how {
            End::Completed => {
                let answer = completed(&self.text, self.writer.segment());
                (settled(self, Verdict::Completed { writer }), answer)
            }
            End::Failed => {
                let error = Response::error(ErrorCode::ModelUnavailable.into());
                (settled(self, Verdict::Failed { writer }), error)
            }
            End::StorageUnavailable => {
                let reason = Reason::StorageUnavailable;
                (settled(self, Verdict::Ended(reason)), Response::ended(reason))
            }
            End::Cancelled => {
                let ended = end(&self.turn, Reason::Cancelled, self.now, &timing);
                (ended, Response::ended(Reason::Cancelled))
            }
            End::Abandoned => {
                let State::Running { lease_ends, .. } = self.turn.state else { panic!("it runs") };
                self.now = lease_ends.after(timing.lease);
                let fresh = self.fresh();
                let taken = take(&self.turn, fresh, Purpose::Salvage, self.now, &timing).unwrap();
                self.turn = taken.after;
                (settled(self, Verdict::Ended(Reason::Abandoned)), Response::ended(Reason::Abandoned))
            }
            End::WhileItAwaits(reason) => {
                self.reset();
                self.suspend();
                (end(&self.turn, reason, self.now, &timing), Response::ended(reason))
            }
        };
        self.turn = ended.unwrap().after;
        self.tell(&response);
    }

    fn reset(&mut self) {
        self.writer.reset(ResetReason::Tools);
        self.text.clear();
        self.read();
    }

    fn connect(&mut self) {
        self.writer = Writer::new(true, self.cursor.place);
        self.writer.begin(&self.turn);
        self.text.clear();
    }

    fn read(&mut self) {
        while let Some(event) = self.writer.next(&mut self.cursor) {
            self.ids.push(event.id);
        }
    }

    fn tell(&mut self, response: &Response) {
        self.writer.of(&self.turn);
        let told: Vec<Event> = conclude(self.cursor.place, self.writer.round(), response);
        self.ids.extend(told.iter().map(|event| event.id));
        let last = self.ids.last().copied().flatten().map(Place::from);
        self.cursor = Cursor::after(last);
    }

    fn fresh(&mut self) -> AttemptId {
        self.attempts += 1;
        AttemptId::new(format!("n{}", self.attempts))
    }
}

fn ends() -> impl Strategy<Value = End> {
    let awaiting = select(vec![Reason::Cancelled, Reason::Superseded, Reason::ToolDeadline]);
    let running = vec![End::Completed, End::Failed, End::StorageUnavailable, End::Cancelled, End::Abandoned];
    prop_oneof![5 => select(running), 3 => awaiting.prop_map(End::WhileItAwaits)]
}

proptest! {
    #[test]
    fn every_event_of_a_turns_whole_life_has_an_id_of_its_own_and_greater_than_the_one_before(
        acts in prop::collection::vec(
            select(vec![Act::Write, Act::Write, Act::ToolRound, Act::TakeOver, Act::Suspend]), 0..30
        ),
        end in ends(),
    ) {
        let mut life = Life::new();
        acts.into_iter().for_each(|act| life.act(act));
        life.end(end);
        prop_assert!(life.ids.iter().all(Option::is_some), "{:?}", life.ids);
        prop_assert!(life.ids.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", life.ids);
    }
}
