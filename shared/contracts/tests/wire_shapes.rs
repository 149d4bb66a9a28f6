//! Snapshots of every wire type, with all members and with the fewest. A change here changes the contract.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use contracts::{
    AgentExecuteRequest, AgentExecuteResponse, ContentHash, Error, ErrorCode, InvokeResult, NonEmpty,
    Timestamp, Usage,
    invoke_result::Warning,
    read::{
        AgentSession, AgentSessionActiveFileRef, AgentSessionChunkRef, AgentSessionSummary, AgentSessionTurn,
        AgentSessionTurnSummary, Cost, EntityHeader, ForkedFrom, ListResponse, ModeChange, Participant,
        PayloadLink, Score, SessionRatings, StatusReason, TurnStatus, Visibility,
    },
    response::{ClientToolContinuation, FileRef, Final, Metadata, ToolCall, ToolOutcome, ToolResult},
};
use serde::{Serialize, de::DeserializeOwned};

/// Serializes a value, in member order, and asserts that it reads back unchanged.
fn shape<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> String {
    let text = serde_json::to_string_pretty(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value);
    text
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_764_547_200_000 + seconds * 1_000)
}

fn user() -> EntityHeader {
    EntityHeader::new("u1", "Ada")
}

fn usage() -> Usage {
    Usage {
        prompt_tokens: 1_200,
        completion_tokens: 300,
        total_tokens: 1_500,
        cached_tokens: Some(1_000),
        cache_write_tokens: Some(64),
        reasoning_tokens: Some(128),
    }
}

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

fn file() -> FileRef {
    FileRef {
        name: "report.md".to_owned(),
        mime_type: "text/markdown".to_owned(),
        url: "/api/ai/agent/sessions/s1/turns/t1/payloads/files/ab/report.md".to_owned(),
        size_bytes: 5,
        content_hash: ContentHash::hash_text("text"),
        description: None,
        content_expires: None,
    }
}

fn full_final() -> Final {
    Final {
        files: vec![
            file(),
            FileRef { description: Some("The report.".to_owned()), content_expires: Some(at(300)), ..file() },
        ],
        tool_results: vec![
            ToolResult {
                tool_call_id: "c1".to_owned(),
                execution_ms: 12,
                outcome: ToolOutcome::ResultJson("{}".to_owned()),
            },
            ToolResult {
                tool_call_id: "c2".to_owned(),
                execution_ms: 0,
                outcome: ToolOutcome::ErrorMessage("There is no such file.".to_owned()),
            },
        ],
        user_warnings: vec!["Retrieval was skipped.".to_owned()],
        usage: Some(usage()),
        ..bare_final()
    }
}

fn cost() -> Cost {
    Cost { amount: "0.00325".to_owned(), currency: "USD".to_owned() }
}

fn turn() -> AgentSessionTurn {
    let base = "/api/ai/agent/sessions/s1/turns/t1/payloads";
    AgentSessionTurn {
        id: "t1".parse().unwrap(),
        sequence_number: 1,
        created_by_user: user(),
        creation_date: at(0),
        status: TurnStatus::Completed,
        status_reason: StatusReason::Completed,
        error_code: None,
        waiting: None,
        status_time_stamp: at(9),
        cancelled_by_user_id: Some("u2".parse().unwrap()),
        openai_response_received_date: Some(at(8)),
        openai_chain_expires_date: Some(at(2_505_608)),
        rerun_of_turn_id: Some("t0".parse().unwrap()),
        mode: "general".to_owned(),
        conversation_id: "s1".parse().unwrap(),
        openai_response_id: Some("resp_1".to_owned()),
        previous_openai_response_id: Some("resp_0".to_owned()),
        openai_model: Some("gpt-5".to_owned()),
        instruction_summary: "Explain.".to_owned(),
        instruction_summary_truncated: true,
        full_instruction_url: format!("{base}/instruction"),
        agent_answer_summary: Some("Yes.".to_owned()),
        agent_answer_summary_truncated: true,
        partial_answer_summary: Some("Ye".to_owned()),
        partial_answer_summary_truncated: true,
        full_agent_answer_url: Some(format!("{base}/answer")),
        openai_request_payload_url: Some(format!("{base}/llm-request")),
        openai_response_payload_url: Some(format!("{base}/llm-response")),
        chunk_refs: vec![AgentSessionChunkRef {
            chunk_id: "0b4e".to_owned(),
            path: "src/a.rs".to_owned(),
            start_line: 1,
            end_line: 40,
            content_hash: ContentHash::hash_text("chunk"),
            score: Some(Score::new(0.75)),
            repo: Some("core".to_owned()),
            section: Some("Set-up".to_owned()),
            page: Some(2),
        }],
        active_file_refs: vec![AgentSessionActiveFileRef {
            path: "src/a.rs".to_owned(),
            content_hash: ContentHash::hash_text("file"),
            size_bytes: 4,
            is_touched: true,
            was_sent_to_llm: true,
            was_too_large_to_send: false,
        }],
        usage: Some(usage()),
        estimated_tokens: Some(100),
        cost: Some(cost()),
        client_tool_ms: Some(1_250),
        server_tool_ms: Some(30),
        tool_rounds: Some(2),
        warnings: vec!["Retrieval was skipped.".to_owned()],
        errors: Vec::new(),
    }
}

fn pending_turn() -> AgentSessionTurn {
    AgentSessionTurn {
        status: TurnStatus::Pending,
        status_reason: StatusReason::WaitingForTools,
        status_time_stamp: at(0),
        cancelled_by_user_id: None,
        openai_response_received_date: None,
        openai_chain_expires_date: None,
        openai_response_id: None,
        previous_openai_response_id: None,
        openai_model: None,
        agent_answer_summary: None,
        agent_answer_summary_truncated: false,
        partial_answer_summary: None,
        partial_answer_summary_truncated: false,
        full_agent_answer_url: None,
        openai_request_payload_url: None,
        openai_response_payload_url: None,
        chunk_refs: Vec::new(),
        active_file_refs: Vec::new(),
        usage: None,
        cost: None,
        client_tool_ms: None,
        server_tool_ms: None,
        tool_rounds: None,
        warnings: Vec::new(),
        ..turn()
    }
}

fn summary() -> AgentSessionSummary {
    AgentSessionSummary {
        id: "s1".parse().unwrap(),
        name: "Explain.".to_owned(),
        key: "s1".to_owned(),
        description: None,
        category: Some("billing".to_owned()),
        is_public: false,
        visibility: Visibility::Org,
        is_deleted: false,
        deleted_date: None,
        kept_until_date: None,
        quarantined_date: None,
        last_updated_date: at(9),
        agent_context_id: Some("a1".parse().unwrap()),
        agent_context_name: Some("Engineer".to_owned()),
        conversation_context_id: Some("c1".parse().unwrap()),
        conversation_context_name: Some("Backend Refactor".to_owned()),
        agent_context_version: Some(3),
        conversation_context_version: Some(4),
        last_turn_status: Some(TurnStatus::Completed),
        last_turn_date: Some(at(9)),
        turn_count: 1,
        ratings: SessionRatings::new(3, 13),
    }
}

fn session() -> AgentSession {
    AgentSession {
        id: "s1".parse().unwrap(),
        name: "Explain.".to_owned(),
        key: "s1".to_owned(),
        description: Some("About a.".to_owned()),
        category: Some("billing".to_owned()),
        is_public: false,
        visibility: Visibility::Participants,
        owner_organization: EntityHeader::new("o1", "Aptix"),
        owner_user: user(),
        creation_date: at(0),
        last_updated_date: at(9),
        is_deleted: true,
        deleted_date: Some(at(8)),
        kept_until_date: Some(at(59)),
        quarantined_date: None,
        is_draft: false,
        agent_context_id: Some("a1".parse().unwrap()),
        agent_context_name: Some("Engineer".to_owned()),
        conversation_context_id: Some("c1".parse().unwrap()),
        conversation_context_name: Some("Backend Refactor".to_owned()),
        agent_context_version: Some(3),
        conversation_context_version: Some(4),
        workspace_id: Some("NuvOS.DesignPlayground".to_owned()),
        repo: Some("core".to_owned()),
        default_language: Some("rust".to_owned()),
        forked_from: Some(ForkedFrom { session_id: "s0".parse().unwrap(), turn_id: "t0".parse().unwrap() }),
        mode: "ddr_authoring".to_owned(),
        mode_history: vec![ModeChange {
            previous_mode: "general".to_owned(),
            new_mode: "ddr_authoring".to_owned(),
            time_stamp: at(5),
            reason: "The user wants a DDR.".to_owned(),
            branch: false,
            turn_id: "t1".parse().unwrap(),
            changed_by_user: user(),
            changed_by_organization: EntityHeader::new("acme", "Acme Corp."),
        }],
        mode_history_continuation_token: None,
        total_usage: Some(usage()),
        total_costs: vec![cost()],
        ratings: SessionRatings::new(2, 9),
        participants: vec![Participant { user: user(), last_activity_date: at(9) }],
        turn_count: 2,
        turns: vec![pending_turn()],
        continuation_token: Some("eyJTIjoxfQ".to_owned()),
    }
}

#[test]
fn invoke_result_with_a_result() {
    let warnings = [
        Warning { message: "The mode in the request was ignored.".to_owned(), error_code: None },
        Warning { message: "Old client.".to_owned(), error_code: Some("ClientOutdated".to_owned()) },
    ];
    let result = InvokeResult::ok(AgentExecuteResponse::from(bare_final())).with_warnings(warnings);
    insta::assert_snapshot!(shape(&result));
}

#[test]
fn invoke_result_with_errors() {
    let errors = vec![
        Error::new(ErrorCode::MemberRequired, "TurnId is required in a user turn").with_details("TurnId"),
        Error::from(ErrorCode::StorageUnavailable),
    ];
    insta::assert_snapshot!(shape(&InvokeResult::<AgentExecuteResponse>::errors(errors)));
}

#[test]
fn response_final() {
    insta::assert_snapshot!(shape(&AgentExecuteResponse::from(full_final())));
}

#[test]
fn response_client_tool_continuation() {
    let call = |id: &str| ToolCall {
        tool_call_id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments_json: r#"{"path":"a"}"#.to_owned(),
    };
    let response = ClientToolContinuation {
        metadata: metadata(),
        tool_calls: NonEmpty::new(vec![call("c1"), call("c2")]).unwrap(),
        tool_continuation_message: Some("Reading two files.".to_owned()),
    };
    insta::assert_snapshot!(shape(&AgentExecuteResponse::from(response)));
}

#[test]
fn request_user_turn_in_canonical_form() {
    let body = r#"{
        "sessionId": "s1", "turnId": "t1", "instruction": "Explain\té \u2028 \u0001.", "streaming": true,
        "inputArtifacts": [
            {"relativePath": "src\\a.rs", "fileName": "a.rs", "contents": "QQ==", "encoding": "base64",
             "origin": "ide", "mimeType": "text/x-rust", "language": "rust"},
            {"relativePath": "b.bin", "fileName": "b.bin", "contents": "AP8", "encoding": "base64", "origin": "user"}
        ],
        "clipboardImages": [{"id": "i1", "mimeType": "image/png", "dataBase64": "iVBORw0KGgo="}],
        "ragScope": {"conditions": [{"key": "Repo", "operator": "!=", "values": ["core", 3.0, true]}]},
        "solutionContextText": "agent.aptix", "workspaceId": "w", "repo": "core", "language": "rust",
        "agentContextId": "a1", "conversationContextId": "c1"
    }"#;
    let Ok(AgentExecuteRequest::UserTurn(turn)) = AgentExecuteRequest::parse(body.as_bytes()) else {
        unreachable!("the body is a user turn")
    };
    insta::assert_snapshot!(String::from_utf8(turn.canonical_json()).unwrap());
}

#[test]
fn request_tool_continuation_in_canonical_form() {
    let body = r#"{"turnId": "t1", "sessionId": "s1", "toolResults": [
        {"executionMs": 12.0, "toolCallId": "c2", "resultJson": "{ \"a\": 1 }"},
        {"toolCallId": "c1", "executionMs": 0, "errorMessage": "gone", "resultJson": null}
    ]}"#;
    let Ok(AgentExecuteRequest::ToolContinuation(continuation)) = AgentExecuteRequest::parse(body.as_bytes())
    else {
        unreachable!("the body is a tool continuation")
    };
    insta::assert_snapshot!(String::from_utf8(continuation.canonical_json()).unwrap());
}

#[test]
fn request_error_messages() {
    let body = r#"{
        "SessionId": "a b", "mode": "general", "session_id": "s", "Colour": 1, "Streaming": "yes", "Repo": " ",
        "Instruction": 5, "InputArtifacts": [
            {"RelativePath": "C:\\x", "FileName": "a/b", "Contents": 1, "Origin": "web", "MimeType": "text"},
            {"RelativePath": "a", "RelativePath": "a", "fileName": "a", "Encoding": "base64", "Contents": "*"}
        ],
        "ClipboardImages": [
            {"Id": "", "MimeType": "image/gif", "DataBase64": "iVBORw0KGgo="},
            {"MimeType": "image/png", "DataBase64": "iVBORw0KGgo="}
        ],
        "RagScope": {"Conditions": [{"Key": "k", "Operator": "~", "Values": []}, {}]}
    }"#;
    let user_turn = AgentExecuteRequest::parse(body.as_bytes()).unwrap_err();
    let body = r#"{"Instruction": "x", "Streaming": false, "ToolResults": [
        {"ToolCallId": "c1", "ExecutionMs": -1, "ResultJson": "{"},
        {"ToolCallId": "c1", "ExecutionMs": 1, "ResultJson": "1", "ErrorMessage": "no"},
        {"ExecutionMs": 1}
    ]}"#;
    let continuation = AgentExecuteRequest::parse(body.as_bytes()).unwrap_err();
    let nothing = AgentExecuteRequest::parse(br#"{"SessionId":"s","TurnId":"t"}"#).unwrap_err();
    let no_json = AgentExecuteRequest::parse(b"{\"SessionId\":}").unwrap_err();
    let all: Vec<String> =
        [user_turn, continuation, nothing, no_json].concat().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn read_session() {
    insta::assert_snapshot!(shape(&session()));
}

#[test]
fn read_turn_with_all_members() {
    insta::assert_snapshot!(shape(&turn()));
}

#[test]
fn read_turn_summary() {
    let summary = AgentSessionTurnSummary {
        id: "t1".parse().unwrap(),
        session_id: "s1".parse().unwrap(),
        sequence_number: 1,
        created_by_user: user(),
        creation_date: at(0),
        status: TurnStatus::Failed,
        status_reason: StatusReason::Failed,
        error_code: Some(ErrorCode::ModelTimedOut),
        status_time_stamp: at(9),
        instruction_summary: "Explain.".to_owned(),
        instruction_summary_truncated: false,
        agent_answer_summary: None,
        agent_answer_summary_truncated: false,
        partial_answer_summary: None,
        partial_answer_summary_truncated: false,
    };
    insta::assert_snapshot!(shape(&summary));
}

#[test]
fn read_session_list() {
    let bare = AgentSessionSummary {
        agent_context_id: None,
        agent_context_name: None,
        conversation_context_id: None,
        conversation_context_name: None,
        agent_context_version: None,
        conversation_context_version: None,
        last_turn_status: None,
        last_turn_date: None,
        turn_count: 0,
        category: None,
        ratings: None,
        ..summary()
    };
    insta::assert_snapshot!(shape(&ListResponse::new(vec![summary(), bare], 2, Some("eyJ9".to_owned()))));
}

#[test]
fn read_payload_link() {
    let link =
        PayloadLink { url: "https://bucket.example/x?X-Amz-Signature=0".to_owned(), expires_at: at(300) };
    insta::assert_snapshot!(shape(&link));
}

#[test]
fn error_code_catalogue() {
    let rows: Vec<String> = ErrorCode::ALL
        .iter()
        .map(|code| format!("{} {code} {:?}: {}", code.http_status(), code.retry(), code.summary()))
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}
