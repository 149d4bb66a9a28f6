//! The state: stored data, the processes and the violations.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use protocol::{
    change::{Commit, Condition, TurnChange},
    id::AttemptId,
    purge::{Purge, Stage},
    session::Session,
    transition::{import::Reservation, take_over::Purpose},
    turn::{EndReason, State as TurnState, Turn},
};

/// One state of the model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The clock.
    pub(crate) now: u8,
    /// The table: the session.
    pub(crate) session: Option<Arc<Session>>,
    /// The table: the record of the session's purge, from its start on.
    pub(crate) purge: Option<Arc<Purge>>,
    /// The table: the turns' heads.
    pub(crate) turns: Vec<Option<Arc<Turn>>>,
    /// The table: a turn's result, written with its terminal head.
    pub(crate) details: Vec<Option<Answer>>,
    /// The bucket: outcome objects, in the order of their keys.
    pub(crate) objects: Vec<Object>,
    /// The bucket: instructions.
    pub(crate) instructions: Vec<Instruction>,
    /// The bucket: tool results.
    pub(crate) results: Vec<Results>,
    /// The queue: messages by turn.
    pub(crate) queue: Vec<u8>,
    /// The processes.
    pub(crate) processes: Vec<Process>,
    /// A write in flight whose sender died.
    pub(crate) in_flight: Option<Arc<Write>>,
    /// Faults that may still happen.
    pub(crate) faults: Faults,
    /// The answers that clients got.
    pub(crate) client_answers: Vec<ClientAnswer>,
    /// Model calls by turn.
    pub(crate) model_calls: Vec<u8>,
    /// The table: the usage of the org, as the number of entries that each turn added.
    pub(crate) counted: Vec<u8>,
    /// The violations. Empty as long as the protocol holds.
    pub(crate) violations: Vec<Violation>,
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

/// The kind of an outcome object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum OutcomeKind {
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
    /// The attempt id in its key.
    pub(crate) key: AttemptId,
    /// The attempt that wrote it.
    pub(crate) writer: AttemptId,
    /// The model call whose text it holds, from 1 in each turn.
    pub(crate) text: u8,
    /// Its kind.
    pub(crate) kind: OutcomeKind,
    /// True if the writer owned the running turn when it was stored.
    pub(crate) by_owner: bool,
}

/// A stored instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Instruction {
    /// The turn it belongs to.
    pub(crate) turn: u8,
    /// The fingerprint in its key.
    pub(crate) key: Option<u8>,
    /// The request whose text it holds.
    pub(crate) body: u8,
}

/// Stored tool results.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Results {
    /// The turn they belong to.
    pub(crate) turn: u8,
    /// The attempt id in their key.
    pub(crate) attempt: AttemptId,
    /// The text whose calls they answer.
    pub(crate) calls: u8,
    /// Their content.
    pub(crate) content: u8,
}

/// An answer about a turn.
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

/// An answer that a client got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ClientAnswer {
    /// The turn.
    pub(crate) turn: u8,
    /// The answer.
    pub(crate) answer: Answer,
}

/// A process: a client and what runs for it, or a consumer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    /// The state, which determines the next effect.
    pub(crate) state: ProcessState,
    /// The number of calls of its client.
    pub(crate) calls: u8,
    /// The number of repeated calls during the quiescence.
    pub(crate) final_calls: u8,
    /// The number of renewals by its attempt.
    pub(crate) renewals: u8,
    /// True if it crashed once already.
    pub(crate) crashed: bool,
}

/// The result of a read, or `None` before the read.
pub(crate) type ReadResult<T> = Option<T>;

/// The state of a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ProcessState {
    /// Nothing runs.
    Idle,
    /// Reads session and turn, in either order, then the session's open turn.
    ReadingSnapshot { session: ReadResult<Option<Arc<Session>>>, turn: ReadResult<Option<Arc<Turn>>> },
    /// Sends a write.
    Sending { write: Arc<Write>, continuation: Continuation },
    /// Reads back after a write whose condition failed or whose reply was lost.
    ReadingBack { write: Arc<Write>, continuation: Continuation, applied: Option<bool> },
    /// Owns a turn, and looks for an earlier attempt's outcome.
    Fenced { turn: Arc<Turn>, purpose: Purpose },
    /// Owns a turn, and calls the model.
    CallingModel { turn: Arc<Turn> },
    /// Owns a turn, and stores its outcome.
    Storing { turn: Arc<Turn>, kind: OutcomeKind, text: u8 },
    /// Stores tool results before it resumes a turn with them.
    StoringResults { results: Results, write: Arc<Write> },
    /// Waits for a turn that another attempt works on.
    Waiting { turn: u8 },
    /// Has read the session to delete or purge, and reads its open turn.
    ReadingOpenTurn { session: Arc<Session> },
    /// Has read the session to import, and reads its purge record.
    ReadingPurge { session: Option<Arc<Session>>, was_free: bool },
    /// Has read the session, and reads the turn to finalize.
    Finalizing { turn: u8, session: ReadResult<Option<Arc<Session>>> },
}

/// The purpose of a write, which determines what follows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Continuation {
    /// Start a turn.
    Begin,
    /// End a turn that awaits results, to start another one afterwards (rule 11 disabled).
    SupersedeFirst { session: Arc<Session> },
    /// Fence a dead turn. With rule 5 disabled, the outcome found before fencing goes with it.
    Fence { purpose: Purpose, prefetched: Option<Option<AttemptId>> },
    /// Settle or suspend from the process's own outcome.
    Decide { answer: Answer },
    /// Settle or suspend a turn that was taken over.
    DecideTaken,
    /// Renew the lease, then continue this work.
    Renew { work: Box<ProcessState> },
    /// Move the due time.
    MoveDue,
    /// End a turn whose tool results did not come.
    EndOverdue,
    /// End a turn whose tool results came too late.
    EndLate,
    /// Make a turn terminal.
    Finalize,
    /// Seal what an ended turn has spent.
    Seal,
    /// Seal what an ended turn has spent, to start another one afterwards.
    SealFirst,
    /// Tell what a turn has spent that was ended meanwhile.
    Tell,
    /// Cancel a turn.
    Cancel,
    /// Resume with tool results.
    Resume,
    /// Delete, restore or purge the session.
    EditSession,
    /// Reserve the session's key for an import.
    Reserve,
    /// Write the head of an import.
    RestoreHead { reservation: Reservation },
    /// Publish an import.
    PublishImport,
}

/// A conditional write or a transaction. It is always shared and never moved, so its size does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)]
pub(crate) enum Write {
    /// A write of one head. `take` is true if it takes over an expired lease.
    Turn { change: TurnChange, take: bool },
    /// A write of the session and heads.
    Commit(Commit),
    /// A write of an import's head, while its reservation holds.
    Restore { reservation: Reservation, head: Turn },
}

/// A violation of the protocol by a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// A decision changed (I1).
    DecisionChanged,
    /// A terminal head changed (I2).
    TerminalChanged,
    /// The spending of a turn changed after it was final (I8).
    SpentChanged,
    /// A fact that is fixed at a turn's start changed.
    IdentityChanged,
    /// A turn was created with a sequence number that is not the next (I3).
    OutOfOrder,
    /// An active lease was taken over.
    LiveLeaseTaken,
    /// The model was called although an earlier owner had a durable outcome (I9).
    DuplicateModelCall,
    /// An answer differed from the stored one (I5).
    WrongAnswer,
    /// A request was answered with another request's turn (I9).
    ForeignAnswer,
    /// Committed metadata named an object that does not exist (I10).
    MissingObject,
    /// The usage of a turn was added without that of its outcome (I8).
    Miscounted,
    /// A write counted as applied although its condition still held (I11).
    FalselyApplied,
    /// A cancel was confirmed for a turn that is not decided.
    UnfoundedCancel,
    /// A deletion was undone by a write from before it (rule 12).
    DeletionUndone,
    /// A purge was undone, or a turn started in a purged session (rule 12).
    PurgeUndone,
    /// An import was refused because of an identical one (rule 13).
    FalseRefusal,
}

impl Write {
    /// Returns the head that proves whether the write was applied. `None` for a write of the session alone, which the
    /// session itself proves.
    pub(crate) fn witness(&self) -> Option<&TurnChange> {
        match self {
            Self::Turn { change, .. } => Some(change),
            Self::Commit(commit) => commit.turns.first(),
            Self::Restore { .. } => None,
        }
    }

    /// Returns the turn of that head.
    pub(crate) fn turn(&self) -> Option<u8> {
        self.witness().map(|change| crate::fixtures::number(&change.after.key.turn))
    }
}

impl Hash for Write {
    /// Hashes the resulting heads and session and their conditions, on which the write's meaning depends.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let turn = |change: &TurnChange, state: &mut H| {
            change.after.hash(state);
            match &change.condition {
                Condition::Absent => state.write_u8(0),
                Condition::Unchanged { phase, attempt, lease_ends } => {
                    (phase, attempt, lease_ends).hash(state)
                }
                Condition::Unsealed { attempt } => (1, attempt).hash(state),
            }
        };
        match self {
            Self::Turn { change, take } => {
                take.hash(state);
                turn(change, state);
            }
            Self::Restore { reservation, head } => (reservation, head).hash(state),
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
    /// Returns the head of a turn.
    pub(crate) fn turn(&self, turn: u8) -> Option<&Arc<Turn>> {
        self.turns[usize::from(turn)].as_ref()
    }

    /// Returns the head of the turn that the session names as open.
    pub(crate) fn open_turn(&self) -> Option<&Turn> {
        let open = self.session.as_ref()?.open_turn.as_ref()?;
        self.turn(crate::fixtures::number(open)).map(Arc::as_ref)
    }

    /// True if all processes are idle and no write is in flight.
    pub(crate) fn is_quiet(&self) -> bool {
        self.in_flight.is_none() && self.processes.iter().all(|process| process.state == ProcessState::Idle)
    }

    /// True from the start of the session's purge on, and while an import reserves its key.
    pub(crate) fn is_purged(&self) -> bool {
        self.purge.is_some() && self.session.as_ref().is_none_or(|session| session.is_purged())
    }

    /// True if its purge is done.
    pub(crate) fn is_purge_done(&self) -> bool {
        self.purge.as_ref().is_some_and(|purge| purge.stage == Stage::Done)
    }

    /// True if stores and queue hold nothing of the session but itself.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty_but_for_messages() && self.queue.iter().all(|messages| *messages == 0)
    }

    /// True if the stores hold nothing of the session but itself, while messages may be in the queue.
    pub(crate) fn is_empty_but_for_messages(&self) -> bool {
        self.turns.iter().all(Option::is_none)
            && self.details.iter().all(Option::is_none)
            && self.objects.is_empty()
            && self.instructions.is_empty()
            && self.results.is_empty()
    }

    /// True if the state mentions this attempt id anywhere.
    pub(crate) fn mentions(&self, attempt: &AttemptId) -> bool {
        let heads = self.turns.iter().flatten().any(|turn| in_turn(turn, attempt));
        let objects = self.objects.iter().any(|object| object.writer == *attempt);
        let results = self.results.iter().any(|results| results.attempt == *attempt);
        let in_flight = self.in_flight.as_ref().is_some_and(|write| in_write(write, attempt));
        heads
            || objects
            || results
            || in_flight
            || self.processes.iter().any(|process| in_process_state(&process.state, attempt))
    }

    /// Records a violation.
    pub(crate) fn record_violation(&mut self, violations: Violation) {
        insert(&mut self.violations, violations);
    }
}

fn in_turn(turn: &Turn, attempt: &AttemptId) -> bool {
    let state = match &turn.state {
        TurnState::Running { stage, .. } => stage.attempts.contains(attempt),
        TurnState::AwaitingTools { .. } => false,
        TurnState::Settled(settlement) | TurnState::Finalized(settlement) => {
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
            || matches!(&change.condition, Condition::Unchanged { attempt: given, .. } | Condition::Unsealed { attempt: given } if given == attempt)
    };
    match write {
        Write::Turn { change: one, .. } => change(one),
        Write::Commit(commit) => commit.turns.iter().any(change),
        Write::Restore { head, .. } => in_turn(head, attempt),
    }
}

fn in_process_state(place: &ProcessState, attempt: &AttemptId) -> bool {
    match place {
        ProcessState::Idle
        | ProcessState::Waiting { .. }
        | ProcessState::Finalizing { .. }
        | ProcessState::ReadingPurge { .. }
        | ProcessState::ReadingOpenTurn { .. } => false,
        ProcessState::ReadingSnapshot { turn, .. } => {
            turn.iter().flatten().any(|turn| in_turn(turn, attempt))
        }
        ProcessState::Sending { write, continuation }
        | ProcessState::ReadingBack { write, continuation, .. } => {
            let continuation = match continuation {
                Continuation::Renew { work } => in_process_state(work, attempt),
                Continuation::Fence { prefetched, .. } => {
                    prefetched.iter().flatten().any(|found| found == attempt)
                }
                _ => false,
            };
            continuation || in_write(write, attempt)
        }
        ProcessState::Fenced { turn, .. }
        | ProcessState::CallingModel { turn }
        | ProcessState::Storing { turn, .. } => in_turn(turn, attempt),
        ProcessState::StoringResults { results, write } => {
            results.attempt == *attempt || in_write(write, attempt)
        }
    }
}

/// Adds an item to a sorted list without duplicates.
pub(crate) fn insert<T: Ord>(list: &mut Vec<T>, item: T) {
    if let Err(place) = list.binary_search(&item) {
        list.insert(place, item);
    }
}
