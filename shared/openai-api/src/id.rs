//! Ids of responses, items and conversations. They encode session and turn, so no table maps them.
//!
//! An id grants nothing: whoever reads a turn by it is checked like any other reader.

use std::fmt;

use contracts::id::{SessionId, TurnId};
use histories::TurnRound;

const RESPONSE: &str = "resp_";
const MESSAGE: &str = "msg_";
const CALL: &str = "fc_";
const REASONING: &str = "rs_";
const SEARCH: &str = "fs_";
const CONVERSATION: &str = "conv_";

/// A response: a turn up to its suspension with this number, or to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseId {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The number of earlier suspensions.
    pub round: u32,
}

impl ResponseId {
    /// Creates the id of a turn's first response.
    #[must_use]
    pub fn first(session: SessionId, turn: TurnId) -> Self {
        Self { session, turn, round: 0 }
    }

    /// Returns the response after this one's calls.
    #[must_use]
    pub fn next(&self) -> Self {
        Self { round: self.round.saturating_add(1), ..self.clone() }
    }

    /// Parses the id of a response.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        let (response, item) = Self::decode(id.strip_prefix(RESPONSE)?)?;
        item.is_none().then_some(response)
    }

    /// Returns the response that an output item belongs to, if the item's id is of this service.
    #[must_use]
    pub fn of_item(id: &str) -> Option<Self> {
        let encoded = [MESSAGE, CALL, REASONING].iter().find_map(|prefix| id.strip_prefix(prefix));
        Self::decode(encoded?).map(|(response, _)| response)
    }

    /// Returns the id of a message, by its output index.
    #[must_use]
    pub fn message(&self, index: u64) -> String {
        format!("{MESSAGE}{}", self.encode(Some(index)))
    }

    /// Returns the id of reasoning, by its output index.
    #[must_use]
    pub fn reasoning(&self, index: u64) -> String {
        format!("{REASONING}{}", self.encode(Some(index)))
    }

    /// Returns the id of a function call, by its position among the calls.
    #[must_use]
    pub fn call(&self, position: usize) -> String {
        format!("{CALL}{}", self.encode(u64::try_from(position).ok()))
    }

    /// True if this is the id of a call of the response, by its position, also as an earlier version wrote it.
    #[must_use]
    pub fn is_call(&self, position: usize, id: &str) -> bool {
        let decoded = id.strip_prefix(CALL).and_then(Self::decode);
        decoded.is_some_and(|(response, item)| response == *self && item == u64::try_from(position).ok())
    }

    /// Returns the id of the search in vector stores.
    #[must_use]
    pub fn search(&self) -> String {
        format!("{SEARCH}{}", self.encode(None))
    }

    /// Returns the id of an input item, by its position.
    #[must_use]
    pub fn input(&self, position: usize) -> String {
        format!("{MESSAGE}{}", self.encode(u64::try_from(position).ok().map(|n| n.saturating_add(1 << 32))))
    }

    fn encode(&self, item: Option<u64>) -> String {
        TurnRound::from(self.clone()).encode(item)
    }

    /// Decodes an id into its response and the item.
    fn decode(encoded: &str) -> Option<(Self, Option<u64>)> {
        TurnRound::decode(encoded).map(|(turn, item)| (turn.into(), item))
    }
}

impl From<TurnRound> for ResponseId {
    fn from(TurnRound { session, turn, round }: TurnRound) -> Self {
        Self { session, turn, round }
    }
}

impl From<ResponseId> for TurnRound {
    fn from(ResponseId { session, turn, round }: ResponseId) -> Self {
        Self { session, turn, round }
    }
}

impl fmt::Display for ResponseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{RESPONSE}{}", self.encode(None))
    }
}

/// Returns the id of a conversation, which is a session.
#[must_use]
pub fn conversation(session: &SessionId) -> String {
    format!("{CONVERSATION}{}", session.as_str())
}

/// Parses the id of a conversation.
#[must_use]
pub fn parse_conversation(id: &str) -> Option<SessionId> {
    SessionId::new(id.strip_prefix(CONVERSATION)?).ok()
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

    use super::*;

    fn response() -> ResponseId {
        ResponseId { session: SessionId::new("s~1.x").unwrap(), turn: TurnId::new("t-_").unwrap(), round: 3 }
    }

    #[test]
    fn ids_round_trip() {
        let id = response();
        assert_eq!(ResponseId::parse(&id.to_string()), Some(id.clone()));
        for item in [id.message(0), id.message(7), id.call(2), id.reasoning(1), id.input(1)] {
            assert_eq!(ResponseId::of_item(&item), Some(id.clone()), "{item}");
            assert_eq!(ResponseId::parse(&item), None);
        }
        assert_ne!(id.message(1), id.input(1));
        assert_eq!(parse_conversation(&conversation(&id.session)), Some(id.session.clone()));
        assert_eq!(id.next().round, 4);
    }

    #[test]
    fn ids_of_128_bits_have_at_most_64_characters() {
        let (plain, dashed) = ("0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcdef");
        for (session, turn) in [(plain, plain), (plain, dashed), (dashed, plain), (dashed, dashed)] {
            let id = ResponseId {
                session: SessionId::new(session).unwrap(),
                turn: TurnId::new(turn).unwrap(),
                round: u32::MAX,
            };
            for item in [id.message(7), id.call(127), id.input(999)] {
                assert!(item.len() <= 64, "{item}");
                assert_eq!((ResponseId::of_item(&item), ResponseId::parse(&item)), (Some(id.clone()), None));
            }
            assert!(id.to_string().len() <= 64);
            assert_eq!(ResponseId::parse(&id.to_string()), Some(id));
        }
        let upper = response().session.as_str().to_uppercase();
        let other = ResponseId { session: SessionId::new(upper).unwrap(), ..response() };
        assert_eq!(ResponseId::parse(&other.to_string()), Some(other));
    }

    #[test]
    fn ids_of_earlier_versions_are_read() {
        let (session, turn) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
        let text = |item: &str| URL_SAFE_NO_PAD.encode(format!("{session}/{turn}/2{item}"));
        let id = ResponseId::parse(&format!("resp_{}", text(""))).unwrap();
        assert_eq!((id.session.as_str(), id.turn.as_str(), id.round), (session, turn, 2));
        let call = format!("fc_{}", text("/1"));
        assert!(id.is_call(1, &call) && id.is_call(1, &id.call(1)) && !id.is_call(0, &call));
        assert_eq!(ResponseId::of_item(&call), Some(id));
    }

    #[test]
    fn foreign_ids_are_unknown() {
        for id in ["", "resp_", "resp_abc", "resp_689b0c2e1f7c8190a", "msg_68", "conv_", "conv_a/b", "call_1"]
        {
            assert_eq!(ResponseId::parse(id), None, "{id}");
            assert_eq!(ResponseId::of_item(id), None, "{id}");
            assert_eq!(parse_conversation(id), None, "{id}");
        }
    }
}
