//! An estimate of the tokens of a request, for a call whose usage the provider doesn't tell.

use contracts::response::ToolOutcome;

use crate::{
    model::{Attachment, Chain, HistoryItem, Instruction, Message, ReplyItem, Request, ToolOutput},
    text::estimate_tokens,
};

impl Request {
    /// Estimates its tokens as composed. What a provider adds from its own records is unknown here: the conversation
    /// before a chained request.
    #[must_use]
    pub fn input_tokens(&self) -> u64 {
        let chain = match &self.chain {
            Chain::Initial { system, parts, history } => {
                let texts =
                    std::iter::once(system).chain(parts).map(String::len).fold(0, usize::saturating_add);
                history.iter().map(history_item).fold(Size::text(texts), Size::plus)
            }
            Chain::Continues { .. } => Size::default(),
        };
        let tools = self.tools.iter().map(|tool| {
            let schema = tool.parameters.to_string().len();
            tool.name.len().saturating_add(tool.description.len()).saturating_add(schema)
        });
        let Size { bytes, attached_tokens } =
            chain.plus(message(&self.message)).plus(Size::text(tools.fold(0, usize::saturating_add)));
        estimate_tokens(u64::try_from(bytes).unwrap_or(u64::MAX)).saturating_add(attached_tokens)
    }
}

/// The size of a part of a request.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    /// Bytes of text.
    bytes: usize,
    /// Tokens of images and documents.
    attached_tokens: u64,
}

impl Size {
    fn text(bytes: usize) -> Self {
        Self { bytes, attached_tokens: 0 }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            attached_tokens: self.attached_tokens.saturating_add(other.attached_tokens),
        }
    }
}

fn history_item(item: &HistoryItem) -> Size {
    match item {
        HistoryItem::Message(one) => message(one),
        HistoryItem::Reply(items) => Size::text(items.iter().map(reply_item).fold(0, usize::saturating_add)),
    }
}

fn reply_item(item: &ReplyItem) -> usize {
    match item {
        ReplyItem::Text { text, phase: _ } => text.len(),
        ReplyItem::Reasoning(reasoning) => reasoning.size(),
        ReplyItem::Hosted(call) => call.size(),
        ReplyItem::Call(call) => call.name.len().saturating_add(call.arguments.len()),
    }
}

fn message(message: &Message) -> Size {
    let Message { tool_outputs, mode, instruction, earlier_turns_block, context_block, files_block, .. } =
        message;
    let instruction = match instruction {
        Instruction::User(text) => text.len(),
        Instruction::FilesAlone | Instruction::ToolResults => 0,
    };
    let blocks = [earlier_turns_block, context_block, files_block, &message.update];
    let blocks = blocks.into_iter().flatten().map(String::len).fold(0, usize::saturating_add);
    let outputs = tool_outputs.iter().map(tool_output).fold(0, usize::saturating_add);
    let bytes = mode.len().saturating_add(instruction).saturating_add(blocks).saturating_add(outputs);
    let attached = message.attachments.iter().map(Attachment::tokens);
    Size { bytes, attached_tokens: attached.fold(0, u64::saturating_add) }
}

fn tool_output(output: &ToolOutput) -> usize {
    match &output.outcome {
        ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text) => text.len(),
    }
}
