//! The ledger: every event of a run in order, which the invariants are checked against.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent::{
    model::{Chain, FunctionCall, HistoryItem, Instruction, ReplyItem, Request, ToolOutput},
    tool::remote::EffectClass,
};
use bytes::Bytes;
use contracts::{Fingerprint, Timestamp};
use protocol::{
    detail::ResultDetail,
    effect::{Intent, UnknownEffect},
    id::{AttemptId, SessionKey, TurnKey},
    payload::Payload,
    session::Session,
    turn::Turn,
};

use crate::clock::{Clock, ProcessId};

/// An event of a run.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "the large ones are the common ones, and runs are small")]
pub enum Event {
    /// A turn's head was written.
    Head { before: Option<Turn>, after: Turn },
    /// The head that is written next is an import's.
    Restored(TurnKey),
    /// A session was written.
    Session { before: Option<Session>, after: Session },
    /// A turn's result was written.
    Result(ResultDetail),
    /// An object was stored for the first time.
    Stored { payload: Payload, body: Bytes },
    /// An object was removed.
    Removed(Payload),
    /// A process learned that its object is stored.
    StoreAcknowledged(Payload),
    /// A process created an attempt id.
    AttemptId { process: ProcessId, attempt: AttemptId },
    /// A process began a model call for a turn.
    ModelCalled { process: ProcessId, turn: TurnKey, sent: ModelRequest },
    /// The provider charges for a call of a turn.
    ModelPaid { turn: TurnKey, tokens: u64 },
    /// The call ended: it was answered, failed or was dropped.
    ModelCallEnded { process: ProcessId, turn: TurnKey },
    /// A model request continues from a reply that made these calls, and carries these outputs.
    Chained { turn: TurnKey, calls: Vec<FunctionCall>, outputs: Vec<ToolOutput> },
    /// A model request continues a chain that another model (`wrote`) wrote.
    ChainedAcrossModels { turn: TurnKey, wrote: String, model: String },
    /// An intent was written.
    Intended(Intent),
    /// A call was stored as one with an unknown outcome.
    Unknown(UnknownEffect),
    /// The target of remote tools performed a call.
    Performed { turn: TurnKey, call: PerformedCall },
    /// A client got a response to a user turn.
    Answered { turn: TurnKey, request: Fingerprint, body: Vec<u8> },
    /// A client got a response to tool results.
    Continued { turn: TurnKey, results: Fingerprint, body: Vec<u8> },
    /// A client learned that its turn is cancelled, or got its outcome.
    CancelAcknowledged(TurnKey),
    /// A client learned that its session is imported.
    ImportAcknowledged(SessionKey),
    /// A message left the queue because its turn became terminal.
    FinalizeAcknowledged(TurnKey),
}

/// A call that the target of remote tools performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerformedCall {
    /// Its key.
    pub key: String,
    /// The class of its tool.
    pub class: EffectClass,
    /// Its argument. The model gives each call of a run another one, except those that are equal on purpose.
    pub order: String,
}

/// A request to the model, reduced to its conversation state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// The model.
    pub model: String,
    /// Set if the provider may store the reply.
    pub store: bool,
    /// The response that it continues.
    pub previous_response_id: Option<String>,
    /// The earlier turns that it contains, each with the user's text and the answer.
    pub earlier_turns: Vec<(String, String)>,
    /// Set if it requests a summary of earlier turns.
    pub is_compaction: bool,
}

impl ModelRequest {
    #[must_use]
    pub fn new(request: &Request) -> Self {
        let (previous_response_id, earlier_turns) = match &request.chain {
            Chain::Initial { history, .. } => (None, turns(history)),
            Chain::Continues { previous_response_id } => (Some(previous_response_id.clone()), Vec::new()),
        };
        // Every turn has tools, and its first message alone contains the omitted part of the history.
        let is_compaction = request.tools.is_empty() && request.message.earlier_turns_block.is_some();
        Self {
            model: request.model.clone(),
            store: request.store,
            previous_response_id,
            earlier_turns,
            is_compaction,
        }
    }
}

/// Returns the complete turns in a history. The running turn has no answer.
fn turns(history: &[HistoryItem]) -> Vec<(String, String)> {
    let mut turns: Vec<(String, Option<String>)> = Vec::new();
    for item in history {
        match item {
            HistoryItem::Message(message) => match &message.instruction {
                Instruction::User(words) => turns.push((words.clone(), None)),
                Instruction::FilesAlone => turns.push((String::new(), None)),
                Instruction::ToolResults => {}
            },
            HistoryItem::Reply(items) => {
                let calls = items.iter().any(|item| matches!(item, ReplyItem::Call(_)));
                let Some((_, answer)) = turns.last_mut().filter(|_| !calls) else { continue };
                *answer = items.iter().find_map(|item| match item {
                    ReplyItem::Text { text, .. } => Some(text.clone()),
                    ReplyItem::Reasoning(_) | ReplyItem::Hosted(_) | ReplyItem::Call(_) => None,
                });
            }
        }
    }
    turns.into_iter().filter_map(|(words, answer)| Some((words, answer?))).collect()
}

/// An event with its time.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The monotonic time.
    pub monotonic: Duration,
    /// The wall-clock time.
    pub wall: Timestamp,
    pub event: Event,
}

/// The ledger of a run. Clones share it.
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

    pub fn record(&self, event: Event) {
        let entry = Entry { monotonic: self.clock.monotonic(), wall: self.clock.wall(), event };
        self.entries().push(entry);
    }

    /// Returns every entry so far.
    pub fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
