//! Typed ids, so that no bare string crosses a boundary.
//!
//! Ids from a client go into paths and object keys, so they may hold only the unreserved characters of
//! RFC 3986. Ids from an identity provider are accepted as they are; code that builds a key from one
//! escapes it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest id that is accepted, in characters.
pub const MAX_ID_CHARS: usize = 128;

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

fn opaque(value: &str) -> Result<(), InvalidId> {
    sized(value)?;
    if value.chars().any(char::is_control) {
        return Err(InvalidId::Control);
    }
    Ok(())
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
id! {
    /// The tenant, from the verified caller's claims.
    OrgId, opaque
}
id! {
    /// The user, from the verified caller's claims.
    UserId, opaque
}
