//! Decodes AWS's binary event stream, `application/vnd.amazon.eventstream`, in chunks of any size.
//!
//! The frames are decoded by the library of the AWS SDK, which checks their lengths and checksums. It has no limit for a
//! frame, so the length that a frame announces is limited here. An exception becomes an event with the kind [`EXCEPTION`].

use aws_smithy_eventstream::frame::read_message_from;
use bytes::BytesMut;
use serde_json::{Map, Value, json};

use crate::json;
use crate::sse::Event;

/// The kind of an event that reports an exception. Its data has the name as `type`, and the `message`.
pub const EXCEPTION: &str = "exception";

/// A frame can't be read, or exceeds the limit. The stream can't be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame of the stream is malformed or exceeds the size limit")]
pub struct Unreadable;

/// The decoder of a stream.
#[derive(Debug)]
pub struct Decoder {
    /// The most bytes of a frame.
    limit: usize,
    /// The start of an unfinished frame.
    buffer: BytesMut,
}

impl Decoder {
    /// Creates a decoder for a new stream.
    pub fn new(limit: usize) -> Self {
        Self { limit, buffer: BytesMut::new() }
    }

    /// Reads a chunk and passes each completed event to `sink`. An event that is unfinished at the end of the stream is
    /// never emitted.
    ///
    /// # Errors
    ///
    /// [`Unreadable`], after passing on the events before it.
    pub fn push(&mut self, chunk: &[u8], sink: &mut impl FnMut(Event)) -> Result<(), Unreadable> {
        self.buffer.extend_from_slice(chunk);
        // A frame begins with its length.
        while let Some(length) = self.buffer.first_chunk().map(|length| u32::from_be_bytes(*length)) {
            let length =
                usize::try_from(length).ok().filter(|length| *length <= self.limit).ok_or(Unreadable)?;
            if self.buffer.len() < length {
                break;
            }
            let message = read_message_from(self.buffer.split_to(length)).map_err(|_| Unreadable)?;
            let header = |name: &str| {
                let header = message.headers().iter().find(|header| header.name().as_str() == name);
                header.and_then(|header| header.value().as_string().ok()).map(|value| value.as_str())
            };
            sink(event(header, message.payload()).ok_or(Unreadable)?);
        }
        Ok(())
    }
}

/// Returns the event of a frame with these headers. `None` without a known type of message.
fn event<'a>(header: impl Fn(&str) -> Option<&'a str>, payload: &[u8]) -> Option<Event> {
    let exception = |mut members: Map<String, Value>, name: &str| {
        members.insert("type".to_owned(), json!(name));
        Event { kind: EXCEPTION.to_owned(), data: Value::Object(members).to_string() }
    };
    match header(":message-type")? {
        "event" => {
            let data = String::from_utf8_lossy(payload).into_owned();
            Some(Event { kind: header(":event-type")?.to_owned(), data })
        }
        "exception" => {
            let members = json::parse_object(&String::from_utf8_lossy(payload)).unwrap_or_default();
            Some(exception(members, header(":exception-type")?))
        }
        // An error that the API doesn't declare.
        "error" => {
            let message = header(":error-message").map(|text| ("message".to_owned(), json!(text)));
            Some(exception(message.into_iter().collect(), header(":error-code")?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
    use proptest::prelude::*;

    use super::*;

    fn frame(headers: &[(&'static str, &'static str)], payload: &'static str) -> Vec<u8> {
        let headers =
            headers.iter().map(|(name, value)| Header::new(*name, HeaderValue::String((*value).into())));
        let mut bytes = Vec::new();
        write_message_to(&Message::new_from_parts(headers.collect(), payload), &mut bytes).unwrap();
        bytes
    }

    fn event_frame(kind: &'static str, payload: &'static str) -> Vec<u8> {
        frame(&[(":message-type", "event"), (":event-type", kind)], payload)
    }

    /// Reads a stream in chunks of this size. Returns the events as pairs, and true if it could be read.
    fn read(stream: &[u8], size: usize) -> (Vec<(String, String)>, bool) {
        let mut decoder = Decoder::new(200);
        let mut events = Vec::new();
        let mut sink = |Event { kind, data }| events.push((kind, data));
        let ended = stream.chunks(size).try_for_each(|chunk| decoder.push(chunk, &mut sink));
        (events, ended.is_ok())
    }

    fn pair(kind: &str, data: &str) -> (String, String) {
        (kind.to_owned(), data.to_owned())
    }

    #[test]
    fn events_exceptions_and_errors_are_read() {
        let stream = [
            event_frame("messageStart", "{\"role\":\"assistant\"}"),
            frame(
                &[(":message-type", "exception"), (":exception-type", "throttlingException")],
                "{\"message\":\"m\"}",
            ),
            frame(
                &[(":message-type", "error"), (":error-code", "InternalFailure"), (":error-message", "e")],
                "",
            ),
        ];
        let expected = vec![
            pair("messageStart", "{\"role\":\"assistant\"}"),
            pair(EXCEPTION, "{\"message\":\"m\",\"type\":\"throttlingException\"}"),
            pair(EXCEPTION, "{\"message\":\"e\",\"type\":\"InternalFailure\"}"),
        ];
        assert_eq!(read(&stream.concat(), 1_000), (expected, true));
    }

    #[test]
    fn damaged_frame_is_unreadable_after_the_events_before_it() {
        let good = event_frame("a", "{}");
        let mut damaged = event_frame("b", "{}");
        *damaged.last_mut().unwrap() ^= 1;
        assert_eq!(read(&[good.clone(), damaged].concat(), 7), (vec![pair("a", "{}")], false));
        let unknown = frame(&[(":message-type", "novelty")], "");
        assert_eq!(read(&[good, unknown].concat(), 7), (vec![pair("a", "{}")], false));
    }

    #[test]
    fn frame_beyond_the_limit_is_unreadable_at_its_start() {
        for (length, is_readable) in
            [(1_u32 << 30, false), (201, false), (200, true), (0, false), (15, false)]
        {
            let stream = [length.to_be_bytes().as_slice(), &[0; 20]].concat();
            assert_eq!(read(&stream, 7), (Vec::new(), is_readable), "{length}");
        }
    }

    proptest! {
        #[test]
        fn chunk_size_does_not_change_the_events(size in 1_usize..300) {
            let stream = [event_frame("a", "{}"), event_frame("b", "{\"p\":1}"), event_frame("c", "{}")].concat();
            prop_assert_eq!(read(&stream, size), read(&stream, stream.len()));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(stream in prop::collection::vec(any::<u8>(), 0..400), size in 1_usize..50) {
            let (events, _) = read(&stream, size);
            prop_assert!(events.len() < 20);
        }
    }
}
