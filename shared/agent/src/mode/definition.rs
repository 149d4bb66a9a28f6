//! The definition of a mode.

use contracts::{Fingerprint, id::ModeKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::RagHint;
use crate::{
    members::{Count, Fits, Strings, Text, Typed, deprecation, line, table, text, words},
    tool::Definition,
};

/// The number of hex digits of an id.
const ID_DIGITS: usize = 32;
/// The maximum length of `Key`.
pub(super) const MAX_KEY_CHARS: usize = 64;
/// The maximum length of `DisplayName`.
pub(super) const MAX_DISPLAY_NAME_CHARS: usize = 80;
/// The maximum length of `WhenToUse`.
pub(super) const MAX_WHEN_TO_USE_CHARS: usize = 400;
const MAX_VERSION_CHARS: usize = 32;
const MAX_DESCRIPTION_CHARS: usize = 2_000;
const MAX_ITEMS: Count = Count(64, "items");
const ITEMS: Strings<Text> = Strings(MAX_ITEMS, text(2_000));

const ID: Fits = Fits {
    schema: || json!({ "pattern": "^[0-9a-f]{32}$" }),
    fits: |id| id.len() == ID_DIGITS && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
    fault: || format!("must be {ID_DIGITS} lowercase hex digits"),
};

const KEY: Fits = Fits {
    schema: || json!({ "maxLength": MAX_KEY_CHARS }),
    fits: |key| {
        let word = |word: &str| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        key.len() <= MAX_KEY_CHARS
            && key.starts_with(|c: char| c.is_ascii_lowercase())
            && key.split('_').all(word)
    },
    fault: || format!("must be snake_case with at most {MAX_KEY_CHARS} characters"),
};

table! {
    /// A mode: a way of working, and the tools that it brings.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Mode as "Mode" {
        /// Absent: derived from the key.
        #[serde(default)]
        pub id: String = ID,
        /// The key that sessions and requests use, in `snake_case`.
        pub key: ModeKey = KEY,
        /// The name that a client displays.
        pub display_name: String = line(MAX_DISPLAY_NAME_CHARS),
        /// A description for people who maintain it.
        pub description: String = text(MAX_DESCRIPTION_CHARS),
        /// The condition for changing to it: one line, for the model.
        pub when_to_use: String = line(MAX_WHEN_TO_USE_CHARS),
        /// True only for the mode that sessions start in by default.
        #[serde(default)]
        pub is_default: bool,
        /// Its lifecycle status.
        pub status: Status,
        /// The replacement to use. Set it to deprecate the document.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub deprecated: Option<String> = deprecation(),
        /// The version of this definition.
        pub version: String = line(MAX_VERSION_CHARS),
        /// Instructions for the model in this mode.
        #[serde(default)]
        pub mode_instructions: Vec<String> = ITEMS,
        /// Guidance on the model's behavior.
        #[serde(default)]
        pub behavior_hints: Vec<String> = ITEMS,
        /// Facts about the people that the model works with.
        #[serde(default)]
        pub human_role_hints: Vec<String> = ITEMS,
        /// Examples of user messages that call for it.
        #[serde(default)]
        pub example_utterances: Vec<String> = ITEMS,
        /// The server tools that it brings.
        #[serde(default)]
        pub associated_tool_ids: Vec<String> = ITEMS,
        /// The client tools that it brings.
        #[serde(default)]
        pub client_tools: Vec<Definition>,
        /// Kinds of tools that suit it.
        #[serde(default)]
        pub tool_group_hints: Vec<String> = ITEMS,
        /// Ranking hints for retrieval, each written Key=Value.
        #[serde(default)]
        pub rag_scope_hints: Vec<RagHint> = MAX_ITEMS,
        /// Words that call for it on their own.
        #[serde(default)]
        pub strong_signals: Vec<String> = ITEMS,
        /// Words that call for it together with others.
        #[serde(default)]
        pub weak_signals: Vec<String> = ITEMS,
    }
}

words!(Status);

impl Typed for RagHint {
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

/// The lifecycle status of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// In use.
    Active,
    /// In use, and may change or go.
    Experimental,
    /// No longer offered. Sessions that are in it stay in it.
    Deprecated,
}

impl Mode {
    /// Returns true if a session may change to it.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.status != Status::Deprecated
    }

    /// Returns the mode with an id derived from its key, if it states none.
    #[must_use]
    pub fn with_default_id(mut self) -> Self {
        if self.id.is_empty() {
            self.id = Fingerprint::hash_bytes(self.key.as_str().as_bytes()).to_string();
            self.id.truncate(ID_DIGITS);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_snake_case() {
        for good in ["general", "ddr_authoring", "a1_2b"] {
            assert!((KEY.fits)(good), "{good}");
        }
        let long = "a".repeat(MAX_KEY_CHARS + 1);
        for bad in ["", "General", "_a", "a_", "a__b", "1a", "a-b", "a b", "é", long.as_str()] {
            assert!(!(KEY.fits)(bad), "{bad}");
        }
    }
}
