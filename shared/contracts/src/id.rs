//! Typed ids, so that no bare string crosses a boundary.
//!
//! Ids from a client go into paths and object keys, so they may hold only the unreserved characters of
//! RFC 3986. Ids from an identity provider are accepted as they are; code that builds a key from one
//! escapes it.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

/// What is percent-encoded in a segment of a path and in a part of a storage key: everything but the
/// unreserved characters of RFC 3986. Links and keys are stored, so this never changes.
pub const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The longest id that is accepted, in characters.
pub const MAX_ID_CHARS: usize = 128;

/// How many bytes an org's id may take in a key, where everything but letters, digits and `-._~` takes three
/// for each of its own. DynamoDB and S3 take keys of 1,024 bytes, which hold a session, a turn and a file's
/// name besides, and file systems take 255 for a folder's name.
pub const MAX_ORG_KEY_BYTES: usize = 255;

/// How many bytes a user's id may take in a key: nothing long stands beside it.
pub const MAX_USER_KEY_BYTES: usize = 1_000;

/// The id of the contexts that come with the service, one of each kind: what a session uses that names none.
pub const BUILT_IN_CONTEXT: &str = "default";

/// Why a string is not an id.
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
    /// The word has a meaning of its own in a path.
    #[error("is a reserved word")]
    Reserved,
}

fn unreserved(value: &str) -> Result<(), InvalidId> {
    sized(value)?;
    if !value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b)) {
        return Err(InvalidId::Character);
    }
    // `.` and `..` are path segments, `last` names the newest turn in the read API.
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
    // Path segments: a folder of this name is another one.
    if matches!(value, "." | "..") {
        return Err(InvalidId::Reserved);
    }
    if utf8_percent_encode(value, RESERVED).map(str::len).sum::<usize>() > most {
        return Err(InvalidId::KeyTooLong(most));
    }
    Ok(())
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
            /// Checks and wraps an id.
            ///
            /// # Errors
            /// When the string is not an id of this kind.
            pub fn new(value: impl Into<String>) -> Result<Self, InvalidId> {
                let value = value.into();
                $check(&value)?;
                Ok(Self(value))
            }

            /// The id as it is written on the wire.
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
    /// A session, minted by the client (AGN-034 §2.1).
    SessionId, unreserved
}
id! {
    /// A turn, minted by the client; unique within its session (AGN-033 §3.1).
    TurnId, unreserved
}
id! {
    /// An agent context (DD-002A).
    AgentContextId, unreserved
}
id! {
    /// A conversation context (DD-002A).
    ConversationContextId, unreserved
}
impl AgentContextId {
    /// The agent context that comes with the service.
    #[must_use]
    pub fn built_in() -> Self {
        Self(BUILT_IN_CONTEXT.to_owned())
    }
}

impl ConversationContextId {
    /// The conversation context that comes with the service.
    #[must_use]
    pub fn built_in() -> Self {
        Self(BUILT_IN_CONTEXT.to_owned())
    }
}

id! {
    /// The tenant, from the verified caller's claims.
    OrgId, org
}
id! {
    /// The user, from the verified caller's claims.
    UserId, user
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_an_identity_provider_is_taken_as_it_is_while_it_fits_a_key() {
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
    fn no_id_is_a_folder_of_another_meaning() {
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
