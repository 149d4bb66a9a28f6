//! Replies that depart from their schema: whatever the server does with ids, indices and places, its text is the
//! deltas' and its calls are their pieces'.

// Clippy allows `unwrap` and indexing only in functions marked as tests, and not in their helpers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::cast_precision_loss)]

mod recording;

use agent::model::Reply;
use llm::accumulator::{Progress, StateOptions};
use llm::reader::Reader;
use llm::sse::Limits;
use llm::{Error, Observer, Wire};
use proptest::prelude::*;
use recording::{Choices, Recording, record};
use serde_json::Value;

/// Reads a stream in chunks of this size. Returns the reply and the emitted text.
fn read(wire: Wire, stream: &[u8], size: usize) -> (Result<Reply, Error>, String) {
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
    (ended, text)
}

fn check(wire: Wire, choices: &[u8], size: usize) {
    let Recording { text, calls, stream } = &record(wire, &mut Choices(choices));
    let shown = || String::from_utf8_lossy(stream).into_owned();
    let (reply, emitted) = read(wire, stream, size);
    let reply = reply.unwrap_or_else(|error| panic!("{wire:?}: {error:?}\n{}", shown()));
    assert_eq!(&reply.text, text, "{wire:?}\n{}", shown());
    assert!(reply.replaces_stream || emitted == *text, "{wire:?}: {emitted:?}\n{}", shown());
    let parsed = |arguments: &str| serde_json::from_str::<Value>(arguments).unwrap_or(arguments.into());
    let read: Vec<(String, Value)> =
        reply.calls.iter().map(|call| (call.name.clone(), parsed(&call.arguments))).collect();
    assert_eq!(&read, calls, "{wire:?}\n{}", shown());
    let ids: std::collections::BTreeSet<_> = reply.calls.iter().map(|call| &call.call_id).collect();
    assert_eq!(ids.len(), calls.len(), "{wire:?}: ids are unique");
}

#[test]
fn published_form_is_read_on_every_wire() {
    for wire in Wire::ALL {
        check(wire, &[], 1_000);
        check(wire, &[1, 0, 3], 7);
    }
}

/// At least this many cases per test. `PROPTEST_CASES` adds more.
fn at_least(cases: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { cases: config.cases.max(cases), ..config }
}

proptest! {
    #![proptest_config(at_least(1_500))]

    #[test]
    fn departures_keep_the_text_and_the_calls(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        wire in prop::sample::select(Wire::ALL.to_vec()),
        size in 1_usize..200,
    ) {
        check(wire, &bytes, size);
    }

    #[test]
    fn damaged_recordings_are_read_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        wire in prop::sample::select(Wire::ALL.to_vec()),
    ) {
        let mut stream = record(wire, &mut Choices(&bytes)).stream;
        for (at, byte) in damage {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        for wire in Wire::ALL {
            prop_assert_eq!(read(wire, &stream, 3), read(wire, &stream, 1_000));
        }
    }
}
