//! A request that brings the history of its chat.

use contracts::{
    id::{SessionId, TurnId},
    request::{ChatMessage, TurnOptions},
};

/// A request that brings the history of its chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Chat {
    /// The agent, if the request names one.
    pub agent: Option<String>,
    /// The standing instructions: the system texts before the first other message.
    pub instructions: String,
    /// The settings of the turn.
    pub options: TurnOptions,
    /// True if the answer is streamed.
    pub is_streamed: bool,
    /// True if the client repeats a request that may have started its turn.
    pub is_retry: bool,
    /// The messages after the instructions, oldest first. A reply with text and calls is a text, then a message per call.
    pub messages: Vec<ChatMessage>,
    /// The turns that ids in the messages name.
    pub hints: Vec<Hint>,
    /// The client's own name of the chat, if it has one. Chats with one name are one session, whatever they hold.
    pub name: Option<String>,
}

/// A turn that an id in the messages names. It helps to find a turn whose input the client doesn't send any more. It
/// counts only if the messages from there on are the turn's, so a foreign id is harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The position of the message with the id: a text or call of the model.
    pub message: usize,
    /// The turn.
    pub turn: TurnRound,
    /// True if the front read the turn, and the messages before it stand for what the turn's session holds.
    pub is_certain: bool,
}

/// A turn up to its suspension with this number, or to its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TurnRound {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The number of earlier suspensions.
    pub round: u32,
}

impl TurnRound {
    /// Returns the first round of a turn.
    #[must_use]
    pub fn first(session: SessionId, turn: TurnId) -> Self {
        Self { session, turn, round: 0 }
    }

    /// Returns the round after this one's calls.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { round: self.round.saturating_add(1), ..self.clone() }
    }
}
