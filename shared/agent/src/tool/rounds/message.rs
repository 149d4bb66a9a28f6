//! The part of a reply besides its calls.

use contracts::FileAddress;
use serde::{Deserialize, Serialize};

use super::long_value::long_value_address;
use crate::model::{HostedCall, Reasoning, ReplyItem, TextPart, Wire};

/// A reply that called tools, apart from the calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AssistantMessage {
    /// The model's text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The places of its texts among reasoning and calls, and their phases. Empty if they were not recorded: the text is then after the
    /// reasoning before the first call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text_parts: Vec<TextPart>,
    /// The file with the complete text if it is truncated here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_file: Option<FileAddress>,
    /// The reasoning that led to the calls, if the provider returns it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// Calls of the provider's own tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosted: Vec<HostedCall>,
    /// The requested model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The model's provider.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// The provider's wire. `None` if it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
}

impl AssistantMessage {
    /// Returns its texts, each with its place: the calls and the reasoning before it.
    pub(super) fn texts(&self) -> Vec<((usize, usize), ReplyItem)> {
        if self.text_parts.is_empty() {
            return vec![((0, usize::MAX), ReplyItem::text(self.text.as_str()))];
        }
        let texts = TextPart::split(&self.text_parts, &self.text).map(|(part, text)| {
            let item = ReplyItem::Text { text: text.to_owned(), phase: part.phase };
            ((part.calls_before, part.reasoning_before), item)
        });
        texts.collect()
    }

    /// Returns the address of the file with its text, if the text is long.
    #[must_use]
    pub fn text_file_address(&self) -> Option<FileAddress> {
        self.text_file.or_else(|| long_value_address(&self.text))
    }

    /// True if there is nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
            && self.text_file.is_none()
            && self.reasoning.is_empty()
            && self.hosted.is_empty()
            && self.provider.is_empty()
    }
}
