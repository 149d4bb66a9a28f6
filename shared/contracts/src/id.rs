//! Typed ids, so that no bare string crosses a module boundary.
//!
//! Ids from a client go into paths and object keys, so they hold only the unreserved characters of RFC 3986. Ids
//! from an identity provider are accepted as they are, and code that builds a key from one escapes it.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

/// The characters that are percent-encoded in a path segment and in a part of a storage key: all but the unreserved
/// characters of RFC 3986. Links and keys are stored, so this set must never change.
pub const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The longest id that is accepted, in characters.
pub const MAX_ID_CHARS: usize = 128;

/// The most bytes that an org id may take in a key, percent-encoded. DynamoDB and S3 limit keys to 1,024 bytes,
/// which must also hold a session, a turn and a file name. File systems limit a folder name to 255.
pub const MAX_ORG_KEY_BYTES: usize = 255;

/// The most bytes that a user id may take in a key, percent-encoded. Nothing long shares the key with it.
pub const MAX_USER_KEY_BYTES: usize = 1_000;

/// The longest id of a connection. With the name of a tool it must fit into 64 characters.
pub const MAX_CONNECTION_ID_CHARS: usize = 32;

/// The id of the built-in agent context and conversation context. Sessions that name no context use them.
pub const BUILT_IN_CONTEXT: &str = "default";

/// The reason why a string is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// The string is empty.
    #[error("must not be empty")]
    Empty,
    /// The string has more than [`MAX_ID_CHARS`] characters.
    #[error("must have at most {MAX_ID_CHARS} characters")]
    TooLong,
    /// A character outside the accepted set.
    #[error("may hold only letters, digits and - . _ ~")]
    Character,
    /// The id is too long for a key.
    #[error(
        "must take at most {0} bytes in a key, where each byte but letters, digits and - . _ ~ counts as three"
    )]
    KeyTooLong(usize),
    /// A control character, which no id may hold.
    #[error("must not hold control characters")]
    Control,
    /// The word has a special meaning in a path.
    #[error("is a reserved word")]
    Reserved,
    /// Not the id of a connection, which is a part of the names of its tools, or of a webhook.
    #[error(
        "must have 1 to {MAX_CONNECTION_ID_CHARS} lowercase letters, digits and hyphens, and begin with a letter"
    )]
    Connection,
}

fn unreserved(value: &str) -> Result<(), InvalidId> {
    sized(value)?;
    if !value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b)) {
        return Err(InvalidId::Character);
    }
    // `.` and `..` are path segments. `last` names the newest turn in the read API.
    if matches!(value, "." | ".." | "last") {
        return Err(InvalidId::Reserved);
    }
    Ok(())
}

fn opaque(value: &str, most: usize) -> Result<(), InvalidId> {
    sized(value)?;
    if value.chars().any(char::is_control) {
        return Err(InvalidId::Control);
    }
    // As path segments these name another folder.
    if matches!(value, "." | "..") {
        return Err(InvalidId::Reserved);
    }
    if utf8_percent_encode(value, RESERVED).map(str::len).sum::<usize>() > most {
        return Err(InvalidId::KeyTooLong(most));
    }
    Ok(())
}

fn connection(value: &str) -> Result<(), InvalidId> {
    let is_valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match value.len() <= MAX_CONNECTION_ID_CHARS
        && value.starts_with(|first: char| first.is_ascii_lowercase())
        && value.bytes().all(is_valid)
    {
        true => Ok(()),
        false => Err(InvalidId::Connection),
    }
}

fn org(value: &str) -> Result<(), InvalidId> {
    opaque(value, MAX_ORG_KEY_BYTES)
}

fn user(value: &str) -> Result<(), InvalidId> {
    opaque(value, MAX_USER_KEY_BYTES)
}

fn sized(value: &str) -> Result<(), InvalidId> {
    if value.is_empty() {
        return Err(InvalidId::Empty);
    }
    if value.chars().count() > MAX_ID_CHARS {
        return Err(InvalidId::TooLong);
    }
    Ok(())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $check:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Validates an id.
            ///
            /// # Errors
            /// If the string is not an id of this kind.
            pub fn new(value: impl Into<String>) -> Result<Self, InvalidId> {
                let value = value.into();
                $check(&value)?;
                Ok(Self(value))
            }

            /// The id as it appears on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(value: &str) -> Result<Self, InvalidId> {
                Self::new(value)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(value: String) -> Result<Self, InvalidId> {
                Self::new(value)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The id of a session, chosen by the client.
    SessionId, unreserved
}
id! {
    /// The id of a turn, chosen by the client. Unique within its session.
    TurnId, unreserved
}
id! {
    /// The id of an agent context.
    AgentContextId, unreserved
}
id! {
    /// The id of a conversation context.
    ConversationContextId, unreserved
}
id! {
    /// The key of a mode. Its id in the API.
    ModeKey, unreserved
}
id! {
    /// The id of a connection: lowercase letters, digits and hyphens.
    ConnectionId, connection
}
id! {
    /// The id of a webhook: lowercase letters, digits and hyphens.
    WebhookId, connection
}
impl AgentContextId {
    /// The built-in agent context.
    #[must_use]
    pub fn built_in() -> Self {
        Self(BUILT_IN_CONTEXT.to_owned())
    }
}

impl ConversationContextId {
    /// The built-in conversation context.
    #[must_use]
    pub fn built_in() -> Self {
        Self(BUILT_IN_CONTEXT.to_owned())
    }
}

id! {
    /// The id of a tenant, from the caller's verified claims.
    OrgId, org
}
id! {
    /// The id of a user, from the caller's verified claims.
    UserId, user
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_ids_accepted_if_they_fit_a_key() {
        for fits in
            ["acme", "auth0|añb", "a b/..", "...", &"x".repeat(128), &"/".repeat(85), &"組".repeat(28)]
        {
            assert!(OrgId::new(fits).is_ok() && UserId::new(fits).is_ok(), "{fits}");
        }
        for too_long in ["/".repeat(86), "組".repeat(29)] {
            assert_eq!(OrgId::new(&too_long), Err(InvalidId::KeyTooLong(255)));
            assert!(UserId::new(&too_long).is_ok());
        }
        assert!(UserId::new("組".repeat(111)).is_ok());
        assert_eq!(UserId::new("組".repeat(112)), Err(InvalidId::KeyTooLong(1_000)));
    }

    #[test]
    fn dot_segments_rejected_as_ids() {
        for word in [".", ".."] {
            assert_eq!(OrgId::new(word), Err(InvalidId::Reserved));
            assert_eq!(UserId::new(word), Err(InvalidId::Reserved));
            assert_eq!(SessionId::new(word), Err(InvalidId::Reserved));
            assert_eq!(TurnId::new(word), Err(InvalidId::Reserved));
            assert_eq!(AgentContextId::new(word), Err(InvalidId::Reserved));
            assert_eq!(ConversationContextId::new(word), Err(InvalidId::Reserved));
        }
    }
}
