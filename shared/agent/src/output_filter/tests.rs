//! The filter's result doesn't depend on the pieces of a text, and its cost is linear.

use proptest::prelude::*;

use super::{Blob, FilteredText, StreamFilter, filter_text, final_len, stream::Output};

fn link(blob: &Blob) -> String {
    format!("/files/{}?{}", blob.name, blob.bytes.len())
}

fn run(chars: usize) -> String {
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk".chars().cycle().take(chars).collect()
}

/// Filters a text in pieces of so many bytes, or a few more at a character boundary. Also returns the number of bytes
/// examined or moved.
fn in_pieces(text: &str, bytes: usize) -> (FilteredText, usize) {
    let mut out = FilteredText { text: String::new(), blobs: Vec::new() };
    let (mut stream, mut at) = (StreamFilter::default(), 0);
    while at < text.len() {
        let piece = &text[at..text.ceil_char_boundary(at + bytes)];
        at += piece.len();
        stream.take(piece, &mut Output { text: &mut out, url_of: &mut link });
    }
    stream.end(&mut Output { text: &mut out, url_of: &mut link });
    (out, stream.buffer.examined.get())
}

/// Each byte is examined for a bundle, and once more at its end; scanned for fences, searched for files, moved once,
/// and either copied or decoded.
const MAX_EXAMINED_PER_BYTE: usize = 6;

const BUNDLE: &str = r#"{"Files":[{"Path":"a","Contents":"b"}]}"#;

#[test]
fn filter_cost_is_linear_for_any_pieces() {
    let length = 8_000;
    let wrapped = |chars| format!("{}\n", run(chars));
    for unit in [
        run(40),
        wrapped(59),
        wrapped(60),
        wrapped(76),
        format!("{}\r\n", run(64)),
        "日本語".to_owned(),
        "🦀".to_owned(),
        "\u{3000}".to_owned(),
        " ".to_owned(),
        "\n".to_owned(),
        "\r".to_owned(),
        "\t\n".to_owned(),
        "- ".to_owned(),
        "-".to_owned(),
        "> ".to_owned(),
        "> ```\n".to_owned(),
        "1. ".to_owned(),
        "1".to_owned(),
        "`".to_owned(),
        "``` ".to_owned(),
        "~".to_owned(),
        "```\n".to_owned(),
        "<".to_owned(),
        "<a".to_owned(),
        "=".to_owned(),
        "a=".to_owned(),
        "data:".to_owned(),
        "data:,".to_owned(),
        "xdata:,".to_owned(),
        "-data:".to_owned(),
        "data:;base64,".to_owned(),
        format!("data:{}", "a;".repeat(130)),
        format!("data:,{} ", run(600)),
        format!("{}\nab<", run(60)),
        format!("{}\n", "data:,".repeat(20)),
        format!("[x]: <data:image/png;base64,{}>\n", run(500)),
        "[x]: <data:".to_owned(),
        "]:  ".to_owned(),
        "{".to_owned(),
        "{\n".to_owned(),
        "{\"files\":".to_owned(),
        "{\"files\":\n".to_owned(),
        "{\"files\":[{}]}\n".to_owned(),
        BUNDLE.to_owned(),
        format!("{BUNDLE}\n"),
        format!("{BUNDLE} \n\n{}\n", run(60)),
        "Some words of an answer, **again** and again.\n\n".to_owned(),
    ] {
        let many = unit.repeat(length / unit.len());
        for before in [
            "",
            "```\n",
            "> ```\n> ",
            "``` ",
            "data:,",
            "data:image/png;base64,",
            "[x]: <data:",
            "A",
            "{\"files\":[",
            "{\"Files\":[{\"Path\":\"a\",\"Contents\":\"",
            "```json\n{\"a\":\"",
            "~~~\n{\"a\":\"",
        ] {
            let text = format!("{before}{many}");
            let whole = filter_text(&text, link);
            for bytes in [1, 4, 4_096, text.len()] {
                let (filtered, examined) = in_pieces(&text, bytes);
                assert!(filtered == whole, "{before:?} {unit:?} in {bytes}");
                let bound = MAX_EXAMINED_PER_BYTE * text.len();
                assert!(examined <= bound, "{before:?} {unit:?} in {bytes}: {examined} of {bound}");
            }
        }
    }
}

#[test]
fn text_that_cannot_be_replaced_is_not_held_back() {
    for (text, held) in [
        ("日本語🦀", ""),
        ("- > - ", ""),
        ("Well, a (b)", ""),
        ("> ```\n> abc", "abc"),
        ("~~~ a", "a"),
        ("~~~ ", " "),
        ("data: ", ""),
        ("日本 word", "word"),
        ("日本 <", "<"),
        ("日本 <data:", "<data:"),
        ("日本 data:image/png", "data:image/png"),
        ("日本 data:,a b c", "c"),
        ("日本 ```js", "js"),
        ("- ```js", "js"),
        ("```js\n ", "js\n "),
        ("~~", ""),
        ("- a\n   ", " "),
        ("okay", "okay"),
        ("okay\n", ""),
        ("okay.\n\n", ""),
        ("okay\nso", "so"),
        ("oK4y\n", "oK4y\n"),
        ("oK4y.\n", ""),
        ("oK4y\nso", "oK4y\nso"),
        ("oK4y\nso b", "b"),
        ("so okay\n", ""),
        ("a {\"files\": 1", "{\"files\": 1"),
        ("a {b", "b"),
        ("a { \"b\" C", "C"),
        ("{\"file\": (", ""),
        ("{\"files\": [", "{\"files\": ["),
        ("a\n{ ", "{ "),
        ("```\n{ ", "\n{ "),
        ("```\n{ a", "a"),
        ("```json\n{ ", ""),
        ("```json\n{\"a\": \"b ", ""),
        ("```rust\n{ ", "rust\n{ "),
        ("```rust\nfn a", "a"),
    ] {
        assert_eq!(&text[final_len(text)..], held, "{text}");
    }
    assert_eq!(final_len(&format!("{}(", run(511))), 512);
}

/// A wrapped run's last line becomes a separate word because of a character that is itself held back.
#[test]
fn final_text_excludes_undecided_word() {
    let wrapped = format!("{}\nab", run(600));
    assert_eq!(final_len(&format!("{wrapped}(")), 604);
    for end in ["<", "<d", "-data:", "-data:a"] {
        let text = format!("{wrapped}{end}");
        assert_eq!(&text[final_len(&text)..], &text[601..]);
    }
}

/// Text that the filter looks at, and text that may follow or precede it.
fn markdown() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        "```",
        "~~~",
        "`",
        "~",
        "> ",
        ">",
        "- ",
        "-",
        "1. ",
        "    ",
        "](",
        "[x]: ",
        "<",
        ">",
        ")",
        "(",
        "=",
        "==",
        "\"",
        "url(",
        "é",
        "日本",
        "\u{3000}",
        "\u{feff}",
        "\\n",
        "x: {",
        "data:",
        "data:,",
        "data:image/png;base64,",
        "xdata:,",
        "-data:,",
        "data",
        ":",
        ",",
        "+",
        "%41",
        "{",
        "{\"Files\":[{\"Path\":\"a\",\"Contents\":\"",
        "\"}]}",
        BUNDLE,
        "```json\n{\"a\":\"",
        "```\n{\"a\":\"",
        "```aptix-json\n",
        "```json\n{\"a\":1,\"Files\":[{\"Path\":\"a\",\"Contents\":\"",
        "```\n{\"a\":1,\"Files\":[{\"Path\":\"a\",\"Contents\":\"",
        "\"}\n```\n",
    ]);
    let lines = (58_usize..62, 7_usize..11, prop::sample::select(vec!["\n", "\r\n"]));
    let ends = prop::sample::select(vec!["\n", "\r\n", "\" +\n", "\\n"]);
    let prefixes = prop::sample::select(vec!["", "> ", "- ", "+", "12: ", "\"", "  "]);
    let narrow = (4_usize..62, 400_usize..600, prefixes, ends).prop_map(|(width, chars, prefix, end)| {
        let payload = run(chars);
        let lines = payload.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap());
        lines.map(|line| format!("{prefix}{line}{end}")).collect::<String>()
    });
    let piece = prop_oneof![
        1 => narrow,
        16 => fixed.prop_map(str::to_owned),
        1 => (50_usize..80).prop_map(run),
        1 => (500_usize..540).prop_map(run),
        1 => lines.prop_map(|(chars, lines, end)| format!("{}{end}", run(chars)).repeat(lines)),
        1 => (250_usize..260).prop_map(|head| format!("data:{},", ";".repeat(head))),
        2 => "[a-z]{1,6}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn text_in_pieces_filters_like_complete_text_in_linear_time(
        text in markdown(),
        pieces in prop::collection::vec(prop_oneof![3 => 1_usize..6, 1 => 1_usize..700], 1..20),
    ) {
        let whole = filter_text(&text, link);
        let mut out = FilteredText { text: String::new(), blobs: Vec::new() };
        let (mut stream, mut at) = (StreamFilter::default(), 0);
        for bytes in pieces.iter().cycle() {
            let piece = &text[at..text.ceil_char_boundary(at + bytes)];
            at += piece.len();
            stream.take(piece, &mut Output { text: &mut out, url_of: &mut link });
            prop_assert!(whole.text.starts_with(&out.text), "{:?}\n{:?}", out.text, whole.text);
            // The final text, filtered by itself, gives the returned text.
            prop_assert_eq!(&filter_text(&text[..stream.final_len()], link), &out);
            if at == text.len() {
                break;
            }
        }
        stream.end(&mut Output { text: &mut out, url_of: &mut link });
        prop_assert_eq!(&out, &whole);
        let examined = stream.buffer.examined.get();
        prop_assert!(examined <= MAX_EXAMINED_PER_BYTE * text.len(), "{} of {}", examined, text.len());
    }
}

/// A text too long for a bundle is held back only within bounds, and then treated like any other.
#[test]
fn bundle_is_held_back_within_bounds() {
    let begun =
        |chars: usize| format!("{{\"Files\":[{{\"Path\":\"a\",\"Contents\":\"{}", "x ".repeat(chars / 2));
    let text = begun(super::bundle::MAX_BUNDLE_BYTES - 100);
    assert_eq!(final_len(&text), 0);
    assert!(filter_text(&format!("{text}\"}}]}}"), link).text.starts_with("```aptix-json\n{"));
    let longer = begun(super::bundle::MAX_BUNDLE_BYTES + 100);
    assert!(final_len(&longer) > super::bundle::MAX_BUNDLE_BYTES);
    assert!(filter_text(&format!("{longer}\"}}]}}"), link).text.starts_with('{'));
}
