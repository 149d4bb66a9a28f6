//! Members of JSON objects that are built in steps.

use serde_json::Value;

/// Sets a member of an object. Any other value stays as it is.
pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}
