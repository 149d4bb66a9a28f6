//! Ids of responses, items and conversations. They encode session and turn, so no table maps them.
//!
//! An id grants nothing: whoever reads a turn by it is checked like any other reader.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use contracts::id::{SessionId, TurnId};

const RESPONSE: &str = "resp_";
const MESSAGE: &str = "msg_";
const CALL: &str = "fc_";
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
        let (response, rest) = Self::decode(id.strip_prefix(RESPONSE)?)?;
        rest.is_empty().then_some(response)
    }

    /// Returns the response that an output item belongs to, if the item's id is of this service.
    #[must_use]
    pub fn of_item(id: &str) -> Option<Self> {
        let encoded = id.strip_prefix(MESSAGE).or_else(|| id.strip_prefix(CALL))?;
        Self::decode(encoded).map(|(response, _)| response)
    }

    /// Returns the id of a message, by its output index.
    #[must_use]
    pub fn message(&self, index: u64) -> String {
        format!("{MESSAGE}{}", self.encode(Some(index)))
    }

    /// Returns the id of a function call, by its position among the calls.
    #[must_use]
    pub fn call(&self, position: usize) -> String {
        format!("{CALL}{}", self.encode(u64::try_from(position).ok()))
    }

    /// Returns the id of an input item, by its position.
    #[must_use]
    pub fn input(&self, position: usize) -> String {
        format!("{MESSAGE}{}", self.encode(u64::try_from(position).ok().map(|n| n.saturating_add(1 << 32))))
    }

    fn encode(&self, item: Option<u64>) -> String {
        let Self { session, turn, round } = self;
        let item = item.map(|item| format!("/{item}")).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(format!("{}/{}/{round}{item}", session.as_str(), turn.as_str()))
    }

    /// Decodes an id into its response and the item.
    fn decode(encoded: &str) -> Option<(Self, String)> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()?;
        let mut parts = text.splitn(4, '/');
        let session = SessionId::new(parts.next()?).ok()?;
        let turn = TurnId::new(parts.next()?).ok()?;
        let round = parts.next()?.parse().ok()?;
        Some((Self { session, turn, round }, parts.next().unwrap_or_default().to_owned()))
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
    use super::*;

    fn response() -> ResponseId {
        ResponseId { session: SessionId::new("s~1.x").unwrap(), turn: TurnId::new("t-_").unwrap(), round: 3 }
    }

    #[test]
    fn ids_round_trip() {
        let id = response();
        assert_eq!(ResponseId::parse(&id.to_string()), Some(id.clone()));
        for item in [id.message(0), id.message(7), id.call(2), id.input(1)] {
            assert_eq!(ResponseId::of_item(&item), Some(id.clone()), "{item}");
            assert_eq!(ResponseId::parse(&item), None);
        }
        assert_ne!(id.message(1), id.input(1));
        assert_eq!(parse_conversation(&conversation(&id.session)), Some(id.session.clone()));
        assert_eq!(id.next().round, 4);
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
