//! Amazon Bedrock's Converse API: requests, and replies as frames of an event stream. Thoughts are signed, and refused if they
//! are changed.
//!
//! Only a model whose name has `anthropic.` or `amazon.nova` accepts cache points. A refusal ends with the stop reason
//! `content_filtered`, or with `guardrail_intervened` if the request has a guardrail. The model is recorded as the body's
//! `modelId`.

mod frame;
mod plan;
mod request;
mod validate;

use mock_model::{Wire, refusal::Layout};

pub use frame::event as converse_frame;

/// The API.
pub(crate) static CONVERSE: Wire = Wire {
    path: "/v1/model/{model}/converse-stream",
    conversation: "messages",
    media_type: "application/vnd.amazon.eventstream",
    errors: Some(Layout::Aws),
    overflow: Some(request::OVERFLOW),
    stores: false,
    authorize: request::authorize,
    read: request::read,
    lay_out: plan::lay_out,
};
