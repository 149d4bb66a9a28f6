use agent::model::model_settings::{ReasoningSummary, TextFormat, Verbosity};
use agent::model::{FunctionCall, Identifiers, Instruction, Reasoning, ReplyItem, Tool};
use serde_json::{Value, json};

use super::*;
use crate::block_reply::{REDACTED_THINKING, THINKING};

const POINT: &str = "cache_control";

fn user(instruction: &str) -> Message {
    Message { instruction: Instruction::User(instruction.to_owned()), ..Message::in_mode("general") }
}

fn call(call_id: &str) -> FunctionCall {
    FunctionCall { call_id: call_id.to_owned(), name: "look".to_owned(), arguments: "{\"at\":1}".to_owned() }
}

fn results(call_id: &str, outcome: ToolOutcome) -> Message {
    let tool_outputs = vec![ToolOutput { call: call(call_id), outcome }];
    Message { tool_outputs, ..Message::in_mode("general") }
}

fn request(history: Vec<HistoryItem>, message: Message) -> Request {
    Request {
        provider: None,
        model: "claude-1".to_owned(),
        settings: ModelSettings::default(),
        identifiers: Some(Identifiers { session: "s".to_owned(), user: "u".to_owned() }),
        store: false,
        chain: Chain::Initial { system: "Be brief.".to_owned(), parts: vec!["[MODE]".to_owned()], history },
        message,
        tools: Vec::new(),
        tool_choice: None,
        wants_reasoning: true,
    }
}

fn body(request: &Request) -> Value {
    serde_json::to_value(build(request, true)).unwrap()
}

#[test]
fn request_has_required_members_and_cache_points() {
    let point = json!({ "type": "ephemeral" });
    assert_eq!(
        body(&request(Vec::new(), user("Hello."))),
        json!({
            "model": "claude-1", "max_tokens": 32_000, "stream": true, "metadata": { "user_id": "u" },
            "system": [
                { "type": "text", "text": "Be brief." },
                { "type": "text", "text": "[MODE]", "cache_control": point },
            ],
            "messages": [{ "role": "user", "content": [{
                "type": "text", "text": "[MODE: general]\n\n[INSTRUCTION]\nHello.", "cache_control": point,
            }] }],
        })
    );
}

#[test]
fn tool_round_keeps_thinking_with_its_signature() {
    let thought = |id: &str, summary: Vec<Value>| {
        ReplyItem::Reasoning(Reasoning {
            calls_before: 0,
            id: id.to_owned(),
            summary,
            encrypted: "sig".to_owned(),
        })
    };
    let reply = HistoryItem::Reply(vec![
        thought(THINKING, vec![json!({ "type": "thinking", "thinking": "Hm." })]),
        thought(REDACTED_THINKING, Vec::new()),
        thought("rs_1", Vec::new()),
        ReplyItem::text(" "),
        ReplyItem::Call(call("call_1")),
    ]);
    let failed = results("call_1", ToolOutcome::ErrorMessage("Gone.".to_owned()));
    let history = vec![HistoryItem::Message(user("Look.")), reply];
    let sent = body(&request(history, failed))["messages"].clone();
    assert!(sent[0]["content"][0].get(POINT).is_some(), "the previous request's end");
    assert_eq!(
        sent[1],
        json!({ "role": "assistant", "content": [
            { "type": "thinking", "thinking": "Hm.", "signature": "sig" },
            { "type": "redacted_thinking", "data": "sig" },
            { "type": "tool_use", "id": "call_1", "name": "look", "input": { "at": 1 } },
        ] })
    );
    assert_eq!(
        sent[2],
        json!({ "role": "user", "content": [{
            "type": "tool_result", "tool_use_id": "call_1", "content": "Gone.", "is_error": true,
            "cache_control": { "type": "ephemeral" },
        }] })
    );
}

#[test]
fn update_follows_the_results() {
    let done = results("call_1", ToolOutcome::ResultJson("1".to_owned()));
    let update = Some("[MODE_INSTRUCTIONS: general]".to_owned());
    let sent = body(&request(Vec::new(), Message { update, ..done }));
    let content = sent["messages"][0]["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"]), (2, &json!("tool_result")));
    assert_eq!(content[1]["text"], "[MODE: general]\n\n[MODE_INSTRUCTIONS: general]");
}

#[test]
fn settings_have_their_counterparts() {
    let format = |strict| TextFormat {
        name: "verdict".to_owned(),
        description: None,
        schema: json!({ "type": "object" }),
        strict,
    };
    let tool = Tool {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({ "type": "object" }),
        strict: true,
    };
    let mut request = Request { tools: vec![tool], ..request(Vec::new(), user("Hello.")) };
    request.settings = ModelSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(99),
        reasoning_effort: Some(Effort::Minimal),
        reasoning_summary: Some(ReasoningSummary::Auto),
        text_format: Some(format(true)),
        service_tier: Some(ServiceTier::Default),
        parallel_tool_calls: Some(false),
        ..ModelSettings::default()
    };
    let sent = body(&request);
    for (member, expected) in [
        ("temperature", json!(0.5)),
        ("max_tokens", json!(99)),
        ("thinking", json!({ "type": "adaptive", "display": "summarized" })),
        (
            "output_config",
            json!({ "effort": "low", "format": { "type": "json_schema", "schema": { "type": "object" } } }),
        ),
        ("service_tier", json!("standard_only")),
        ("tool_choice", json!({ "type": "auto", "disable_parallel_tool_use": true })),
        (
            "tools",
            json!([{
                "name": "look", "description": "Looks.", "input_schema": { "type": "object" }, "strict": true,
            }]),
        ),
    ] {
        assert_eq!(sent[member], expected, "{member}");
    }

    request.tool_choice = Some("look".to_owned());
    request.settings.text_format = Some(format(false));
    request.settings.reasoning_effort = Some(Effort::None);
    let sent = body(&request);
    assert_eq!((sent.get("thinking"), sent.get("output_config")), (None, None));
    assert_eq!(sent["tool_choice"]["name"], "look");
    let told = sent["system"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    assert!(told.contains("named verdict") && told.ends_with("{\"type\":\"object\"}"), "{told}");
}

#[test]
fn settings_without_a_counterpart_are_named() {
    let settings = ModelSettings {
        verbosity: Some(Verbosity::Low),
        service_tier: Some(ServiceTier::Flex),
        reasoning_summary: Some(ReasoningSummary::Auto),
        ..ModelSettings::default()
    };
    let omitted: Vec<&str> = omitted_settings(&settings).collect();
    assert_eq!(omitted, ["Verbosity", "ServiceTier", "ReasoningSummary"]);
}

#[test]
fn images_and_documents_are_base64_blocks() {
    let bytes = || b"bytes".as_slice().into();
    let attachments = vec![
        Attachment::Image { media_type: "image/png".to_owned(), bytes: bytes() },
        Attachment::File {
            name: "a.pdf".to_owned(),
            media_type: "application/pdf".to_owned(),
            bytes: bytes(),
        },
    ];
    let sent = body(&request(Vec::new(), Message { attachments, ..user("Read.") }));
    let content = &sent["messages"][0]["content"];
    let source = |media_type: &str| json!({ "type": "base64", "media_type": media_type, "data": "Ynl0ZXM=" });
    assert_eq!(content[1], json!({ "type": "image", "source": source("image/png") }));
    assert_eq!(
        content[2],
        json!({
            "type": "document", "source": source("application/pdf"), "title": "a.pdf",
            "cache_control": { "type": "ephemeral" },
        })
    );
}
