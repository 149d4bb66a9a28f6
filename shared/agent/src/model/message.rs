//! The input of a model call.

use bytes::Bytes;
use contracts::request::UserTurn;
use serde::{Deserialize, Serialize};

use crate::model::ToolOutput;

/// The input of one model call: outputs of tool calls, then one user message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Outputs for the previous reply's calls, in the model's order.
    pub tool_outputs: Vec<ToolOutput>,
    /// The mode's key, for `[MODE: …]`.
    pub mode: String,
    /// Content under `[INSTRUCTION]`.
    pub instruction: Instruction,
    /// Complete block about earlier turns that are not replayed.
    pub earlier_turns_block: Option<String>,
    /// Complete `[CONTEXT]` block.
    pub context_block: Option<String>,
    /// Complete block with the text of the active files.
    pub files_block: Option<String>,
    /// Files and images that the provider reads itself.
    pub attachments: Vec<Attachment>,
    /// Changes to the mode's instructions or the solution context since the last request.
    pub update: Option<String>,
}

impl Message {
    /// Creates a message for tool results in this mode, with no outputs yet.
    #[must_use]
    pub fn in_mode(mode: &str) -> Self {
        Self {
            tool_outputs: Vec::new(),
            mode: mode.to_owned(),
            instruction: Instruction::ToolResults,
            earlier_turns_block: None,
            context_block: None,
            files_block: None,
            attachments: Vec::new(),
            update: None,
        }
    }
}

/// A file that the provider reads itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all_fields = "PascalCase")]
pub enum Attachment {
    /// An image in a format that the API accepts (`input_image`).
    Image {
        /// Media type.
        media_type: String,
        /// Content.
        #[serde(with = "base64_bytes")]
        bytes: Bytes,
    },
    /// A document in a format that the API accepts (`input_file`).
    File {
        /// File name, which the model sees.
        name: String,
        /// Media type.
        media_type: String,
        /// Content.
        #[serde(with = "base64_bytes")]
        bytes: Bytes,
    },
}

impl Attachment {
    /// Estimates its tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let (Self::Image { bytes, .. } | Self::File { bytes, .. }) = self;
        attached_tokens(bytes.len())
    }
}

/// Estimates the tokens of an image or a document of this size, which only the provider knows: one per 64 bytes, and at
/// least 1,000.
pub(crate) fn attached_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes / 64).unwrap_or(u64::MAX).max(1_000)
}

/// The content under `[INSTRUCTION]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instruction {
    /// The user's text.
    User(String),
    /// The user sent only files or images.
    FilesAlone,
    /// The turn continues from tool results.
    ToolResults,
}

impl Instruction {
    /// Returns the instruction of a user's request.
    #[must_use]
    pub fn from_request(request: &UserTurn) -> Self {
        let has_files = !request.input_artifacts.is_empty() || !request.clipboard_images.is_empty();
        match &request.instruction {
            Some(text) => Self::User(text.clone()),
            // Without an input of its own, the turn answers the results that its ancestry ends with.
            None if !has_files && !request.ancestry.is_empty() => Self::ToolResults,
            None => Self::FilesAlone,
        }
    }
}

/// Bytes as Base64 text in JSON.
mod base64_bytes {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Bytes::from).map_err(D::Error::custom)
    }
}
