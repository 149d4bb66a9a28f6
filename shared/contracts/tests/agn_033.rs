//! AGN-033, clause by clause: the members of a response, and the responses that this crate refuses to read.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use contracts::{
    AgentExecuteResponse, ContentHash, Error, ErrorCode, InvokeResult, NonEmpty, Timestamp, Usage,
    response::{ClientToolContinuation, FileRef, Final, Metadata, ToolCall, ToolOutcome, ToolResult},
};
use serde_json::{Value, json};

fn metadata() -> Metadata {
    Metadata {
        session_id: "s1".parse().unwrap(),
        turn_id: "t1".parse().unwrap(),
        mode_display_name: "General".to_owned(),
    }
}

fn bare_final() -> Final {
    Final {
        metadata: metadata(),
        primary_output_text: "Yes.".to_owned(),
        files: Vec::new(),
        tool_results: Vec::new(),
        user_warnings: Vec::new(),
        usage: None,
    }
}

fn full_final() -> Final {
    Final {
        files: vec![FileRef {
            name: "report.md".to_owned(),
            mime_type: "text/markdown".to_owned(),
            url: "/api/ai/agent/sessions/s1/turns/t1/payloads/files/ab/report.md".to_owned(),
            size_bytes: 5,
            content_hash: ContentHash::hash_text("text"),
            description: Some("The report.".to_owned()),
            content_expires: Some(Timestamp::from_millis(1_764_547_200_000)),
        }],
        tool_results: vec![
            ToolResult {
                tool_call_id: "c1".to_owned(),
                execution_ms: 12,
                outcome: ToolOutcome::ResultJson("{}".to_owned()),
            },
            ToolResult {
                tool_call_id: "c2".to_owned(),
                execution_ms: 0,
                outcome: ToolOutcome::ErrorMessage("gone".to_owned()),
            },
        ],
        user_warnings: vec!["Retrieval was skipped.".to_owned()],
        usage: Some(Usage { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, ..Usage::default() }),
        ..bare_final()
    }
}

fn bare_continuation() -> ClientToolContinuation {
    ClientToolContinuation {
        metadata: metadata(),
        tool_calls: NonEmpty::one(ToolCall {
            tool_call_id: "c1".to_owned(),
            name: "read_file".to_owned(),
            arguments_json: r#"{"path":"a"}"#.to_owned(),
        }),
        tool_continuation_message: None,
    }
}

fn written(response: impl Into<AgentExecuteResponse>) -> Value {
    serde_json::to_value(response.into()).unwrap()
}

fn read(value: &Value) -> Result<AgentExecuteResponse, serde_json::Error> {
    serde_json::from_value(value.clone())
}

fn with(mut value: Value, name: &str, member: Value) -> Value {
    value.as_object_mut().unwrap().insert(name.to_owned(), member);
    value
}

fn without(mut value: Value, name: &str) -> Value {
    value.as_object_mut().unwrap().remove(name);
    value
}

mod section_2_1_relationship_to_invoke_result {
    use super::*;

    #[test]
    fn result_present_only_without_errors() {
        let good = serde_json::to_value(InvokeResult::ok(1)).unwrap();
        assert_eq!(good, json!({"Successful": true, "Result": 1, "Errors": [], "Warnings": []}));
        let bad = serde_json::to_value(InvokeResult::<u8>::err(ErrorCode::Internal.into())).unwrap();
        assert_eq!(bad.get("Successful"), Some(&json!(false)));
        assert_eq!(bad.get("Result"), Some(&Value::Null));
    }

    #[test]
    fn failure_without_errors_is_internal_error() {
        let result = InvokeResult::<u8>::errors(Vec::new());
        assert_eq!(result.http_status(), 500);
        assert_eq!(result.outcome().unwrap_err().len(), 1);
    }

    #[test]
    fn http_status_follows_outcome() {
        assert_eq!(InvokeResult::ok(1).http_status(), 200);
        for code in ErrorCode::ALL {
            let result = InvokeResult::<u8>::err(Error::from(*code));
            assert_eq!(result.http_status(), code.http_status());
            assert!(!result.successful());
        }
    }

    #[test]
    fn contradictory_envelope_rejected() {
        let error = json!({"ErrorCode": "Internal", "Message": "m", "SystemError": true});
        for (successful, result, errors) in [
            (true, json!(null), json!([])),
            (true, json!(1), json!([error])),
            (false, json!(1), json!([error])),
            (false, json!(null), json!([])),
        ] {
            let body = json!({"Successful": successful, "Result": result, "Errors": errors, "Warnings": []});
            assert!(serde_json::from_value::<InvokeResult<u8>>(body.clone()).is_err(), "{body}");
        }
    }

    #[test]
    fn response_round_trips() {
        for result in [
            InvokeResult::ok(AgentExecuteResponse::Final(full_final())),
            InvokeResult::errors(vec![Error::new(ErrorCode::MemberInvalid, "m").with_details("d")]),
        ] {
            let text = serde_json::to_string(&result).unwrap();
            let back: InvokeResult<AgentExecuteResponse> = serde_json::from_str(&text).unwrap();
            assert_eq!(back, result);
        }
    }
}

mod section_2_3_user_visibility_rules {
    use super::*;

    #[test]
    fn final_requires_one_primary_output_text() {
        assert!(read(&without(written(bare_final()), "PrimaryOutputText")).is_err());
        assert!(read(&with(written(bare_final()), "PrimaryOutputText", json!(null))).is_err());
        assert!(read(&with(written(bare_final()), "PrimaryOutputText", json!(["a", "b"]))).is_err());
    }

    #[test]
    fn continuation_has_optional_message_and_no_output_text() {
        let value = written(bare_continuation());
        assert!(read(&with(value.clone(), "PrimaryOutputText", json!(""))).is_err());
        assert!(read(&with(value, "ToolContinuationMessage", json!("Reading."))).is_ok());
    }
}

mod section_3_1_session_metadata {
    use super::*;

    #[test]
    fn session_metadata_in_every_response() {
        for value in [written(bare_final()), written(bare_continuation())] {
            for name in ["SessionId", "TurnId", "ModeDisplayName"] {
                assert!(value.get(name).is_some_and(Value::is_string), "{value}");
                assert!(read(&without(value.clone(), name)).is_err(), "{name}");
            }
        }
    }

    #[test]
    fn provider_ids_and_pipeline_state_rejected() {
        for name in ["previous_response_id", "OpenAIResponseId", "Mode", "Diagnostics"] {
            assert!(read(&with(written(bare_final()), name, json!("x"))).is_err(), "{name}");
        }
    }
}

mod section_3_2_response_kinds {
    use super::*;

    #[test]
    fn kind_is_first_member() {
        for (value, kind) in
            [(written(bare_final()), "final"), (written(bare_continuation()), "client_tool_continuation")]
        {
            assert_eq!(value.get("Kind"), Some(&json!(kind)));
        }
        for response in [AgentExecuteResponse::from(full_final()), bare_continuation().into()] {
            assert!(serde_json::to_string(&response).unwrap().starts_with(r#"{"Kind":""#));
        }
    }

    #[test]
    fn unknown_kinds_rejected() {
        for kind in [json!("answer"), json!("error"), json!("Final"), json!(""), json!(null)] {
            assert!(read(&with(written(bare_final()), "Kind", kind.clone())).is_err(), "{kind}");
        }
        assert!(read(&without(written(bare_final()), "Kind")).is_err());
    }
}

mod section_3_4_bucket_presence_rules {
    use super::*;

    #[test]
    fn final_rejects_continuation_members() {
        for (name, empty) in [("ToolCalls", json!([])), ("ToolContinuationMessage", json!(""))] {
            for member in [empty, json!(null)] {
                assert!(read(&with(written(full_final()), name, member)).is_err(), "{name}");
            }
        }
    }

    #[test]
    fn continuation_rejects_final_members() {
        for (name, empty) in [
            ("PrimaryOutputText", json!("")),
            ("ToolResults", json!([])),
            ("Files", json!([])),
            ("UserWarnings", json!([])),
            ("Usage", json!({"PromptTokens": 0, "CompletionTokens": 0, "TotalTokens": 0})),
        ] {
            for member in [empty, json!(null)] {
                assert!(read(&with(written(bare_continuation()), name, member)).is_err(), "{name}");
            }
        }
    }

    #[test]
    fn continuation_requires_a_tool_call() {
        assert!(NonEmpty::<ToolCall>::new(Vec::new()).is_err());
        let value = written(bare_continuation());
        assert!(read(&with(value.clone(), "ToolCalls", json!([]))).is_err());
        assert!(read(&without(value, "ToolCalls")).is_err());
    }
}

mod section_3_5_envelope_invariants {
    use super::*;

    #[test]
    fn absent_members_are_omitted() {
        let names = |value: Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            names(written(bare_final())),
            ["Kind", "ModeDisplayName", "PrimaryOutputText", "SessionId", "TurnId"]
        );
        assert_eq!(
            names(written(bare_continuation())),
            ["Kind", "ModeDisplayName", "SessionId", "ToolCalls", "TurnId"]
        );
    }

    #[test]
    fn response_round_trips() {
        for response in [
            AgentExecuteResponse::from(bare_final()),
            full_final().into(),
            bare_continuation().into(),
            ClientToolContinuation { tool_continuation_message: Some("x".to_owned()), ..bare_continuation() }
                .into(),
        ] {
            assert_eq!(read(&written(response.clone())).unwrap(), response);
        }
    }
}

mod section_5_tool_interaction_contract {
    use super::*;

    #[test]
    fn tool_call_has_three_members() {
        let value = serde_json::to_value(&bare_continuation().tool_calls).unwrap();
        assert_eq!(
            value,
            json!([{"ToolCallId": "c1", "Name": "read_file", "ArgumentsJson": "{\"path\":\"a\"}"}])
        );
        for name in ["ToolCallId", "Name", "ArgumentsJson"] {
            let call = without(value.get(0).unwrap().clone(), name);
            assert!(serde_json::from_value::<ToolCall>(call).is_err(), "{name}");
        }
    }

    #[test]
    fn tool_result_has_exactly_one_outcome() {
        let of = |members: Value| serde_json::from_value::<ToolResult>(members);
        assert!(of(json!({"ToolCallId": "c", "ExecutionMs": 1, "ResultJson": "1"})).is_ok());
        assert!(of(json!({"ToolCallId": "c", "ExecutionMs": 1, "ErrorMessage": "no"})).is_ok());
        assert!(of(json!({"ToolCallId": "c", "ExecutionMs": 1})).is_err());
        assert!(
            of(json!({"ToolCallId": "c", "ExecutionMs": 1, "ResultJson": "1", "ErrorMessage": "no"}))
                .is_err()
        );
        assert!(of(json!({"ToolCallId": "c", "ExecutionMs": -1, "ResultJson": "1"})).is_err());
        assert!(of(json!({"ToolCallId": "c", "ExecutionMs": 1, "ResultJson": "1", "Name": "x"})).is_err());
    }
}

mod section_6_3_file_ref_contract {
    use super::*;

    #[test]
    fn file_ref_has_five_required_and_two_optional_members() {
        let full = serde_json::to_value(full_final().files.first()).unwrap();
        for name in ["Name", "MimeType", "Url", "SizeBytes", "ContentHash"] {
            assert!(serde_json::from_value::<FileRef>(without(full.clone(), name)).is_err(), "{name}");
        }
        for name in ["Description", "ContentExpires"] {
            let file: FileRef = serde_json::from_value(without(full.clone(), name)).unwrap();
            assert!(serde_json::to_value(file).unwrap().get(name).is_none());
        }
    }

    #[test]
    fn file_ref_validates_content_hash_and_expiry() {
        let full = serde_json::to_value(full_final().files.first()).unwrap();
        assert_eq!(full.get("ContentExpires"), Some(&json!("2025-12-01T00:00:00.000Z")));
        for hash in ["", "abc", &"A".repeat(64)] {
            assert!(
                serde_json::from_value::<FileRef>(with(full.clone(), "ContentHash", json!(hash))).is_err()
            );
        }
    }

    #[test]
    fn file_ref_rejects_contents() {
        let full = serde_json::to_value(full_final().files.first()).unwrap();
        assert!(serde_json::from_value::<FileRef>(with(full, "Contents", json!("QUJD"))).is_err());
    }
}
