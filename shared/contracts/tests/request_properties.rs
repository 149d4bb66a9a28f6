//! Properties of every request: parsing never panics, a rejection has reasons, and a request has one canonical
//! form.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use contracts::{AgentExecuteRequest, ToolContinuation, UserTurn, request::limits};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Any JSON value, with names and words of the contract among its strings.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![8 => word(), 1 => any::<String>()]
}

fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "SessionId",
        "sessionId",
        "TurnId",
        "Instruction",
        "instruction",
        "InputArtifacts",
        "ClipboardImages",
        "RagScope",
        "Conditions",
        "Key",
        "Operator",
        "Values",
        "SolutionContextText",
        "WorkspaceId",
        "Repo",
        "Language",
        "Streaming",
        "AgentContextId",
        "ConversationContextId",
        "ToolResults",
        "ToolCallId",
        "ExecutionMs",
        "ResultJson",
        "ErrorMessage",
        "RelativePath",
        "FileName",
        "Contents",
        "Origin",
        "MimeType",
        "Encoding",
        "Id",
        "DataBase64",
        "Mode",
        "kind",
        "ide",
        "user",
        "base64",
        "utf8",
        "==",
        "contains",
        "image/png",
        "s1",
        "../x",
        "a/b",
    ])
    .prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z ]{0,12}", Just("\u{0}\u{1f}\u{7f}\u{2028}\"\\/".to_owned())]
}

fn id() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_~-]{1,20}".prop_filter("a reserved word", |id| id != "last")
}

fn line() -> impl Strategy<Value = String> {
    "[^\\p{C}\\p{Z}]{1,8}( [^\\p{C}\\p{Z}]{1,8})?"
}

fn artifact() -> impl Strategy<Value = Value> {
    let contents = prop_oneof![
        text().prop_map(|text| json!({"Contents": text})),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| {
            use base64::{Engine as _, engine::general_purpose::STANDARD};
            json!({"Contents": STANDARD.encode(bytes), "Encoding": "base64"})
        }),
    ];
    (contents, "[a-z]{1,5}(/[a-z.]{0,3}[a-z]){0,2}", any::<bool>(), prop::option::of(line())).prop_map(
        |(mut artifact, path, ide, language)| {
            let name = path.rsplit('/').next().unwrap().to_owned();
            artifact["RelativePath"] = path.into();
            artifact["FileName"] = name.into();
            artifact["Origin"] = if ide { "ide" } else { "user" }.into();
            if let Some(language) = language {
                artifact["Language"] = language.into();
            }
            artifact
        },
    )
}

/// Returns the artifacts, each in a folder of its own.
fn with_distinct_paths(mut artifacts: Vec<Value>) -> Value {
    for (number, artifact) in artifacts.iter_mut().enumerate() {
        artifact["RelativePath"] = format!("{number}/{}", artifact["RelativePath"].as_str().unwrap()).into();
    }
    artifacts.into()
}

fn condition() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        line().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
    ];
    let operator = prop::sample::select(vec!["==", "!=", "contains", "does_not_contain"]);
    (line(), operator, prop::collection::vec(value, 1..4))
        .prop_map(|(key, operator, values)| json!({"Key": key, "Operator": operator, "Values": values}))
}

/// The members of a valid user turn.
fn user_turn() -> impl Strategy<Value = BTreeMap<String, Value>> {
    let given = (
        id(),
        id(),
        "[a-z]{1,5}",
        prop::option::of(prop::collection::vec(artifact(), 0..3)),
        prop::option::of(prop::collection::vec(condition(), 0..3)),
        prop::option::of(text()),
        prop::option::of(line()),
        prop::option::of(any::<bool>()),
        prop::option::of(id()),
    );
    given.prop_map(|(session, turn, instruction, artifacts, conditions, context, repo, streaming, agent)| {
        let members = [
            ("SessionId", Some(json!(session))),
            ("TurnId", Some(json!(turn))),
            ("Instruction", Some(json!(instruction))),
            ("InputArtifacts", artifacts.map(with_distinct_paths)),
            ("RagScope", conditions.map(|conditions| json!({"Conditions": conditions}))),
            ("SolutionContextText", context.map(Value::from)),
            ("Repo", repo.map(Value::from)),
            ("Streaming", streaming.map(Value::from)),
            ("AgentContextId", agent.map(Value::from)),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    })
}

/// The members of a valid tool continuation.
fn continuation() -> impl Strategy<Value = BTreeMap<String, Value>> {
    let outcome = prop_oneof![
        any_json().prop_map(|json| json!({"ResultJson": json.to_string()})),
        line().prop_map(|message| json!({"ErrorMessage": message})),
    ];
    let result = (line(), 0..1_u64 << 53, outcome).prop_map(|(id, millis, mut result)| {
        result["ToolCallId"] = id.into();
        result["ExecutionMs"] = millis.into();
        result
    });
    (id(), id(), prop::collection::vec(result, 1..4)).prop_map(|(session, turn, results)| {
        [("SessionId", json!(session)), ("TurnId", json!(turn)), ("ToolResults", json!(results))]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    })
}

fn written(members: &BTreeMap<String, Value>) -> Vec<u8> {
    serde_json::to_vec(members).unwrap()
}

/// The same value with members in another order, in camelCase, with nulls and with escapes.
fn respelled(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .rev()
                .map(|(name, value)| {
                    let (first, rest) = name.split_at(1);
                    format!("\n\"{}{rest}\" : {}", first.to_ascii_lowercase(), respelled(value))
                })
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(respelled).collect();
            format!("[ {} ]", items.join(" , "))
        }
        Value::String(text) => {
            let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            format!("\"{units}\"")
        }
        other => other.to_string(),
    }
}

/// A second implementation of RFC 8785 for the values of a request, whose numbers are whole. The library's output
/// is compared with it.
fn rfc_8785(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| name.encode_utf16().collect::<Vec<_>>());
            let member = |(name, value): (&String, &Value)| format!("{}:{}", quoted(name), rfc_8785(value));
            format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(rfc_8785).collect::<Vec<_>>().join(","))
        }
        Value::String(text) => quoted(text),
        Value::Number(number) => number.as_i64().expect("a whole number").to_string(),
        Value::Bool(_) | Value::Null => value.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let escaped = |char| match char {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\t' => "\\t".to_owned(),
        '\n' => "\\n".to_owned(),
        '\u{C}' => "\\f".to_owned(),
        '\r' => "\\r".to_owned(),
        '\0'..='\u{1F}' => format!("\\u{:04x}", u32::from(char)),
        _ => char.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

proptest! {
    #[test]
    fn any_bytes_accepted_or_rejected_with_errors(body in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(errors) = AgentExecuteRequest::parse(&body) {
            prop_assert!(!errors.is_empty());
        }
    }

    #[test]
    fn any_json_accepted_or_rejected_with_errors(body in any_json()) {
        let body = body.to_string();
        for refusal in [
            AgentExecuteRequest::parse(body.as_bytes()).err(),
            ToolContinuation::parse(body.as_bytes()).err(),
            UserTurn::from_canonical(body.as_bytes()).err(),
        ].into_iter().flatten() {
            prop_assert!(!refusal.is_empty() && refusal.len() <= limits::MAX_REPORTED_VIOLATIONS);
            prop_assert!(refusal.iter().all(|error| error.error_code.http_status() == 400));
        }
    }

    #[test]
    fn user_turn_canonical_form_round_trips(members in user_turn()) {
        let Ok(AgentExecuteRequest::UserTurn(turn)) = AgentExecuteRequest::parse(&written(&members)) else {
            panic!("{members:?}");
        };
        let canonical = turn.canonical_json();
        let mut read = UserTurn::from_canonical(&canonical).unwrap();
        prop_assert_eq!(read.fingerprint(), turn.fingerprint());
        read.streaming = turn.streaming;
        prop_assert_eq!(&read, &turn);
        let sent = serde_json::to_vec(&turn).unwrap();
        prop_assert_eq!(AgentExecuteRequest::parse(&sent), Ok(AgentExecuteRequest::UserTurn(turn)));
        let value: Value = serde_json::from_slice(&canonical).unwrap();
        prop_assert_eq!(rfc_8785(&value), String::from_utf8(canonical).unwrap());
    }

    #[test]
    fn continuation_canonical_form_round_trips(members in continuation()) {
        let continuation = ToolContinuation::parse(&written(&members)).unwrap();
        let canonical = continuation.canonical_json();
        prop_assert_eq!(&ToolContinuation::from_canonical(&canonical).unwrap(), &continuation);
        let value: Value = serde_json::from_slice(&canonical).unwrap();
        prop_assert_eq!(rfc_8785(&value), String::from_utf8(canonical).unwrap());
    }

    #[test]
    fn order_and_spelling_keep_fingerprint(
        members in prop_oneof![user_turn(), continuation()],
    ) {
        let one = AgentExecuteRequest::parse(&written(&members)).unwrap();
        let other = respelled(&Value::Object(members.into_iter().collect()));
        let other = AgentExecuteRequest::parse(other.as_bytes()).unwrap();
        prop_assert_eq!(one.fingerprint(), other.fingerprint());
        prop_assert_eq!(one, other);
    }

    #[test]
    fn different_requests_have_different_fingerprints(one in user_turn(), other in user_turn()) {
        let one = UserTurn::from_canonical(&written(&one)).unwrap();
        let other = UserTurn::from_canonical(&written(&other)).unwrap();
        let same_form = one.canonical_json() == other.canonical_json();
        prop_assert_eq!(one.fingerprint() == other.fingerprint(), same_form);
        let mut other = one.clone();
        other.instruction = Some("something else".to_owned());
        prop_assert_ne!(one.fingerprint(), other.fingerprint());
    }
}

#[test]
fn irrelevant_differences_keep_fingerprint() {
    let base = r#"{"SessionId":"s","TurnId":"t","InputArtifacts":[
        {"RelativePath":"src/a.rs","FileName":"a.rs","Contents":"AB","Origin":"ide"}]}"#;
    let fingerprint = |body: &str| AgentExecuteRequest::parse(body.as_bytes()).unwrap().fingerprint();
    for (from, to) in [
        (r#""AB""#, r#""QUI=","Encoding":"base64""#),
        (r#""AB""#, r#""QUI","encoding":"base64""#),
        (r#""AB""#, r#""AB","Encoding":"utf8","MimeType":null"#),
        ("src/a.rs", r"src\\a.rs"),
        ("src/a.rs", "./src//a.rs"),
        ("]}", r#"],"Instruction":" "}"#),
        ("]}", r#"],"ClipboardImages":[],"RagScope":{"Conditions":[]},"ToolResults":null}"#),
        ("]}", r#"],"Streaming":true}"#),
    ] {
        assert_eq!(fingerprint(base), fingerprint(&base.replace(from, to)), "{to}");
    }
}

#[test]
fn stored_fingerprint_is_stable() {
    let body = br#"{"TurnId":"t1","SessionId":"s1","Instruction":"Explain \u00e9\u2028."}"#;
    let request = AgentExecuteRequest::parse(body).unwrap();
    insta::assert_snapshot!(request.fingerprint());
}
