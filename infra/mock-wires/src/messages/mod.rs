//! Anthropic's Messages API: requests, and replies as events. Thoughts are signed, and refused if they are changed. A refusal
//! ends with the stop reason `refusal`.

mod plan;
mod request;
mod validate;

use mock_model::{Wire, refusal::Layout};

/// The API.
pub(crate) static MESSAGES: Wire = Wire {
    path: "/v1/messages",
    conversation: "messages",
    media_type: "text/event-stream",
    errors: Some(Layout::Typed),
    overflow: Some(request::OVERFLOW),
    stores: false,
    authorize: request::authorize,
    read: request::read,
    lay_out: plan::lay_out,
};
