use super::*;

const AT: &str = "ToolResults[0]";

#[test]
fn call_id_and_execution_ms_are_required() {
    for name in ["ToolCallId", "ExecutionMs"] {
        let body = result(json!({name: null, "ResultJson": "1"}));
        refused(&body, ErrorCode::MemberRequired, &format!("{AT}.{name}"));
    }
}

#[test]
fn exactly_one_outcome_required() {
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
fn result_json_must_be_json_text() {
    for wrong in [json!(""), json!("{"), json!("not json"), json!("{} {}"), json!({}), json!(1), json!("NaN")]
    {
        refused(&result(json!({"ResultJson": wrong})), ErrorCode::MemberInvalid, &format!("{AT}.ResultJson"));
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for right in ["null", "0", "\"x\"", "[]", "{}", deep.as_str()] {
        accepted_continuation(&result(json!({"ResultJson": right})));
    }
}

#[test]
fn error_message_must_not_be_blank() {
    for wrong in [json!(""), json!(" "), json!(1)] {
        refused(
            &result(json!({"ErrorMessage": wrong})),
            ErrorCode::MemberInvalid,
            &format!("{AT}.ErrorMessage"),
        );
    }
}

#[test]
fn execution_ms_is_non_negative_and_rounded() {
    for (sent, kept) in [(json!(12.4), 12), (json!(12.5), 13), (json!(0.2), 0), (json!(3e-7), 0)] {
        let taken = accepted_continuation(&result(json!({"ExecutionMs": sent, "ResultJson": "1"})));
        assert_eq!(taken.tool_results[0].execution_ms, kept, "{sent}");
    }
    for right in [json!(0), json!(1.0), json!(9_007_199_254_740_991_u64)] {
        accepted_continuation(&result(json!({"ExecutionMs": right, "ResultJson": "1"})));
    }
    for wrong in
        [json!(-1), json!(-0.5), json!("12"), json!(1e300), json!(9_007_199_254_740_992_u64), json!(true)]
    {
        let body = result(json!({"ExecutionMs": wrong, "ResultJson": "1"}));
        refused(&body, ErrorCode::MemberInvalid, &format!("{AT}.ExecutionMs"));
    }
}

#[test]
fn result_order_is_kept() {
    let results = json!([
        {"ToolCallId": "b", "ExecutionMs": 1, "ResultJson": "1"},
        {"ToolCallId": "a", "ExecutionMs": 2, "ErrorMessage": "no"},
    ]);
    let continuation = accepted_continuation(&continuation(json!({"ToolResults": results})));
    let ids: Vec<_> = continuation.tool_results.iter().map(|r| r.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
}

#[test]
fn unknown_result_members_rejected() {
    refused(&continuation(json!({"ToolResults": [1]})), ErrorCode::MemberInvalid, AT);
    refused(&continuation(json!({"ToolResults": {}})), ErrorCode::MemberInvalid, "ToolResults");
    let named = result(json!({"ResultJson": "1", "Name": "read_file"}));
    refused(&named, ErrorCode::MemberUnknown, &format!("{AT}.Name"));
}
