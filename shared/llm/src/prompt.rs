//! The texts of a request, which all wires send in their own messages.
//!
//! Pure. The parts of a user message are, in order: mode and instruction, context, omitted earlier turns, active files,
//! attachments, tool results and updates. The orchestrator decides on prompts; only the fixed sentences under
//! `[INSTRUCTION]` are defined here.

use std::borrow::Cow;

use agent::model::model_settings::ModelSettings;
use agent::model::{Instruction, Message};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use contracts::response::ToolOutcome;

/// The text under `[INSTRUCTION]` if the user sent only files or images.
pub const FILES_ONLY: &str =
    "The user wrote no instruction. Work from the files and images that came with this message.";

/// The text under `[INSTRUCTION]` if a turn continues after tool calls.
pub const TOOL_RESULTS: &str =
    "Go on with the current turn from the tool results that came with this message.";

/// Returns the parts of the system message: the base prompt, which may be empty, and the non-blank parts.
pub(crate) fn system_parts<'a>(system: &'a str, parts: &'a [String]) -> impl Iterator<Item = &'a str> {
    std::iter::once(system).chain(parts.iter().filter_map(|part| non_blank(part)))
}

/// Returns the first part of a user message: the mode and the instruction.
pub(crate) fn mode_and_instruction(message: &Message) -> String {
    let instruction = match &message.instruction {
        Instruction::User(words) => words,
        Instruction::FilesAlone => FILES_ONLY,
        Instruction::ToolResults => TOOL_RESULTS,
    };
    format!("[MODE: {}]\n\n[INSTRUCTION]\n{instruction}", message.mode)
}

/// Returns the text parts before the attachments.
pub(crate) fn leading_parts(message: &Message) -> impl Iterator<Item = Cow<'_, str>> {
    let blocks = [&message.context_block, &message.earlier_turns_block, &message.files_block];
    let blocks = blocks.into_iter().filter_map(|block| non_blank(block.as_deref()?)).map(Cow::Borrowed);
    std::iter::once(Cow::Owned(mode_and_instruction(message))).chain(blocks)
}

/// Returns the update of a message, which comes last.
pub(crate) fn update(message: &Message) -> Option<&str> {
    message.update.as_deref().and_then(non_blank)
}

/// Returns the text of a message that only brings tool results, on a wire that carries the results themselves: nothing
/// unless there is an update.
///
/// Some chat templates refuse a user message after tool results, and models that get a text with every result tend to
/// end the turn.
pub(crate) fn update_after_results(message: &Message) -> Option<String> {
    update(message).map(|update| format!("[MODE: {}]\n\n{update}", message.mode))
}

/// True if the message only brings tool results.
pub(crate) fn only_brings_results(message: &Message) -> bool {
    message.instruction == Instruction::ToolResults
        && !message.tool_outputs.is_empty()
        && message.attachments.is_empty()
        && leading_parts(message).nth(1).is_none()
}

/// Returns the instruction for a format that the provider needn't enforce. The wires that use it
/// enforce every format they are given, and accept only schemas that they can enforce.
pub(crate) fn format_instruction(settings: &ModelSettings) -> Option<String> {
    if settings.json_object {
        return Some("Answer with one JSON object alone, without a code fence.".to_owned());
    }
    settings.text_format.as_ref().filter(|format| !format.strict).map(|format| {
        let description = format.description.as_deref().map(|text| format!(" {text}")).unwrap_or_default();
        format!(
            "Answer with JSON alone, without a code fence. It conforms to this JSON Schema, named {}.{description}\n\n{}",
            format.name, format.schema
        )
    })
}

/// Returns the output of a call: JSON text.
pub(crate) fn output_text(outcome: &ToolOutcome) -> Cow<'_, str> {
    match outcome {
        ToolOutcome::ResultJson(json) => Cow::Borrowed(json),
        ToolOutcome::ErrorMessage(message) => {
            Cow::Owned(serde_json::json!({ "ErrorMessage": message }).to_string())
        }
    }
}

/// Encodes a `data:` URL (RFC 2397).
pub(crate) fn data_url(media_type: &str, bytes: &[u8]) -> String {
    let mut url = format!("data:{media_type};base64,");
    STANDARD.encode_string(bytes, &mut url);
    url
}

/// Returns the text unless it is blank.
pub(crate) fn non_blank(part: &str) -> Option<&str> {
    (!part.trim().is_empty()).then_some(part)
}
