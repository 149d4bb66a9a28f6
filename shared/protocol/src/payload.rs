//! Payloads: a turn's stored objects and their writers (rules 1 and 2).

use contracts::{FileAddress, Fingerprint};

use crate::id::{AttemptId, TurnKey};

/// The largest canonical request in bytes that is kept inline in the table until its turn becomes terminal. A larger one
/// costs more write units than its object.
pub const MAX_INLINE_REQUEST_BYTES: usize = 4_096;

/// A stored object of a turn. Storage maps each to an object key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Payload {
    /// The turn it belongs to.
    pub turn: TurnKey,
    /// The kind of object.
    pub kind: Kind,
}

/// The name of a stored request (rule 2). The loser of an id conflict can't store its text where the winner's turn
/// points, and a refused submission can't delete another submission's text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoredRequest {
    /// The request, as a hash.
    pub fingerprint: Fingerprint,
    /// The random id of the submission that stored it. Absent for turns from before submissions had ids.
    pub submission_id: Option<AttemptId>,
}

/// The kind of a turn's object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The whole request.
    Instruction(StoredRequest),
    /// An attempt's outcome object.
    Outcome(AttemptId),
    /// The attempt's state after this number of steps.
    Step(AttemptId, u32),
    /// A round before its calls with effects, under the attempt that sends them.
    Round(AttemptId, u32),
    /// The result of such a call: round, and place among the server's calls.
    EffectResult(AttemptId, u32, u32),
    /// The client's tool results, under the attempt that they resume.
    ToolResults(AttemptId),
    /// An attempt's answer text, Markdown.
    Answer(AttemptId),
    /// An attempt's partial answer at the time its turn was ended, Markdown.
    PartialAnswer(AttemptId),
    /// The request of a turn's n-th model call, under the attempt that made the call.
    ModelRequest(AttemptId, u32),
    /// The provider's response to that call.
    ModelResponse(AttemptId, u32),
    /// The conversation up to and including the turn, under the attempt that answered it. A copy for the next turn, which
    /// can do without it.
    History(AttemptId),
    /// A published file, addressed by its content.
    File {
        /// The hash of its bytes.
        address: FileAddress,
        /// Its name, one path segment.
        name: String,
    },
}

impl Kind {
    /// Returns the name of a file that holds it.
    #[must_use]
    pub fn file_name(&self) -> &str {
        match self {
            Self::Instruction(_) => "instruction.json",
            Self::Outcome(_) => "result.json",
            Self::Step(..) => "step.json",
            Self::Round(..) => "round.json",
            Self::EffectResult(..) => "effect.json",
            Self::ToolResults(_) => "tool-results.json",
            Self::Answer(_) => "answer.md",
            Self::PartialAnswer(_) => "partial-answer.md",
            Self::ModelRequest(..) => "llm-request.json",
            Self::ModelResponse(..) => "llm-response.json",
            Self::History(_) => "history.json",
            Self::File { name, .. } => name,
        }
    }

    /// Returns the media type that it is stored with. A published file with a media type of its own uses that
    /// instead.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        match self {
            Self::Instruction(_)
            | Self::Outcome(_)
            | Self::Step(..)
            | Self::Round(..)
            | Self::EffectResult(..)
            | Self::ToolResults(_)
            | Self::ModelRequest(..)
            | Self::ModelResponse(..)
            | Self::History(_) => "application/json",
            Self::Answer(_) | Self::PartialAnswer(_) => "text/markdown; charset=utf-8",
            Self::File { .. } => "application/octet-stream",
        }
    }
}
