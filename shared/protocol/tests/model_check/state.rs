//! What is stored, who stands where, and what was witnessed.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use protocol::{
    change::{Commit, Condition, TurnChange},
    id::AttemptId,
    purge::{Purge, Stage},
    session::Session,
    transition::take_over::Purpose,
    turn::{EndReason, State as Standing, Turn},
};

/// One state of the world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The clock.
    pub(crate) now: u8,
    /// The table: the session.
    pub(crate) session: Option<Arc<Session>>,
    /// The table: the record of the session's purge, from its beginning on.
    pub(crate) purge: Option<Arc<Purge>>,
    /// The table: the turns' heads.
    pub(crate) turns: Vec<Option<Arc<Turn>>>,
    /// The table: what came of a turn, written before its terminal head.
    pub(crate) details: Vec<Option<Answer>>,
    /// The bucket: outcome objects, in the order of their keys.
    pub(crate) objects: Vec<Object>,
    /// The bucket: instructions.
    pub(crate) instructions: Vec<Instruction>,
    /// The bucket: tool results.
    pub(crate) results: Vec<Results>,
    /// The queue: messages by turn.
    pub(crate) queue: Vec<u8>,
    /// Who acts.
    pub(crate) processes: Vec<Process>,
    /// A write that its dead sender left on its way.
    pub(crate) on_its_way: Option<Arc<Write>>,
    /// Faults that may still happen.
    pub(crate) faults: Faults,
    /// What clients were told.
    pub(crate) told: Vec<Told>,
    /// Model calls by turn.
    pub(crate) model_calls: Vec<u8>,
    /// What a step did that no step may do; empty as long as the protocol holds.
    pub(crate) broken: Vec<Broken>,
}

/// Faults that may still happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Faults {
    /// Lost replies.
    pub(crate) replies: u8,
    /// Lost messages.
    pub(crate) messages: u8,
    /// Deliveries that leave the message in the queue.
    pub(crate) duplicates: u8,
}

/// What an outcome object says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Said {
    /// An answer.
    Answer,
    /// Errors.
    Failure,
    /// Calls for the client.
    Calls,
}

/// An outcome object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Object {
    /// The turn it belongs to.
    pub(crate) turn: u8,
    /// Whose attempt id its key carries.
    pub(crate) key: AttemptId,
    /// Who wrote it.
    pub(crate) writer: AttemptId,
    /// Which model call's text it holds, from 1 in each turn.
    pub(crate) text: u8,
    /// What it says.
    pub(crate) said: Said,
    /// Whether the writer owned the running turn when it was stored.
    pub(crate) by_owner: bool,
}

/// A stored instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Instruction {
    /// The turn it belongs to.
    pub(crate) turn: u8,
    /// The fingerprint in its key.
    pub(crate) key: Option<u8>,
    /// Which request's text it holds.
    pub(crate) body: u8,
}

/// Stored tool results.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Results {
    /// The turn they belong to.
    pub(crate) turn: u8,
    /// Whose attempt id their key carries.
    pub(crate) attempt: AttemptId,
    /// Which text's calls they answer.
    pub(crate) calls: u8,
    /// What they say.
    pub(crate) says: u8,
}

/// What a client can be told about a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Answer {
    /// The answer of this model call.
    Text(u8),
    /// The error of this model call.
    Failure(u8),
    /// The calls of this model call.
    Calls(u8),
    /// The turn was ended from outside.
    Ended(End),
}

/// [`EndReason`], with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum End {
    /// [`EndReason::Cancelled`].
    Cancelled,
    /// [`EndReason::Abandoned`].
    Abandoned,
    /// [`EndReason::Superseded`].
    Superseded,
    /// [`EndReason::ToolDeadline`].
    ToolDeadline,
    /// [`EndReason::StorageUnavailable`].
    StorageUnavailable,
}

/// Something a client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Told {
    /// About which turn.
    pub(crate) turn: u8,
    /// What.
    pub(crate) answer: Answer,
}

/// A process: a client and what runs for it, or a consumer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// What its next effect is.
    pub(crate) at: At,
    /// How many calls its client made.
    pub(crate) calls: u8,
    /// How often it was called again at the end of time.
    pub(crate) insisted: u8,
    /// How many renewals its attempt made.
    pub(crate) renewals: u8,
    /// Whether it crashed once already.
    pub(crate) crashed: bool,
}

/// A read that may not have happened yet.
pub(crate) type Read<T> = Option<T>;

/// Where a process stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum At {
    /// Nothing runs.
    Rest,
    /// Reads session and turn, in either order, then the session's open turn.
    Looking { session: Read<Option<Arc<Session>>>, turn: Read<Option<Arc<Turn>>> },
    /// Writes what came of a settled turn, before the transaction that makes it count.
    Publishing { turn: Arc<Turn>, write: Arc<Write>, then: Then },
    /// Sends a write.
    Sending { write: Arc<Write>, then: Then },
    /// Reads back what a write came to: its condition failed, or its reply was lost.
    ReadingBack { write: Arc<Write>, then: Then, applied: Option<bool> },
    /// Owns a turn, and looks for an earlier attempt's outcome.
    Fenced { turn: Arc<Turn>, purpose: Purpose },
    /// Owns a turn, and asks the model.
    Thinking { turn: Arc<Turn> },
    /// Owns a turn, and stores its outcome.
    Storing { turn: Arc<Turn>, said: Said, text: u8 },
    /// Stores tool results before it resumes a turn with them.
    StoringResults { results: Results, write: Arc<Write> },
    /// Waits for a turn that somebody else works on.
    Waiting { turn: u8 },
    /// Has read the session that is to be deleted, and reads its open turn.
    Keeping { session: Arc<Session> },
    /// Has read the session, and reads the turn that is to be finalized.
    Finalizing { turn: u8, session: Read<Option<Arc<Session>>> },
}

/// What a write was for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Then {
    /// Start a turn.
    Begun,
    /// End a turn that awaits results, so as to start another afterwards (rule 11 taken out).
    SupersededFirst { session: Arc<Session> },
    /// Fence a dead turn. With rule 5 taken out, what was found before fencing goes with it.
    Fenced { purpose: Purpose, looked: Option<Option<AttemptId>> },
    /// Settle or suspend from one's own outcome.
    Decided { answer: Answer },
    /// Settle or suspend what was taken.
    DecidedTaken,
    /// Keep the lease; the work goes on here.
    Renewed { work: Box<At> },
    /// Move the due time.
    MovedDue,
    /// End a turn whose tool results did not come.
    EndedOverdue,
    /// The same, by results that came too late.
    EndedLate,
    /// Make a turn terminal.
    Finalized,
    /// Cancel a turn.
    Cancelled,
    /// Go on with tool results.
    Resumed,
    /// Delete or restore the session.
    Kept,
}

/// A conditional write or a transaction. Always shared, never moved about: its size does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Write {
    /// On one head; `take` when it takes a lease that is over.
    Turn { change: TurnChange, take: bool },
    /// On the session and heads.
    Commit(Commit),
}

/// What no step may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Broken {
    /// A decision changed (I1).
    DecisionChanged,
    /// A terminal head changed (I2).
    TerminalChanged,
    /// What is fixed at a turn's start changed.
    IdentityChanged,
    /// A turn was created with a number that is not the next (I3).
    OutOfOrder,
    /// A lease that was not over was taken.
    LiveLeaseTaken,
    /// The model was called although the owner's predecessor had a durable outcome (I9).
    PaidTwice,
    /// Something was answered that is not what is stored (I5).
    AnsweredOther,
    /// A request was answered with another request's turn (I9).
    AnsweredForeign,
    /// Committed metadata named an object that is not there (I10).
    Missing,
    /// A write counted as applied although its condition still held (I11).
    AppliedInThought,
    /// A cancel was confirmed on a turn that is not decided.
    CancelUnfounded,
    /// A deletion was undone by a write that knows nothing of it (rule 12).
    Undeleted,
    /// A purge was undone, or a turn began in a purged session (rule 12).
    CameBack,
}

impl Write {
    /// The head that tells whether the write was applied; of a write on the session alone that one tells.
    pub(crate) fn witness(&self) -> Option<&TurnChange> {
        match self {
            Self::Turn { change, .. } => Some(change),
            Self::Commit(commit) => commit.turns.first(),
        }
    }

    /// The turn whose head tells.
    pub(crate) fn turn(&self) -> Option<u8> {
        self.witness().map(|change| crate::cast::number(&change.after.key.turn))
    }
}

impl Hash for Write {
    /// The heads and the session it leaves and their conditions: all that its meaning depends on.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let turn = |change: &TurnChange, state: &mut H| {
            change.after.hash(state);
            match &change.condition {
                Condition::Absent => state.write_u8(0),
                Condition::Unchanged { phase, attempt, lease_ends } => {
                    (phase, attempt, lease_ends).hash(state)
                }
            }
        };
        match self {
            Self::Turn { change, take } => {
                take.hash(state);
                turn(change, state);
            }
            Self::Commit(commit) => {
                commit.session.condition.hash(state);
                commit.session.after.hash(state);
                for change in &commit.turns {
                    turn(change, state);
                }
            }
        }
    }
}

impl From<EndReason> for End {
    fn from(reason: EndReason) -> Self {
        match reason {
            EndReason::Cancelled => Self::Cancelled,
            EndReason::Abandoned => Self::Abandoned,
            EndReason::Superseded => Self::Superseded,
            EndReason::ToolDeadline => Self::ToolDeadline,
            EndReason::StorageUnavailable => Self::StorageUnavailable,
        }
    }
}

impl State {
    /// The head of a turn.
    pub(crate) fn turn(&self, turn: u8) -> Option<&Arc<Turn>> {
        self.turns[usize::from(turn)].as_ref()
    }

    /// Whether nothing runs.
    pub(crate) fn is_quiet(&self) -> bool {
        self.on_its_way.is_none() && self.processes.iter().all(|process| process.at == At::Rest)
    }

    /// Whether the session is being purged, or was.
    pub(crate) fn is_purged(&self) -> bool {
        self.purge.is_some()
    }

    /// Whether its purge is done.
    pub(crate) fn is_purge_done(&self) -> bool {
        self.purge.as_ref().is_some_and(|purge| purge.stage == Stage::Done)
    }

    /// Whether nothing is left of the session but itself, in no store and no queue.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty_but_for_messages() && self.queue.iter().all(|messages| *messages == 0)
    }

    /// The same, where messages may still be on their way.
    pub(crate) fn is_empty_but_for_messages(&self) -> bool {
        self.turns.iter().all(Option::is_none)
            && self.details.iter().all(Option::is_none)
            && self.objects.is_empty()
            && self.instructions.is_empty()
            && self.results.is_empty()
    }

    /// Whether an attempt id is known to anybody.
    pub(crate) fn mentions(&self, attempt: &AttemptId) -> bool {
        let heads = self.turns.iter().flatten().any(|turn| in_turn(turn, attempt));
        let objects = self.objects.iter().any(|object| object.writer == *attempt);
        let results = self.results.iter().any(|results| results.attempt == *attempt);
        let on_its_way = self.on_its_way.as_ref().is_some_and(|write| in_write(write, attempt));
        heads
            || objects
            || results
            || on_its_way
            || self.processes.iter().any(|process| in_place(&process.at, attempt))
    }

    /// Notes something that no step may do.
    pub(crate) fn breaks(&mut self, broken: Broken) {
        insert(&mut self.broken, broken);
    }
}

fn in_turn(turn: &Turn, attempt: &AttemptId) -> bool {
    let state = match &turn.state {
        Standing::Running { stage, .. } => stage.attempts.contains(attempt),
        Standing::AwaitingTools { .. } => false,
        Standing::Settled(settlement) | Standing::Finalized(settlement) => {
            settlement.verdict.writer() == Some(attempt)
        }
    };
    let answered = turn
        .accepted_results
        .as_ref()
        .is_some_and(|answered| answered.suspended_by == *attempt || answered.resumed_by == *attempt);
    turn.attempt == *attempt || state || answered
}

fn in_write(write: &Write, attempt: &AttemptId) -> bool {
    let change = |change: &TurnChange| {
        in_turn(&change.after, attempt)
            || matches!(&change.condition, Condition::Unchanged { attempt: given, .. } if given == attempt)
    };
    match write {
        Write::Turn { change: one, .. } => change(one),
        Write::Commit(commit) => commit.turns.iter().any(change),
    }
}

fn in_place(place: &At, attempt: &AttemptId) -> bool {
    match place {
        At::Rest | At::Waiting { .. } | At::Finalizing { .. } | At::Keeping { .. } => false,
        At::Looking { turn, .. } => turn.iter().flatten().any(|turn| in_turn(turn, attempt)),
        At::Publishing { turn, write, .. } => in_turn(turn, attempt) || in_write(write, attempt),
        At::Sending { write, then } | At::ReadingBack { write, then, .. } => {
            let then = match then {
                Then::Renewed { work } => in_place(work, attempt),
                Then::Fenced { looked, .. } => looked.iter().flatten().any(|found| found == attempt),
                _ => false,
            };
            then || in_write(write, attempt)
        }
        At::Fenced { turn, .. } | At::Thinking { turn } | At::Storing { turn, .. } => in_turn(turn, attempt),
        At::StoringResults { results, write } => results.attempt == *attempt || in_write(write, attempt),
    }
}

/// Adds to a sorted list without repeats.
pub(crate) fn insert<T: Ord>(list: &mut Vec<T>, item: T) {
    if let Err(place) = list.binary_search(&item) {
        list.insert(place, item);
    }
}
