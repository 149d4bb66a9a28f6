//! The Chat Completions API: requests, and replies as chunks. Thoughts are `reasoning_content`.
//!
//! A model whose name has `gemini` signs the call that follows, and refuses it without its signature. A model whose name has
//! `mistral` refuses `stream_options`, a user message after a tool's, and ids of calls without nine letters and digits.

mod plan;
mod request;
mod validate;

use mock_model::{Wire, provider::Profile};

/// The API.
pub(crate) static CHAT: Wire = Wire {
    path: "/v1/chat/completions",
    conversation: "messages",
    media_type: "text/event-stream",
    errors: None,
    overflow: None,
    stores: false,
    authorize: Profile::authorize,
    read: request::read,
    lay_out: plan::lay_out,
};
