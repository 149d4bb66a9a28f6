//! The APIs that a mock model offers. This crate has the Responses API; `mock-wires` adds others, for tests alone.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use serde_json::Value;

use crate::id::Issued;
use crate::plan::{self, Plan};
use crate::provider::{ErrorTemplate, Profile};
use crate::refusal::{Layout, Refusal};
use crate::reply::Reply;
use crate::request::ModelRequest;

/// An API: how requests are read, and replies laid out.
#[derive(Debug)]
pub struct Wire {
    /// Path of its requests. A parameter `model` of it is the member `modelId` of the request.
    pub path: &'static str,
    /// Member of a request that holds the conversation.
    pub conversation: &'static str,
    /// Media type of a stream.
    pub media_type: &'static str,
    /// Layout of errors. `None` if it is the provider's.
    pub errors: Option<Layout>,
    /// Error for an input that exceeds the model's context. `None` if it is the provider's.
    pub overflow: Option<ErrorTemplate>,
    /// True if responses can be stored.
    pub stores: bool,
    /// Refuses a request without a valid key.
    pub authorize: fn(&Profile, &HeaderMap) -> Result<(), Refusal>,
    /// Reads a request and checks it as the provider does.
    pub read: fn(&'static Profile, &Value) -> Result<ModelRequest, Refusal>,
    /// Lays out a reply.
    pub lay_out: fn(&ModelRequest, &Reply, Issued) -> Plan,
}

/// The Responses API.
pub static RESPONSES: Wire = Wire {
    path: "/v1/responses",
    conversation: "input",
    media_type: "text/event-stream",
    errors: None,
    overflow: None,
    stores: true,
    authorize: Profile::authorize,
    read: ModelRequest::read,
    lay_out: |asked, reply, issued| plan::lay_out(asked, reply, issued, now()),
};

/// Returns the seconds since 1970.
#[must_use]
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
