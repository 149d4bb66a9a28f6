//! Every event of a turn has a unique id, and ids increase.

use contracts::{
    ErrorCode, Fingerprint, Timestamp,
    stream::{Event, EventId, ResetReason},
};
use proptest::{prelude::*, sample::select};
use protocol::{
    id::AttemptId,
    stream_position::StreamPosition,
    timing::Timing,
    transition::{
        resume::resume,
        settle::{end, settle},
        suspend::suspend,
        take_over::{Purpose, take_over},
    },
    turn::{EndReason, State, Turn, Verdict},
};

use super::{
    conclude::conclude,
    passage::Cursor,
    tests::{completed, turn},
    writer::Writer,
};
use agent::outcome::Response;

/// Something that happens to a turn.
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
    /// By a user, while the turn runs.
    Cancelled,
    Abandoned,
    /// By a user, while the turn awaits tool results.
    WhileItAwaits(EndReason),
}

/// A turn, and everything that a client sees of it that misses nothing.
struct Life {
    turn: Turn,
    now: Timestamp,
    attempts: u32,
    /// The current attempt's writer.
    writer: Writer,
    cursor: Cursor,
    /// The attempt's text since its last reset.
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
                self.writer.push_text(&self.turn.key, "Some words. ");
                self.text.push_str("Some words. ");
            }
            Act::ToolRound => self.reset(),
            Act::TakeOver => {
                let State::Running { lease_ends, .. } = self.turn.state else { panic!("it runs") };
                self.now = lease_ends.after(timing.lease);
                let fresh = self.fresh();
                let taken = take_over(&self.turn, fresh, Purpose::Retry, self.now, &timing);
                let Ok(taken) = taken else { return };
                self.turn = taken.after;
                self.connect();
            }
            Act::Suspend => {
                self.reset();
                self.suspend();
                let results = Fingerprint::hash_bytes(&self.attempts.to_be_bytes());
                let fresh = self.fresh();
                let resumed = resume(&self.turn, fresh, results, self.now, &timing).unwrap();
                self.turn = resumed.after;
                self.connect();
            }
        }
        self.read();
    }

    fn suspend(&mut self) {
        let deadline = self.now.after(Timing::default().max_tool_wait);
        self.turn = suspend(&self.turn, self.turn.attempt.clone(), deadline).unwrap().after;
        self.tell(&Response::error(ErrorCode::Internal.into()));
    }

    /// Ends the turn and tells the connected client.
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
                let reason = EndReason::StorageUnavailable;
                (settled(self, Verdict::Ended(reason)), Response::from_end_reason(reason))
            }
            End::Cancelled => {
                let ended = end(&self.turn, EndReason::Cancelled, self.now, &timing);
                (ended, Response::from_end_reason(EndReason::Cancelled))
            }
            End::Abandoned => {
                let State::Running { lease_ends, .. } = self.turn.state else { panic!("it runs") };
                self.now = lease_ends.after(timing.lease);
                let fresh = self.fresh();
                let taken = take_over(&self.turn, fresh, Purpose::Salvage, self.now, &timing).unwrap();
                self.turn = taken.after;
                (
                    settled(self, Verdict::Ended(EndReason::Abandoned)),
                    Response::from_end_reason(EndReason::Abandoned),
                )
            }
            End::WhileItAwaits(reason) => {
                self.reset();
                self.suspend();
                (end(&self.turn, reason, self.now, &timing), Response::from_end_reason(reason))
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
        self.writer = Writer::new(true, self.cursor.position);
        self.writer.begin(&self.turn);
        self.text.clear();
    }

    fn read(&mut self) {
        while let Some(event) = self.writer.next(&mut self.cursor) {
            self.ids.push(event.id);
        }
    }

    fn tell(&mut self, response: &Response) {
        self.writer.set_round(&self.turn);
        let events: Vec<Event> = conclude(self.cursor.position, self.writer.round(), response);
        self.ids.extend(events.iter().map(|event| event.id));
        let last = self.ids.last().copied().flatten().map(StreamPosition::from);
        self.cursor = Cursor::after(last);
    }

    fn fresh(&mut self) -> AttemptId {
        self.attempts += 1;
        AttemptId::new(format!("n{}", self.attempts))
    }
}

fn ends() -> impl Strategy<Value = End> {
    let awaiting = select(vec![EndReason::Cancelled, EndReason::Superseded, EndReason::ToolDeadline]);
    let running = vec![End::Completed, End::Failed, End::StorageUnavailable, End::Cancelled, End::Abandoned];
    prop_oneof![5 => select(running), 3 => awaiting.prop_map(End::WhileItAwaits)]
}

proptest! {
    #[test]
    fn event_ids_of_a_turn_are_unique_and_increase(
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
