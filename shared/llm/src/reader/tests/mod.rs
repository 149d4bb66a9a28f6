use agent::model::Reply;
use proptest::prelude::*;

use super::*;

/// Streams as they were received, from the scripted model.
const TEXT_AND_CALLS: &[u8] = include_bytes!("text_and_calls.sse");
const REFUSAL: &[u8] = include_bytes!("refusal.sse");

/// What a stream in these pieces comes to, and the text that was handed on.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Option<Reply>, String) {
    let mut reader = Reader::new(sse::Limits::default(), Memory::default(), 7);
    let mut text = String::new();
    for piece in pieces {
        match reader.push(piece, &mut Observer::of(&mut |delta| text.push_str(delta))) {
            Ok(Progress::More) => {}
            Ok(Progress::Done(reply)) => return (Some(reply), text),
            Err(error) => panic!("{error}"),
        }
    }
    (None, text)
}

#[test]
fn a_received_stream_is_one_reply() {
    let (reply, text) = read([TEXT_AND_CALLS]);
    insta::assert_debug_snapshot!(reply.unwrap());
    assert_eq!(text, "Looking at both – “quickly”.");

    let (reply, text) = read([REFUSAL]);
    assert_eq!(reply.unwrap().text, "I can't help with that.");
    assert_eq!(text, "I can't help with that.");
}

#[test]
fn a_cut_anywhere_leaves_no_reply_or_the_whole_one() {
    for stream in [TEXT_AND_CALLS, REFUSAL] {
        let (whole, whole_text) = read([stream]);
        for cut in 0..=stream.len() {
            let (start, _) = stream.split_at(cut);
            let (reply, text) = read([start]);
            // The terminal event needs its blank line, which is the stream's last byte.
            assert_eq!(reply.is_some(), cut == stream.len(), "cut at {cut}");
            assert!(reply.is_none() || reply == whole);
            assert!(whole_text.starts_with(&text));
        }
    }
}

#[test]
fn the_last_event_needs_no_blank_line() {
    for stream in [TEXT_AND_CALLS, REFUSAL] {
        let whole = read([stream]).0;
        for (cut, ends) in [(1, true), (2, true), (3, false), (100, false)] {
            let (start, _) = stream.split_at(stream.len() - cut);
            let mut reader = Reader::new(sse::Limits::default(), Memory::default(), 7);
            let mut ignore = |_: &str| {};
            let mut observer = Observer::of(&mut ignore);
            assert_eq!(reader.push(start, &mut observer), Ok(Progress::More));
            let ended = reader.end(&mut observer);
            assert_eq!(ended.ok(), whole.clone().filter(|_| ends), "{cut} bytes are missing");
        }
    }
}

proptest! {
    #[test]
    fn pieces_of_any_size_read_the_same(sizes in prop::collection::vec(1_usize..200, 1..40)) {
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
fn what_follows_the_terminal_event_is_ignored() {
    let longer = [TEXT_AND_CALLS, b"data: {\n\n".as_slice()].concat();
    assert_eq!(read([longer.as_slice()]), read([TEXT_AND_CALLS]));
}

#[test]
fn a_line_that_never_ends_is_malformed() {
    let mut reader = Reader::new(sse::Limits { line: 100, event: 100 }, Memory::default(), 7);
    let piece = b"data: ".repeat(20);
    assert_eq!(reader.push(&piece, &mut Observer::of(&mut |_| {})), Err(Error::Malformed));
}
