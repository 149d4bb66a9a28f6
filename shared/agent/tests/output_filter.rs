//! The filter for outgoing text (AGN-033 §4.1, §6.1).

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use agent::output_filter::{
    AnswerFormat, Blob, FilteredText, MIN_EMBEDDED_CHARS, StreamFilter, filter_in_chunks, filter_text,
    final_len,
};
use futures::FutureExt;
use proptest::prelude::*;

/// Returns base64 of so many characters.
fn run(chars: usize) -> String {
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk".chars().cycle().take(chars).collect()
}

fn link(blob: &Blob) -> String {
    format!("/files/{}", blob.name)
}

fn filtered(text: &str) -> FilteredText {
    filter_text(text, link)
}

fn untouched(text: &str) {
    assert_eq!(filtered(text), FilteredText { text: text.to_owned(), blobs: Vec::new() });
}

#[test]
fn ordinary_markdown_is_unchanged() {
    for text in [
        "",
        "# Title\r\n\r\nSome `code` and [a link](https://example.org/a?b=c#d).\n",
        "| a | b |\n|---|---|\n",
        "metadata: x, data: y, data:z, data:,",
        &"-".repeat(2_000),
        &"word ".repeat(2_000),
        &"日本語".repeat(500),
    ] {
        untouched(text);
    }
}

#[test]
fn embedded_limit_is_512_characters() {
    untouched(&run(MIN_EMBEDDED_CHARS - 1));
    assert_eq!(filtered(&run(MIN_EMBEDDED_CHARS)).blobs.len(), 1);
    let head = "data:image/png;base64,";
    untouched(&format!("{head}{}", run(MIN_EMBEDDED_CHARS - head.len() - 1)));
    assert_eq!(filtered(&format!("{head}{}", run(MIN_EMBEDDED_CHARS - head.len()))).blobs.len(), 1);
}

#[test]
fn run_becomes_link_with_file_name() {
    let filtered = filtered(&format!("See {}== here.", run(1_024)));
    assert_eq!(filtered.text, "See [embedded-1.bin](/files/embedded-1.bin) here.");
    assert_eq!(filtered.blobs[0].mime_type, "application/octet-stream");
    assert!(filtered.blobs[0].bytes.starts_with(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcd"));
}

#[test]
fn uri_in_link_image_or_attribute_becomes_url() {
    let uri = format!("data:image/png;base64,{}", run(600));
    for (before, after) in [
        ("![alt](", ")"),
        ("[x](<", ">)"),
        ("<img src=\"", "\">"),
        ("<img src='", "'>"),
        ("<img src=", ">"),
        ("[ref]: ", "\n"),
        ("url(", ")"),
    ] {
        let found = filtered(&format!("{before}{uri}{after}"));
        assert_eq!(found.text, format!("{before}/files/embedded-1.png{after}"));
        assert_eq!(found.blobs[0].mime_type, "image/png");
    }
}

#[test]
fn uri_in_plain_text_becomes_link() {
    let uri = format!("DATA:text/csv;charset=utf-8,{}", "a%2Cb%0A".repeat(100));
    for (text, expected) in [
        (format!("at {uri}."), "at [embedded-1.csv](/files/embedded-1.csv)"),
        (format!("at <{uri}>."), "at [embedded-1.csv](/files/embedded-1.csv)."),
        (format!("({uri})"), "([embedded-1.csv](/files/embedded-1.csv))"),
    ] {
        let found = filtered(&text);
        assert_eq!(found.text, expected);
        assert!(found.blobs[0].bytes.starts_with(b"a,b\na,b\n"));
    }
}

#[test]
fn svg_uri_with_parentheses_is_replaced_completely() {
    let svg = format!("%3Csvg transform='translate(1)'%3E{}%3C/svg%3E", "x".repeat(600)).replace(' ', "%20");
    let found = filtered(&format!("![a](data:image/svg+xml,{svg})"));
    assert_eq!(found.text, "![a](/files/embedded-1.svg)");
    assert!(found.blobs[0].bytes.ends_with(b"</svg>"));
}

#[test]
fn wrapped_run_is_one_file() {
    for end in ["\n", "\r\n"] {
        let wrapped = [run(76), run(76), run(76), run(76), run(76), run(76), run(76), run(40)].join(end);
        let found = filtered(&format!("PEM:\n{wrapped}{end}Next word."));
        assert_eq!(found.text, format!("PEM:\n[embedded-1.bin](/files/embedded-1.bin){end}Next word."));
        assert_eq!(found.blobs[0].bytes.len(), (76 * 7 + 40) * 3 / 4);
    }
    // No encoder breaks lines after 50 characters, so the file is as it was written.
    let odd = vec![run(50); 40].join("\n");
    let found = filtered(&odd);
    assert_eq!((found.blobs.len(), &found.blobs[0].bytes), (1, &odd.into_bytes()));
}

#[test]
fn fenced_bundle_is_unchanged_and_other_fenced_files_are_linked() {
    let payload = run(4_096);
    let bundle = BUNDLE.replace("fn main", &payload);
    untouched(&format!("Bundle:\n\n```aptix-json\n{bundle}\n```\n\nDone."));
    untouched(&format!("> ```aptix-json\n> {bundle}\n> ```"));
    untouched(&format!("```json\n{bundle}\n```\n"));
    untouched(&format!("- x\n  ```json\n  {bundle}\n  ```"));
    untouched("```rust\nfn main() {\n    println!(\"{{}}\");\n}\n```");
    let link = "[embedded-1.bin](/files/embedded-1.bin)";
    for (before, after) in [
        ("```\n", ""),
        ("```rust\n\"", "\"\n```"),
        ("> ```\n> ", "\n> ```"),
        ("- x\n  ```\n  ", "\n  ```"),
        ("~~~\n", "\n~~~"),
        ("```json\n{\"a\": \"", "\"}\n```"),
        ("```json\n{\"a\": \"", ""),
        ("```json\n{\"a\": \"", "\"\n```\nMore."),
        ("```json\n{\"Files\": [{\"Path\": \"a\", \"Contents\": \"", "\"}, 1]}\n```"),
        ("```\n{\"a\": \"", "\"}\n```"),
        ("```aptix-json\n{}\n```\n", ""),
        ("```aptix-json\n{\"a\":\"", "\"}\n```\n"),
        ("> ```aptix-json\n> ", "\n> ```"),
    ] {
        let found = filtered(&format!("{before}{payload}{after}"));
        assert_eq!(found.text, format!("{before}{link}{after}"));
        assert_eq!(found.blobs.len(), 1);
    }
}

#[test]
fn bundle_in_untagged_fence_is_tagged() {
    let bundle = BUNDLE.replace("fn main", &run(600));
    for (before, after) in [("```", "\n```\nDone."), ("````", "\n````\n"), ("~~~", "\n~~~"), ("a\n```", "")] {
        let tagged = format!("{before}aptix-json\n{bundle}{after}");
        assert_eq!(filtered(&format!("{before}\n{bundle}{after}")).text, tagged);
        untouched(&tagged);
    }
    assert_eq!(
        filtered(&format!("``` \r\n \n{BUNDLE}\n```")).text,
        format!("```aptix-json \r\n \n{BUNDLE}\n```")
    );
    for text in ["```\n{\"a\": 1}\n```\n", "```\n{ int a; }\n```", "```\n\n```\n", "```\nx\n{}\n```"] {
        untouched(text);
    }
    assert_eq!(
        filtered(&format!("```text title\n{BUNDLE}\n```")).text,
        format!("```aptix-json title\n{BUNDLE}\n```")
    );
    untouched(&format!("```\nx\n{BUNDLE}\n```"));
}

/// Filters an answer that was to be in JSON: completely, and as a stream of its characters.
fn json(text: &str) -> String {
    let pause = || std::future::ready(());
    let whole = filter_in_chunks(text, AnswerFormat::Json, link, pause).now_or_never().unwrap().text;
    let (mut stream, mut written) = (StreamFilter::new(AnswerFormat::Json), String::new());
    for c in text.chars() {
        written.push_str(&stream.push(c.encode_utf8(&mut [0; 4]), link).text);
        assert!(whole.starts_with(&written), "{written:?} {whole:?}");
    }
    whole
}

#[test]
fn answer_in_json_is_fenced_and_other_text_is_not() {
    assert_eq!(json("{\"verdict\":\"yes\"}"), "```json\n{\"verdict\":\"yes\"}\n```");
    assert_eq!(json(" \n[1, 2]"), "```json\n[1, 2]\n```");
    assert_eq!(json(BUNDLE), format!("```json\n{BUNDLE}\n```"));
    assert_eq!(
        json("{\"a\": 1}\n```\nDone."),
        "```json\n{\"a\": 1}\n```\nDone.",
        "a fence of its own closes it"
    );
    let embedded = format!("{{\"a\":\"{}\"}}", run(600));
    assert_eq!(json(&embedded), "```json\n{\"a\":\"[embedded-1.bin](/files/embedded-1.bin)\"}\n```");
    for text in ["", "I can't answer that.", "```json\n{\"a\":1}\n```", "```json\n{\"a\":1}\n```\n"] {
        assert_eq!(json(text), text);
    }
    let (mut stream, begun) = (StreamFilter::new(AnswerFormat::Json), "{\"verdict\": [1, ");
    assert_eq!(stream.push(begun, link).text, format!("```json\n{begun}"), "it is not held back");
}

#[test]
fn fence_lookalike_is_filtered() {
    let payload = run(600);
    for text in [
        format!("```{payload}```"),
        format!("`{payload}`"),
        format!("    {payload}"),
        format!("```\nx\n```\n{payload}"),
        format!("> ```\n{payload}"),
    ] {
        assert_eq!(filtered(&text).blobs.len(), 1, "{text}");
    }
}

const BUNDLE: &str = r#"{"Files": [{"Path": "src/a.rs", "Contents": "fn main() {\n}\n```"}], "Note": []}"#;

#[test]
fn bundle_without_fence_gets_one() {
    let fenced = format!("```aptix-json\n{BUNDLE}\n```");
    for (text, expected) in [
        (BUNDLE.to_owned(), fenced.clone()),
        (format!("Here:\n{BUNDLE}\n\nDone.\n"), format!("Here:\n{fenced}\n\nDone.\n")),
        (format!("a\r\n{BUNDLE} \r\nb"), format!("a\r\n{fenced} \r\nb")),
        // Nothing may follow a closing fence on its line.
        (format!("{BUNDLE} Done."), format!("{fenced} \nDone.")),
        (format!("{BUNDLE}{BUNDLE}"), format!("{fenced}\n{fenced}")),
        (format!("- a\n{BUNDLE}\n"), format!("- a\n{fenced}\n")),
        (format!("{}\n{BUNDLE}", run(600)), format!("[embedded-1.bin](/files/embedded-1.bin)\n{fenced}")),
    ] {
        assert_eq!(filtered(&text).text, expected);
    }
    for first in [
        r#"{"Note": 1, "Files": [{"Path": "a", "Contents": ""}]}"#,
        "{\n  \"Title\": {\"a\": [true, null, -1.5E+3]},\n  \"Files\": [{\"Path\": \"a\", \"Contents\": \"\"}]\n}",
    ] {
        assert_eq!(filtered(first).text, format!("```aptix-json\n{first}\n```"));
    }
    let spelled = r#"{ "files":[{"relativePath":"a","contents":""}]}"#;
    assert!(filtered(spelled).text.starts_with("```aptix-json\n{ "));
    let payload = BUNDLE.replace("fn main", &run(4_096));
    assert_eq!(filtered(&payload).blobs, [], "what a bundle holds is a bundle's");
}

#[test]
fn json_that_is_not_a_bundle_is_unchanged() {
    for text in [
        format!("```json\n{BUNDLE}\n```"),
        BUNDLE.replace("Path", "Name"),
        BUNDLE.replace("src/a.rs", " "),
        BUNDLE.replace("}]", "}"),
        BUNDLE.replace("Note\": []", "Files\": []"),
        r#"{"Files": []}"#.to_owned(),
        "{\"Note\": `1`, \"Files\": [{\"Path\": \"a\", \"Contents\": \"\"}]}".to_owned(),
        "{\"Files\": [{\"Path\": \"a\", \"Contents\": \"\n\"}]}".to_owned(),
        r#"{"a": 1}"#.to_owned(),
        r#"{"Files": [{"Path": "a", "#.to_owned(),
        "{".to_owned(),
        "[1]".to_owned(),
    ] {
        untouched(&text);
    }
    let broken = format!("{{\"Files\": [{{\"Path\": \"a\", \"Contents\": {}", run(600));
    assert_eq!(filtered(&broken).blobs.len(), 1, "what is no bundle may hold no file");
}

#[test]
fn undecodable_run_is_stored_literally() {
    let run = run(513);
    let found = filtered(&run);
    assert_eq!(found.blobs[0].mime_type, "text/plain");
    assert_eq!(found.blobs[0].bytes, run.as_bytes());
}

/// A bare URL would absorb the text after it, which the filter would take for a file.
#[test]
fn run_after_padding_is_separated_from_url() {
    let text = format!("={}={}", run(513), run(511));
    let once = filtered(&text);
    assert_eq!(once.blobs.len(), 1);
    assert_eq!(filtered(&once.text), FilteredText { text: once.text.clone(), blobs: Vec::new() });
    assert_eq!(once.text, format!("=/files/embedded-1.txt {}", run(511)));
}

#[test]
fn files_are_numbered_and_typed_by_signature() {
    let png = format!("iVBORw0KGgoA{}", run(600));
    let found = filtered(&format!("{png} {}", run(600)));
    let names: Vec<_> = found.blobs.iter().map(|blob| blob.name.as_str()).collect();
    assert_eq!(names, ["embedded-1.png", "embedded-2.bin"]);
}

#[test]
fn file_in_tag_of_bundle_is_dropped_with_tag() {
    let (file, content) = (run(520), BUNDLE);
    let bundle = format!("```aptix-json\n{content}");
    assert_eq!(filtered(&format!("```{file}\n{content}")).text, bundle);
    assert_eq!(filtered(&format!("```{file}")).text, "```[embedded-1.bin](/files/embedded-1.bin)");
    let beside_tag = filtered(&format!("```rust {file}\n{content}")).text;
    assert_eq!(beside_tag, bundle.replacen('\n', " [embedded-1.bin](/files/embedded-1.bin)\n", 1));
    let of_code = filtered(&format!("```{file}\nfn main() {{}}\n```")).text;
    assert_eq!(of_code, "```[embedded-1.bin](/files/embedded-1.bin)\nfn main() {}\n```");
}

#[test]
fn prose_is_final_up_to_last_word() {
    assert_eq!(final_len("Hello wor"), "Hello ".len());
    assert_eq!(final_len("Hello world. "), "Hello world. ".len());
    assert_eq!(final_len("日本語"), "日本語".len());
    assert_eq!(final_len("```json\n{\"a"), "```json\n{\"".len());
    assert_eq!(final_len("a\n```js"), "a\n```".len());
}

/// Pieces that the filter looks at, in any order.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just(" ".to_owned()),
        Just("```".to_owned()),
        Just("~~~".to_owned()),
        Just("`".to_owned()),
        Just("> ".to_owned()),
        Just("- ".to_owned()),
        Just("    ".to_owned()),
        Just("](".to_owned()),
        Just(")".to_owned()),
        Just("<".to_owned()),
        Just(">".to_owned()),
        Just("=".to_owned()),
        Just("é".to_owned()),
        Just("{".to_owned()),
        Just("{\"Files\":[{\"Path\":\"a\",\"Contents\":\"".to_owned()),
        Just("\"}]}".to_owned()),
        Just(BUNDLE.to_owned()),
        Just("```json\n{\"a\":\"".to_owned()),
        Just("```\n{\"a\":1,\"Files\":[{\"Path\":\"a\",\"Contents\":\"".to_owned()),
        Just("```aptix-json\n".to_owned()),
        Just("data:image/png;base64,".to_owned()),
        Just("data:,".to_owned()),
        (50_usize..80).prop_map(run),
        (500_usize..540).prop_map(run),
        "[a-z]{1,6}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// True if a run of [`markdown`] may continue on another line. Its link replaces the line break, so an object that had
/// it in a string becomes JSON; and a bundle's fence, which starts a line, may end a word of the run.
fn may_have_wrapped_run(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '=';
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(is_word)).collect();
    lines.windows(2).any(|lines| {
        let has_run = lines.iter().any(|line| line.contains(&run(50)[..8]));
        let is_gap = |c: char| c.is_ascii() && !is_word(c) && c != '{';
        let (ends, begins) = (lines[0].trim_end_matches(is_gap), lines[1].trim_start_matches(is_gap));
        has_run && ends.ends_with(is_word) && begins.starts_with(is_word)
    })
}

/// A text long enough that a stream of it is split: as paragraphs, as lines, or in one piece.
fn long_markdown() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(markdown(), 1..12);
    (parts, prop::sample::select(vec!["\n\n", "\n", " ", ""])).prop_map(|(parts, by)| parts.join(by))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn filtered_text_is_unchanged_by_second_pass(text in markdown()) {
        let once = filtered(&text);
        let twice = filtered(&once.text);
        if !may_have_wrapped_run(&text) {
            prop_assert_eq!(once.text, twice.text);
            prop_assert!(twice.blobs.is_empty());
        }
    }

    #[test]
    fn final_text_stays_whatever_follows(text in markdown(), cut in 0.0..1.0_f64) {
        let mut cut = (text.len() as f64 * cut) as usize;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let prefix = &text[..final_len(&text[..cut])];
        let (part, whole) = (filtered(prefix), filtered(&text));
        prop_assert!(whole.text.starts_with(&part.text), "{:?}\n{:?}\n{:?}", &text[..cut], part.text, whole.text);
        prop_assert_eq!(&whole.blobs[..part.blobs.len()], &part.blobs[..]);
    }

    #[test]
    fn text_in_pieces_filters_like_complete_text(
        text in long_markdown(),
        cuts in prop::collection::vec(0.0..1.0_f64, 0..12),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| (text.len() as f64 * cut) as usize).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let whole = filtered(&text).text;
        let (mut stream, mut written, mut from) = (StreamFilter::default(), String::new(), 0);
        for mut cut in cuts {
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            let until = final_len(&text[..cut]);
            written.push_str(&stream.push(&text[from..cut], link).text);
            from = cut;
            prop_assert!(whole.starts_with(&written), "{written:?}\n{whole:?}");
            let filtered_len = filtered(&text[..until]).text.len();
            prop_assert!(written.len() >= filtered_len, "{} of {filtered_len} bytes were held back", written.len());
        }
    }

    #[test]
    fn any_text_is_filtered_without_panic(text in any::<String>()) {
        let len = final_len(&text);
        prop_assert!(text.is_char_boundary(len));
        filtered(&text);
    }
}
