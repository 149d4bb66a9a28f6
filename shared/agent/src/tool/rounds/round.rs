//! A tool round, and its items for a replay.

use serde::{Deserialize, Serialize};

use super::{AssistantMessage, ModelCallInfo, ToolCallRecord, outcome_text};
use crate::{
    model::{HostedCall, Instruction, Reasoning, TextPart, ToolOutput},
    text::{may_be_truncated, truncate},
};

/// Maximum size of a truncated value, in bytes.
const MAX_BRIEF_VALUE_BYTES: usize = 4 << 10;

/// A reply that called tools, with the calls and their results.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Round {
    /// The reply apart from the calls.
    #[serde(skip_serializing_if = "AssistantMessage::is_empty")]
    pub message: AssistantMessage,
    /// The calls, in the model's order.
    pub calls: Vec<ToolCallRecord>,
    /// A text of the user that came with the results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// The mode of the request that carried the results. `None` if it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The model call that returned the reply. `None` if it was not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_call: Option<ModelCallInfo>,
}

impl Round {
    /// Returns the outputs of its calls for the provider that made them, in the model's order.
    #[must_use]
    pub fn outputs(&self) -> Vec<ToolOutput> {
        self.calls.iter().filter_map(ToolCallRecord::output).collect()
    }

    /// Returns the instruction of the message that brings its results.
    #[must_use]
    pub fn next_instruction(&self) -> Instruction {
        self.instruction.clone().map_or(Instruction::ToolResults, Instruction::User)
    }

    /// Truncates long values and drops reasoning and hosted calls.
    #[must_use]
    pub fn brief(&self) -> Self {
        let text = truncate(self.message.text.clone(), MAX_BRIEF_VALUE_BYTES);
        Self {
            message: AssistantMessage {
                text_parts: TextPart::of_form(&self.message.text_parts, &self.message.text, &text),
                text,
                text_file: self.message.text_file_address(),
                model: self.message.model.clone(),
                provider: self.message.provider.clone(),
                wire: self.message.wire,
                ..AssistantMessage::default()
            },
            calls: self.calls.iter().map(|call| call.brief(MAX_BRIEF_VALUE_BYTES)).collect(),
            instruction: self.instruction.clone(),
            mode: self.mode.clone(),
            model_call: self.model_call.clone(),
        }
    }

    /// True if one of its values is truncated.
    #[must_use]
    pub fn has_truncated_values(&self) -> bool {
        let values = self
            .calls
            .iter()
            .flat_map(|call| [Some(call.arguments.as_str()), call.outcome.as_ref().map(outcome_text)]);
        values.flatten().chain([self.message.text.as_str()]).any(may_be_truncated)
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let calls: usize = self.calls.iter().map(ToolCallRecord::size).sum();
        let reasoning: usize = self.message.reasoning.iter().map(Reasoning::size).sum();
        let hosted: usize = self.message.hosted.iter().map(HostedCall::size).sum();
        let instruction = self.instruction.as_ref().map_or(0, String::len);
        self.message.text.len() + instruction + reasoning + hosted + calls
    }
}
