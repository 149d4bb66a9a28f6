use super::*;

#[test]
fn continuation_holds_ids_and_results() {
    let continuation = accepted_continuation(&continuation(json!({})));
    assert_eq!(continuation.session_id.as_str(), "s1");
    assert_eq!(continuation.turn_id.as_str(), "t1");
    assert_eq!(continuation.tool_results.len(), 1);
}

#[test]
fn ids_are_required() {
    for id in ["SessionId", "TurnId"] {
        refused(&continuation(json!({id: "absent"})), ErrorCode::MemberRequired, id);
    }
}

#[test]
fn other_members_are_forbidden() {
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
        let message = &parse(&body).unwrap_err()[0].message;
        let expected = format!("{name} is forbidden in a tool continuation; leave it out");
        if name == "Streaming" {
            let way =
                ", and to stream, send the header Last-Event-ID with the id of the last event, or with 0";
            assert_eq!(*message, format!("{expected}{way}"));
        } else {
            assert_eq!(*message, expected);
        }
    }
}

#[test]
fn null_member_counts_as_absent() {
    accepted_continuation(&continuation(json!({"Instruction": null, "Streaming": null})));
    accepted_turn(&user_turn(json!({"ToolResults": null})));
}

#[test]
fn continuation_endpoint_requires_tool_results() {
    let body = user_turn(json!({"Instruction": "absent"})).to_string();
    let errors = ToolContinuation::parse(body.as_bytes()).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].error_code, ErrorCode::MemberRequired);
    assert_eq!(errors[0].details.as_deref(), Some("ToolResults"));
}
