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
            format!("{name} is forbidden in a tool continuation; leave it out")
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
