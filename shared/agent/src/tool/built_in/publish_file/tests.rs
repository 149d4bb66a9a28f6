use super::{
    super::tests::{refusal, run},
    *,
};

fn arguments(name: &str, contents: &str, encoding: &str) -> serde_json::Value {
    json!({
        "name": name,
        "media_type": "Text/Markdown; charset=utf-8",
        "contents": contents,
        "encoding": encoding,
        "description": null,
    })
}

fn published(arguments: &serde_json::Value) -> (serde_json::Value, PublishFile) {
    let ToolSuccess { result, mut effects } = run(&Publish::new(), arguments).unwrap();
    match (effects.pop(), effects.pop()) {
        (Some(Effect::PublishFile(file)), None) => (result, file),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_is_published_unchanged_with_name_size_and_hash() {
    let (result, file) = published(&arguments("docs/a.md", "ä\r\n", "utf8"));
    assert_eq!(file.bytes, "ä\r\n");
    assert_eq!((file.name.as_str(), file.media_type.as_str()), ("docs_a.md", "text/markdown"));
    let hash = ContentHash::hash_text("ä\n").to_string();
    assert_eq!(
        result,
        json!({ "name": "docs_a.md", "media_type": "text/markdown", "size": 4, "hash": hash })
    );
}

#[test]
fn base64_may_have_line_breaks_and_no_padding() {
    for contents in ["AP8B/w==", "AP8B/w", "AP8B\n /w==\n"] {
        assert_eq!(published(&arguments("x.bin", contents, "base64")).1.bytes, &[0, 255, 1, 255][..]);
    }
    for contents in ["AP8B_w==", "A", "data:x;base64,AP8B"] {
        assert!(refusal(&Publish::new(), &arguments("x.bin", contents, "base64")).contains("base64"));
    }
}

#[test]
fn file_size_is_limited_to_one_mebibyte() {
    let largest = "x".repeat(MAX_BYTES);
    assert_eq!(published(&arguments("x", &largest, "utf8")).1.bytes.len(), MAX_BYTES);
    let message = refusal(&Publish::new(), &arguments("x", &(largest + "x"), "utf8"));
    assert!(message.contains("1048577 bytes") && message.ends_with("Nothing was published."), "{message}");
}

#[test]
fn blank_description_is_dropped() {
    let mut arguments = arguments("x", "", "utf8");
    for (raw, expected) in [(" ", None), (" A report. ", Some("A report."))] {
        arguments["description"] = raw.into();
        assert_eq!(published(&arguments).1.description.as_deref(), expected);
    }
}

#[test]
fn media_type_is_two_tokens() {
    for (raw, expected) in [
        ("image/svg+xml", Some("image/svg+xml")),
        ("application/vnd.ms-excel ; a=b", Some("application/vnd.ms-excel")),
        ("text", None),
        ("text/", None),
        ("/plain", None),
        ("text/plain\r\nX: y", None),
        ("text/a/b", None),
        ("text/p l", None),
    ] {
        assert_eq!(media_type(raw).as_deref(), expected, "{raw}");
    }
}

#[test]
fn empty_name_is_refused() {
    assert!(refusal(&Publish::new(), &arguments("../..", "x", "utf8")).contains("`name`"));
}
