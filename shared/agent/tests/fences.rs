//! The fence of a bundle and the files in a text, wherever Markdown may have them (AGN-033 §4.1, §6.1).
//!
//! `pulldown-cmark` judges: a bundle counts as fenced if the parser finds it in a block with the right tag.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use agent::output_filter::{AnswerFormat, Blob, FilteredText, StreamFilter, filter_in_chunks, filter_text};
use futures::FutureExt;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use serde_json::{Value, json};

fn link(blob: &Blob) -> String {
    format!("/files/{}", blob.name)
}

/// Returns base64 of so many bytes, which hold every kind of character.
fn base64(bytes: usize) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(content(bytes))
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|n| (n * 37 % 251) as u8).collect()
}

/// Filters a text at once, in chunks, and as streams of pieces of 1 and 7 bytes and of the whole. All agree.
fn filtered(text: &str, format: AnswerFormat) -> FilteredText {
    let pause = || std::future::ready(());
    let whole = filter_in_chunks(text, format, link, pause).now_or_never().unwrap();
    for bytes in [1, 7, text.len().max(1)] {
        let (mut stream, mut at) = (StreamFilter::new(format), 0);
        let mut joined = FilteredText { text: String::new(), blobs: Vec::new() };
        while at < text.len() {
            let piece = &text[at..text.ceil_char_boundary(at + bytes)];
            at += piece.len();
            let FilteredText { text, blobs } = stream.push(piece, link);
            joined.text.push_str(&text);
            joined.blobs.extend(blobs);
        }
        let FilteredText { text: rest, blobs } = stream.finish(link);
        joined.text.push_str(&rest);
        joined.blobs.extend(blobs);
        assert!(joined == whole, "in pieces of {bytes}: {text:?}\n{joined:?}\n{whole:?}");
    }
    whole
}

/// Returns tag and content of the fenced blocks that a Markdown parser finds.
fn blocks(text: &str) -> Vec<(String, String)> {
    let (mut blocks, mut open) = (Vec::new(), None);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                open = Some((info.split_whitespace().next().unwrap_or_default().to_owned(), String::new()));
            }
            Event::Text(text) => open.iter_mut().for_each(|(_, content)| content.push_str(&text)),
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// The forms of a container: the prefix of its first line, and that of the others.
const CONTAINERS: [(&str, &str); 26] = [
    ("", ""),
    (" ", " "),
    ("   ", "   "),
    ("    ", "    "),
    ("\t", "\t"),
    ("- ", "  "),
    ("-   ", "    "),
    ("* ", "  "),
    ("+ ", "  "),
    ("1. ", "   "),
    ("10) ", "    "),
    ("- - ", "    "),
    ("- a\n\n  ", "  "),
    ("- a\n  ", "  "),
    ("- a\n\n  1. b\n\n     ", "     "),
    ("> ", "> "),
    (">", ">"),
    ("> > ", "> > "),
    ("> - ", ">   "),
    ("- > ", "  > "),
    ("> a\n> ", "> "),
    ("\u{feff}", ""),
    ("\u{feff}\n", ""),
    ("a\n", ""),
    ("# Title\n", ""),
    ("-\ta\n\n\t", "\t"),
];

/// What may precede a bundle on its line.
const TEXTS: [(&str, &str); 8] = [
    ("Here it is: ", ""),
    ("**Files:**", ""),
    ("- Here: ", "  "),
    ("1. Here: ", "   "),
    ("> Here: ", "> "),
    ("> - Here: ", ">   "),
    ("# Files ", ""),
    ("a {b} {\"c\": 1} [d] ", ""),
];

/// Writes lines with the prefixes of a container.
fn within((first, others): (&str, &str), lines: &str) -> String {
    let prefix = |(at, line): (usize, &str)| format!("{}{line}", if at == 0 { first } else { others });
    lines.split('\n').enumerate().map(prefix).collect::<Vec<_>>().join("\n")
}

fn bundle() -> Value {
    json!({"Title": "A \"file\"", "Files": [{"Path": "src/a.rs", "Contents": base64(390)}, {"Path": "b", "Contents": "```\n{"}]})
}

#[test]
fn bundle_is_found_in_a_tagged_fence_in_any_container() {
    let (line, pretty) = (bundle().to_string(), serde_json::to_string_pretty(&bundle()).unwrap());
    let mut cases = 0;
    for object in [&line, &pretty] {
        let kinds = [
            (object.clone(), "aptix-json"),
            (format!("```\n{object}\n```"), "aptix-json"),
            (format!("~~~~ \n\n{object}\n~~~~~"), "aptix-json"),
            (format!("```text\n{object}\n```"), "aptix-json"),
            (format!("```\n{object}"), "aptix-json"),
            (format!("```json\n{object}\n```"), "json"),
            (format!("```aptix-json title=a\n{object}\n```"), "aptix-json"),
        ];
        for (at, (lines, tag)) in kinds.iter().enumerate() {
            let texts = if at == 0 { &TEXTS[..] } else { &[] };
            for container in CONTAINERS.iter().chain(texts) {
                for after in ["", "\n\nDone.\n", "\r\nDone."] {
                    let is_unclosed = at == 4;
                    if is_unclosed && after.contains("Done") {
                        continue;
                    }
                    // A fence can't be indented by four, and doesn't end a line of text.
                    let is_code = matches!(container.0, "    " | "\t");
                    if is_code && at > 0 {
                        continue;
                    }
                    cases += 1;
                    let text = format!("{}{after}", within(*container, lines));
                    let found = filtered(&text, AnswerFormat::Markdown);
                    let blocks = blocks(&found.text);
                    let [(found_tag, content)] = &blocks[..] else { panic!("{text:?}\n{:?}", found.text) };
                    let parsed: Result<Value, _> = serde_json::from_str(content);
                    assert_eq!(
                        (found_tag.as_str(), parsed.ok()),
                        (*tag, Some(bundle())),
                        "{text:?}\n{:?}",
                        found.text
                    );
                    assert!(found.blobs.is_empty(), "{text:?}");
                    assert_eq!(filter_text(&found.text, link), found, "{text:?}");
                    assert!(!after.contains("Done") || found.text.contains("Done."), "{text:?}");
                }
            }
        }
    }
    assert!(cases > 900, "{cases}");
}

/// Prefixes of lines that may carry base64, and what may follow it on a line.
const LINES: [(&str, &str); 16] = [
    ("", ""),
    ("  ", ""),
    ("> ", ""),
    (">", ""),
    ("> > ", ""),
    ("- ", ""),
    ("* ", ""),
    ("+ ", ""),
    ("+", ""),
    ("-", ""),
    ("1. ", ""),
    ("12: ", ""),
    ("  7 | ", ""),
    ("# ", ""),
    ("// ", ""),
    ("    \"", "\" +"),
];

#[test]
fn wrapped_base64_becomes_a_file_behind_any_line_prefix() {
    let payload = base64(600);
    let mut cases = 0;
    for (before, after) in
        [("Text.\n\n", "\n\nMore."), ("```diff\n", "\n```\n"), ("```aptix-json\n", "\n```"), ("", "")]
    {
        for (prefix, suffix) in LINES {
            for width in [4, 40, 60, 76] {
                let ends = if suffix.is_empty() { &["\n", "\r\n", "\\n"][..] } else { &["\n", "\r\n"] };
                for end in ends {
                    cases += 1;
                    let line = |(at, line): (usize, &[u8])| {
                        let prefix = prefix.replace("12", &(at + 1).to_string());
                        format!("{prefix}{}{suffix}", str::from_utf8(line).unwrap())
                    };
                    let lines: Vec<_> = payload.as_bytes().chunks(width).enumerate().map(line).collect();
                    let text = format!("{before}{}{after}", lines.join(end));
                    let found = filtered(&text, AnswerFormat::Markdown);
                    let [blob] = &found.blobs[..] else { panic!("{text:?}\n{:?}", found.text) };
                    assert!(blob.bytes == content(600), "{text:?}\n{:?}", blob.bytes);
                    assert!(
                        found.text.len() < before.len() + after.len() + 60 + prefix.len() + suffix.len(),
                        "{:?}",
                        found.text
                    );
                }
            }
        }
    }
    assert_eq!(cases, 4 * 4 * (15 * 3 + 2));
}

#[test]
fn fence_is_a_bundle_by_its_content_not_by_its_tag() {
    let payload = base64(600);
    for container in CONTAINERS {
        for (before, after) in [
            ("", ""),
            ("{\"a\": \"", "\"}"),
            ("{\"Files\": []}\n", ""),
            ("{\"Files\": [{\"Path\": \"a\", \"Contents\": \"b\"}]}\n", ""),
            ("{\"Files\": [{\"Path\": \"a\", \"Contents\": \"", "\"}, 1]}"),
            ("{\"Files\": [{\"Path\": \"a\", \"Contents\": \"", ""),
        ] {
            let text = within(container, &format!("```aptix-json\n{before}{payload}{after}\n```\nDone."));
            let found = filtered(&text, AnswerFormat::Markdown);
            assert_eq!(found.blobs.len(), 1, "{text:?}\n{:?}", found.text);
            assert!(found.blobs[0].bytes == content(600) && !found.text.contains(&payload), "{text:?}");
        }
    }
}

/// Lists of words, hashes and ids look like narrow base64.
#[test]
fn lists_of_words_and_hashes_stay() {
    let hash = |n: usize| format!("{:040x}", n as u128 * 0x1234_5678_9abc_def1_2345_6789);
    let lists = [
        (0..100).map(|n| format!("{:06}", n * 7919)).collect::<Vec<_>>(),
        (0..100).map(hash).collect(),
        (0..100).map(|n| hash(n).to_uppercase()).collect(),
        (0..100).map(|n| ["alpha", "gamma", "delta", "omega"][n % 4].to_owned()).collect(),
        (0..100).map(|n| format!("Item{}", n * 3)).collect(),
        (0..100)
            .map(|n| format!("src/main/kotlin/{}Repository", "deeply-nested/".repeat(n % 4 + 3)))
            .collect(),
        (0..100).map(|n| format!("- [ ] Task{n:03} is due")).collect(),
        vec!["----".to_owned(); 200],
    ];
    for list in lists {
        for prefix in ["", "- ", "> ", "+"] {
            let text = list.iter().map(|line| format!("{prefix}{line}\n")).collect::<String>();
            let found = filtered(&text, AnswerFormat::Markdown);
            assert_eq!(found, FilteredText { text, blobs: Vec::new() });
        }
    }
    let ids: Vec<_> =
        base64(900).as_bytes().chunks(18).map(|id| str::from_utf8(id).unwrap().to_owned()).collect();
    let found = filtered(&ids.join("\n"), AnswerFormat::Markdown);
    assert_eq!(found.blobs[0].mime_type, "text/plain", "a list of ids stays readable");
    assert_eq!(found.blobs[0].bytes, ids.join("\n").into_bytes());
}

#[test]
fn answer_in_json_gets_a_json_fence_in_any_form() {
    let value = json!({"verdict": "yes", "n": [1, 2]});
    let (line, pretty) = (value.to_string(), serde_json::to_string_pretty(&value).unwrap());
    for object in [line, pretty] {
        for text in [
            object.clone(),
            format!("\u{feff}{object}"),
            format!(" \n {object}\n"),
            format!("```\n{object}\n```"),
            format!("\u{feff}```\n{object}\n```\n"),
            format!("~~~ \n{object}\n~~~"),
            format!("```text\n{object}\n```"),
            format!("```JSON\n{object}\n```"),
            format!("```json\n{object}\n```"),
            within(("> ", "> "), &format!("```\n{object}\n```")),
            within(("- ", "  "), &format!("```\n{object}\n```")),
            format!("Here it is: {object}"),
            format!("Here it is:\n\n```\n{object}\n```\n"),
            within(("- ", "  "), &object),
            within(("> ", "> "), &object),
        ] {
            let found = filtered(&text, AnswerFormat::Json);
            let blocks = blocks(&found.text);
            let [(tag, content)] = &blocks[..] else { panic!("{text:?}\n{:?}", found.text) };
            assert!(tag.eq_ignore_ascii_case("json"), "{text:?}\n{:?}", found.text);
            assert_eq!(serde_json::from_str::<Value>(content).ok(), Some(value.clone()), "{text:?}");
        }
    }
}

#[test]
fn bundle_above_a_mebibyte_is_fenced() {
    let bundle = json!({"Files": [{"Path": "a", "Contents": base64(1 << 20)}]}).to_string();
    for text in [
        bundle.clone(),
        format!("```\n{bundle}\n```"),
        format!("Here: {bundle} Done."),
        format!("> {bundle}"),
    ] {
        let found = filter_text(&text, link);
        let blocks = blocks(&found.text);
        assert!(blocks.len() == 1 && blocks[0].0 == "aptix-json" && blocks[0].1.trim_end() == bundle);
        assert!(found.blobs.is_empty());
    }
}

/// What is too large or too deep for a bundle is no bundle, so that its files are replaced.
#[test]
fn files_of_an_object_beyond_the_limits_are_replaced() {
    let large = json!({"Files": [{"Path": "a", "Contents": base64(6 << 20 | 1 << 18)}]}).to_string();
    let deep = format!(
        "{{\"a\": {}{}, \"Files\": [{{\"Path\": \"a\", \"Contents\": \"{}\"}}]}}",
        "[".repeat(40),
        "]".repeat(40),
        base64(600)
    );
    for object in [large, deep] {
        for text in [object.clone(), format!("```aptix-json\n{object}\n```"), format!("```\n{object}\n```")] {
            let found = filter_text(&text, link);
            assert_eq!(found.blobs.len(), 1);
            assert!(found.text.len() < 1_000);
        }
    }
}
