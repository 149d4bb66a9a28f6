use agent::model::model_settings::{Effort, ModelSettings, TextFormat};
use agent::model::{FunctionCall, Identifiers, Instruction, Reasoning, Tool, ToolOutput};
use contracts::response::ToolOutcome;
use serde_json::{Value, json};

use super::*;

fn user(instruction: &str) -> Message {
    Message { instruction: Instruction::User(instruction.to_owned()), ..Message::in_mode("general") }
}

fn call(call_id: &str) -> FunctionCall {
    FunctionCall { call_id: call_id.to_owned(), name: "look".to_owned(), arguments: "{}".to_owned() }
}

fn results(call_id: &str) -> Message {
    let outcome = ToolOutcome::ResultJson("{\"found\":1}".to_owned());
    let tool_outputs = vec![ToolOutput { call: call(call_id), outcome }];
    Message { tool_outputs, ..Message::in_mode("general") }
}

fn request(history: Vec<HistoryItem>, message: Message) -> Request {
    Request {
        provider: None,
        model: "model-1".to_owned(),
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
    serde_json::to_value(build(request, false)).unwrap()
}

#[test]
fn request_has_only_common_members_unless_the_context_sets_others() {
    let plain = request(Vec::new(), user("Hello."));
    assert_eq!(
        body(&plain),
        json!({
            "model": "model-1", "stream": true, "stream_options": { "include_usage": true },
            "messages": [
                { "role": "system", "content": "Be brief.\n\n[MODE]" },
                { "role": "user", "content": "[MODE: general]\n\n[INSTRUCTION]\nHello." },
            ],
        })
    );
    let schema = json!({ "type": "object" });
    let full = Request {
        settings: ModelSettings {
            temperature: Some(0.5),
            max_output_tokens: Some(99),
            reasoning_effort: Some(Effort::Low),
            parallel_tool_calls: Some(false),
            text_format: Some(TextFormat {
                name: "verdict".to_owned(),
                description: None,
                schema: schema.clone(),
                strict: true,
            }),
            ..ModelSettings::default()
        },
        tools: vec![Tool {
            name: "look".to_owned(),
            description: "Looks.".to_owned(),
            parameters: schema.clone(),
            strict: false,
        }],
        tool_choice: Some("look".to_owned()),
        ..plain
    };
    let sent = serde_json::to_value(build(&full, true)).unwrap();
    for (member, expected) in [
        ("temperature", json!(0.5)),
        ("max_tokens", json!(99)),
        ("reasoning_effort", json!("low")),
        ("parallel_tool_calls", json!(false)),
        ("prompt_cache_key", json!("s")),
        ("safety_identifier", json!("u")),
        ("tool_choice", json!({ "type": "function", "function": { "name": "look" } })),
        (
            "response_format",
            json!({ "type": "json_schema", "json_schema": { "name": "verdict", "schema": schema, "strict": true } }),
        ),
        (
            "tools",
            json!([{ "type": "function", "function": {
                "name": "look", "description": "Looks.", "parameters": schema,
            } }]),
        ),
    ] {
        assert_eq!(sent[member], expected, "{member}");
    }
}

#[test]
fn tool_round_has_native_messages_and_no_user_message_after_it() {
    let reply = HistoryItem::Reply(vec![ReplyItem::text("Looking."), ReplyItem::Call(call("a1B2c3D4e"))]);
    let mut results = results("a1B2c3D4e");
    let history = vec![HistoryItem::Message(user("Look.")), reply];
    let sent = body(&request(history.clone(), results.clone()))["messages"].clone();
    let round = json!([
        { "role": "assistant", "content": "Looking.", "tool_calls": [
            { "id": "a1B2c3D4e", "type": "function", "function": { "name": "look", "arguments": "{}" } },
        ] },
        { "role": "tool", "tool_call_id": "a1B2c3D4e", "content": "{\"found\":1}" },
    ]);
    assert_eq!(sent.as_array().unwrap()[2..], round.as_array().unwrap()[..]);

    // A changed prompt is told with the last result.
    results.update = Some("[MODE_INSTRUCTIONS: general]".to_owned());
    let sent = body(&request(history, results));
    let last = sent["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"], "{\"found\":1}\n\n[MODE: general]\n\n[MODE_INSTRUCTIONS: general]");
}

#[test]
fn reasoning_goes_back_under_the_name_it_came_with() {
    let thought = |id: &str| {
        ReplyItem::Reasoning(Reasoning {
            calls_before: 0,
            id: id.to_owned(),
            summary: Vec::new(),
            encrypted: format!("of {id}"),
        })
    };
    let items = ["reasoning_content", "thinking", THOUGHT_SIGNATURE].map(thought);
    let reply = HistoryItem::Reply(items.into_iter().chain([ReplyItem::Call(call("a1B2c3D4e"))]).collect());
    let sent = body(&request(vec![reply], results("a1B2c3D4e")))["messages"][1].clone();
    assert_eq!(
        (&sent["reasoning_content"], &sent["content"]),
        (&json!("of reasoning_content"), &Value::Null)
    );
    let signature = &sent["tool_calls"][0]["extra_content"]["google"]["thought_signature"];
    assert_eq!(signature, "of thought_signature");
}

#[test]
fn gemini_gets_a_placeholder_for_calls_of_other_models() {
    let reply = HistoryItem::Reply(["a1B2c3D4e", "a1B2c3D4f"].map(call).map(ReplyItem::Call).to_vec());
    let request =
        Request { model: "gemini-3-flash".to_owned(), ..request(vec![reply], results("a1B2c3D4e")) };
    let calls = body(&request)["messages"][1]["tool_calls"].clone();
    let signature = &calls[0]["extra_content"]["google"]["thought_signature"];
    assert_eq!((signature, calls[1].get("extra_content")), (&json!(NO_SIGNATURE), None));
}

#[test]
fn images_and_files_are_parts_with_data_urls() {
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
    assert_eq!(
        sent["messages"][1]["content"],
        json!([
            { "type": "text", "text": "[MODE: general]\n\n[INSTRUCTION]\nRead." },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,Ynl0ZXM=" } },
            { "type": "file", "file": {
                "filename": "a.pdf", "file_data": "data:application/pdf;base64,Ynl0ZXM=",
            } },
        ])
    );
}
