//! What is stored as an object, and who its writer is (rules 1 and 2).

use contracts::{FileAddress, Fingerprint};

use crate::id::{AttemptId, TurnKey};

/// A stored object of a turn. Storage knows how each is spelled as a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Payload {
    /// The turn it belongs to.
    pub turn: TurnKey,
    /// Which of the turn's objects.
    pub kind: Kind,
}

/// Names a stored request (rule 2): the loser of an id conflict can't leave its text where the winner's turn
/// points, and a submission that is refused can't remove what another one's turn points to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoredRequest {
    /// The request, as a hash.
    pub fingerprint: Fingerprint,
    /// The submission that stored it, a random id; none of a turn from before submissions had one.
    pub by: Option<AttemptId>,
}

/// Which object of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The whole request.
    Instruction(StoredRequest),
    /// An attempt's outcome object.
    Outcome(AttemptId),
    /// How far an attempt got after so many steps of the work.
    Step(AttemptId, u32),
    /// The client's tool results, under the attempt that they resume.
    ToolResults(AttemptId),
    /// An attempt's answer text, Markdown.
    Answer(AttemptId),
    /// What there was of an attempt's answer when its turn was ended, Markdown.
    PartialAnswer(AttemptId),
    /// What was sent to the provider in a turn's n-th model call, under the attempt that made it.
    ModelRequest(AttemptId, u32),
    /// What the provider answered to it.
    ModelResponse(AttemptId, u32),
    /// A published file, addressed by its content.
    File {
        /// The hash of its bytes.
        address: FileAddress,
        /// Its name, one path segment.
        name: String,
    },
}

impl Kind {
    /// What a file that holds it is called.
    #[must_use]
    pub fn file_name(&self) -> &str {
        match self {
            Self::Instruction(_) => "instruction.json",
            Self::Outcome(_) => "result.json",
            Self::Step(..) => "step.json",
            Self::ToolResults(_) => "tool-results.json",
            Self::Answer(_) => "answer.md",
            Self::PartialAnswer(_) => "partial-answer.md",
            Self::ModelRequest(..) => "llm-request.json",
            Self::ModelResponse(..) => "llm-response.json",
            Self::File { name, .. } => name,
        }
    }

    /// The media type it is stored with; a file that has one of its own is stored with that.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        match self {
            Self::Instruction(_)
            | Self::Outcome(_)
            | Self::Step(..)
            | Self::ToolResults(_)
            | Self::ModelRequest(..)
            | Self::ModelResponse(..) => "application/json",
            Self::Answer(_) | Self::PartialAnswer(_) => "text/markdown; charset=utf-8",
            Self::File { .. } => "application/octet-stream",
        }
    }
}
