//! JSON objects with members that may be absent.

use serde_json::Value;

/// Returns an object with one more member, if it has a value.
pub(crate) fn with(mut object: Value, name: &str, value: Option<impl Into<Value>>) -> Value {
    if let (Value::Object(members), Some(value)) = (&mut object, value) {
        members.insert(name.to_owned(), value.into());
    }
    object
}
