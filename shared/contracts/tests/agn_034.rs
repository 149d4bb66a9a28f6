//! AGN-034, clause by clause: what is accepted, what is refused, and what the refusal says.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use contracts::{
    AgentExecuteRequest, ErrorCode, ToolContinuation, UserTurn,
    request::{Contents, ImageType, Origin, RagOperator, RagValue, limits},
    response::ToolOutcome,
};
use serde_json::{Value, json};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUg==";

/// A minimal user turn with these members added or replaced.
fn user_turn(members: Value) -> Value {
    merged(json!({"SessionId": "s1", "TurnId": "t1", "Instruction": "Explain."}), members)
}

/// A minimal tool continuation with these members added or replaced.
fn continuation(members: Value) -> Value {
    let results = json!([{"ToolCallId": "c1", "ExecutionMs": 12, "ResultJson": "{}"}]);
    merged(json!({"SessionId": "s1", "TurnId": "t1", "ToolResults": results}), members)
}

fn artifact(members: Value) -> Value {
    let plain =
        json!({"RelativePath": "src/a.rs", "FileName": "a.rs", "Contents": "fn a() {}", "Origin": "ide"});
    user_turn(json!({"InputArtifacts": [merged(plain, members)]}))
}

fn image(members: Value) -> Value {
    let plain = json!({"Id": "i1", "MimeType": "image/png", "DataBase64": PNG});
    user_turn(json!({"ClipboardImages": [merged(plain, members)]}))
}

fn condition(members: Value) -> Value {
    let plain = json!({"Key": "Repo", "Operator": "==", "Values": ["core"]});
    user_turn(json!({"RagScope": {"Conditions": [merged(plain, members)]}}))
}

fn result(members: Value) -> Value {
    let plain = json!({"ToolCallId": "c1", "ExecutionMs": 12});
    continuation(json!({"ToolResults": [merged(plain, members)]}))
}

/// Members whose new value is the string "absent" are taken out.
fn merged(mut base: Value, members: Value) -> Value {
    let into = base.as_object_mut().unwrap();
    for (name, value) in members.as_object().unwrap() {
        if value == "absent" {
            into.remove(name);
        } else {
            into.insert(name.clone(), value.clone());
        }
    }
    base
}

fn parse(body: &Value) -> Result<AgentExecuteRequest, Vec<contracts::Error>> {
    AgentExecuteRequest::parse(body.to_string().as_bytes())
}

fn accepted_turn(body: &Value) -> UserTurn {
    match parse(body) {
        Ok(AgentExecuteRequest::UserTurn(turn)) => turn,
        other => panic!("{body}: {other:?}"),
    }
}

fn accepted_continuation(body: &Value) -> ToolContinuation {
    match parse(body) {
        Ok(AgentExecuteRequest::ToolContinuation(continuation)) => continuation,
        other => panic!("{body}: {other:?}"),
    }
}

/// Asserts that a body is refused for exactly this reason.
fn refused(body: &Value, code: ErrorCode, path: &str) {
    refused_text(&body.to_string(), code, path);
}

fn refused_text(body: &str, code: ErrorCode, path: &str) {
    let shown: String = body.chars().take(300).collect();
    let errors = AgentExecuteRequest::parse(body.as_bytes()).expect_err(&shown);
    let found: Vec<_> =
        errors.iter().map(|e| (e.error_code, e.details.as_deref().unwrap_or_default())).collect();
    assert_eq!(found, [(code, path)], "{shown}: {errors:?}");
    let message = &errors[0].message;
    let subject = if path.is_empty() { "The body" } else { path };
    assert!(message.starts_with(subject), "{message}");
    assert!(message.contains("AGN-034 §"), "{message}");
}

mod section_2_1_user_turn_request {
    use super::*;

    #[test]
    fn the_ids_are_required() {
        for id in ["SessionId", "TurnId"] {
            for nothing in [json!("absent"), json!(null)] {
                refused(&user_turn(json!({id: nothing})), ErrorCode::MemberRequired, id);
            }
        }
    }

    #[test]
    fn the_ids_are_held_to_what_can_stand_in_a_path() {
        for id in ["SessionId", "TurnId", "AgentContextId", "ConversationContextId"] {
            for wrong in ["", "a b", "a/b", "..", ".", "last", "é", "a\u{0}b", "a#b"] {
                refused(&user_turn(json!({id: wrong})), ErrorCode::MemberInvalid, id);
            }
            for wrong in [json!(5), json!(["a"]), json!({}), json!(true)] {
                refused(&user_turn(json!({id: wrong})), ErrorCode::MemberInvalid, id);
            }
            refused(&user_turn(json!({id: "a".repeat(129)})), ErrorCode::MemberTooLarge, id);
            accepted_turn(&user_turn(json!({id: "aZ09-._~".repeat(16)})));
        }
    }

    #[test]
    fn at_least_one_input_is_required() {
        for body in [
            user_turn(json!({"Instruction": "absent"})),
            user_turn(json!({"Instruction": null})),
            user_turn(json!({"Instruction": " \t\r\n\u{a0}"})),
            user_turn(json!({"Instruction": "", "InputArtifacts": [], "ClipboardImages": []})),
            user_turn(json!({"Instruction": "absent", "RagScope": {"Conditions": []}, "Repo": "core"})),
        ] {
            refused(&body, ErrorCode::InputRequired, "");
        }
    }

    #[test]
    fn any_one_input_is_enough() {
        let instruction = user_turn(json!({}));
        let file = merged(artifact(json!({})), json!({"Instruction": "absent"}));
        let picture = merged(image(json!({})), json!({"Instruction": "\n"}));
        for body in [instruction, file, picture] {
            accepted_turn(&body);
        }
    }

    #[test]
    fn input_that_is_refused_is_not_also_reported_as_absent() {
        refused(&user_turn(json!({"Instruction": 5})), ErrorCode::MemberInvalid, "Instruction");
    }

    #[test]
    fn tool_results_are_forbidden_where_only_a_user_turn_can_be_meant() {
        // Their presence makes a body a continuation, so it is the other members that are refused.
        let errors = parse(&continuation(json!({"Instruction": "Go on."}))).unwrap_err();
        assert_eq!(errors[0].error_code, ErrorCode::MemberForbidden);
        assert_eq!(
            errors[0].message,
            "Instruction is forbidden in a tool continuation (AGN-034 §2.2); leave it out"
        );
    }

    #[test]
    fn mode_and_provider_identifiers_are_refused_by_name_whatever_their_value() {
        for name in [
            "Mode",
            "mode",
            "ModeDisplayName",
            "ConversationId",
            "ResponseContinuationId",
            "PreviousResponseId",
            "previous_response_id",
            "OpenAIResponseId",
            "ToolsJson",
            "ToolChoiceName",
            "SystemPrompt",
            "Model",
            "ModelName",
            "Temperature",
            "CorrelationId",
            "Kind",
            "UserId",
            "OrgId",
            "ToolCalls",
            "Diagnostics",
        ] {
            for value in [json!("x"), json!(null), json!({"a": 1})] {
                let body = user_turn(json!({name: value}));
                refused(&body, ErrorCode::MemberForbidden, name);
                let errors = parse(&body).unwrap_err();
                assert!(errors[0].message.contains("owned by the server"), "{errors:?}");
            }
        }
    }
}

mod section_2_2_tool_continuation_submission {
    use super::*;

    #[test]
    fn ids_and_results_are_all_there_is() {
        let continuation = accepted_continuation(&continuation(json!({})));
        assert_eq!(continuation.session_id.as_str(), "s1");
        assert_eq!(continuation.turn_id.as_str(), "t1");
        assert_eq!(continuation.tool_results.len(), 1);
    }

    #[test]
    fn the_ids_are_required() {
        for id in ["SessionId", "TurnId"] {
            refused(&continuation(json!({id: "absent"})), ErrorCode::MemberRequired, id);
        }
    }

    #[test]
    fn every_other_member_is_forbidden() {
        for (name, value) in [
            ("Instruction", json!("")),
            ("InputArtifacts", json!([])),
            ("ClipboardImages", json!([])),
            ("RagScope", json!({"Conditions": []})),
            ("SolutionContextText", json!("")),
            ("WorkspaceId", json!("w")),
            ("Repo", json!("r")),
            ("Language", json!("l")),
            ("Streaming", json!(false)),
            ("AgentContextId", json!("a")),
            ("ConversationContextId", json!("c")),
        ] {
            let body = continuation(json!({name: value}));
            refused(&body, ErrorCode::MemberForbidden, name);
            assert_eq!(
                parse(&body).unwrap_err()[0].message,
                format!("{name} is forbidden in a tool continuation (AGN-034 §2.2); leave it out")
            );
        }
    }

    #[test]
    fn a_member_that_is_null_is_absent() {
        accepted_continuation(&continuation(json!({"Instruction": null, "Streaming": null})));
        accepted_turn(&user_turn(json!({"ToolResults": null})));
    }

    #[test]
    fn where_nothing_else_is_accepted_results_are_required() {
        let body = user_turn(json!({"Instruction": "absent"})).to_string();
        let errors = ToolContinuation::parse(body.as_bytes()).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].error_code, ErrorCode::MemberRequired);
        assert_eq!(errors[0].details.as_deref(), Some("ToolResults"));
    }
}

mod section_3_top_level_request_envelope {
    use super::*;

    #[test]
    fn presence_of_tool_results_decides_the_scenario() {
        accepted_turn(&user_turn(json!({})));
        accepted_continuation(&continuation(json!({})));
        refused(&continuation(json!({"ToolResults": []})), ErrorCode::MemberInvalid, "ToolResults");
    }

    #[test]
    fn pascal_and_camel_case_are_the_same_members() {
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
    fn a_member_twice_is_refused_in_one_spelling_or_two() {
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
    fn an_unknown_member_is_refused_by_name() {
        for name in ["Prompt", "SESSIONID", "session_id", "sessionid", "", "Ünbekannt"] {
            let errors = parse(&user_turn(json!({name: 1}))).unwrap_err();
            assert_eq!(errors[0].error_code, ErrorCode::MemberUnknown, "{name}");
            assert!(errors[0].message.contains(name), "{errors:?}");
        }
        let errors = parse(&user_turn(json!({"session_id": "s"}))).unwrap_err();
        assert!(errors[0].message.contains("SessionId is"), "{errors:?}");
    }

    #[test]
    fn an_unknown_name_is_shown_short_and_printable() {
        let name = format!("\u{1b}[31m\n{}", "x".repeat(100_000));
        let errors = parse(&user_turn(json!({name: 1}))).unwrap_err();
        assert!(errors[0].message.chars().count() < 200);
        assert!(!errors[0].message.contains(char::is_control));
    }

    #[test]
    fn a_body_is_one_json_object_in_utf8() {
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
    fn size_depth_and_count_have_limits() {
        let code = |body: &str| AgentExecuteRequest::parse(body.as_bytes()).unwrap_err()[0].error_code;
        assert_eq!(code(&" ".repeat(limits::MAX_BODY_BYTES + 1)), ErrorCode::PayloadTooLarge);
        assert_eq!(code(&"[".repeat(100_000)), ErrorCode::MemberTooLarge);
        assert_eq!(code(&"{\"a\":".repeat(100_000)), ErrorCode::MemberTooLarge);
        assert_eq!(code(&format!("[{}0]", "0,".repeat(100_000))), ErrorCode::MemberTooLarge);
    }

    #[test]
    fn all_violations_are_reported_at_once_in_document_order() {
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
    fn the_number_of_reported_violations_has_a_limit() {
        let unknown: Value = (0..1_000).map(|n| (format!("x{n}"), json!(0))).collect();
        let errors = parse(&user_turn(unknown)).unwrap_err();
        assert_eq!(errors.len(), limits::MAX_REPORTED_VIOLATIONS);
    }
}

mod section_4_1_instruction {
    use super::*;

    #[test]
    fn is_kept_as_it_was_sent() {
        let text = "  # Titel\r\n\tünïcode 😀 \u{0} ";
        let turn = accepted_turn(&user_turn(json!({"Instruction": text})));
        assert_eq!(turn.instruction.as_deref(), Some(text));
    }

    #[test]
    fn is_text() {
        for wrong in [json!(1), json!(true), json!(["a"]), json!({})] {
            refused(&user_turn(json!({"Instruction": wrong})), ErrorCode::MemberInvalid, "Instruction");
        }
    }

    #[test]
    fn has_a_length_limit_in_characters() {
        let most = "é".repeat(limits::MAX_INSTRUCTION_CHARS);
        accepted_turn(&user_turn(json!({"Instruction": most})));
        let more = format!("{most}!");
        refused(&user_turn(json!({"Instruction": more})), ErrorCode::MemberTooLarge, "Instruction");
    }

    #[test]
    fn blank_is_absent() {
        let turn = accepted_turn(&merged(image(json!({})), json!({"Instruction": " \n"})));
        assert_eq!(turn.instruction, None);
    }
}

mod section_4_2_input_artifacts {
    use super::*;

    const AT: &str = "InputArtifacts[0]";

    #[test]
    fn the_four_members_are_required() {
        for name in ["RelativePath", "FileName", "Contents", "Origin"] {
            refused(&artifact(json!({name: null})), ErrorCode::MemberRequired, &format!("{AT}.{name}"));
        }
    }

    #[test]
    fn the_optional_members_are_read() {
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
    fn no_absolute_or_escaping_path_is_permitted() {
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
    fn a_file_name_is_a_bare_name() {
        for name in ["a/b", r"a\b", "..", "", "C:"] {
            let at = format!("{AT}.FileName");
            refused(&artifact(json!({"FileName": name})), ErrorCode::MemberInvalid, &at);
        }
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
    fn base64_is_decoded_and_checked_wherever_encoding_stands() {
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
    fn an_empty_file_is_a_file() {
        let turn = accepted_turn(&artifact(json!({"Contents": ""})));
        assert_eq!(turn.input_artifacts[0].contents, Contents::Text(String::new()));
    }

    #[test]
    fn a_mime_type_is_one() {
        for wrong in ["text", "text/", "/plain", "text/pl ain", "text/plain\n", ""] {
            refused(
                &artifact(json!({"MimeType": wrong})),
                ErrorCode::MemberInvalid,
                &format!("{AT}.MimeType"),
            );
        }
    }

    #[test]
    fn there_are_at_most_64() {
        let file = artifact(json!({}))["InputArtifacts"][0].clone();
        let files = |n: usize| user_turn(json!({"InputArtifacts": vec![file.clone(); n]}));
        assert_eq!(accepted_turn(&files(64)).input_artifacts.len(), 64);
        refused(&files(65), ErrorCode::MemberTooLarge, "InputArtifacts");
    }

    #[test]
    fn an_unknown_member_is_refused() {
        refused(&artifact(json!({"Path": "a"})), ErrorCode::MemberUnknown, &format!("{AT}.Path"));
    }
}

mod section_4_3_clipboard_images {
    use super::*;

    const AT: &str = "ClipboardImages[0]";

    #[test]
    fn the_three_members_are_required() {
        for name in ["Id", "MimeType", "DataBase64"] {
            refused(&image(json!({name: null})), ErrorCode::MemberRequired, &format!("{AT}.{name}"));
        }
    }

    #[test]
    fn the_declared_type_matches_the_signature() {
        for (mime_type, data, image_type) in [
            ("image/png", PNG, ImageType::Png),
            ("image/jpeg", "/9j/4AAQ", ImageType::Jpeg),
            ("image/gif", "R0lGODlhAQAB", ImageType::Gif),
            ("image/gif", "R0lGODdhAQAB", ImageType::Gif),
            ("image/webp", "UklGRgAAAABXRUJQ", ImageType::Webp),
        ] {
            let turn = accepted_turn(&image(json!({"MimeType": mime_type, "DataBase64": data})));
            assert_eq!(turn.clipboard_images[0].image_type, image_type);
            let other = if mime_type == "image/png" { "image/gif" } else { "image/png" };
            let body = image(json!({"MimeType": other, "DataBase64": data}));
            refused(&body, ErrorCode::MemberInvalid, &format!("{AT}.DataBase64"));
        }
    }

    #[test]
    fn bytes_that_are_no_image_are_refused() {
        for data in ["", "aGVsbG8=", "PHN2Zz48L3N2Zz4=", "UklGRgAAAABXQVZF"] {
            refused(
                &image(json!({"DataBase64": data})),
                ErrorCode::MemberInvalid,
                &format!("{AT}.DataBase64"),
            );
        }
    }

    #[test]
    fn data_is_bare_base64() {
        for data in [&format!("data:image/png;base64,{PNG}"), "***", "iVBORw0K\n"] {
            refused(
                &image(json!({"DataBase64": data})),
                ErrorCode::MemberInvalid,
                &format!("{AT}.DataBase64"),
            );
        }
    }

    #[test]
    fn other_types_are_refused() {
        for mime_type in ["image/svg+xml", "image/bmp", "IMAGE/PNG", "text/plain", ""] {
            refused(
                &image(json!({"MimeType": mime_type})),
                ErrorCode::MemberInvalid,
                &format!("{AT}.MimeType"),
            );
        }
    }

    #[test]
    fn there_are_at_most_16() {
        let picture = image(json!({}))["ClipboardImages"][0].clone();
        let pictures = |n: usize| user_turn(json!({"ClipboardImages": vec![picture.clone(); n]}));
        assert_eq!(accepted_turn(&pictures(16)).clipboard_images.len(), 16);
        refused(&pictures(17), ErrorCode::MemberTooLarge, "ClipboardImages");
    }
}

mod section_4_4_rag_scope_inputs {
    use super::*;

    const AT: &str = "RagScope.Conditions[0]";

    #[test]
    fn the_three_members_are_required() {
        for name in ["Key", "Operator", "Values"] {
            refused(&condition(json!({name: null})), ErrorCode::MemberRequired, &format!("{AT}.{name}"));
        }
    }

    #[test]
    fn the_four_operators_are_all() {
        for (word, operator) in [
            ("==", RagOperator::Equals),
            ("!=", RagOperator::NotEquals),
            ("contains", RagOperator::Contains),
            ("does_not_contain", RagOperator::DoesNotContain),
        ] {
            let turn = accepted_turn(&condition(json!({"Operator": word})));
            assert_eq!(turn.rag_scope[0].operator, operator);
        }
        for wrong in [json!("="), json!("Contains"), json!(">"), json!(""), json!(1)] {
            refused(
                &condition(json!({"Operator": wrong})),
                ErrorCode::MemberInvalid,
                &format!("{AT}.Operator"),
            );
        }
    }

    #[test]
    fn values_are_strings_whole_numbers_and_booleans() {
        let turn = accepted_turn(&condition(json!({"Values": ["a", 3, -3, 2.0, true]})));
        let expected = [
            RagValue::Text("a".to_owned()),
            RagValue::Integer(3),
            RagValue::Integer(-3),
            RagValue::Integer(2),
            RagValue::Flag(true),
        ];
        assert_eq!(turn.rag_scope[0].values.as_slice(), expected);
        for wrong in [json!(null), json!(1.5), json!(1e300), json!([]), json!({}), json!(""), json!(" ")] {
            let at = format!("{AT}.Values[1]");
            refused(&condition(json!({"Values": ["a", wrong]})), ErrorCode::MemberInvalid, &at);
        }
    }

    #[test]
    fn values_are_one_or_more() {
        for wrong in [json!([]), json!("core"), json!({})] {
            refused(&condition(json!({"Values": wrong})), ErrorCode::MemberInvalid, &format!("{AT}.Values"));
        }
        let many = vec!["v"; limits::MAX_VALUES + 1];
        refused(&condition(json!({"Values": many})), ErrorCode::MemberTooLarge, &format!("{AT}.Values"));
    }

    #[test]
    fn a_key_says_something() {
        for wrong in [json!(""), json!(" "), json!("a\n"), json!(1)] {
            refused(&condition(json!({"Key": wrong})), ErrorCode::MemberInvalid, &format!("{AT}.Key"));
        }
    }

    #[test]
    fn a_scope_holds_conditions_and_none_of_them_is_no_scope() {
        refused(&user_turn(json!({"RagScope": {}})), ErrorCode::MemberRequired, "RagScope.Conditions");
        refused(&user_turn(json!({"RagScope": []})), ErrorCode::MemberInvalid, "RagScope");
        refused(
            &user_turn(json!({"RagScope": {"Conditions": {}}})),
            ErrorCode::MemberInvalid,
            "RagScope.Conditions",
        );
        let none = accepted_turn(&user_turn(json!({"RagScope": {"Conditions": []}})));
        assert_eq!(none, accepted_turn(&user_turn(json!({}))));
    }
}

mod section_4_5_solution_context_hints {
    use super::*;

    #[test]
    fn present_absent_and_present_but_empty_are_three_things() {
        let of = |members| accepted_turn(&user_turn(members)).solution_context_text;
        assert_eq!(of(json!({})), None);
        assert_eq!(of(json!({"SolutionContextText": ""})), Some(String::new()));
        assert_eq!(of(json!({"SolutionContextText": "a\nb"})), Some("a\nb".to_owned()));
    }

    #[test]
    fn has_a_length_limit() {
        let more = "x".repeat(limits::MAX_SOLUTION_CONTEXT_CHARS + 1);
        let body = user_turn(json!({"SolutionContextText": more}));
        refused(&body, ErrorCode::MemberTooLarge, "SolutionContextText");
    }
}

mod section_4_6_workspace_and_environment_hints {
    use super::*;

    #[test]
    fn are_lines_of_text() {
        for name in ["WorkspaceId", "Repo", "Language"] {
            accepted_turn(&user_turn(json!({name: "NuvOS.Design Playground/Kevin's"})));
            for wrong in [json!(""), json!(" "), json!("a\nb"), json!("a\u{0}"), json!(1), json!([])] {
                refused(&user_turn(json!({name: wrong})), ErrorCode::MemberInvalid, name);
            }
            let long = "x".repeat(limits::MAX_HINT_CHARS + 1);
            refused(&user_turn(json!({name: long})), ErrorCode::MemberTooLarge, name);
        }
    }
}

mod section_4_7_streaming_preference {
    use super::*;

    #[test]
    fn is_a_boolean_and_false_by_default() {
        assert!(!accepted_turn(&user_turn(json!({}))).streaming);
        assert!(!accepted_turn(&user_turn(json!({"Streaming": false}))).streaming);
        assert!(accepted_turn(&user_turn(json!({"Streaming": true}))).streaming);
        for wrong in [json!("true"), json!(1), json!({})] {
            refused(&user_turn(json!({"Streaming": wrong})), ErrorCode::MemberInvalid, "Streaming");
        }
    }

    #[test]
    fn affects_delivery_and_not_the_request() {
        let streamed = accepted_turn(&user_turn(json!({"Streaming": true})));
        let whole = accepted_turn(&user_turn(json!({"Streaming": false})));
        assert_eq!(streamed.fingerprint(), whole.fingerprint());
    }
}

mod section_5_tool_results_submission {
    use super::*;

    const AT: &str = "ToolResults[0]";

    #[test]
    fn call_id_and_time_are_required() {
        for name in ["ToolCallId", "ExecutionMs"] {
            let body = result(json!({name: null, "ResultJson": "1"}));
            refused(&body, ErrorCode::MemberRequired, &format!("{AT}.{name}"));
        }
    }

    #[test]
    fn exactly_one_outcome_is_required() {
        refused(&result(json!({})), ErrorCode::MemberRequired, AT);
        refused(&result(json!({"ResultJson": null, "ErrorMessage": null})), ErrorCode::MemberRequired, AT);
        let both = result(json!({"ResultJson": "1", "ErrorMessage": "no"}));
        refused(&both, ErrorCode::MemberForbidden, AT);
    }

    #[test]
    fn either_outcome_is_valid() {
        let continuation = accepted_continuation(&result(json!({"ResultJson": " {\"a\": [1, null]} "})));
        let result_json = ToolOutcome::ResultJson(" {\"a\": [1, null]} ".to_owned());
        assert_eq!(continuation.tool_results[0].outcome, result_json);
        let failed = accepted_continuation(&result(json!({"ErrorMessage": "gone", "ResultJson": null})));
        assert_eq!(failed.tool_results[0].outcome, ToolOutcome::ErrorMessage("gone".to_owned()));
    }

    #[test]
    fn result_json_is_json_text() {
        for wrong in
            [json!(""), json!("{"), json!("not json"), json!("{} {}"), json!({}), json!(1), json!("NaN")]
        {
            refused(
                &result(json!({"ResultJson": wrong})),
                ErrorCode::MemberInvalid,
                &format!("{AT}.ResultJson"),
            );
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for right in ["null", "0", "\"x\"", "[]", "{}", deep.as_str()] {
            accepted_continuation(&result(json!({"ResultJson": right})));
        }
    }

    #[test]
    fn an_error_message_says_something() {
        for wrong in [json!(""), json!(" "), json!(1)] {
            refused(
                &result(json!({"ErrorMessage": wrong})),
                ErrorCode::MemberInvalid,
                &format!("{AT}.ErrorMessage"),
            );
        }
    }

    #[test]
    fn execution_ms_is_a_whole_number_of_zero_or_more() {
        for right in [json!(0), json!(1.0), json!(9_007_199_254_740_991_u64)] {
            accepted_continuation(&result(json!({"ExecutionMs": right, "ResultJson": "1"})));
        }
        for wrong in [json!(-1), json!(1.5), json!("12"), json!(9_007_199_254_740_992_u64), json!(true)] {
            let body = result(json!({"ExecutionMs": wrong, "ResultJson": "1"}));
            refused(&body, ErrorCode::MemberInvalid, &format!("{AT}.ExecutionMs"));
        }
    }

    #[test]
    fn the_order_is_kept() {
        let results = json!([
            {"ToolCallId": "b", "ExecutionMs": 1, "ResultJson": "1"},
            {"ToolCallId": "a", "ExecutionMs": 2, "ErrorMessage": "no"},
        ]);
        let continuation = accepted_continuation(&continuation(json!({"ToolResults": results})));
        let ids: Vec<_> = continuation.tool_results.iter().map(|r| r.tool_call_id.as_str()).collect();
        assert_eq!(ids, ["b", "a"]);
    }

    #[test]
    fn results_are_objects_of_known_members() {
        refused(&continuation(json!({"ToolResults": [1]})), ErrorCode::MemberInvalid, AT);
        refused(&continuation(json!({"ToolResults": {}})), ErrorCode::MemberInvalid, "ToolResults");
        let named = result(json!({"ResultJson": "1", "Name": "read_file"}));
        refused(&named, ErrorCode::MemberUnknown, &format!("{AT}.Name"));
    }
}
