use agent::model::model_settings::{Effort, Guardrail, ReasoningSummary, Verbosity};
use agent::model::{FunctionCall, Identifiers, Instruction, Reasoning, ReplyItem, Tool};
use serde_json::{Value, json};

use super::*;
use crate::block_reply::{REDACTED_THINKING, THINKING};

const CLAUDE: &str = "us.anthropic.claude-1";

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
        model: CLAUDE.to_owned(),
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

fn point() -> Value {
    json!({ "cachePoint": { "type": "default" } })
}

#[test]
fn request_has_cache_points_if_the_model_accepts_them() {
    let mut request = request(Vec::new(), user("Hello."));
    let text = json!({ "text": "[MODE: general]\n\n[INSTRUCTION]\nHello." });
    let metadata = json!({ "session": "s", "user": "u" });
    assert_eq!(
        body(&request),
        json!({
            "system": [{ "text": "Be brief." }, { "text": "[MODE]" }, point()],
            "messages": [{ "role": "user", "content": [text, point()] }],
            "requestMetadata": metadata,
        })
    );
    request.model = "meta.llama4".to_owned();
    assert_eq!(
        body(&request),
        json!({
            "system": [{ "text": "Be brief." }, { "text": "[MODE]" }],
            "messages": [{ "role": "user", "content": [text] }],
            "requestMetadata": metadata,
        })
    );
}

#[test]
fn tool_round_keeps_signed_reasoning() {
    let thought = |id: &str, encrypted: &str| {
        ReplyItem::Reasoning(Reasoning {
            calls_before: 0,
            id: id.to_owned(),
            summary: vec![json!({ "type": "thinking", "thinking": "Hm." })],
            encrypted: encrypted.to_owned(),
        })
    };
    let reply = HistoryItem::Reply(vec![
        thought(THINKING, "sig"),
        thought(REDACTED_THINKING, "ZW5j"),
        thought(THINKING, ""),
        thought("rs_1", "other"),
        ReplyItem::text(" "),
        ReplyItem::Call(call("call_1")),
    ]);
    let failed = results("call_1", ToolOutcome::ErrorMessage("Gone.".to_owned()));
    let mut request = request(vec![HistoryItem::Message(user("Look.")), reply], failed);
    let sent = body(&request)["messages"].clone();
    assert_eq!(sent[0]["content"][1], point(), "the previous request's end");
    assert_eq!(
        sent[1],
        json!({ "role": "assistant", "content": [
            { "reasoningContent": { "reasoningText": { "text": "Hm.", "signature": "sig" } } },
            { "reasoningContent": { "redactedContent": "ZW5j" } },
            { "toolUse": { "toolUseId": "call_1", "name": "look", "input": { "at": 1 } } },
        ] })
    );
    let mut result = json!({ "toolUseId": "call_1", "content": [{ "text": "{\"ErrorMessage\":\"Gone.\"}" }], "status": "error" });
    assert_eq!(sent[2], json!({ "role": "user", "content": [{ "toolResult": result }, point()] }));

    request.model = "mistral.large".to_owned();
    result.as_object_mut().unwrap().remove("status");
    assert_eq!(body(&request)["messages"][2]["content"], json!([{ "toolResult": result }]));
}

#[test]
fn messages_of_one_role_are_joined_and_empty_ones_left_out() {
    let nothing = HistoryItem::Reply(vec![ReplyItem::text(" ")]);
    let history = vec![HistoryItem::Message(user("One.")), nothing];
    let sent = body(&request(history, user("Two.")))["messages"].clone();
    assert_eq!(sent.as_array().unwrap().len(), 1);
    assert_eq!(sent[0]["content"].as_array().unwrap().len(), 3, "two texts and a cache point");
}

#[test]
fn settings_have_their_counterparts() {
    let format = |strict| TextFormat {
        name: "verdict".to_owned(),
        description: Some("d".to_owned()),
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
        reasoning_effort: Some(Effort::Max),
        text_format: Some(format(true)),
        service_tier: Some(ServiceTier::Flex),
        guardrail: Some(Guardrail { id: "gr1".to_owned(), version: "2".to_owned() }),
        ..ModelSettings::default()
    };
    let sent = body(&request);
    let spec = json!({
        "name": "look", "description": "Looks.", "inputSchema": { "json": { "type": "object" } }, "strict": true,
    });
    let schema = json!({ "schema": "{\"type\":\"object\"}", "name": "verdict", "description": "d" });
    for (member, expected) in [
        ("inferenceConfig", json!({ "temperature": 0.5, "maxTokens": 99 })),
        ("additionalModelRequestFields", json!({ "thinking": { "type": "adaptive" } })),
        (
            "outputConfig",
            json!({
                "effort": "max",
                "textFormat": { "type": "json_schema", "structure": { "jsonSchema": schema } },
            }),
        ),
        ("serviceTier", json!({ "type": "flex" })),
        ("toolConfig", json!({ "tools": [{ "toolSpec": spec }] })),
        (
            "guardrailConfig",
            json!({ "guardrailIdentifier": "gr1", "guardrailVersion": "2", "streamProcessingMode": "sync" }),
        ),
    ] {
        assert_eq!(sent[member], expected, "{member}");
    }

    request.tool_choice = Some("look".to_owned());
    request.settings.text_format = Some(format(false));
    let sent = body(&request);
    assert_eq!((sent.get("additionalModelRequestFields"), sent.get("outputConfig")), (None, None));
    assert_eq!(sent["toolConfig"]["toolChoice"], json!({ "tool": { "name": "look" } }));
    let told = sent["system"][2]["text"].as_str().unwrap();
    assert!(told.contains("named verdict") && told.ends_with("{\"type\":\"object\"}"), "{told}");
}

#[test]
fn effort_is_a_member_of_each_family() {
    let sent = |model: &str, effort| {
        let mut request = request(Vec::new(), user("Hello."));
        request.model = model.to_owned();
        request.settings.reasoning_effort = Some(effort);
        let omitted: Vec<&str> = omitted_settings(&request).collect();
        (body(&request)["additionalModelRequestFields"].clone(), omitted)
    };
    let nova = json!({ "reasoningConfig": { "type": "enabled", "maxReasoningEffort": "high" } });
    assert_eq!(sent("amazon.nova-2-lite-v1:0", Effort::Max), (nova, Vec::new()));
    assert_eq!(
        sent("openai.gpt-oss-20b-1:0", Effort::Minimal),
        (json!({ "reasoning_effort": "low" }), Vec::new())
    );
    let mut summarized = request(Vec::new(), user("Hello."));
    (summarized.model, summarized.settings.reasoning_summary) =
        (CLAUDE.to_owned(), Some(ReasoningSummary::Auto));
    assert_eq!(omitted_settings(&summarized).collect::<Vec<_>>(), ["ReasoningSummary"]);
    summarized.settings.reasoning_effort = Some(Effort::Low);
    assert_eq!(omitted_settings(&summarized).count(), 0);
    let thinking = &body(&summarized)["additionalModelRequestFields"]["thinking"];
    assert_eq!(thinking, &json!({ "type": "adaptive", "display": "summarized" }));
    assert_eq!(sent("meta.llama4", Effort::Low), (Value::Null, vec!["ReasoningEffort"]));
    assert_eq!(sent(CLAUDE, Effort::None), (Value::Null, Vec::new()));
}

#[test]
fn settings_without_a_counterpart_are_named() {
    let mut request = request(Vec::new(), user("Hello."));
    request.settings = ModelSettings {
        verbosity: Some(Verbosity::Low),
        service_tier: Some(ServiceTier::Scale),
        parallel_tool_calls: Some(false),
        ..ModelSettings::default()
    };
    let omitted: Vec<&str> = omitted_settings(&request).collect();
    assert_eq!(omitted, ["Verbosity", "ServiceTier", "ParallelToolCalls"]);
}

#[test]
fn images_and_documents_are_bytes_with_a_format() {
    let bytes = || b"bytes".as_slice().into();
    let pdf = || Attachment::File {
        name: "a.pdf".to_owned(),
        media_type: "application/pdf".to_owned(),
        bytes: bytes(),
    };
    let image = Attachment::Image { media_type: "image/png".to_owned(), bytes: bytes() };
    let earlier = HistoryItem::Message(Message { attachments: vec![pdf()], ..user("Read.") });
    let reply = HistoryItem::Reply(vec![ReplyItem::text("Yes.")]);
    let message = Message { attachments: vec![image, pdf()], ..user("Again.") };
    let sent = body(&request(vec![earlier, reply], message))["messages"].clone();
    let source = json!({ "bytes": "Ynl0ZXM=" });
    let document = |name: &str| json!({ "document": { "format": "pdf", "name": name, "source": source } });
    assert_eq!(sent[0]["content"][1], document("a-pdf"));
    assert_eq!(sent[2]["content"][1], json!({ "image": { "format": "png", "source": source } }));
    assert_eq!(sent[2]["content"][2], document("a-pdf (2)"));
}
