//! What a search finds.

use serde::{Deserialize, Serialize};

use super::AgentSessionSummary;
use crate::id::TurnId;

/// A session in which the words of a search stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct FoundSession {
    /// The session, as a list shows it.
    pub session: AgentSessionSummary,
    /// Where the words stand: in its name and description first, then in its turns, newest first; at most ten.
    pub matches: Vec<SearchMatch>,
}

/// A text in which words of a search stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct SearchMatch {
    /// Which text it is.
    pub matched_in: MatchedIn,
    /// Whose; absent for the session's own texts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn_id: Option<TurnId>,
    /// That turn's place in the session.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sequence_number: Option<u64>,
    /// The part of the text around the first word, on one line.
    pub snippet: String,
    /// Where the words stand in the snippet, in order.
    pub marks: Vec<SearchMark>,
}

/// A text that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MatchedIn {
    /// The session's name.
    Name,
    /// The session's description.
    Description,
    /// The head of a turn's instruction.
    Instruction,
    /// The head of a turn's answer.
    Answer,
}

/// A word in a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct SearchMark {
    /// Where it begins, in UTF-16 code units.
    pub start: u64,
    /// How long it is, in UTF-16 code units.
    pub length: u64,
}
