//! Kinds of values: each reads a member's value and describes it with the same bounds.

#![cfg_attr(
    not(feature = "openapi"),
    allow(dead_code, reason = "only the document shows some parts of a shape")
)]

use std::str::FromStr;

use super::{
    json::Json,
    limits::{MAX_HINT_CHARS, MAX_SESSION_NAME_CHARS},
    value,
    violations::{Location, Violations},
};
use crate::{
    id::{AgentContextId, ConversationContextId, InvalidId, SessionId, TurnId},
    schema::Schema,
};

/// The form of a value, with its bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// A value of a type with a schema of its own.
    Named(Schema),
    /// A string of at most so many characters. The pattern expresses as much of a rule as it can.
    Text { max_chars: usize, pattern: Option<&'static str>, media_type: Option<&'static str> },
    /// A whole number within bounds, in 32 bits or in 64.
    Integer { min: i64, max: i64, is_long: bool },
    /// A number of milliseconds, fractions included.
    Milliseconds { max: i64 },
    /// True or false.
    Flag,
    /// An array of strings.
    Lines { max: usize },
    /// An array of values of a type with a schema of its own.
    List { items: Schema, min: usize, max: usize },
}

impl Shape {
    /// The most characters or items of a value.
    pub(crate) fn max(&self) -> usize {
        match self {
            Self::Text { max_chars: max, .. } | Self::Lines { max } | Self::List { max, .. } => *max,
            Self::Named(_) | Self::Integer { .. } | Self::Milliseconds { .. } | Self::Flag => usize::MAX,
        }
    }

    /// Returns a whole number within the bounds.
    pub(crate) fn integer<T: TryFrom<i64>>(&self, json: &Json<'_>) -> Option<T> {
        match (self, json) {
            (Self::Integer { min, max, .. }, Json::Integer(number)) if (*min..=*max).contains(number) => {
                T::try_from(*number).ok()
            }
            _ => None,
        }
    }
}

/// Reads a value of a shape, or adds a violation.
pub(crate) type ReadValue<T> = fn(&Shape, &Json<'_>, &Location<'_>, &mut Violations) -> Option<T>;

/// A kind of value.
#[derive(Clone, Copy)]
pub(crate) struct Kind<T> {
    pub(crate) shape: Shape,
    pub(crate) read: ReadValue<T>,
}

/// A string of any line lengths.
pub(crate) const fn text(max_chars: usize) -> Kind<String> {
    Kind {
        shape: Shape::Text { max_chars, pattern: None, media_type: None },
        read: |shape, json, at, violations| value::text(json, shape.max(), at, violations).map(str::to_owned),
    }
}

/// A string of one line, which is not blank.
pub(crate) const fn line(max_chars: usize) -> Kind<String> {
    Kind {
        shape: Shape::Text { max_chars, pattern: Some(r"\S"), media_type: None },
        read: |shape, json, at, violations| value::line(json, shape.max(), at, violations).map(str::to_owned),
    }
}

/// A whole number of a type, within bounds.
pub(crate) const fn integer<T>(min: i64, max: i64) -> Shape {
    Shape::Integer { min, max, is_long: size_of::<T>() > 4 }
}

/// The number of a version, which is stored as 32 bits, from a minimum.
pub(crate) const fn version(min: i64) -> Shape {
    integer::<u32>(min, u32::MAX as i64)
}

/// True or false.
pub(crate) const FLAG: Kind<bool> =
    Kind { shape: Shape::Flag, read: |_, json, at, violations| value::boolean(json, at, violations) };

/// A value of a type with a schema of its own.
pub(crate) const fn named<T>(schema: Schema, read: ReadValue<T>) -> Kind<T> {
    Kind { shape: Shape::Named(schema), read }
}

/// A closed set of words.
pub(crate) trait Words: Copy + 'static {
    /// Every word with its value.
    const WORDS: &'static [(&'static str, Self)];
}

/// One of a closed set of words.
pub(crate) const fn word<T: Words>(schema: Schema) -> Kind<T> {
    named(schema, |_, json, at, violations| value::word(json, T::WORDS, at, violations))
}

/// An advisory hint.
pub(crate) const HINT: Kind<String> = named(Schema::of::<Hint>("Hint"), |_, json, at, violations| {
    value::line(json, MAX_HINT_CHARS, at, violations).map(str::to_owned)
});

/// The display name of a session.
pub(crate) const SESSION_NAME: Kind<String> =
    named(Schema::of::<SessionName>("SessionName"), |_, json, at, violations| {
        value::name(json, MAX_SESSION_NAME_CHARS, at, violations).map(str::to_owned)
    });

pub(crate) const SESSION_ID: Kind<SessionId> = id(Schema::of::<SessionId>("SessionId"));
pub(crate) const TURN_ID: Kind<TurnId> = id(Schema::of::<TurnId>("TurnId"));
pub(crate) const AGENT_CONTEXT_ID: Kind<AgentContextId> = id(Schema::of::<AgentContextId>("AgentContextId"));
pub(crate) const CONVERSATION_CONTEXT_ID: Kind<ConversationContextId> =
    id(Schema::of::<ConversationContextId>("ConversationContextId"));

const fn id<T: FromStr<Err = InvalidId>>(schema: Schema) -> Kind<T> {
    named(schema, |_, json, at, violations| value::id(json, at, violations))
}

/// Declares a kind of string without a type of its own, by the name of its schema.
macro_rules! strings {
    ($($(#[$doc:meta])+ $name:ident;)+) => {$(
        $(#[$doc])+
        #[derive(Debug)]
        pub(crate) struct $name;
    )+};
}

strings! {
    /// A line of text, such as a hint or a name.
    Hint;
    /// A media type.
    MimeType;
    /// A client's id of an image.
    ImageId;
    /// The Base64 data of an image.
    ImageData;
    /// The key of a retrieval condition.
    RagKey;
    /// A text that a retrieval condition compares with.
    RagText;
    /// The display name of a session.
    SessionName;
    /// The id of a tool call.
    ToolCallId;
}
