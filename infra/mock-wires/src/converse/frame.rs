//! Frames of AWS's binary event stream, written by the library of the AWS SDK.

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use bytes::Bytes;
use serde_json::Value;

/// Returns the frame of an event. Its payload needn't be JSON.
pub fn event(kind: &str, payload: &dyn ToString) -> Bytes {
    frame("event", ":event-type", kind, payload)
}

/// Returns the frame of an exception.
pub(super) fn exception(kind: &str, payload: &Value) -> Bytes {
    frame("exception", ":exception-type", kind, payload)
}

/// Returns a frame whose checksum is wrong.
pub(super) fn damaged() -> Bytes {
    let mut bytes = event("contentBlockDelta", &Value::Null).to_vec();
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    bytes.into()
}

fn frame(message_type: &str, kind_header: &'static str, kind: &str, payload: &dyn ToString) -> Bytes {
    let header =
        |name: &'static str, value: &str| Header::new(name, HeaderValue::String(value.to_owned().into()));
    let headers = vec![
        header(kind_header, kind),
        header(":content-type", "application/json"),
        header(":message-type", message_type),
    ];
    let mut bytes = Vec::new();
    let written = write_message_to(&Message::new_from_parts(headers, payload.to_string()), &mut bytes);
    // It fails for names and values of headers that are too long, which a script can't state.
    if written.is_err() {
        bytes.clear();
    }
    bytes.into()
}
