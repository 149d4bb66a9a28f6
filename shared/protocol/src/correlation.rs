//! Correlation ids, which join the logs of everything that one request caused.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The maximum length of a correlation id, in characters.
pub const MAX_CHARS: usize = 128;

/// The name that a client, or else the gateway, gave a request. It only serves the logs: no decision depends on it,
/// and two requests may share one.
///
/// Consists of visible ASCII (0x21 to 0x7e), so headers and log lines carry it unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CorrelationId(String);

/// The reason for which a string is not a valid correlation id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCorrelationId {
    /// The string is empty.
    #[error("a correlation id must not be empty")]
    Empty,
    /// The string has more than [`MAX_CHARS`] characters.
    #[error("a correlation id must have at most {MAX_CHARS} characters")]
    TooLong,
    /// The string has a blank, a control character or a non-ASCII character.
    #[error("a correlation id may hold only visible ASCII characters, and no blanks")]
    Character,
}

impl CorrelationId {
    /// Checks and wraps an id.
    ///
    /// # Errors
    /// Returns an error if the string is not a valid correlation id.
    pub fn new(value: impl Into<String>) -> Result<Self, InvalidCorrelationId> {
        let value = value.into();
        if value.is_empty() {
            return Err(InvalidCorrelationId::Empty);
        }
        if value.chars().count() > MAX_CHARS {
            return Err(InvalidCorrelationId::TooLong);
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidCorrelationId::Character);
        }
        Ok(Self(value))
    }

    /// The placeholder for requests without a name, outside of the gateway and of Lambda.
    #[must_use]
    pub fn unnamed() -> Self {
        Self("unnamed".to_owned())
    }

    /// The id as headers and logs show it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for CorrelationId {
    type Err = InvalidCorrelationId;
    fn from_str(value: &str) -> Result<Self, InvalidCorrelationId> {
        Self::new(value)
    }
}

impl TryFrom<String> for CorrelationId {
    type Error = InvalidCorrelationId;
    fn try_from(value: String) -> Result<Self, InvalidCorrelationId> {
        Self::new(value)
    }
}

impl From<CorrelationId> for String {
    fn from(id: CorrelationId) -> Self {
        id.0
    }
}

impl fmt::Display for CorrelationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_id_is_visible_ascii_up_to_128_characters() {
        for right in ["a", "!", "~", "joined-1", "1-67891233-abcdef012345678912345678", &"x".repeat(128)] {
            assert_eq!(right.parse::<CorrelationId>().unwrap().as_str(), right);
        }
        assert_eq!("".parse::<CorrelationId>(), Err(InvalidCorrelationId::Empty));
        assert_eq!("x".repeat(129).parse::<CorrelationId>(), Err(InvalidCorrelationId::TooLong));
        for wrong in ["a b", "\n", "\u{7f}", "ä", "a\u{0}", " ", "\t"] {
            assert_eq!(wrong.parse::<CorrelationId>(), Err(InvalidCorrelationId::Character), "{wrong:?}");
        }
    }

    #[test]
    fn correlation_id_serializes_as_validated_string() {
        let id = CorrelationId::new("joined-1").unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), r#""joined-1""#);
        assert_eq!(serde_json::from_str::<CorrelationId>(r#""joined-1""#).unwrap(), id);
        let refused = serde_json::from_str::<CorrelationId>(r#""a b""#).unwrap_err().to_string();
        assert!(refused.starts_with("a correlation id may hold only visible ASCII characters"), "{refused}");
    }
}
