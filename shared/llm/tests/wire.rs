//! Whatever the builder can write fits the provider's published types, to which the scripted model holds it.

// The helpers are test code too, which clippy knows of functions marked as tests only.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use agent::model::Identifiers;
use agent::model::{
    Attachment, Chain, Exchange, FunctionCall, Instruction, Model, Observer, Reply, Request, Tool, ToolOutput,
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
    let exchange =
        |instruction: &str, answer: &str| Exchange { instruction: instruction.into(), answer: answer.into() };
    let bytes = || b"bytes".as_slice().into();
    Request {
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
        },
        identifiers: Some(Identifiers { session: "a session".to_owned(), user: "a user".to_owned() }),
        store: false,
        chain: Chain::Initial {
            system: "You are an agent.".to_owned(),
            parts: vec!["[MODE_INSTRUCTIONS: general]".to_owned()],
            history: vec![exchange("What is it?", "A compiler."), exchange("Why?", "To compile.")],
        },
        mode: "general".to_owned(),
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
        tools: vec![Tool {
            name: "look".to_owned(),
            description: "Looks something up.".to_owned(),
            parameters: serde_json::json!({ "type": "object", "properties": {} }),
            strict: false,
        }],
        tool_choice: Some("look".to_owned()),
        tool_outputs: Vec::new(),
    }
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
        chain: Chain::Continues {
            previous_response_id: called.response_id.clone(),
            update: Some("[MODE_INSTRUCTIONS: general]".to_owned()),
        },
        instruction: Instruction::ToolResults,
        tool_outputs: called.calls.iter().map(output).collect(),
        tool_choice: None,
        ..full()
    };
    let reply = send(&client, &chained).await;
    assert!(reply.text.contains("scripted"), "{}", reply.text);
}

#[tokio::test]
async fn an_initial_request_that_tells_tool_results_in_words_alone_fits() {
    let call = FunctionCall { call_id: "call_1".into(), name: "look".into(), arguments: "{}".into() };
    let outcome = ToolOutcome::ResultJson("{}".to_owned());
    let local = Request {
        tool_outputs: vec![ToolOutput { call, outcome }],
        instruction: Instruction::ToolResults,
        tool_choice: None,
        ..full()
    };
    send(&client().await, &local).await;
}
