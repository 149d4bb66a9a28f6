use super::*;

#[test]
fn tool_results_decide_scenario() {
    accepted_turn(&user_turn(json!({})));
    accepted_continuation(&continuation(json!({})));
    refused(&continuation(json!({"ToolResults": []})), ErrorCode::MemberInvalid, "ToolResults");
}

#[test]
fn pascal_and_camel_case_are_equivalent() {
    let camel = json!({
        "sessionId": "s1", "turnId": "t1", "instruction": "Explain.",
        "inputArtifacts": [{"relativePath": "a", "fileName": "a", "contents": "", "origin": "ide"}],
        "ragScope": {"conditions": [{"key": "Repo", "operator": "==", "values": ["core"]}]},
        "streaming": true,
    });
    let pascal = json!({
        "SessionId": "s1", "TurnId": "t1", "Instruction": "Explain.",
        "InputArtifacts": [{"RelativePath": "a", "FileName": "a", "Contents": "", "Origin": "ide"}],
        "RagScope": {"Conditions": [{"Key": "Repo", "Operator": "==", "Values": ["core"]}]},
        "Streaming": true,
    });
    assert_eq!(accepted_turn(&camel), accepted_turn(&pascal));
}

#[test]
fn duplicate_member_rejected_in_any_spelling() {
    for body in [
        r#"{"SessionId":"s1","TurnId":"t1","Instruction":"a","Instruction":"a"}"#,
        r#"{"SessionId":"s1","TurnId":"t1","Instruction":"a","instruction":"a"}"#,
        r#"{"SessionId":"s1","TurnId":"t1","Instruction":"a","instruction":null}"#,
        r#"{"SessionId":"s1","TurnId":"t1","Instruction":"a","\u0049nstruction":"a"}"#,
    ] {
        refused_text(body, ErrorCode::MemberDuplicated, "Instruction");
    }
}

#[test]
fn unknown_member_rejected_by_name() {
    for name in ["Prompt", "SESSIONID", "session_id", "sessionid", "", "Ünbekannt"] {
        let errors = parse(&user_turn(json!({name: 1}))).unwrap_err();
        assert_eq!(errors[0].error_code, ErrorCode::MemberUnknown, "{name}");
        assert!(errors[0].message.contains(name), "{errors:?}");
    }
    let errors = parse(&user_turn(json!({"session_id": "s"}))).unwrap_err();
    assert!(errors[0].message.contains("SessionId is"), "{errors:?}");
}

#[test]
fn unknown_name_is_truncated_and_printable() {
    let name = format!("\u{1b}[31m\n{}", "x".repeat(100_000));
    let errors = parse(&user_turn(json!({name: 1}))).unwrap_err();
    assert!(errors[0].message.chars().count() < 200);
    assert!(!errors[0].message.contains(char::is_control));
}

#[test]
fn body_must_be_one_utf8_json_object() {
    for (body, code) in [
        (&b""[..], ErrorCode::BodyMissing),
        (b" \r\n", ErrorCode::BodyMissing),
        (b"\xEF\xBB\xBF{}", ErrorCode::BodyNotJson),
        (b"{\"SessionId\":\"\xFF\"}", ErrorCode::BodyNotJson),
        (b"{} {}", ErrorCode::BodyNotJson),
        (b"{\"SessionId\":\"s\"", ErrorCode::BodyNotJson),
        (br#"{"SessionId":"\ud800"}"#, ErrorCode::BodyNotJson),
        (br#"{"SessionId":1e999}"#, ErrorCode::BodyNotJson),
        (b"null", ErrorCode::MemberInvalid),
        (b"[]", ErrorCode::MemberInvalid),
        (b"\"SessionId\"", ErrorCode::MemberInvalid),
    ] {
        let errors = AgentExecuteRequest::parse(body).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert_eq!(errors[0].error_code, code, "{errors:?}");
        assert!(errors[0].message.starts_with("The body "), "{errors:?}");
    }
}

#[test]
fn size_depth_and_count_are_limited() {
    let code = |body: &str| AgentExecuteRequest::parse(body.as_bytes()).unwrap_err()[0].error_code;
    assert_eq!(code(&" ".repeat(limits::MAX_BODY_BYTES + 1)), ErrorCode::PayloadTooLarge);
    assert_eq!(code(&"[".repeat(100_000)), ErrorCode::MemberTooLarge);
    assert_eq!(code(&"{\"a\":".repeat(100_000)), ErrorCode::MemberTooLarge);
    assert_eq!(code(&format!("[{}0]", "0,".repeat(100_000))), ErrorCode::MemberTooLarge);
}

#[test]
fn violations_reported_in_document_order() {
    let body = r#"{
        "Mode": "general",
        "TurnId": "a b",
        "Streaming": "yes",
        "InputArtifacts": [
            {"RelativePath": "../x", "FileName": "x", "Contents": "", "Origin": "web", "Size": 3},
            7
        ],
        "Repo": ""
    }"#;
    let errors = AgentExecuteRequest::parse(body.as_bytes()).unwrap_err();
    let paths: Vec<_> = errors.iter().filter_map(|e| e.details.as_deref()).collect();
    assert_eq!(
        paths,
        [
            "Mode",
            "TurnId",
            "Streaming",
            "InputArtifacts[0].RelativePath",
            "InputArtifacts[0].Origin",
            "InputArtifacts[0].Size",
            "InputArtifacts[1]",
            "Repo",
            "SessionId",
        ]
    );
}

#[test]
fn reported_violations_are_limited() {
    let unknown: Value = (0..1_000).map(|n| (format!("x{n}"), json!(0))).collect();
    let errors = parse(&user_turn(unknown)).unwrap_err();
    assert_eq!(errors.len(), limits::MAX_REPORTED_VIOLATIONS);
}

#[test]
fn typo_error_suggests_member() {
    for (typo, meant) in [
        ("Instructon", "Instruction"),
        ("input_artefacts", "InputArtifacts"),
        ("Steraming", "Streaming"),
        ("Ropo", "Repo"),
    ] {
        let errors = parse(&user_turn(json!({typo: null}))).unwrap_err();
        assert_eq!(errors[0].message, format!("{typo} is not a member of the contract, {meant} is"));
    }
    for other in ["Colour", "Re", "Interaction"] {
        let errors = parse(&user_turn(json!({other: null}))).unwrap_err();
        assert_eq!(errors[0].message, format!("{other} is not a member of the contract; leave it out"));
    }
}
