//! Events of a response's stream.

use serde_json::{Value, json};

/// An event of a response's stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent {
    /// The type.
    pub kind: &'static str,
    /// The position of the event.
    pub sequence_number: u64,
    data: Value,
}

impl StreamEvent {
    /// Creates an event. `data` is an object, to which type and number are added.
    pub(super) fn new(kind: &'static str, sequence_number: u64, mut data: Value) -> Self {
        if let Value::Object(members) = &mut data {
            members.insert("type".to_owned(), json!(kind));
            members.insert("sequence_number".to_owned(), json!(sequence_number));
        }
        Self { kind, sequence_number, data }
    }

    /// Returns the data.
    #[must_use]
    pub fn data(&self) -> &Value {
        &self.data
    }

    /// Formats the event as a server-sent event.
    #[must_use]
    pub fn to_sse(&self) -> String {
        format!("event: {}\ndata: {}\n\n", self.kind, self.data)
    }
}
