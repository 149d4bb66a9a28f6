//! The request encodings (DD-001): each yields the same turn, by the same rules.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use contracts::{
    AgentExecuteRequest, AgentExecuteResponse, ContentHash, Error, ErrorCode, InvokeResult, UserTurn,
    encoding::{
        multipart::{self, Part},
        text, text_response,
    },
    request::limits,
    response::{ClientToolContinuation, FileRef, Final, Metadata, ToolCall},
};
use serde_json::{Value, json};

fn from_json(body: &Value) -> UserTurn {
    match AgentExecuteRequest::parse(body.to_string().as_bytes()) {
        Ok(AgentExecuteRequest::UserTurn(turn)) => turn,
        other => panic!("{other:?}"),
    }
}

fn from_text(headers: &[(&str, &str)], body: &str) -> Result<UserTurn, Vec<Error>> {
    let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
    text::user_turn(headers, body.as_bytes())
}

fn field<'a>(name: &'a str, value: &'a str) -> Part<'a> {
    Part { name, file_name: None, content_type: None, bytes: value.as_bytes() }
}

fn file<'a>(name: &'a str, file_name: &'a str, content_type: &'a str, bytes: &'a [u8]) -> Part<'a> {
    Part { name, file_name: Some(file_name), content_type: Some(content_type), bytes }
}

fn codes_and_paths(result: Result<UserTurn, Vec<Error>>) -> Vec<(ErrorCode, String)> {
    let errors = result.unwrap_err();
    errors.into_iter().map(|e| (e.error_code, e.details.unwrap_or_default())).collect()
}

const IDS: [(&str, &str); 2] = [("X-Aptix-Session-Id", "s1"), ("x-aptix-turn-id", "t1")];

#[test]
fn text_headers_equal_json_members() {
    let headers = [
        ("Host", "api"),
        IDS[0],
        IDS[1],
        ("X-Aptix-Workspace-Id", "w"),
        ("X-Aptix-Repo", "r"),
        ("X-Aptix-Language", "rust"),
        ("X-APTIX-STREAMING", "true"),
        ("X-Aptix-Agent-Context-Id", "a"),
        ("X-Aptix-Conversation-Context-Id", "c"),
        ("X-Aptix-Solution-Context", "agent.aptix is present"),
    ];
    let json = json!({
        "SessionId": "s1", "TurnId": "t1", "Instruction": "Explain.\n", "WorkspaceId": "w", "Repo": "r",
        "Language": "rust", "Streaming": true, "AgentContextId": "a", "ConversationContextId": "c",
        "SolutionContextText": "agent.aptix is present",
    });
    assert_eq!(from_text(&headers, "Explain.\n").unwrap(), from_json(&json));
}

#[test]
fn text_encoding_follows_json_rules() {
    let with =
        |header: (&'static str, &'static str)| codes_and_paths(from_text(&[IDS[0], IDS[1], header], "x"));
    assert_eq!(with(("X-Aptix-Mode", "general")), [(ErrorCode::MemberForbidden, "Mode".to_owned())]);
    assert_eq!(with(("X-Aptix-Colour", "red")), [(ErrorCode::MemberUnknown, "Colour".to_owned())]);
    assert_eq!(
        with(("X-Aptix-Tool-Results", "[]")),
        [(ErrorCode::MemberForbidden, "ToolResults".to_owned())]
    );
    assert_eq!(with(("X-Aptix-Streaming", "yes")), [(ErrorCode::MemberInvalid, "Streaming".to_owned())]);
    assert_eq!(with(("X-Aptix-Turn-Id", "t1")), [(ErrorCode::MemberDuplicated, "TurnId".to_owned())]);
    assert_eq!(codes_and_paths(from_text(&IDS, " \n")), [(ErrorCode::InputRequired, String::new())]);
    assert_eq!(
        codes_and_paths(from_text(&[("X-Aptix-Turn-Id", "")], "x")),
        [
            (ErrorCode::MemberRequired, "SessionId".to_owned()),
            (ErrorCode::MemberRequired, "TurnId".to_owned())
        ]
    );
}

#[test]
fn text_body_is_utf8_with_optional_bom() {
    assert_eq!(from_text(&IDS, "\u{feff}Hi").unwrap().instruction.as_deref(), Some("Hi"));
    let headers = IDS.map(|(name, value)| (name, value.as_bytes()));
    assert_eq!(codes_and_paths(text::user_turn(headers, b"\xFF")), [(ErrorCode::BodyNotText, String::new())]);
    let wrong = [("X-Aptix-Repo", &b"\xFF"[..])];
    assert_eq!(codes_and_paths(text::user_turn(wrong, b"x"))[0].0, ErrorCode::MemberInvalid);
    let large = vec![b'x'; limits::MAX_BODY_BYTES + 1];
    assert_eq!(codes_and_paths(text::user_turn(headers, &large))[0].0, ErrorCode::PayloadTooLarge);
}

#[test]
fn form_parts_equal_json_members() {
    let png = b"\x89PNG\r\n\x1a\n";
    let parts = [
        field("SessionId", "s1"),
        field("turnId", "t1"),
        field("Instruction", "Explain."),
        field("RagScope", r#"{"Conditions":[{"Key":"Repo","Operator":"==","Values":["core"]}]}"#),
        field("Streaming", "true"),
        field("Repo", ""),
        file("InputArtifacts", r"src\a.rs", "text/x-rust", b"fn a() {}"),
        file("upload", "b.bin", "application/octet-stream", &[0, 255]),
        file("ClipboardImages", "image.png", "image/png", png),
        file("upload", "", "application/octet-stream", b""),
    ];
    let json = json!({
        "SessionId": "s1", "TurnId": "t1", "Instruction": "Explain.", "Streaming": true,
        "RagScope": {"Conditions": [{"Key": "Repo", "Operator": "==", "Values": ["core"]}]},
        "InputArtifacts": [
            {"RelativePath": "src/a.rs", "FileName": "a.rs", "Contents": "fn a() {}", "Origin": "user",
             "MimeType": "text/x-rust"},
            {"RelativePath": "b.bin", "FileName": "b.bin", "Contents": "AP8=", "Encoding": "base64",
             "Origin": "user", "MimeType": "application/octet-stream"},
        ],
        "ClipboardImages": [{"Id": "clipboard-1", "MimeType": "image/png", "DataBase64": "iVBORw0KGgo="}],
    });
    let turn = multipart::user_turn(parts).unwrap();
    assert_eq!(turn, from_json(&json));
    assert_eq!(turn.fingerprint(), from_json(&json).fingerprint());
}

#[test]
fn form_encoding_follows_json_rules() {
    let with = |part| {
        codes_and_paths(multipart::user_turn([
            field("SessionId", "s1"),
            field("TurnId", "t1"),
            field("Instruction", "x"),
            part,
        ]))
    };
    let one = |code, path: &str| vec![(code, path.to_owned())];
    assert_eq!(with(field("Mode", "general")), one(ErrorCode::MemberForbidden, "Mode"));
    assert_eq!(with(field("Colour", "red")), one(ErrorCode::MemberUnknown, "Colour"));
    assert_eq!(with(field("TurnId", "t1")), one(ErrorCode::MemberDuplicated, "TurnId"));
    assert_eq!(with(field("ToolResults", "[]")), one(ErrorCode::MemberForbidden, "ToolResults"));
    assert_eq!(with(field("RagScope", "Repo")), one(ErrorCode::MemberInvalid, "RagScope"));
    assert_eq!(with(field("Streaming", "1")), one(ErrorCode::MemberInvalid, "Streaming"));
    assert_eq!(
        with(file("f", "../x", "text/plain", b"x")),
        one(ErrorCode::MemberInvalid, "InputArtifacts[0].RelativePath")
    );
    assert_eq!(
        with(file("ClipboardImages", "x.png", "image/png", b"x")),
        one(ErrorCode::MemberInvalid, "ClipboardImages[0].DataBase64")
    );
    assert_eq!(with(Part { bytes: b"\xFF", ..field("Repo", "") }), one(ErrorCode::MemberInvalid, "Repo"));
}

#[test]
fn form_size_is_limited() {
    let half = vec![b'x'; limits::MAX_BODY_BYTES / 2 + 1];
    let parts = [file("f", "a", "text/plain", &half), file("f", "b", "text/plain", &half)];
    assert_eq!(codes_and_paths(multipart::user_turn(parts)), [(ErrorCode::PayloadTooLarge, String::new())]);
}

fn metadata() -> Metadata {
    Metadata {
        session_id: "s1".parse().unwrap(),
        turn_id: "t1".parse().unwrap(),
        mode_display_name: "General".to_owned(),
    }
}

#[test]
fn text_response_has_answer_then_files_and_warnings() {
    let mut answer = Final {
        metadata: metadata(),
        primary_output_text: "# Yes\n".to_owned(),
        files: Vec::new(),
        tool_results: Vec::new(),
        user_warnings: Vec::new(),
        usage: None,
    };
    let result = InvokeResult::ok(AgentExecuteResponse::Final(answer.clone()));
    assert_eq!(text_response::plain_text(&result), "# Yes\n");

    answer.files.push(FileRef {
        name: "a.txt".to_owned(),
        mime_type: "text/plain".to_owned(),
        url: "sessions/s/a.txt".to_owned(),
        size_bytes: 3,
        content_hash: ContentHash::hash_text("abc"),
        description: None,
        content_expires: None,
    });
    answer.user_warnings.push("b.bin was\nnot read.".to_owned());
    let result = InvokeResult::ok(AgentExecuteResponse::Final(answer));
    let expected =
        "# Yes\n\nFile: a.txt (text/plain, 3 bytes) sessions/s/a.txt\nWarning: b.bin was not read.\n";
    assert_eq!(text_response::plain_text(&result), expected);
}

#[test]
fn text_response_has_errors_on_one_line() {
    let errors =
        vec![Error::new(ErrorCode::MemberRequired, "a\nb"), Error::new(ErrorCode::MemberInvalid, "c")];
    assert_eq!(
        text_response::plain_text(&InvokeResult::errors(errors)),
        "MemberRequired: a b; MemberInvalid: c"
    );
}

#[test]
fn text_response_names_pending_tools() {
    let call = ToolCall {
        tool_call_id: "c1".to_owned(),
        name: "read_file".to_owned(),
        arguments_json: "{}".to_owned(),
    };
    let waiting = ClientToolContinuation {
        metadata: metadata(),
        tool_calls: contracts::NonEmpty::one(call),
        tool_continuation_message: None,
    };
    let result = InvokeResult::ok(AgentExecuteResponse::ClientToolContinuation(waiting));
    assert!(text_response::plain_text(&result).contains("read_file"));
}
