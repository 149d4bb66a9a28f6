//! Reading of replies that depart from their schema, on every wire: the text is the deltas', the calls are their pieces',
//! and no damage to a stream causes a panic.
//!
//! The input is the choices of a recording. Its first bytes are the wire, the chunk size, and the damage.

#![no_main]

#[path = "../../shared/llm/tests/departures/recording.rs"]
mod recording;

use libfuzzer_sys::fuzz_target;
use llm::{
    Observer, Wire,
    accumulator::{Progress, StateOptions},
    reader::Reader,
    sse::Limits,
};
use recording::{Choices, Recording, record};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let [wire, size, at, byte, choices @ ..] = data else { return };
    let wires = Wire::ALL;
    let wire = wires[usize::from(*wire) % wires.len()];
    let size = usize::from(*size).max(1);
    let Recording { text, calls, mut stream } = record(wire, &mut Choices(choices));
    let (ended, emitted) = read(wire, &stream, size);
    let (reply_text, replaces_stream, reply_calls) = ended.expect("a reply");
    assert_eq!(reply_text, text);
    assert!(replaces_stream || emitted == text);
    assert_eq!(reply_calls, calls);
    let at = usize::from(*at) * stream.len() / 256;
    stream[at] = *byte;
    for wire in wires {
        assert_eq!(read(wire, &stream, size).1, read(wire, &stream, stream.len()).1);
    }
});

type Reply = (String, bool, Vec<(String, Value)>);

/// Returns the reply, and the emitted text.
fn read(wire: Wire, stream: &[u8], size: usize) -> (Result<Reply, llm::Error>, String) {
    let mut reader = Reader::new(Limits::default(), wire, StateOptions::default(), 7);
    let mut text = String::new();
    let mut deltas = |delta: &str| text.push_str(delta);
    let mut observer = Observer::new(&mut deltas);
    let ended = stream.chunks(size).find_map(|chunk| match reader.push(chunk, &mut observer) {
        Ok(Progress::Pending) => None,
        Ok(Progress::Complete(reply)) => Some(Ok(reply)),
        Err(error) => Some(Err(error)),
    });
    let ended = ended.unwrap_or_else(|| reader.finish(&mut observer));
    let ended = ended.map(|reply| {
        let parsed = |arguments: &str| serde_json::from_str(arguments).unwrap_or(Value::Null);
        let calls = reply.calls.iter().map(|call| (call.name.clone(), parsed(&call.arguments)));
        (reply.text.clone(), reply.replaces_stream, calls.collect())
    });
    (ended, text)
}
