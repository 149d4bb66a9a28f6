//! A text in pieces is guarded as the whole is, at a cost that is linear in its length.

use proptest::prelude::*;

use super::{Blob, Guarded, Stream, guard, settled};

fn link(blob: &Blob) -> String {
    format!("/files/{}?{}", blob.name, blob.bytes.len())
}

fn run(chars: usize) -> String {
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk".chars().cycle().take(chars).collect()
}

/// Guards a text in pieces of so many bytes, or a few more where a character is cut; how many bytes of it
/// were looked at or moved.
fn in_pieces(text: &str, bytes: usize) -> (Guarded, usize) {
    let mut out = Guarded { text: String::new(), blobs: Vec::new() };
    let (mut stream, mut at) = (Stream::default(), 0);
    while at < text.len() {
        let piece = &text[at..text.ceil_char_boundary(at + bytes)];
        at += piece.len();
        stream.take(piece, &mut out, &mut link);
    }
    stream.end(&mut out, &mut link);
    (out, stream.rest.looked_at.get())
}

/// Each byte is looked at for a bundle, and once more when it may be one is over; it is read for fences,
/// searched for files, moved once and either copied or decoded.
const LOOKS_PER_BYTE: usize = 6;

const BUNDLE: &str = r#"{"Files":[{"Path":"a","Contents":"b"}]}"#;

#[test]
fn the_cost_of_a_text_is_linear_in_whatever_pieces_it_comes() {
    let length = 16_000;
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
        ] {
            let text = format!("{before}{many}");
            let whole = guard(&text, link);
            for bytes in [1, 4, 4_096, text.len()] {
                let (guarded, looked_at) = in_pieces(&text, bytes);
                assert!(guarded == whole, "{before:?} {unit:?} in {bytes}");
                let bound = LOOKS_PER_BYTE * text.len();
                assert!(looked_at <= bound, "{before:?} {unit:?} in {bytes}: {looked_at} of {bound}");
            }
        }
    }
}

#[test]
fn what_cannot_be_replaced_is_not_held_back() {
    for (text, held) in [
        ("日本語🦀", ""),
        ("- > - ", ""),
        ("Well, a (b)", ""),
        ("> ```\n> abc", ""),
        ("~~~ a", ""),
        ("data: ", ""),
        ("日本 word", "word"),
        ("日本 <", "<"),
        ("日本 <data:", "<data:"),
        ("日本 data:image/png", "data:image/png"),
        ("日本 data:,a b c", "c"),
        ("日本 ```js", "js"),
        ("- ```js", "```js"),
        ("~~", "~~"),
        ("a {\"files\": 1", "1"),
        ("{\"file\": (", ""),
        ("{\"files\": [", "{\"files\": ["),
        ("a\n{ ", "{ "),
        ("```\n{ ", ""),
    ] {
        assert_eq!(&text[settled(text)..], held, "{text}");
    }
    assert_eq!(settled(&format!("{}(", run(511))), 512);
}

/// A wrapped run's last line is a word of its own where a character says so that is itself held back.
#[test]
fn what_is_settled_holds_what_decided_it() {
    let wrapped = format!("{}\nab", run(600));
    assert_eq!(settled(&format!("{wrapped}(")), 604);
    for end in ["<", "<d", "-data:", "-data:a"] {
        let text = format!("{wrapped}{end}");
        assert_eq!(&text[settled(&text)..], &text[601..]);
    }
}

/// What the guard looks at, and what may follow or precede it.
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
    ]);
    let lines = (58_usize..62, 7_usize..11, prop::sample::select(vec!["\n", "\r\n"]));
    let piece = prop_oneof![
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
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_text_in_pieces_is_guarded_as_the_whole_is(
        text in markdown(),
        pieces in prop::collection::vec(prop_oneof![3 => 1_usize..6, 1 => 1_usize..700], 1..20),
    ) {
        let whole = guard(&text, link);
        let mut out = Guarded { text: String::new(), blobs: Vec::new() };
        let (mut stream, mut at) = (Stream::default(), 0);
        for bytes in pieces.iter().cycle() {
            let piece = &text[at..text.ceil_char_boundary(at + bytes)];
            at += piece.len();
            stream.take(piece, &mut out, &mut link);
            prop_assert!(whole.text.starts_with(&out.text), "{:?}\n{:?}", out.text, whole.text);
            // What is settled makes by itself what was returned.
            prop_assert_eq!(&guard(&text[..stream.settled()], link), &out);
            if at == text.len() {
                break;
            }
        }
        stream.end(&mut out, &mut link);
        prop_assert_eq!(&out, &whole);
        let looked_at = stream.rest.looked_at.get();
        prop_assert!(looked_at <= LOOKS_PER_BYTE * text.len(), "{} of {}", looked_at, text.len());
    }
}

/// What is too long for one is not held back without end, and passes as anything else does.
#[test]
fn a_bundle_is_held_back_within_bounds() {
    let begun =
        |chars: usize| format!("{{\"Files\":[{{\"Path\":\"a\",\"Contents\":\"{}", "x ".repeat(chars / 2));
    let text = begun(super::bundle::MAX_BUNDLE_BYTES - 100);
    assert_eq!(settled(&text), 0);
    assert!(guard(&format!("{text}\"}}]}}"), link).text.starts_with("```aptix-json\n{"));
    let longer = begun(super::bundle::MAX_BUNDLE_BYTES + 100);
    assert!(settled(&longer) > super::bundle::MAX_BUNDLE_BYTES);
    assert!(guard(&format!("{longer}\"}}]}}"), link).text.starts_with('{'));
}
