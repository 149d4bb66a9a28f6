use proptest::prelude::*;

use super::*;

/// Decodes these chunks.
fn decoded<'a>(limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String)> {
    let mut decoder = Decoder::new(limits);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece, &mut |event: Event| events.push((event.kind, event.data)));
    }
    events
}

fn data(stream: &str) -> Vec<String> {
    decoded(Limits::default(), [stream.as_bytes()]).into_iter().map(|(_, data)| data).collect()
}

#[test]
fn every_line_ending_is_accepted() {
    for stream in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\rdata: b\r\r",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data: a\n\r\ndata: b\r\n\r",
    ] {
        assert_eq!(data(stream), ["a", "b"], "{stream:?}");
    }
}

#[test]
fn crlf_split_across_chunks_is_one_line_ending() {
    let pieces = ["data: a\r", "\ndata: b\r", "\n\r", "\ndata: c\n\n"];
    let events = decoded(Limits::default(), pieces.map(str::as_bytes));
    let data: Vec<&str> = events.iter().map(|(_, data)| data.as_str()).collect();
    assert_eq!(data, ["a\nb", "c"]);
}

#[test]
fn data_lines_are_joined_and_one_space_is_stripped() {
    assert_eq!(data("data: YHOO\ndata:+2\ndata:  10\n\n"), ["YHOO\n+2\n 10"]);
}

#[test]
fn empty_data_is_an_event_and_missing_data_is_not() {
    assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
    assert_eq!(data("event: quiet\n\n: comment\n\n\n"), Vec::<String>::new());
}

#[test]
fn event_field_applies_to_one_event() {
    let stream = b"event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent: c\n\ndata: 3\n\n";
    let events = decoded(Limits::default(), [stream.as_slice()]);
    let kinds: Vec<&str> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["b", "message", "message"]);
}

#[test]
fn comments_and_unknown_fields_are_skipped() {
    assert_eq!(data(": hello\nid: 7\nretry: 5\nDATA: no\n data: no\ndata: yes\n\n"), ["yes"]);
}

#[test]
fn byte_order_mark_is_skipped_only_at_the_start() {
    assert_eq!(data("\u{feff}data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    let pieces: [&[u8]; 3] = [b"\xEF", b"\xBB", b"\xBFdata: a\n\n"];
    assert_eq!(decoded(Limits::default(), pieces).len(), 1);
}

#[test]
fn unfinished_event_is_not_emitted() {
    assert_eq!(data("data: a\n\ndata: b\n"), ["a"]);
}

#[test]
fn invalid_utf_8_is_replaced() {
    let events = decoded(Limits::default(), [b"data: a\xFFb\n\n".as_slice()]);
    assert_eq!(events[0].1, "a\u{fffd}b");
}

#[test]
fn event_beyond_a_limit_is_cut_and_the_next_is_read() {
    let limits = Limits { line: 10, event: 8 };
    for (stream, expected) in [
        ("data: 1234\n\n", &["1234"] as &[_]),
        ("data: 12345\n\ndata: 6\n\n", &["1234", "6"]),
        (": an unfinished comment\ndata: 1\n\n", &["1"]),
        ("data: 1234\ndata: 567\n\n", &["1234\n567"]),
        ("data: 1234\ndata: 5678\n\ndata: 9\n\n", &["1234\n567", "9"]),
        ("data: 1\n\ndata: 12345", &["1"]),
        ("data: 123\ndata: 567\ndata: é\n\n", &["123\n567\n"]),
    ] {
        let events = decoded(limits, [stream.as_bytes()]);
        assert_eq!(events.iter().map(|(_, data)| data).collect::<Vec<_>>(), expected, "{stream:?}");
    }
}

#[test]
fn documents_need_no_blank_line_between_them() {
    let events = |stream: &str| decoded(Limits::default(), [stream.as_bytes()]);
    let kinds = |stream: &str| events(stream).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    assert_eq!(
        data("data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n\n"),
        ["{\"a\":1}", "{\"b\":2}", "[DONE]"]
    );
    assert_eq!(kinds("event: a\ndata: {}\nevent: b\ndata: {}\n\n"), ["a", "b"]);
    assert_eq!(data("data: ping\ndata: {}\n\n"), ["ping", "{}"]);
    // A document in several lines, and the standard's order of fields.
    assert_eq!(data("data: {\ndata: \"a\":{\ndata: }}\n\n"), ["{\n\"a\":{\n}}"]);
    assert_eq!(events("data: {\nevent: x\ndata: }\n\n"), [("x".to_owned(), "{\n}".to_owned())]);
}

/// Covers the standard's rules for each field, the colon and the space after it.
#[test]
fn fields_follow_the_standard_exactly() {
    for (stream, expected) in [
        ("data:a\n\n", &["a"] as &[_]),
        ("data: a\n\n", &["a"]),
        ("data:  a\n\n", &[" a"]),
        ("data:\ta\n\n", &["\ta"]),
        ("data:a \n\n", &["a "]),
        ("data::\n\n", &[":"]),
        ("data: a:b: c\n\n", &["a:b: c"]),
        ("data\n\n", &[""]),
        ("data:\n\n", &[""]),
        ("data: \n\n", &[""]),
        ("data\ndata\ndata\n\n", &["\n\n"]),
        ("data: a\ndata\ndata: b\n\n", &["a\n\nb"]),
        (" data: a\n\n", &[]),
        ("\tdata: a\n\n", &[]),
        ("data : a\n\n", &[]),
        ("Data: a\n\n", &[]),
        ("datas: a\n\n", &[]),
        (":data: a\n\n", &[]),
        ("data: a\0b\n\n", &["a\0b"]),
        ("data: a\u{2028}b\u{85}c\u{b}d\n\n", &["a\u{2028}b\u{85}c\u{b}d"]),
        ("\n\n\ndata: a\n\n\n\ndata: b\n\n", &["a", "b"]),
        (": one\ndata: a\n: two\ndata: b\n:\n\n", &["a\nb"]),
    ] {
        assert_eq!(data(stream), expected, "{stream:?}");
    }
}

/// `id` and `retry` carry no data and end no event, whatever their value: a NUL in an id, a retry that is not a number.
#[test]
fn id_and_retry_fields_are_ignored() {
    for field in ["id", "id:", "id: 7", "id: a\0b", "retry: 10", "retry: soon", "retry", "event"] {
        assert_eq!(data(&format!("data: a\n{field}\ndata: b\n\n")), ["a\nb"], "{field:?}");
        assert_eq!(data(&format!("{field}\n\n")), Vec::<String>::new(), "{field:?}");
    }
}

#[test]
fn empty_event_field_means_message() {
    for stream in ["event\ndata: a\n\n", "event:\ndata: a\n\n", "event: x\nevent:\ndata: a\n\n"] {
        let events = decoded(Limits::default(), [stream.as_bytes()]);
        assert_eq!(events, [("message".to_owned(), "a".to_owned())], "{stream:?}");
    }
}

/// Generates streams of the bytes that matter to a decoder, and a few others.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        "data: some",
        "data:",
        "data",
        "event: kind",
        "id: 1",
        ":",
        " ",
        "\n",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\u{feff}",
        "é",
        "x",
    ]);
    let tokens = prop::collection::vec(token, 0..60);
    tokens.prop_map(|tokens| tokens.concat().into_bytes())
}

proptest! {
    #[test]
    fn chunk_size_does_not_change_the_events(
        stream in streams(),
        sizes in prop::collection::vec(1_usize..9, 1..20),
        line in 4_usize..40,
    ) {
        let limits = Limits { line, event: 24 };
        let expected = decoded(limits, [stream.as_slice()]);
        let bytewise = decoded(limits, stream.chunks(1));
        prop_assert_eq!(&expected, &bytewise);
        let mut pieces = Vec::new();
        let mut rest = stream.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, later) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = later;
        }
        prop_assert_eq!(&expected, &decoded(limits, pieces));
    }

    /// Events that `contracts` writes are decoded unchanged in chunks of any size.
    #[test]
    fn contract_events_round_trip(
        texts in prop::collection::vec("(?s).{0,40}", 1..6),
        size in 1_usize..30,
    ) {
        use contracts::stream::{Delta, Event as StreamEvent, EventId, Kind};
        let mut stream = String::new();
        let mut expected = Vec::new();
        for (at, text) in texts.into_iter().enumerate() {
            let id = EventId::new(at as u64);
            let delta = Delta { index: at as u64, text };
            stream.push_str(&StreamEvent { id, kind: Kind::Delta(delta.clone()) }.to_sse());
            stream.push_str(":\n\n");
            expected.push(delta);
        }
        let events = decoded(Limits::default(), stream.as_bytes().chunks(size));
        let read: Vec<Delta> =
            events.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
        prop_assert!(events.iter().all(|(kind, _)| kind == "delta"));
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(stream in prop::collection::vec(any::<u8>(), 0..400)) {
        let limits = Limits { line: 64, event: 64 };
        prop_assert_eq!(decoded(limits, [stream.as_slice()]), decoded(limits, stream.chunks(1)));
    }
}
