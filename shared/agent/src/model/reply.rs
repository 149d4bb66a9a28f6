//! The reply of a model call.

use contracts::response::ToolOutcome;
use serde::{Deserialize, Serialize};

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The provider's id of the response, for later requests to continue from.
    pub response_id: String,
    /// The model, as the provider reports it.
    pub model: String,
    /// The text, with its segments separated by a blank line. A refusal is text too.
    pub text: String,
    /// Function calls, in the model's order.
    pub calls: Vec<FunctionCall>,
    /// True if the provider stored the reply for later requests to continue from. False if `store` was not set, or if
    /// the provider reports that it stored nothing or ignored the response to continue from.
    pub is_stored: bool,
    /// True if the text ends at the token limit.
    pub is_truncated: bool,
    /// True if the text differs from the streamed text and replaces it.
    pub replaces_stream: bool,
    /// The places of its texts among reasoning and calls, in order. Empty if the wire has no such order.
    pub text_parts: Vec<TextPart>,
    /// The reasoning before its calls, if requested and returned.
    pub reasoning: Vec<Reasoning>,
    /// Calls of the provider's own tools.
    pub hosted: Vec<HostedCall>,
}

/// The place of one of a reply's texts, and its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TextPart {
    /// Number of the reply's function calls before it.
    pub calls_before: usize,
    /// Number of the reply's reasoning items before it.
    pub reasoning_before: usize,
    /// Start in the reply's text, in bytes. A blank line separates it from the text before it.
    pub start: usize,
    /// The phase, if the provider labels its messages.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phase: Option<MessagePhase>,
}

impl TextPart {
    /// Splits a text at its parts.
    pub fn split<'a>(parts: &'a [Self], text: &'a str) -> impl Iterator<Item = (Self, &'a str)> {
        let ends = parts.iter().skip(1).map(|next| next.start).chain([text.len()]);
        parts.iter().zip(ends).filter_map(|(part, end)| {
            let text = text.get(part.start..end)?;
            Some((*part, text.strip_prefix("\n\n").filter(|_| part.start > 0).unwrap_or(text)))
        })
    }

    /// Returns the parts for a form of their text. A text that was changed is one part, in the phase of the last one.
    #[must_use]
    pub fn of_form(parts: &[Self], text: &str, form: &str) -> Vec<Self> {
        if text == form {
            return parts.to_vec();
        }
        parts
            .first()
            .zip(parts.last())
            .map_or_else(Vec::new, |(first, last)| vec![Self { start: 0, phase: last.phase, ..*first }])
    }
}

/// The phase of a message, if its provider labels messages. A request that repeats the message repeats the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagePhase {
    /// Text between steps of the work.
    Commentary,
    /// The answer.
    FinalAnswer,
}

impl MessagePhase {
    /// Returns the phase of this name. `None` for an unknown one, which other providers would refuse.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Commentary, Self::FinalAnswer].into_iter().find(|phase| phase.name() == name)
    }

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commentary => "commentary",
            Self::FinalAnswer => "final_answer",
        }
    }
}

/// An item of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyItem {
    /// A message.
    Text {
        /// The text.
        text: String,
        /// The phase, for a provider that labels its messages.
        phase: Option<MessagePhase>,
    },
    /// Reasoning.
    Reasoning(Reasoning),
    /// A call of one of the provider's tools.
    Hosted(HostedCall),
    /// A call of a function tool.
    Call(FunctionCall),
}

impl ReplyItem {
    /// Creates a message without a phase.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), phase: None }
    }
}

/// A call of one of the provider's tools, as the provider returned it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct HostedCall {
    /// Number of the reply's function calls before it.
    pub calls_before: usize,
    /// Number of the reply's reasoning items before it.
    pub reasoning_before: usize,
    /// The item.
    pub item: serde_json::Value,
}

impl HostedCall {
    /// Returns its approximate size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.item.to_string().len()
    }
}

/// The model's reasoning, which only its provider can use. Most providers encrypt or sign it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Reasoning {
    /// Number of the reply's function calls before it.
    pub calls_before: usize,
    /// The provider's id of the item, or its name on a wire without ids.
    pub id: String,
    /// The provider's summary, as received.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub summary: Vec<serde_json::Value>,
    /// The content: encrypted, signed, or as the provider returned it.
    pub encrypted: String,
}

impl Reasoning {
    /// Returns its approximate size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let summary: usize = self.summary.iter().map(|part| part.to_string().len()).sum();
        self.id.len() + self.encrypted.len() + summary
    }
}

/// The output of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The call.
    pub call: FunctionCall,
    /// Result or error.
    pub outcome: ToolOutcome,
}

/// A call that the model requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCall {
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// Arguments, as JSON text written by the model.
    pub arguments: String,
}
