//! The body of `POST /v1/conversations`.

use serde_json::Value;

use super::{json_body, members::Members};
use crate::error::ApiError;

/// Checks the body of a new conversation, which may be absent. Only empty members are supported.
///
/// # Errors
/// Returns the first member that is invalid, unknown or not supported.
pub fn check_conversation(body: &[u8]) -> Result<(), ApiError> {
    if body.is_empty() {
        return Ok(());
    }
    let value = json_body(body)?;
    let members = Members::read(&value, "", &["items", "metadata"])?;
    for name in ["items", "metadata"] {
        let is_empty = match members.get(name) {
            None => true,
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Object(members)) => members.is_empty(),
            Some(_) => false,
        };
        if !is_empty {
            return Err(members.unsupported(name, "A conversation begins with its first response."));
        }
    }
    Ok(())
}
