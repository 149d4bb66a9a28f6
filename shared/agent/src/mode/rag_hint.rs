//! Ranking hints that a mode gives to retrieval, written `Key=Value`.

use serde::{Deserialize, Serialize};

use crate::retrieval::key::HINT_KEYS;

/// A payload value that ranks a chunk higher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RagHint {
    key: String,
    value: String,
}

/// The reason a string isn't a valid hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHint {
    /// No `=`, or nothing after it.
    #[error("must be written Key=Value")]
    Form,
    /// A key that retrieval doesn't rank by.
    #[error("must begin with one of {}", HINT_KEYS.join(", "))]
    Key,
}

impl RagHint {
    /// Returns the payload key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the value that the payload has, or has among its values.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

impl TryFrom<String> for RagHint {
    type Error = InvalidHint;
    fn try_from(hint: String) -> Result<Self, InvalidHint> {
        let (key, value) = hint.split_once('=').ok_or(InvalidHint::Form)?;
        let (key, value) = (key.trim(), value.trim());
        if value.is_empty() {
            return Err(InvalidHint::Form);
        }
        if !HINT_KEYS.contains(&key) {
            return Err(InvalidHint::Key);
        }
        Ok(Self { key: key.to_owned(), value: value.to_owned() })
    }
}

impl From<RagHint> for String {
    fn from(hint: RagHint) -> Self {
        format!("{}={}", hint.key, hint.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hint_has_a_key_and_a_value() {
        let hint = RagHint::try_from("Path=docs/a=b".to_owned()).unwrap();
        assert_eq!((hint.key(), hint.value()), ("Path", "docs/a=b"));
        assert_eq!(String::from(hint), "Path=docs/a=b");
    }

    #[test]
    fn tenant_key_is_rejected() {
        assert_eq!(RagHint::try_from("OrgId=other".to_owned()), Err(InvalidHint::Key));
        assert_eq!(RagHint::try_from("Subtype=".to_owned()), Err(InvalidHint::Form));
        assert_eq!(RagHint::try_from("Subtype".to_owned()), Err(InvalidHint::Form));
    }
}
