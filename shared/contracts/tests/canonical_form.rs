//! The canonical form, byte for byte. It is stored, and its hash distinguishes a retry from a conflict, so no
//! version of this crate or of its JSON library may change it.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use contracts::{AgentExecuteRequest, ErrorCode, Fingerprint, UserTurn, request::TurnOptions};

/// A body as a client sends it, and its canonical form.
const FORMS: &[(&str, &str)] = &[
    // Every control character, characters that JSON may escape and RFC 8785 does not, and characters of two UTF-16
    // units.
    (
        r#"{"SessionId":"s","TurnId":"t","Instruction":"\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\u0008\u0009\u000a\u000b\u000c\u000d\u000e\u000f\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f|\u0022\u005C\/\u003c\u007f\u0080\u00e9e\u0301\u2028\uFeFf\uffff\ud83d\ude00"}"#,
        "{\"Instruction\":\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f|\\\"\\\\/<\u{7f}\u{80}\u{e9}e\u{301}\u{2028}\u{feff}\u{ffff}\u{1f600}\",\"SessionId\":\"s\",\"TurnId\":\"t\"}",
    ),
    // Every member of a user turn.
    (
        r#"{
            "streaming": true,
            "turnId": "t.1~", "sessionId": "s_1-",
            "instruction": " Explain. ",
            "workspaceId": "w", "repo": "r", "language": "rust",
            "agentContextId": "a", "conversationContextId": "c",
            "solutionContextText": "",
            "inputArtifacts": [
                {"origin": "ide", "relativePath": "./src\\a.rs", "fileName": "a.rs", "contents": "fn a() {}\r\n",
                 "mimeType": "text/x-rust; charset=utf-8", "language": "Rust"},
                {"Contents": "w6k=", "Encoding": "base64", "Origin": "user", "FileName": "é", "RelativePath": "é"},
                {"Contents": "AP+A", "Encoding": "base64", "Origin": "user", "FileName": "b", "RelativePath": "x/b"}
            ],
            "clipboardImages": [{"dataBase64": "/9j/", "mimeType": "image/jpeg", "id": "1"}],
            "ragScope": {"conditions": [
                {"operator": "does_not_contain", "key": "k", "values": ["c", "b", "a"]},
                {"operator": "==", "key": "n", "values": [0, -0, -1, 1.0, 1e3, 9007199254740991, -9007199254740991]},
                {"operator": "!=", "key": "f", "values": [true, false]}
            ]}
        }"#,
        concat!(
            r#"{"AgentContextId":"a","#,
            r#""ClipboardImages":[{"DataBase64":"/9j/","Id":"1","MimeType":"image/jpeg"}],"#,
            r#""ConversationContextId":"c","#,
            r#""InputArtifacts":["#,
            r#"{"Contents":"fn a() {}\r\n","FileName":"a.rs","Language":"Rust","#,
            r#""MimeType":"text/x-rust; charset=utf-8","Origin":"ide","RelativePath":"src/a.rs"},"#,
            r#"{"Contents":"é","FileName":"é","Origin":"user","RelativePath":"é"},"#,
            r#"{"Contents":"AP+A","Encoding":"base64","FileName":"b","Origin":"user","RelativePath":"x/b"}],"#,
            r#""Instruction":" Explain. ","Language":"rust","#,
            r#""RagScope":{"Conditions":["#,
            r#"{"Key":"k","Operator":"does_not_contain","Values":["c","b","a"]},"#,
            r#"{"Key":"n","Operator":"==","Values":[0,0,-1,1,1000,9007199254740991,-9007199254740991]},"#,
            r#"{"Key":"f","Operator":"!=","Values":[true,false]}]},"#,
            r#""Repo":"r","SessionId":"s_1-","SolutionContextText":"","TurnId":"t.1~","WorkspaceId":"w"}"#,
        ),
    ),
    // Empty lists and null count as absent.
    (
        r#"{"SessionId":"s","TurnId":"t","InputArtifacts":[],"RagScope":{"Conditions":[]},"Repo":null,"Instruction":"x"}"#,
        r#"{"Instruction":"x","SessionId":"s","TurnId":"t"}"#,
    ),
    // Tool results.
    (
        r#"{"SessionId":"s","TurnId":"t","ToolResults":[
            {"ToolCallId":"b","ResultJson":" {\"n\": 1.50, \"a\":\"\\u00e9\"}\n","ExecutionMs":9007199254740991},
            {"ErrorMessage":"no\tway","ExecutionMs":0,"ToolCallId":"a"}
        ]}"#,
        concat!(
            r#"{"SessionId":"s","ToolResults":["#,
            r#"{"ExecutionMs":9007199254740991,"ResultJson":" {\"n\": 1.50, \"a\":\"\\u00e9\"}\n","ToolCallId":"b"},"#,
            r#"{"ErrorMessage":"no\tway","ExecutionMs":0,"ToolCallId":"a"}],"#,
            r#""TurnId":"t"}"#,
        ),
    ),
];

#[test]
fn canonical_form_is_byte_stable() {
    for (body, form) in FORMS {
        let request =
            AgentExecuteRequest::parse(body.as_bytes()).unwrap_or_else(|why| panic!("{body}: {why:?}"));
        let written = match &request {
            AgentExecuteRequest::UserTurn(turn) => turn.canonical_json(),
            AgentExecuteRequest::ToolContinuation(continuation) => continuation.canonical_json(),
        };
        assert_eq!(String::from_utf8(written).unwrap(), *form);
        assert_eq!(request.fingerprint(), Fingerprint::hash_bytes(form.as_bytes()));
    }
}

/// Options are stored with the request and are part of its fingerprint. No client of the Aptix API can send them.
#[test]
fn options_are_stored_and_refused_from_clients() {
    let body = br#"{"SessionId":"s","TurnId":"t","Instruction":"x"}"#;
    let Ok(AgentExecuteRequest::UserTurn(plain)) = AgentExecuteRequest::parse(body) else {
        panic!("a user turn")
    };
    let mut turn = plain.clone();
    let options = TurnOptions { model: Some("m".to_owned()), ..TurnOptions::default() };
    turn.options = Some(Box::new(options));
    let stored = turn.canonical_json();
    let form = r#"{"Instruction":"x","Options":"{\"Model\":\"m\"}","SessionId":"s","TurnId":"t"}"#;
    assert_eq!(String::from_utf8(stored.clone()).unwrap(), form);
    assert_eq!(UserTurn::from_canonical(&stored).unwrap(), turn);
    assert_ne!(turn.fingerprint(), plain.fingerprint());
    let refused = AgentExecuteRequest::parse(&stored).unwrap_err();
    assert_eq!(refused[0].error_code, ErrorCode::MemberUnknown);
    assert_eq!(refused[0].details.as_deref(), Some("Options"));
}
