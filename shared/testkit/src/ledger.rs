//! Everything that happened, in one order: what the invariants are checked against.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent::model::{Chain, FunctionCall, Instruction, Item, Request, Told, ToolOutput};
use bytes::Bytes;
use contracts::{Fingerprint, Timestamp};
use protocol::{
    detail::ResultDetail,
    id::{AttemptId, TurnKey},
    payload::Payload,
    session::Session,
    turn::Turn,
};

use crate::clock::{Clock, ProcessId};

/// Something that happened.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "the large ones are the common ones, and runs are small")]
pub enum Event {
    /// A turn's head was written.
    Head { before: Option<Turn>, after: Turn },
    /// A session was written.
    Session { before: Option<Session>, after: Session },
    /// What came of a turn was written.
    Result(ResultDetail),
    /// An object was stored for the first time.
    Stored { payload: Payload, body: Bytes },
    /// An object was removed.
    Removed(Payload),
    /// A process was told that its object is stored.
    StoreAcknowledged(Payload),
    /// A process made an attempt id.
    AttemptId { process: ProcessId, attempt: AttemptId },
    /// A process began a model call for a turn.
    ModelCalled { process: ProcessId, turn: TurnKey, sent: SentRequest },
    /// That call is over: it was answered, failed or was dropped.
    ModelLeft { process: ProcessId, turn: TurnKey },
    /// A request to the model goes on from a reply that made these calls; these are the outputs it carries.
    Chained { turn: TurnKey, calls: Vec<FunctionCall>, outputs: Vec<ToolOutput> },
    /// A request for a model chains from a reply that another one, named first, wrote.
    ChainedAcross { turn: TurnKey, wrote: String, model: String },
    /// A client got an answer to a user turn.
    Answered { turn: TurnKey, request: Fingerprint, body: Vec<u8> },
    /// A client got an answer to tool results.
    Continued { turn: TurnKey, results: Fingerprint, body: Vec<u8> },
    /// A client was told that its turn is cancelled, or has its outcome.
    CancelTold(TurnKey),
    /// A message was taken off the queue because its turn was made terminal.
    FinalizeTold(TurnKey),
}

/// How a request to the model puts the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    /// The model.
    pub model: String,
    /// Whether the provider may keep the reply.
    pub store: bool,
    /// The response that it goes on from.
    pub previous_response_id: Option<String>,
    /// The earlier turns that it tells: what the user said, and what was answered.
    pub told: Vec<(String, String)>,
    /// Whether it asks for a summary of those that are left out.
    pub sums_up: bool,
}

impl SentRequest {
    #[must_use]
    pub fn of(request: &Request) -> Self {
        let (previous_response_id, told) = match &request.chain {
            Chain::Initial { told, .. } => (None, turns(told)),
            Chain::Continues { previous_response_id } => (Some(previous_response_id.clone()), Vec::new()),
        };
        // Every turn has tools, and tells what it leaves out in its first message alone.
        let sums_up = request.tools.is_empty() && request.message.earlier_block.is_some();
        Self { model: request.model.clone(), store: request.store, previous_response_id, told, sums_up }
    }
}

/// The whole turns in a telling. One without an answer is the running one.
fn turns(told: &[Told]) -> Vec<(String, String)> {
    let mut turns: Vec<(String, Option<String>)> = Vec::new();
    for told in told {
        match told {
            Told::Said(message) => match &message.instruction {
                Instruction::User(words) => turns.push((words.clone(), None)),
                Instruction::FilesAlone => turns.push((String::new(), None)),
                Instruction::ToolResults => {}
            },
            Told::Replied(items) => {
                let calls = items.iter().any(|item| matches!(item, Item::Call(_)));
                let Some((_, answer)) = turns.last_mut().filter(|_| !calls) else { continue };
                *answer = items.iter().find_map(|item| match item {
                    Item::Text(text) => Some(text.clone()),
                    Item::Reasoning(_) | Item::Hosted(_) | Item::Call(_) => None,
                });
            }
        }
    }
    turns.into_iter().filter_map(|(words, answer)| Some((words, answer?))).collect()
}

/// An event and its instant.
#[derive(Debug, Clone)]
pub struct Entry {
    /// On the clock that never jumps.
    pub monotonic: Duration,
    /// On the wall.
    pub wall: Timestamp,
    pub event: Event,
}

/// The record of a run. Handles share it.
#[derive(Debug, Clone)]
pub struct Ledger {
    clock: Clock,
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Ledger {
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { clock, entries: Arc::default() }
    }

    pub fn note(&self, event: Event) {
        let entry = Entry { monotonic: self.clock.monotonic(), wall: self.clock.wall(), event };
        self.entries().push(entry);
    }

    /// Every entry so far.
    pub fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
