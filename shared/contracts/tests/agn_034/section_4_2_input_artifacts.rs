use super::*;

const AT: &str = "InputArtifacts[0]";

#[test]
fn four_members_are_required() {
    for name in ["RelativePath", "FileName", "Contents", "Origin"] {
        refused(&artifact(json!({name: null})), ErrorCode::MemberRequired, &format!("{AT}.{name}"));
    }
}

#[test]
fn optional_members_are_read() {
    let members = json!({"MimeType": "text/x-rust; charset=utf-8", "Language": "rust", "Encoding": "utf8", "Origin": "user"});
    let turn = accepted_turn(&artifact(members));
    let file = &turn.input_artifacts[0];
    assert_eq!(file.relative_path.as_str(), "src/a.rs");
    assert_eq!(file.file_name.as_str(), "a.rs");
    assert_eq!(file.contents, Contents::Text("fn a() {}".to_owned()));
    assert_eq!(file.origin, Origin::User);
    assert_eq!(file.mime_type.as_deref(), Some("text/x-rust; charset=utf-8"));
    assert_eq!(file.language.as_deref(), Some("rust"));
}

#[test]
fn absolute_and_escaping_paths_rejected() {
    for path in [
        "/etc/passwd",
        r"\x",
        r"\\server\share\x",
        "//server/share/x",
        r"C:\x",
        "c:/x",
        "C:x",
        "file:///x",
        "~/x",
        "..",
        "../x",
        r"..\x",
        "a/../x",
        r"a\..\x",
        "a/.. /x",
        "a\u{0}b",
        "",
        " ",
        ".",
        "a/",
        r"a\",
    ] {
        let at = format!("{AT}.RelativePath");
        refused(&artifact(json!({"RelativePath": path})), ErrorCode::MemberInvalid, &at);
    }
    let long = "a/".repeat(600) + "a";
    let at = format!("{AT}.RelativePath");
    refused(&artifact(json!({"RelativePath": long})), ErrorCode::MemberTooLarge, &at);
}

#[test]
fn file_name_must_be_bare() {
    for name in ["a/b", r"a\b", "..", "", "C:"] {
        let at = format!("{AT}.FileName");
        refused(&artifact(json!({"FileName": name})), ErrorCode::MemberInvalid, &at);
    }
}

#[test]
fn file_name_must_be_the_last_part_of_the_path() {
    for (path, name) in [("src/a.rs", "b.rs"), ("src/a.rs", "A.rs"), ("src/a.rs", "src"), ("a", "a.rs")] {
        let body = artifact(json!({"RelativePath": path, "FileName": name}));
        refused(&body, ErrorCode::MemberInvalid, &format!("{AT}.FileName"));
    }
    accepted_turn(&artifact(json!({"RelativePath": r".\src\a.rs", "FileName": "a.rs"})));
}

#[test]
fn two_artifacts_of_one_path_are_refused() {
    let file = |path: &str| artifact(json!({"RelativePath": path}))["InputArtifacts"][0].clone();
    let twice = user_turn(json!({"InputArtifacts": [file("src/a.rs"), file("b/a.rs"), file(r"src\.\a.rs")]}));
    refused(&twice, ErrorCode::MemberInvalid, "InputArtifacts[2].RelativePath");
    accepted_turn(&user_turn(json!({"InputArtifacts": [file("src/a.rs"), file("SRC/a.rs")]})));
}

/// A request that was stored before a rule existed can still be read.
#[test]
fn stored_request_is_read_without_the_newer_rules() {
    let stored = br#"{"InputArtifacts":[
        {"Contents":"1","FileName":"b","Origin":"ide","RelativePath":"x/a"},
        {"Contents":"2","FileName":"a","Origin":"ide","RelativePath":"x/a"}],"SessionId":"s","TurnId":"t"}"#;
    assert!(UserTurn::from_canonical(stored).is_ok());
    assert!(AgentExecuteRequest::parse(stored).is_err());
}

#[test]
fn origin_is_ide_or_user() {
    for origin in [json!("IDE"), json!("web"), json!(""), json!(1)] {
        refused(&artifact(json!({"Origin": origin})), ErrorCode::MemberInvalid, &format!("{AT}.Origin"));
    }
}

#[test]
fn encoding_is_utf8_or_base64() {
    for encoding in [json!("Base64"), json!("utf-16"), json!(1)] {
        refused(
            &artifact(json!({"Encoding": encoding})),
            ErrorCode::MemberInvalid,
            &format!("{AT}.Encoding"),
        );
    }
}

#[test]
fn base64_decoded_in_any_member_order() {
    let binary = artifact(json!({"Encoding": "base64", "Contents": "AP8="}));
    assert_eq!(accepted_turn(&binary).input_artifacts[0].contents, Contents::Binary(vec![0, 255]));
    let unpadded = artifact(json!({"Encoding": "base64", "Contents": "AP8"}));
    assert_eq!(accepted_turn(&unpadded), accepted_turn(&binary));
    for body in [
        r#"{"RelativePath":"a","FileName":"a","Origin":"ide","Contents":"QQ==","Encoding":"base64"}"#,
        r#"{"encoding":"base64","Contents":"QQ==","RelativePath":"a","FileName":"a","Origin":"ide"}"#,
    ] {
        let file: Value = serde_json::from_str(body).unwrap();
        let turn = accepted_turn(&user_turn(json!({"InputArtifacts": [file]})));
        assert_eq!(turn.input_artifacts[0].contents, Contents::Text("A".to_owned()));
    }
    for wrong in ["AP8*", "A", "AP 8=", "AP8=\n", "_-__", "data:text/plain;base64,QQ==", "QR=="] {
        let body = artifact(json!({"Encoding": "base64", "Contents": wrong}));
        refused(&body, ErrorCode::MemberInvalid, &format!("{AT}.Contents"));
    }
}

#[test]
fn empty_file_accepted() {
    let turn = accepted_turn(&artifact(json!({"Contents": ""})));
    assert_eq!(turn.input_artifacts[0].contents, Contents::Text(String::new()));
}

#[test]
fn invalid_mime_type_rejected() {
    for wrong in ["text", "text/", "/plain", "text/pl ain", "text/plain\n", ""] {
        refused(&artifact(json!({"MimeType": wrong})), ErrorCode::MemberInvalid, &format!("{AT}.MimeType"));
    }
}

#[test]
fn more_than_64_artifacts_rejected() {
    let file = artifact(json!({}))["InputArtifacts"][0].clone();
    let numbered = |number: usize| {
        let mut file = file.clone();
        file["RelativePath"] = json!(format!("{number}/a.rs"));
        file
    };
    let files = |n: usize| user_turn(json!({"InputArtifacts": (0..n).map(numbered).collect::<Vec<Value>>()}));
    assert_eq!(accepted_turn(&files(64)).input_artifacts.len(), 64);
    refused(&files(65), ErrorCode::MemberTooLarge, "InputArtifacts");
}

#[test]
fn unknown_member_rejected() {
    refused(&artifact(json!({"Path": "a"})), ErrorCode::MemberUnknown, &format!("{AT}.Path"));
}
