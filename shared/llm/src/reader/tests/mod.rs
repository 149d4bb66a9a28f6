use agent::model::Reply;
use proptest::prelude::*;

use super::*;

/// Recorded streams of the mock model.
const TEXT_AND_CALLS: &[u8] = include_bytes!("text_and_calls.sse");
const REFUSAL: &[u8] = include_bytes!("refusal.sse");

/// Reads a stream in these chunks. Returns the reply and the emitted text.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Option<Reply>, String) {
    let mut reader = Reader::new(sse::Limits::default(), Wire::Responses, StateOptions::default(), 7);
    let mut text = String::new();
    for piece in pieces {
        match reader.push(piece, &mut Observer::new(&mut |delta| text.push_str(delta))) {
            Ok(Progress::Pending) => {}
            Ok(Progress::Complete(reply)) => return (Some(reply), text),
            Err(error) => panic!("{error}"),
        }
    }
    (None, text)
}

#[test]
fn recorded_stream_yields_one_reply() {
    let (reply, text) = read([TEXT_AND_CALLS]);
    insta::assert_debug_snapshot!(reply.unwrap());
    assert_eq!(text, "Looking at both – “quickly”.");

    let (reply, text) = read([REFUSAL]);
    assert_eq!(reply.unwrap().text, "I can't help with that.");
    assert_eq!(text, "I can't help with that.");
}

#[test]
fn truncated_stream_yields_no_reply_or_the_full_one() {
    for stream in [TEXT_AND_CALLS, REFUSAL] {
        let (expected, expected_text) = read([stream]);
        for cut in 0..=stream.len() {
            let (start, _) = stream.split_at(cut);
            let (reply, text) = read([start]);
            // The terminal event needs its blank line, which is the stream's last byte.
            assert_eq!(reply.is_some(), cut == stream.len(), "cut at {cut}");
            assert!(reply.is_none() || reply == expected);
            assert!(expected_text.starts_with(&text));
        }
    }
}

#[test]
fn last_event_needs_no_end_after_the_text() {
    for stream in [TEXT_AND_CALLS, REFUSAL] {
        let expected = read([stream]).0;
        for (cut, ends) in [(1, true), (2, true), (3, true), (100, true), (2_000, false)] {
            let (start, _) = stream.split_at(stream.len() - cut);
            let mut reader = Reader::new(sse::Limits::default(), Wire::Responses, StateOptions::default(), 7);
            let mut ignore = |_: &str| {};
            let mut observer = Observer::new(&mut ignore);
            assert_eq!(reader.push(start, &mut observer), Ok(Progress::Pending));
            let ended = reader.finish(&mut observer);
            assert_eq!(ended.ok(), expected.clone().filter(|_| ends), "{cut} bytes are missing");
        }
    }
}

proptest! {
    #[test]
    fn chunk_size_does_not_change_the_reply(sizes in prop::collection::vec(1_usize..200, 1..40)) {
        for stream in [TEXT_AND_CALLS, REFUSAL] {
            let mut pieces = Vec::new();
            let mut rest = stream;
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, later) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece);
                rest = later;
            }
            prop_assert_eq!(read(pieces), read([stream]));
        }
    }
}

#[test]
fn data_after_the_terminal_event_is_ignored() {
    let longer = [TEXT_AND_CALLS, b"data: {\n\n".as_slice()].concat();
    assert_eq!(read([longer.as_slice()]), read([TEXT_AND_CALLS]));
}

#[test]
fn cut_event_that_is_needed_is_malformed() {
    let limits = sse::Limits { line: 100, event: 100 };
    for wire in [Wire::Responses, Wire::ChatCompletions, Wire::AnthropicMessages] {
        let mut reader = Reader::new(limits, wire, StateOptions::default(), 7);
        let mut ignore = |_: &str| {};
        let mut observer = Observer::new(&mut ignore);
        let line = format!("data: {{\"type\":\"content_block_delta\",\"choices\":\"{}", "x".repeat(200));
        assert_eq!(reader.push(line.as_bytes(), &mut observer), Ok(Progress::Pending));
        assert_eq!(reader.finish(&mut observer), Err(Error::Malformed), "{wire:?}");
    }
}
