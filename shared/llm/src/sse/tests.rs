use proptest::prelude::*;

use super::*;

/// What a decoder makes of these pieces: the events, and whether it stopped at something too long.
fn decoded<'a>(limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(String, String)>, bool) {
    let mut decoder = Decoder::new(limits);
    let mut events = Vec::new();
    for piece in pieces {
        let mut sink = |event: Event| events.push((event.kind, event.data));
        if decoder.push(piece, &mut sink).is_err() {
            return (events, true);
        }
    }
    (events, false)
}

fn data(stream: &str) -> Vec<String> {
    let (events, too_long) = decoded(Limits::default(), [stream.as_bytes()]);
    assert!(!too_long);
    events.into_iter().map(|(_, data)| data).collect()
}

#[test]
fn every_line_end_ends_a_line() {
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
fn a_line_end_split_between_pieces_is_one() {
    let pieces = ["data: a\r", "\ndata: b\r", "\n\r", "\ndata: c\n\n"];
    let (events, _) = decoded(Limits::default(), pieces.map(str::as_bytes));
    let data: Vec<&str> = events.iter().map(|(_, data)| data.as_str()).collect();
    assert_eq!(data, ["a\nb", "c"]);
}

#[test]
fn lines_of_data_are_joined_and_one_space_is_dropped() {
    assert_eq!(data("data: YHOO\ndata:+2\ndata:  10\n\n"), ["YHOO\n+2\n 10"]);
}

#[test]
fn empty_data_is_an_event_and_none_is_not() {
    assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
    assert_eq!(data("event: quiet\n\n: comment\n\n\n"), Vec::<String>::new());
}

#[test]
fn a_kind_lasts_for_one_event() {
    let stream = b"event: a\nevent: b\ndata: 1\n\ndata: 2\n\nevent: c\n\ndata: 3\n\n";
    let (events, _) = decoded(Limits::default(), [stream.as_slice()]);
    let kinds: Vec<&str> = events.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["b", "message", "message"]);
}

#[test]
fn comments_and_unknown_fields_are_skipped() {
    assert_eq!(data(": hello\nid: 7\nretry: 5\nDATA: no\n data: no\ndata: yes\n\n"), ["yes"]);
}

#[test]
fn a_byte_order_mark_may_lead_the_stream_only() {
    assert_eq!(data("\u{feff}data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    let pieces: [&[u8]; 3] = [b"\xEF", b"\xBB", b"\xBFdata: a\n\n"];
    assert_eq!(decoded(Limits::default(), pieces).0.len(), 1);
}

#[test]
fn what_is_left_unfinished_is_no_event() {
    assert_eq!(data("data: a\n\ndata: b\n"), ["a"]);
}

#[test]
fn what_is_not_utf_8_is_replaced() {
    let (events, _) = decoded(Limits::default(), [b"data: a\xFFb\n\n".as_slice()]);
    assert_eq!(events[0].1, "a\u{fffd}b");
}

#[test]
fn a_line_and_an_event_are_bounded() {
    let limits = Limits { line: 10, event: 8 };
    let at = |stream: &str| decoded(limits, [stream.as_bytes()]);
    assert_eq!(at("data: 1234\n\n").0.len(), 1);
    assert!(at("data: 12345\n\n").1);
    assert!(at(": unfinished comment").1);
    assert_eq!(at("data: 1234\ndata: 567\n\n").0.len(), 1);
    assert!(at("data: 1234\ndata: 5678\n\n").1);
    assert_eq!(at("data: 1\n\ndata: 12345").0.len(), 1);
}

/// What the standard says of each field, of a colon and of the space after it.
#[test]
fn fields_are_read_to_the_letter() {
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

/// They are no data and end no event, whatever they hold: a NUL in an id, a retry that is no number.
#[test]
fn ids_and_retries_are_no_data() {
    for field in ["id", "id:", "id: 7", "id: a\0b", "retry: 10", "retry: soon", "retry", "event"] {
        assert_eq!(data(&format!("data: a\n{field}\ndata: b\n\n")), ["a\nb"], "{field:?}");
        assert_eq!(data(&format!("{field}\n\n")), Vec::<String>::new(), "{field:?}");
    }
}

#[test]
fn a_kind_that_is_empty_is_a_message() {
    for stream in ["event\ndata: a\n\n", "event:\ndata: a\n\n", "event: x\nevent:\ndata: a\n\n"] {
        let (events, _) = decoded(Limits::default(), [stream.as_bytes()]);
        assert_eq!(events, [("message".to_owned(), "a".to_owned())], "{stream:?}");
    }
}

/// Streams of the bytes that matter to a decoder, with some that don't.
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
    fn pieces_of_any_size_decode_the_same(
        stream in streams(),
        sizes in prop::collection::vec(1_usize..9, 1..20),
        line in 4_usize..40,
    ) {
        let limits = Limits { line, event: 24 };
        let whole = decoded(limits, [stream.as_slice()]);
        let bytewise = decoded(limits, stream.chunks(1));
        prop_assert_eq!(&whole, &bytewise);
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
        prop_assert_eq!(&whole, &decoded(limits, pieces));
    }

    /// Whatever the text of our own events is, a reader of any pieces gets it back.
    #[test]
    fn what_the_contract_writes_is_read_back(
        texts in prop::collection::vec("(?s).{0,40}", 1..6),
        size in 1_usize..30,
    ) {
        use contracts::stream::{Delta, Event as Written, EventId, Kind};
        let mut stream = String::new();
        let mut expected = Vec::new();
        for (at, text) in texts.into_iter().enumerate() {
            let id = EventId::new(at as u64);
            let delta = Delta { index: at as u64, text };
            stream.push_str(&Written { id, kind: Kind::Delta(delta.clone()) }.to_sse());
            stream.push_str(":\n\n");
            expected.push(delta);
        }
        let (events, _) = decoded(Limits::default(), stream.as_bytes().chunks(size));
        let read: Vec<Delta> =
            events.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
        prop_assert!(events.iter().all(|(kind, _)| kind == "delta"));
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn no_bytes_can_break_it(stream in prop::collection::vec(any::<u8>(), 0..400)) {
        let limits = Limits { line: 64, event: 64 };
        prop_assert_eq!(decoded(limits, [stream.as_slice()]), decoded(limits, stream.chunks(1)));
    }
}
