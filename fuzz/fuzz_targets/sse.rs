//! Reading of the provider's event stream: any input, in chunks of any size, stays within the limits, and the chunk
//! size makes no difference.
//!
//! The first byte is the chunk size.

#![no_main]

use libfuzzer_sys::fuzz_target;
use llm::{
    Observer, Wire,
    accumulator::{Progress, StateOptions},
    reader::Reader,
    sse::{Decoder, Event, Limits},
};

/// Small limits, so that inputs reach them.
const LIMITS: Limits = Limits { line: 2_048, event: 4_096 };

fuzz_target!(|data: &[u8]| {
    let Some((size, stream)) = data.split_first() else { return };
    let size = usize::from(*size).max(1);
    let (whole, pieces) = (decoded(stream, stream.len().max(1)), decoded(stream, size));
    assert_eq!(whole, pieces);
    for event in &whole {
        assert!(event.data.len() <= LIMITS.event && !event.kind.contains(['\n', '\r']));
    }
    for wire in Wire::ALL {
        assert_eq!(read(wire, stream, stream.len().max(1)), read(wire, stream, size));
    }
});

/// Returns the events.
fn decoded(stream: &[u8], size: usize) -> Vec<Event> {
    let mut decoder = Decoder::new(LIMITS);
    let mut events = Vec::new();
    stream.chunks(size).for_each(|piece| decoder.push(piece, &mut |event| events.push(event)));
    events
}

/// Returns the text, and the end of the stream.
fn read(wire: Wire, stream: &[u8], size: usize) -> (String, String) {
    let mut reader = Reader::new(LIMITS, wire, StateOptions::default(), 7);
    let mut text = String::new();
    for piece in stream.chunks(size) {
        let mut deltas = |delta: &str| text.push_str(delta);
        let read = reader.push(piece, &mut Observer::new(&mut deltas));
        match read {
            Ok(Progress::Pending) => assert_eq!(reader.has_text(), !text.is_empty()),
            ended => return (text, format!("{ended:?}")),
        }
    }
    (text, "unfinished".to_owned())
}
