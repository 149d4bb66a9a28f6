//! `pulldown-cmark` judges the scanner.

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::*;

/// Returns the tag of each fence, and the lines of its content without blanks around them.
fn scanned(text: &str) -> Vec<(String, Vec<String>)> {
    let (mut fences, mut found, mut open) = (Fences::default(), Vec::new(), None);
    for (at, c) in text.char_indices() {
        let was_open = fences.is_open();
        let part = fences.take(c, at);
        if was_open && !fences.is_open() {
            let (tag, mut content): (String, String) = open.take().unwrap();
            if c == '\n' && part != Part::Prefix && !content.ends_with('\n') {
                content.truncate(content.rfind('\n').map_or(0, |at| at + 1));
            }
            found.push((tag, content));
        } else if let (Part::Content { .. }, Some((_, content))) = (part, &mut open) {
            content.push(c);
        }
        if !was_open && fences.is_open() {
            open = Some((text[fences.opening().unwrap().1].to_owned(), String::new()));
        }
    }
    found.extend(open.map(|(tag, mut content)| {
        if !fences.ends_open() {
            content.truncate(content.rfind('\n').map_or(0, |at| at + 1));
        }
        (tag, content)
    }));
    found.into_iter().map(|(tag, content)| (tag, lines(&content))).collect()
}

fn parsed(text: &str) -> Vec<(String, Vec<String>)> {
    let (mut found, mut open) = (Vec::new(), None);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                open = Some((info.split_whitespace().next().unwrap_or_default().to_owned(), String::new()));
            }
            Event::Text(text) => open.iter_mut().for_each(|(_, content)| content.push_str(&text)),
            Event::End(TagEnd::CodeBlock) => found.extend(open.take()),
            _ => {}
        }
    }
    found.into_iter().map(|(tag, content)| (tag, lines(&content))).collect()
}

fn lines(content: &str) -> Vec<String> {
    content.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn fences_are_those_of_a_markdown_parser() {
    for text in [
        "a\n```json\nx\n```\nb",
        "a\n~~~\nx\n```\n~~\n~~~~ \nb",
        "````\nx\n```\ny\n````\nb",
        "```\nx\n``` no\ny\n```\nb",
        "   ```\nx\n   ```\nb",
        "``\nx\n``\n",
        "```a`b\nx\n",
        "    ```\nx\n",
        "a ```\nx\n",
        "~ ~ ~\nx",
        "```\nx\n    ```\ny",
        "a\n```\nx\n\ny",
        "> ```\n> x\nb\n",
        "> ```\n> x\n> ```\n> b\n",
        "> > ```\n> > x\n> b\n",
        "- ```\n  x\n  ```\n- b\n",
        "1. a\n\n   ```\n   x\n\n   ```\nb\n",
        "- a\n\nb\n    ```\nx\n",
        "- a\n```\nx\n```\n",
        "- - -\n  ```\n  x",
        "-\n\n  ```\n  x",
        "> a\n```\nx\n```\n> b",
        "a\n2. ```\nx\n",
        "a\n1. ```\nx\n",
        "a\n*\n  ```\nx\n",
        "-     ```\n\n  ```\n  x\n",
        "\t- a\n\t  ```\n",
        "-\ta\n\n\t```\n\tx\n\t```\n",
    ] {
        assert_eq!(scanned(text), parsed(text), "{text:?}");
    }
}

/// Lines of Markdown without HTML, which the scanner doesn't know, and without tabs, which the parser reads as three
/// blanks in some places.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\n", "\n", "\n", "\n\n", "\n  ", "\n    ", "\n> ", "\n   ", " ", "  ", "    ", "> ", ">", "- ",
        "* ", "+ ", "1. ", "2) ", "10. ", "-", "*", "1", "***", "- - -", "```", "```", "~~~", "````", "`",
        "~", "a", "{", "js", "é",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn fences_of_any_text_are_those_of_a_markdown_parser(text in markdown()) {
        // Until its line ends, a fence is not open.
        let text = text + "\n";
        prop_assert_eq!(scanned(&text), parsed(&text), "{:?}", text);
    }
}
