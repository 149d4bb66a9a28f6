//! Whatever the builder can write fits the provider's published types, to which the scripted model holds it.

// The helpers are test code too, which clippy knows of functions marked as tests only.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use agent::hosted::{HostedTool, MemoryLimit, SearchContextSize};
use agent::model::Identifiers;
use agent::model::{
    Attachment, Chain, FunctionCall, HostedCall, Instruction, Item, Message, Model, Observer, Reasoning,
    Reply, Request, Told, Tool, ToolOutput,
};
use agent::settings::{Effort, ServiceTier, Settings, TextFormat, Verbosity};
use contracts::response::ToolOutcome;
use llm::{ApiKey, Client, Config};
use scripted_model::{Provider, Recorder};
use tokio::net::TcpListener;

async fn client() -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(scripted_model::serve(listener, Provider::default(), Recorder::default()));
    Client::new(Config { base, ..Config::default() }, ApiKey::new("key")).unwrap()
}

async fn send(client: &Client, request: &Request) -> Reply {
    client.reply(request, Duration::from_secs(20), &mut Observer::of(&mut |_| {})).await.unwrap()
}

/// A request with everything that an initial one can have.
fn full() -> Request {
    let bytes = || b"bytes".as_slice().into();
    Request {
        provider: None,
        model: "scripted".to_owned(),
        settings: Settings {
            temperature: Some(0.5),
            top_p: Some(0.9),
            max_output_tokens: Some(16),
            reasoning_effort: Some(Effort::Max),
            verbosity: Some(Verbosity::Low),
            text_format: Some(TextFormat {
                name: "verdict".to_owned(),
                description: Some("What it comes to.".to_owned()),
                schema: serde_json::json!({ "type": "object", "properties": {} }),
                strict: false,
            }),
            service_tier: Some(ServiceTier::Flex),
            parallel_tool_calls: Some(false),
            hosted_tools: vec![
                HostedTool::WebSearch {
                    search_context_size: Some(SearchContextSize::Low),
                    allowed_domains: vec!["docs.rs".to_owned()],
                },
                HostedTool::FileSearch {
                    vector_store_ids: vec!["vs_1".to_owned()],
                    max_num_results: Some(5),
                },
                HostedTool::CodeInterpreter {
                    file_ids: vec!["file-1".to_owned()],
                    memory_limit: Some(MemoryLimit::G4),
                },
                HostedTool::Mcp {
                    server_label: "docs".to_owned(),
                    server_url: "https://mcp.example.com".to_owned(),
                    server_description: Some("d".to_owned()),
                    allowed_tools: vec!["ask".to_owned()],
                },
            ],
        },
        identifiers: Some(Identifiers { session: "a session".to_owned(), user: "a user".to_owned() }),
        store: false,
        chain: Chain::Initial {
            system: "You are an agent.".to_owned(),
            parts: vec!["[MODE_INSTRUCTIONS: general]".to_owned()],
            told: told(),
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
        reasoning_wanted: true,
    }
}

/// An earlier turn, with a tool round that has all a round can have.
fn told() -> Vec<Told> {
    let reasoning = Reasoning {
        calls_before: 0,
        id: "rs_1".to_owned(),
        summary: vec![serde_json::json!({ "type": "summary_text", "text": "Where to look." })],
        // As the scripted model issues it; it takes no other back.
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
        Told::Said(Message { instruction, ..Message::in_mode("general") }),
        Told::Replied(vec![
            Item::Reasoning(reasoning),
            Item::Hosted(searched),
            Item::Text("Let me look.".into()),
            Item::Call(call),
        ]),
        Told::Said(Message { tool_outputs: vec![output], ..Message::in_mode("general") }),
        Told::Replied(vec![Item::Text("A compiler.".to_owned())]),
    ]
}

#[tokio::test]
async fn a_request_with_everything_fits() {
    let reply = send(&client().await, &full()).await;
    assert_eq!(reply.calls.len(), 1, "the forced tool is called");
}

#[tokio::test]
async fn a_chained_request_with_everything_fits() {
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
        reasoning_wanted: false,
        ..full()
    };
    let reply = send(&client, &chained).await;
    assert!(reply.text.contains("scripted"), "{}", reply.text);
}

#[tokio::test]
async fn a_request_that_tells_the_running_turn_s_rounds_fits() {
    let client = client().await;
    let called = send(&client, &full()).await;
    let output = |call: &FunctionCall| ToolOutput {
        call: call.clone(),
        outcome: ToolOutcome::ResultJson("{}".to_owned()),
    };
    let mut request = full();
    if let Chain::Initial { told, .. } = &mut request.chain {
        told.push(Told::Said(request.message));
        told.push(Told::Replied(called.calls.iter().cloned().map(Item::Call).collect()));
    }
    let tool_outputs = called.calls.iter().map(output).collect();
    request.message = Message { tool_outputs, ..Message::in_mode("general") };
    request.tool_choice = None;
    let reply = send(&client, &request).await;
    assert!(reply.text.contains("scripted"), "{}", reply.text);
}
