//! Search results.

use serde::{Deserialize, Serialize};

use super::AgentSessionSummary;
use crate::id::TurnId;

/// A session that matches a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct FoundSession {
    /// Summary of the session.
    pub session: AgentSessionSummary,
    /// Matches in the session: name and description first, then turns, newest first. At most ten.
    pub matches: Vec<SearchMatch>,
}

/// A text that matches a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct SearchMatch {
    /// The text that matches.
    pub matched_in: MatchedIn,
    /// Id of the turn. Absent for the session's name and description.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub turn_id: Option<TurnId>,
    /// Sequence number of the turn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sequence_number: Option<u64>,
    /// Excerpt around the first match, on one line.
    pub snippet: String,
    /// Positions of the matched words in the snippet, in order.
    pub marks: Vec<SearchMark>,
}

/// A searchable text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MatchedIn {
    /// Name of the session.
    Name,
    /// Description of the session.
    Description,
    /// Beginning of a turn's instruction.
    Instruction,
    /// Beginning of a turn's answer.
    Answer,
}

/// Position of a matched word in a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct SearchMark {
    /// Start, in UTF-16 code units.
    pub start: u64,
    /// Length, in UTF-16 code units.
    pub length: u64,
}
