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
    let Produced { result, mut effects } = run(&Publish::new(), arguments).unwrap();
    match (effects.pop(), effects.pop()) {
        (Some(Effect::PublishFile(file)), None) => (result, file),
        other => panic!("{other:?}"),
    }
}

#[test]
fn text_is_published_as_it_is_and_told_with_name_size_and_hash() {
    let (result, file) = published(&arguments("docs/a.md", "ä\r\n", "utf8"));
    assert_eq!(file.bytes, "ä\r\n");
    assert_eq!((file.name.as_str(), file.media_type.as_str()), ("docs_a.md", "text/markdown"));
    let hash = ContentHash::of_text("ä\n").to_string();
    assert_eq!(
        result,
        json!({ "name": "docs_a.md", "media_type": "text/markdown", "size": 4, "hash": hash })
    );
}

#[test]
fn base64_may_be_broken_into_lines_and_unpadded() {
    for contents in ["AP8B/w==", "AP8B/w", "AP8B\n /w==\n"] {
        assert_eq!(published(&arguments("x.bin", contents, "base64")).1.bytes, &[0, 255, 1, 255][..]);
    }
    for contents in ["AP8B_w==", "A", "data:x;base64,AP8B"] {
        assert!(refusal(&Publish::new(), &arguments("x.bin", contents, "base64")).contains("base64"));
    }
}

#[test]
fn a_file_has_at_most_a_mebibyte() {
    let most = "x".repeat(MAX_BYTES);
    assert_eq!(published(&arguments("x", &most, "utf8")).1.bytes.len(), MAX_BYTES);
    let told = refusal(&Publish::new(), &arguments("x", &(most + "x"), "utf8"));
    assert!(told.contains("1048577 bytes") && told.ends_with("Nothing was published."), "{told}");
}

#[test]
fn a_description_is_one_that_says_something() {
    let mut arguments = arguments("x", "", "utf8");
    for (raw, kept) in [(" ", None), (" A report. ", Some("A report."))] {
        arguments["description"] = raw.into();
        assert_eq!(published(&arguments).1.description.as_deref(), kept);
    }
}

#[test]
fn a_media_type_is_two_tokens() {
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
fn a_name_of_nothing_is_refused() {
    assert!(refusal(&Publish::new(), &arguments("../..", "x", "utf8")).contains("`name`"));
}
