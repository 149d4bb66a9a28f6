//! API keys that requests count against. API Gateway limits the requests of each key. Clients don't know the keys, and
//! they grant no access.

use std::fmt;

use contracts::id::{InvalidId, OrgId, UserId};

/// The callers that a key belongs to: an org, or one user of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UsageKeyHolder {
    /// The org.
    pub org: OrgId,
    /// The user. `None` for all users of the org.
    pub user: Option<UserId>,
}

impl UsageKeyHolder {
    /// Parses `org` or `org/user`. An org whose id has a slash can't be written so.
    ///
    /// # Errors
    /// If a part is no id.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let (org, user) = text.split_once('/').map_or((text, None), |(org, user)| (org, Some(user)));
        Ok(Self { org: OrgId::new(org)?, user: user.map(UserId::new).transpose()? })
    }
}

impl fmt::Display for UsageKeyHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            Some(user) => write!(f, "{}/{user}", self.org),
            None => write!(f, "{}", self.org),
        }
    }
}

/// The value of an API key of API Gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageKey(String);

/// The text is no value of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have 20 to 128 ASCII characters without spaces, quotation marks, commas and backslashes")]
pub struct InvalidUsageKey;

impl UsageKey {
    /// Checks the value of a key.
    ///
    /// # Errors
    /// If API Gateway has no such key.
    pub fn new(value: impl Into<String>) -> Result<Self, InvalidUsageKey> {
        let value = value.into();
        let is_valid = value.bytes().all(|byte| byte.is_ascii_graphic() && !br#"",\"#.contains(&byte));
        if is_valid && (20..=128).contains(&value.len()) { Ok(Self(value)) } else { Err(InvalidUsageKey) }
    }

    /// The value.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_round_trips_and_needs_valid_parts() {
        for text in ["acme", "acme/ada", "acme/auth0|a/b"] {
            assert_eq!(UsageKeyHolder::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "/", "acme/", "/ada", "..", "acme/\n"] {
            assert!(UsageKeyHolder::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn key_has_the_length_and_characters_of_api_gateway() {
        for (value, is_valid) in [
            ("a".repeat(20), true),
            ("a".repeat(128), true),
            ("a".repeat(19), false),
            ("a".repeat(129), false),
            (format!("{} b", "a".repeat(20)), false),
            (format!("{}\u{fc}", "a".repeat(20)), false),
            (format!("{}\"", "a".repeat(20)), false),
        ] {
            assert_eq!(UsageKey::new(value.as_str()).is_ok(), is_valid, "{value}");
        }
    }
}
