//! Files that nobody wrote by hand: any of them is split in bounded time, and none of its text is lost.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use super::{ChunkLength, Split, split};
use crate::language;

/// The timeout of one file, on a busy machine and without optimization.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A file of every grammar and every other splitter.
const FILES: [&str; 13] = [
    "a.rs", "a.ts", "a.tsx", "a.js", "a.py", "a.go", "a.java", "a.c", "a.cpp", "a.cs", "a.md", "a.json",
    "a.yaml",
];

/// Returns a text of about this many bytes.
type Generator = fn(usize) -> String;

/// Splits on a thread, because a split that hangs would never return.
fn split_in_time(file: &str, text: String, what: &str) -> Split {
    let (sender, receiver) = mpsc::channel();
    let language = language::detect(Path::new(file));
    std::thread::spawn(move || sender.send(split(&text, language, ChunkLength::default())));
    receiver.recv_timeout(TIMEOUT).unwrap_or_else(|_| panic!("{file} with {what} takes too long"))
}

/// Returns an opening repeated in lines of a hundred, and its closing as often.
fn nest(open: &str, close: &str, depth: usize) -> String {
    let open: Vec<String> = vec![open.repeat(100); depth / 100];
    format!("{}\na\n{}\n", open.join("\n"), close.repeat(depth))
}

#[test]
fn deep_nesting_of_ten_kilobytes_is_split_in_time() {
    for file in FILES {
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("- ", ""), ("> ", ""), ("if a {", "}")] {
            let text = nest(open, close, 10_000 / (open.len() + close.len()));
            let length = text.split_whitespace().map(str::len).sum::<usize>();
            let split = split_in_time(file, text, &format!("nested {open}"));
            let chunks = split.chunks.iter().flat_map(|chunk| chunk.text.split_whitespace());
            assert!(chunks.map(str::len).sum::<usize>() >= length, "{file} with nested {open} loses text");
        }
    }
}

#[test]
fn hostile_text_in_any_language_is_split_in_time() {
    let kinds: [(&str, Generator); 16] = [
        ("one token", |size| "a".repeat(size)),
        ("one line of tokens", |size| "a, ".repeat(size / 3)),
        ("tokens", |size| "a, b\n".repeat(size / 5)),
        ("empty lines", |size| "\n".repeat(size)),
        ("an open string", |size| format!("x = \"{}", "a b\n".repeat(size / 4))),
        ("open raw strings", |size| "r#\"".repeat(size / 3)),
        ("open comments", |size| "/* # <!-- \n".repeat(size / 11)),
        ("open fences", |size| "```\n~~~\n".repeat(size / 8)),
        ("quotes", |size| "'\"`".repeat(size / 3)),
        ("declarations", |size| "class A { fn a() { def b(): \n".repeat(size / 29)),
        ("headings", |size| format!("# {}\n{}", "a".repeat(size / 4), "## a\n".repeat(size / 10))),
        ("open elements", |size| "<nav><svg><!".repeat(size / 12)),
        ("underlines", |size| "aa\n==\n--\n\n~~\n".repeat(size / 14)),
        ("references", |size| "&&#x110000;&amp".repeat(size / 15)),
        ("nested arrays", |size| format!("{{\"cells\":{}", "[".repeat(size))),
        ("tags", |size| "<a b=\"{(\">\n".repeat(size / 11)),
    ];
    for file in FILES.into_iter().chain(["a.rst", "a.adoc", "a.html", "a.ipynb", "a.txt"]) {
        for (what, text) in kinds {
            split_in_time(file, text(30_000), what);
        }
    }
}

#[test]
fn parser_without_an_end_falls_back_to_lines() {
    let text = format!("fn a() {{}}\n{}", "r#\"\n".repeat(100_000));
    let split = split_in_time("a.rs", text, "open raw strings");
    assert!(split.fallback.is_some());
    assert!(split.chunks.len() > 10);
    let split = split_in_time("a.rs", "fn a() {}\n".repeat(1_000), "functions");
    assert_eq!(split.fallback, None);
}

#[test]
fn long_names_are_cut_where_each_chunk_repeats_them() {
    let name = "a".repeat(10_000);
    let body = "    let a = 1;\n".repeat(2_000);
    let split = split_in_time("a.rs", format!("fn {name}() {{\n{body}}}\n"), "a long name");
    assert!(split.chunks.iter().all(|chunk| chunk.symbol.as_ref().unwrap().name.len() == 200));
    let split =
        split_in_time("a.md", format!("# {name}\n\n{}", "## b\n\nWords.\n".repeat(2_000)), "a long heading");
    assert!(split.chunks.iter().all(|chunk| chunk.section.as_ref().unwrap().len() <= 204));
}
