use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::language;

fn split_as(name: &str, text: &str) -> Split {
    split(text, language::detect(Path::new(name)), ChunkLength::new(1_200))
}

/// Asserts that each chunk is in the lines that it claims.
fn assert_lines(text: &str, split: &Split) {
    let lines: Vec<&str> = text.split('\n').collect();
    for chunk in &split.chunks {
        let (first, last) = (chunk.line_start as usize, chunk.line_end as usize);
        let excerpt = lines[first - 1..last].join("\n");
        assert!(excerpt.contains(&chunk.text), "{first}-{last}: {:?} in {excerpt:?}", chunk.text);
    }
}

#[test]
fn code_is_split_between_declarations_with_their_names() {
    let body = "    let a = 1;\n".repeat(200);
    let text = format!(
        "//! Keeps turns.\n//! And more.\n\nuse std::fmt;\n\nstruct Turn {{\n{}}}\n\nimpl Turn {{\n    fn settle(&self) {{\n{body}    }}\n\n    fn renew(&self) {{\n{body}    }}\n}}\n",
        "    field: u32,\n".repeat(50)
    );
    let split = split_as("a.rs", &text);
    assert_lines(&text, &split);
    assert_eq!(split.title.as_deref(), Some("Keeps turns"));
    let symbols: Vec<&Symbol> = split.chunks.iter().filter_map(|chunk| chunk.symbol.as_ref()).collect();
    let names: Vec<(&str, &str)> = symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.kind)).collect();
    assert!(names.contains(&("Turn", "struct")), "{names:?}");
    assert!(names.contains(&("settle", "function")), "{names:?}");
    assert!(names.contains(&("renew", "function")), "{names:?}");
    let settle = symbols.iter().find(|symbol| symbol.name == "settle").unwrap();
    assert_eq!(settle.within, ["Turn"]);
}

#[test]
fn every_language_names_its_declarations() {
    let sources = [
        ("a.ts", "export class Store { load(): void {} }", "Store", "class"),
        ("a.tsx", "export const View = () => <p>hello</p>;", "View", "function"),
        ("a.js", "function run() { return 1; }", "run", "function"),
        ("a.py", "class Store:\n    def load(self):\n        pass\n", "Store", "class"),
        ("a.go", "package a\n\nfunc Load() int { return 1 }\n", "Load", "function"),
        ("A.java", "class Store { void load() {} }", "Store", "class"),
        ("a.cpp", "int Store::load() { return 1; }", "Store::load", "function"),
        ("a.c", "static char *load(int n) { return 0; }", "load", "function"),
        ("a.cs", "public record Turn(string Id);", "Turn", "record"),
    ];
    for (file, text, name, kind) in sources {
        let split = split_as(file, text);
        let symbol = split.chunks[0].symbol.as_ref().unwrap_or_else(|| panic!("{file} has no symbol"));
        assert_eq!((symbol.name.as_str(), symbol.kind), (name, kind), "{file}");
    }
}

#[test]
fn document_is_split_at_headings() {
    let words = "Some words that say a thing. ".repeat(45);
    let text = format!(
        "# Guide\n\n{words}\n\n## Set-up\n\n```sh\n# no heading\n```\n\n{words}\n\n## Use\n\n{words}\n"
    );
    let split = split_as("guide.md", &text);
    assert_lines(&text, &split);
    assert_eq!(split.title.as_deref(), Some("Guide"));
    let sections: Vec<&str> = split.chunks.iter().filter_map(|chunk| chunk.section.as_deref()).collect();
    assert_eq!(sections, ["Guide", "Guide > Set-up", "Guide > Use"]);
}

#[test]
fn documents_of_each_markup_have_titles_and_sections() {
    let words = "Some words that say a thing. ".repeat(45);
    let setext = format!(
        "---\ntitle: Manual\nowner: ada\n---\n\nGuide\n=====\n\n{words}\n\nSet-up\n------\n\n{words}\n"
    );
    let restructured = format!(
        "=====\nGuide\n=====\n\n{words}\n\nSet-up\n======\n\n.. code-block:: text\n\n    no heading\n    ----------\n\n{words}\n"
    );
    let ascii = format!("= Guide\n\n{words}\n\n== Set-up\n\n----\n== no heading\n----\n\n{words}\n");
    let html = format!("<title>Manual</title><h1>Guide</h1><p>{words}</p><h2>Set-up</h2><p>{words}</p>");
    let notebook = serde_json::json!({
        "cells": [
            { "cell_type": "markdown", "source": ["# Guide\n", "\n", words] },
            { "cell_type": "markdown", "source": format!("## Set-up\n\n{words}") },
            { "cell_type": "code", "source": "# no heading", "outputs": [{ "text": "secret" }] },
        ],
        "metadata": { "language_info": { "name": "python" } },
    });
    let files = [
        ("a.md", setext.as_str(), "Manual"),
        ("a.rst", &restructured, "Guide"),
        ("a.txt", &restructured, "Guide"),
        ("a.adoc", &ascii, "Guide"),
        ("a.html", &html, "Manual"),
        ("a.ipynb", &notebook.to_string(), "Guide"),
    ];
    for (file, text, title) in files {
        let split = split_as(file, text);
        assert_eq!(split.title.as_deref(), Some(title), "{file}");
        let mut sections: Vec<&str> =
            split.chunks.iter().filter_map(|chunk| chunk.section.as_deref()).collect();
        sections.dedup();
        assert_eq!(sections, ["Guide", "Guide > Set-up"], "{file}");
        assert_eq!(split.fallback, None, "{file}");
        assert!(!split.chunks.iter().any(|chunk| chunk.text.contains("secret")), "{file}");
    }
    assert_eq!(split_as("a.ipynb", "{}").fallback, Some(Fallback::Malformed));
}

#[test]
fn text_is_split_by_lines_with_overlap() {
    let text: String = (1..=100).map(|n| format!("line {n} of a list of things\n")).collect();
    let split = split_as("list.txt", &text);
    assert_lines(&text, &split);
    assert!(split.chunks.len() > 1);
    assert_eq!(split.chunks[1].line_start, split.chunks[0].line_end - 1);
    assert_eq!(split.chunks.last().unwrap().line_end, 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_is_split_within_bounds_at_the_stated_lines(
        text in "([ -~äß会]{0,80}\n){0,60}|[a-z]{0,5000}", file in "a\\.(rs|py|md|txt|cs|rst|adoc)",
    ) {
        let split = split_as(&file, &text);
        assert_lines(&text, &split);
        for chunk in &split.chunks {
            // The first line's indentation comes in addition.
            prop_assert!(chunk.text.trim().chars().count() <= 1_800, "{}", chunk.text.len());
        }
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
        let in_chunks: usize = split.chunks.iter().map(|chunk| letters(&chunk.text)).sum();
        prop_assert!(in_chunks >= letters(&text));
    }
}
