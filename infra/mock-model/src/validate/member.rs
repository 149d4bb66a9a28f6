//! Access to members of a request.

use serde_json::{Map, Value};

/// Returns a member that is present and not null.
pub(super) fn given<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}
