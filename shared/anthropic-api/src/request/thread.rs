//! Reads `thread`.

use histories::TurnRound;

use super::Members;
use crate::{
    error::{ApiError, ThreadErrorCode},
    id,
};

/// The thread of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thread {
    /// A new thread, which the message's id names. Every message may be continued, so it asks for nothing.
    Create,
    /// The thread of the previous message.
    Continue(TurnRound),
}

impl Thread {
    /// Reads `thread`.
    pub(crate) fn read(members: &Members<'_>) -> Result<Option<Self>, ApiError> {
        let Some(thread) = members.object("thread")? else { return Ok(None) };
        match thread.required_text("type")? {
            "create" => thread.only(&["type"]).map(|()| Some(Self::Create)),
            "continue" => {
                thread.only(&["type", "previous_message_id"])?;
                let fixed = ["system", "tools"].into_iter().find(|name| members.get(name).is_some());
                if let Some(name) = fixed {
                    let message =
                        format!("{name}: a thread keeps the value that it was created with. Omit it");
                    return Err(ApiError::thread(ThreadErrorCode::FingerprintMismatch, message));
                }
                let choice =
                    members.object("tool_choice")?.map(|choice| choice.required_text("type")).transpose()?;
                if choice.is_some_and(|choice| choice != "auto") {
                    let message =
                        "tool_choice: a request that continues a thread has no tools to choose from";
                    return Err(ApiError::thread(ThreadErrorCode::UnsupportedRequest, message));
                }
                let previous = id::turn_of_message(thread.required_text("previous_message_id")?);
                previous.map(|previous| Some(Self::Continue(previous))).ok_or_else(ApiError::thread_not_found)
            }
            _ => Err(thread.rule("type", "Input should be 'create' or 'continue'")),
        }
    }
}
