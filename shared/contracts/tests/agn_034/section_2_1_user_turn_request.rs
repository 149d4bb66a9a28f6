use super::*;

#[test]
fn ids_are_required() {
    for id in ["SessionId", "TurnId"] {
        for nothing in [json!("absent"), json!(null)] {
            refused(&user_turn(json!({id: nothing})), ErrorCode::MemberRequired, id);
        }
    }
}

#[test]
fn ids_hold_only_url_safe_characters() {
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
fn any_single_input_suffices() {
    let instruction = user_turn(json!({}));
    let file = merged(artifact(json!({})), json!({"Instruction": "absent"}));
    let picture = merged(image(json!({})), json!({"Instruction": "\n"}));
    for body in [instruction, file, picture] {
        accepted_turn(&body);
    }
}

#[test]
fn invalid_input_not_also_reported_missing() {
    refused(&user_turn(json!({"Instruction": 5})), ErrorCode::MemberInvalid, "Instruction");
}

#[test]
fn instruction_with_tool_results_rejected() {
    // Their presence makes a body a continuation, so the other members are rejected.
    let errors = parse(&continuation(json!({"Instruction": "Go on."}))).unwrap_err();
    assert_eq!(errors[0].error_code, ErrorCode::MemberForbidden);
    assert_eq!(errors[0].message, "Instruction is forbidden in a tool continuation; leave it out");
}

#[test]
fn server_owned_members_rejected_by_name() {
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
