//! Requests match the provider's published schema, which the mock model enforces.

// Clippy allows `unwrap` only in functions marked as tests, and not in their helpers.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use agent::model::Identifiers;
use agent::model::hosted_tools::{
    CodeInterpreter, FileSearch, HostedTool, Mcp, MemoryLimit, SearchContextSize, WebSearch,
};
use agent::model::model_settings::{
    Effort, Guardrail, ModelSettings, ReasoningSummary, ServiceTier, TextFormat, Verbosity,
};
use agent::model::{
    Attachment, Chain, FunctionCall, HistoryItem, HostedCall, Instruction, Message, Model, Observer,
    Reasoning, Reply, ReplyItem, Request, Tool, ToolOutput,
};
use contracts::response::ToolOutcome;
use llm::{ApiKey, Client, Config, Wire};
use mock_model::{Provider, Recorder};
use tokio::net::TcpListener;

async fn client() -> Client {
    client_of(Wire::Responses).await
}

async fn client_of(wire: Wire) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(mock_wires::serve(listener, Provider::default(), Recorder::default()));
    Client::new(Config { base_url: base, ..Config::for_wire(wire) }, ApiKey::new("key")).unwrap()
}

async fn send(client: &Client, request: &Request) -> Reply {
    client.reply(request, Duration::from_secs(20), &mut Observer::new(&mut |_| {})).await.unwrap()
}

/// An initial request with every member.
fn full() -> Request {
    let bytes = || b"bytes".as_slice().into();
    Request {
        provider: None,
        model: "scripted".to_owned(),
        settings: ModelSettings {
            temperature: Some(0.5),
            top_p: Some(0.9),
            max_output_tokens: Some(16),
            reasoning_effort: Some(Effort::Max),
            reasoning_summary: Some(ReasoningSummary::Detailed),
            verbosity: Some(Verbosity::Low),
            text_format: Some(TextFormat {
                name: "verdict".to_owned(),
                description: Some("What it comes to.".to_owned()),
                schema: serde_json::json!({ "type": "object", "properties": {} }),
                strict: false,
            }),
            service_tier: Some(ServiceTier::Flex),
            parallel_tool_calls: Some(false),
            unfenced_json: false,
            requires_tool: false,
            max_tool_calls: Some(3),
            stop: vec!["END".to_owned()],
            json_object: false,
            web_search: None,
            freeform_tools: Default::default(),
            guardrail: None,
            hosted_tools: vec![
                HostedTool::WebSearch(WebSearch {
                    search_context_size: Some(SearchContextSize::Low),
                    allowed_domains: vec!["docs.rs".to_owned()],
                }),
                HostedTool::FileSearch(FileSearch {
                    vector_store_ids: vec!["vs_1".to_owned()],
                    max_num_results: Some(5),
                }),
                HostedTool::CodeInterpreter(CodeInterpreter {
                    file_ids: vec!["file-1".to_owned()],
                    memory_limit: Some(MemoryLimit::G4),
                }),
                HostedTool::Mcp(Mcp {
                    server_label: "docs".to_owned(),
                    server_url: "https://mcp.example.com".to_owned(),
                    server_description: Some("d".to_owned()),
                    allowed_tools: vec!["ask".to_owned()],
                }),
            ],
        },
        identifiers: Some(Identifiers { session: "a session".to_owned(), user: "a user".to_owned() }),
        store: false,
        chain: Chain::Initial {
            system: "You are an agent.".to_owned(),
            parts: vec!["[MODE_INSTRUCTIONS: general]".to_owned()],
            history: history(),
        },
        message: Message {
            instruction: Instruction::User("Hello.".to_owned()),
            context_block: Some("[CONTEXT]".to_owned()),
            files_block: Some("[ACTIVE_FILES]".to_owned()),
            attachments: vec![
                Attachment::Image { media_type: "image/webp".to_owned(), bytes: bytes() },
                Attachment::File {
                    name: "plan.pdf".to_owned(),
                    media_type: "application/pdf".to_owned(),
                    bytes: bytes(),
                },
            ],
            update: Some("[MODE_INSTRUCTIONS: general]".to_owned()),
            ..Message::in_mode("general")
        },
        tools: vec![Tool {
            name: "look".to_owned(),
            description: "Looks something up.".to_owned(),
            parameters: serde_json::json!({ "type": "object", "properties": {} }),
            strict: false,
        }],
        tool_choice: Some("look".to_owned()),
        wants_reasoning: true,
    }
}

/// The history of an earlier turn, with a tool round of every item type.
fn history() -> Vec<HistoryItem> {
    let reasoning = Reasoning {
        calls_before: 0,
        id: "rs_1".to_owned(),
        summary: vec![serde_json::json!({ "type": "summary_text", "text": "Where to look." })],
        // In the form that the mock model issues: it accepts no other.
        encrypted: "scripted_rs_1".to_owned(),
    };
    let searched = HostedCall {
        calls_before: 0,
        reasoning_before: 1,
        item: serde_json::json!({
            "type": "web_search_call", "id": "ws_1", "status": "completed",
            "action": { "type": "search", "query": "a compiler" },
        }),
    };
    let call = FunctionCall { call_id: "call_1".into(), name: "look".into(), arguments: "{}".into() };
    let output = ToolOutput { call: call.clone(), outcome: ToolOutcome::ResultJson("{}".to_owned()) };
    let instruction = Instruction::User("What is it?".to_owned());
    vec![
        HistoryItem::Message(Message { instruction, ..Message::in_mode("general") }),
        HistoryItem::Reply(vec![
            ReplyItem::Reasoning(reasoning),
            ReplyItem::Hosted(searched),
            ReplyItem::text("Let me look."),
            ReplyItem::Call(call),
        ]),
        HistoryItem::Message(Message { tool_outputs: vec![output], ..Message::in_mode("general") }),
        HistoryItem::Reply(vec![ReplyItem::text("A compiler.")]),
    ]
}

#[tokio::test]
async fn full_request_matches_the_published_schema() {
    let reply = send(&client().await, &full()).await;
    assert_eq!(reply.calls.len(), 1, "the forced tool is called");
}

#[tokio::test]
async fn full_chained_request_matches_the_published_schema() {
    let client = client().await;
    let called = send(&client, &Request { store: true, ..full() }).await;
    let output = |call: &FunctionCall| ToolOutput {
        call: call.clone(),
        outcome: ToolOutcome::ErrorMessage("gone".to_owned()),
    };
    let chained = Request {
        chain: Chain::Continues { previous_response_id: called.response_id.clone() },
        message: Message {
            tool_outputs: called.calls.iter().map(output).collect(),
            instruction: Instruction::ToolResults,
            ..full().message
        },
        tool_choice: None,
        store: true,
        wants_reasoning: false,
        ..full()
    };
    let reply = send(&client, &chained).await;
    assert!(reply.text.contains("mock model"), "{}", reply.text);
}

#[tokio::test]
async fn request_with_replayed_rounds_matches_the_published_schema() {
    let client = client().await;
    let called = send(&client, &full()).await;
    let output = |call: &FunctionCall| ToolOutput {
        call: call.clone(),
        outcome: ToolOutcome::ResultJson("{}".to_owned()),
    };
    let mut request = full();
    if let Chain::Initial { history, .. } = &mut request.chain {
        history.push(HistoryItem::Message(request.message));
        history.push(HistoryItem::Reply(called.calls.iter().cloned().map(ReplyItem::Call).collect()));
    }
    let tool_outputs = called.calls.iter().map(output).collect();
    request.message = Message { tool_outputs, ..Message::in_mode("general") };
    request.tool_choice = None;
    let reply = send(&client, &request).await;
    assert!(reply.text.contains("mock model"), "{}", reply.text);
}

/// Both kinds of request that the wires without stored responses have: a first one, and one with results.
#[tokio::test]
async fn full_requests_of_stateless_wires_match_the_published_schemas() {
    for (wire, model) in [
        (Wire::ChatCompletions, "scripted"),
        (Wire::AnthropicMessages, "scripted"),
        (Wire::BedrockConverse, "us.anthropic.scripted-v1:0"),
        (Wire::BedrockConverse, "meta.llama"),
    ] {
        let client = client_of(wire).await;
        let mut request = Request { model: model.to_owned(), ..full() };
        request.settings.hosted_tools.clear();
        if wire == Wire::BedrockConverse {
            request.settings.guardrail =
                Some(Guardrail { id: "abc123".to_owned(), version: "DRAFT".to_owned() });
        }
        let called = send(&client, &request).await;
        assert_eq!(called.calls.len(), 1, "{wire:?}: the forced tool is called");
        let output = |call: &FunctionCall| ToolOutput {
            call: call.clone(),
            outcome: ToolOutcome::ErrorMessage("gone".to_owned()),
        };
        if let Chain::Initial { history, .. } = &mut request.chain {
            history.push(HistoryItem::Message(request.message));
            history.push(HistoryItem::Reply(called.calls.iter().cloned().map(ReplyItem::Call).collect()));
        }
        let tool_outputs = called.calls.iter().map(output).collect();
        let update = Some("[MODE_INSTRUCTIONS: general]".to_owned());
        request.message = Message { tool_outputs, update, ..Message::in_mode("general") };
        request.tool_choice = None;
        let reply = send(&client, &request).await;
        assert!(reply.text.contains("mock model"), "{wire:?}: {}", reply.text);
        assert!(!reply.is_stored, "{wire:?}");
    }
}
