//! One session per wire, through the same requests: what a client sees doesn't depend on its provider's API
//! (docs/guides/providers.md#wires). The mock model checks each request against the published schema of its API.

use std::collections::BTreeMap;
use std::time::Instant;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use local::Options;
use serde_json::{Value, json};

use crate::{
    cancel::cancel,
    client_tools::{results, submit},
    support::{
        Client, NamedProvider, PATIENCE, System, answer_text, declaring, final_text_and_result, turn_in,
        turn_path, with_workspace,
    },
};

const PNG: &[u8] = b"\x89PNG\r\n\x1A\nrest";
const PDF: &[u8] = b"%PDF-1.7\nrest";

/// The differences between the wires.
pub struct Wire {
    /// Its name in settings, which is also the name of the provider and of the context.
    pub name: &'static str,
    /// The model of its context, which decides on the members that Bedrock leaves to the vendors.
    pub model: &'static str,
    /// The member with the model.
    model_member: &'static str,
    /// The member with the conversation.
    conversation: &'static str,
    /// The header with the key.
    key: &'static str,
    /// The code of an answer that the model refuses; none where a refusal is the answer's text.
    refusal: Option<&'static str>,
    /// JSON Pointer to the answer's schema.
    schema: &'static str,
    /// Types of an image and of a file.
    parts: [&'static str; 2],
    /// The member with the id of a call in its result.
    result: &'static str,
    /// True if usage tells reasoning apart.
    counts_reasoning: bool,
}

pub const WIRES: [Wire; 4] = [
    Wire {
        name: "responses",
        model: "scripted",
        model_member: "model",
        conversation: "input",
        key: "authorization",
        refusal: None,
        schema: "/text/format/schema",
        parts: ["input_image", "input_file"],
        result: "call_id",
        counts_reasoning: true,
    },
    Wire {
        name: "chat-completions",
        model: "scripted",
        model_member: "model",
        conversation: "messages",
        key: "authorization",
        refusal: None,
        schema: "/response_format/json_schema/schema",
        parts: ["image_url", "file"],
        result: "tool_call_id",
        counts_reasoning: true,
    },
    Wire {
        name: "anthropic-messages",
        model: "scripted",
        model_member: "model",
        conversation: "messages",
        key: "x-api-key",
        refusal: Some("ModelContentFiltered"),
        schema: "/output_config/format/schema",
        parts: ["image", "document"],
        result: "tool_use_id",
        counts_reasoning: true,
    },
    Wire {
        name: "bedrock-converse",
        model: "us.anthropic.scripted",
        model_member: "modelId",
        conversation: "messages",
        key: "authorization",
        refusal: Some("ModelContentFiltered"),
        schema: "/outputConfig/textFormat/structure/jsonSchema/schema",
        parts: ["image", "document"],
        result: "toolUseId",
        counts_reasoning: false,
    },
];

/// A system with one provider per wire.
pub struct Wires {
    providers: Vec<NamedProvider>,
    pub system: System,
    pub ada: Client,
}

impl Wires {
    /// Starts the providers, each with a context of its name that has these members too.
    pub async fn start(members: Value) -> Self {
        Self::with(members, |options| options).await
    }

    /// Starts the providers with other options.
    async fn with(members: Value, change: impl FnOnce(Options) -> Options) -> Self {
        let mut providers = Vec::new();
        for _ in &WIRES {
            providers.push(NamedProvider::with_profile("openai").await);
        }
        let declared = WIRES.iter().zip(&providers).map(|(wire, provider)| {
            json!({
                "Name": wire.name, "BaseUrl": provider.base, "Wire": wire.name, "KeySetting": "OPENAI_API_KEY",
            })
        });
        let mut options = declaring(&declared.collect());
        options.environment.insert("OPENAI_RETRIES".to_owned(), "1".to_owned());
        let system = System::with(change(options)).await;
        let contexts = WIRES.iter().map(|wire| {
            let mut context = json!({
                "Kind": "conversation", "Id": wire.name, "Name": wire.name, "System": "Be brief.",
                "Provider": wire.name, "ModelName": wire.model,
            });
            context.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            context
        });
        system.put_contexts("acme", &contexts.collect()).await;
        let ada = system.client("acme", "ada");
        Self { providers, system, ada }
    }

    pub fn each(&self) -> impl Iterator<Item = (&'static Wire, &NamedProvider)> {
        WIRES.iter().zip(&self.providers)
    }

    pub async fn end(self) {
        for (wire, provider) in self.each() {
            assert_eq!(provider.invalid_requests(), Vec::<String>::new(), "{}", wire.name);
        }
        assert!(self.system.model_calls().is_empty(), "the default provider was not asked");
        self.system.cloud.shutdown().await;
    }
}

/// A turn of the wire's own session, in its context.
pub fn on(wire: &Wire, instruction: &str) -> Value {
    in_session(wire, wire.name, instruction)
}

pub fn in_session(wire: &Wire, session: &str, instruction: &str) -> Value {
    let mut turn = turn_in(session, instruction);
    turn["ConversationContextId"] = json!(wire.name);
    turn
}

pub async fn says(client: &Client, turn: &Value) -> String {
    client.execute(turn).await.result()["PrimaryOutputText"].as_str().unwrap().to_owned()
}

fn pdf() -> Value {
    json!({
        "RelativePath": "a.pdf", "FileName": "a.pdf", "Contents": STANDARD.encode(PDF), "Origin": "ide",
        "Encoding": "base64",
    })
}

/// The values of a member anywhere in a request.
fn found<'a>(request: &'a Value, member: &str) -> Vec<&'a Value> {
    match request {
        Value::Array(values) => values.iter().flat_map(|value| found(value, member)).collect(),
        Value::Object(members) => {
            let own = members.get(member);
            own.into_iter().chain(members.values().flat_map(|value| found(value, member))).collect()
        }
        _ => Vec::new(),
    }
}

fn types(request: &Value) -> Vec<&str> {
    found(request, "type").into_iter().filter_map(Value::as_str).collect()
}

/// The only members of the blocks of a message, as the Converse API has them.
fn kinds(message: &Value) -> Vec<&str> {
    let blocks = message["content"].as_array().unwrap().iter();
    blocks.map(|block| block.as_object().unwrap().keys().next().unwrap().as_str()).collect()
}

#[tokio::test]
async fn text_streams_and_history_are_the_same_on_every_wire() {
    let wires = Wires::start(json!({})).await;
    for (wire, provider) in wires.each() {
        let name = wire.name;
        let script =
            "The word is plum. [[script: say \"Noted.\"; usage 100 20 cached 60 written 30 reasoning 7]]";
        let first = on(wire, script);
        let answer = wires.ada.execute(&first).await.result();
        assert_eq!(answer["PrimaryOutputText"], "Noted.", "{name}");
        let mut usage = json!({
            "PromptTokens": 100, "CompletionTokens": 20, "TotalTokens": 120, "CachedTokens": 60,
            "CacheWriteTokens": 30, "ReasoningTokens": 7,
        });
        if !wire.counts_reasoning {
            usage.as_object_mut().unwrap().remove("ReasoningTokens");
        }
        assert_eq!(answer["Usage"], usage, "{name}");

        let long = on(wire, "Write [[script: words 300]]");
        let stream = wires.ada.execute_streaming(&long, None).await;
        let Ok(stream) = stream else { panic!("{name} does not stream") };
        let events = stream.rest().await;
        let (text, result) = final_text_and_result(&events);
        assert!(events.len() > 2, "{name}");
        assert_eq!(text, answer_text(&result), "{name}");
        assert_eq!(text.split_whitespace().count(), 300, "{name}");

        let requests = provider.requests();
        assert_eq!(requests.len(), 2, "{name}");
        assert_eq!(requests[0]["headers"].get(wire.key), Some(&json!("present")), "{name}");
        let second = &requests[1]["body"];
        assert!(second[wire.conversation].is_array(), "{name}: {second}");
        let is_chained = second.get("previous_response_id").is_some();
        assert_eq!(is_chained, name == "responses", "a wire without response ids is never chained");
        assert!(is_chained || second.to_string().contains("The word is plum."), "{name} forgot: {second}");
        let read = wires.ada.get(&turn_path(&first)).await.result();
        assert_eq!(read["OpenAIModel"], wire.model, "{name}");
    }
    wires.end().await;
}

#[tokio::test]
async fn tool_rounds_are_native_and_keep_reasoning_on_every_wire() {
    let wires = Wires::start(json!({})).await;
    for (wire, provider) in wires.each() {
        let name = wire.name;
        let script = "Look [[script: think \"Both.\"; say \"Looking.\"; call agent_list_modes {}; \
                      call code_hash_normalized {\"text\":\"a\"}; then; call agent_list_modes {}; then; say \"Done.\"]]";
        assert_eq!(says(&wires.ada, &on(wire, script)).await, "Done.", "{name}");
        let calls = provider.calls();
        assert_eq!(calls.len(), 3, "{name}");
        match name {
            "responses" => {
                let outputs =
                    types(&calls[1]["input"]).into_iter().filter(|it| *it == "function_call_output");
                assert_eq!(outputs.count(), 2, "{}", calls[1]);
            }
            "chat-completions" => {
                let roles: Vec<&Value> = found(&calls[2]["messages"], "role");
                let expected = ["system", "user", "assistant", "tool", "tool", "assistant", "tool"];
                assert_eq!(roles, expected, "no user message follows the results");
                assert_eq!(found(&calls[2], "reasoning_content"), ["Both."]);
            }
            "bedrock-converse" => {
                let messages = &calls[2]["messages"];
                assert_eq!(kinds(&messages[1]), ["reasoningContent", "text", "toolUse", "toolUse"]);
                assert_eq!(found(&messages[1], "signature").len(), 1);
                assert_eq!(kinds(&messages[2]), ["toolResult", "toolResult", "cachePoint"]);
                assert_eq!(found(&calls[2], "cachePoint").len(), 3, "system, previous and newest message");
            }
            _ => {
                let messages = &calls[2]["messages"];
                let blocks = ["thinking", "text", "tool_use", "tool_use"];
                assert_eq!(
                    types(&messages[1]).into_iter().filter(|it| *it != "ephemeral").collect::<Vec<_>>(),
                    blocks
                );
                assert_eq!(found(&messages[2], "tool_use_id").len(), 2);
                assert_eq!(found(&calls[2], "cache_control").len(), 3, "system, previous and newest message");
            }
        }

        let script = "Read [[script: call workspace_read_file {\"path\":\"b.rs\"}; then; say \"Read.\"]]";
        let turn = with_workspace(in_session(wire, &format!("{name}-files"), script));
        let continuation = wires.ada.execute(&turn).await.result();
        let answer = submit(&wires.ada, &results(&continuation, "fn b() {}")).await.result();
        assert_eq!(answer["PrimaryOutputText"], "Read.", "{name}");
        assert!(provider.calls()[4].to_string().contains("fn b() {}"), "{name}");
    }
    wires.end().await;
}

#[tokio::test]
async fn images_files_and_structured_output_reach_the_model_on_every_wire() {
    let schema = json!({
        "type": "object", "properties": { "verdict": { "type": "string" } }, "required": ["verdict"],
        "additionalProperties": false,
    });
    let format = json!({ "Name": "verdict", "Schema": schema, "Strict": true });
    let wires =
        Wires::start(json!({ "TextFormat": format, "ReasoningEffort": "low", "MaxOutputTokens": 99 })).await;
    for (wire, provider) in wires.each() {
        let name = wire.name;
        let mut turn = on(wire, r#"See [[script: say "{\"verdict\":\"yes\"}"]]"#);
        turn["ClipboardImages"] =
            json!([{ "Id": "shot", "MimeType": "image/png", "DataBase64": STANDARD.encode(PNG) }]);
        turn["InputArtifacts"] = json!([pdf()]);
        assert_eq!(says(&wires.ada, &turn).await, "```json\n{\"verdict\":\"yes\"}\n```", "{name}");
        let call = &provider.calls()[0];
        let sent = call.pointer(wire.schema).cloned().unwrap_or_default();
        // The Converse API has it as text.
        let sent = sent.as_str().map_or(sent.clone(), |text| serde_json::from_str(text).unwrap());
        assert_eq!(sent, schema, "{name}: {call}");
        for part in wire.parts {
            let is_there = types(call).contains(&part) || !found(call, part).is_empty();
            assert!(is_there, "{name} has no {part}: {call}");
        }
        let sent = call.to_string();
        for bytes in [PNG, PDF] {
            assert!(sent.contains(&STANDARD.encode(bytes)), "{name}: {call}");
        }
        let effort = ["effort", "reasoning_effort"].iter().flat_map(|member| found(call, member));
        assert_eq!(effort.collect::<Vec<_>>(), ["low"], "{name}");
        let limit =
            ["max_output_tokens", "max_tokens", "maxTokens"].iter().flat_map(|member| found(call, member));
        assert_eq!(limit.collect::<Vec<_>>(), [99], "{name}");
    }
    wires.end().await;
}

#[tokio::test]
async fn failures_have_the_same_codes_on_every_wire() {
    let wires = Wires::start(json!({})).await;
    for (wire, provider) in wires.each() {
        let name = wire.name;
        let fails = async |script: &str| {
            let session = format!("{name}-{}", provider.calls().len());
            wires.ada.execute(&in_session(wire, &session, &format!("Go [[script: {script}]]"))).await.error()
        };
        for (script, code, calls) in [
            ("overflow", "ModelContextTooLong", 1),
            ("status 401", "ModelMisconfigured", 1),
            ("status 422", "ModelRejected", 1),
            ("status 429 retry-after 600", "ModelRateLimited", 1),
            ("status 503 retry-after-ms 1", "ModelUnavailable", 2),
            ("words 20; cut after 6 events", "ModelReplyMalformed", 1),
            ("say \"Half\"; unended", "ModelReplyMalformed", 1),
            ("say \"Half\"; error rate_limit_error", "ModelRateLimited", 1),
            ("say \"Half\"; incomplete content_filter", "ModelContentFiltered", 1),
            ("incomplete", "ModelReplyIncomplete", 1),
        ] {
            let before = provider.calls().len();
            assert_eq!(fails(script).await, code, "{name}: {script}");
            assert_eq!(provider.calls().len() - before, calls, "{name}: {script}");
        }

        let script = "Read [[script: status 400 message \"unknown content type: input_file\"]]";
        let mut turn = in_session(wire, &format!("{name}-pdf"), script);
        turn["InputArtifacts"] = json!([pdf()]);
        let refused = wires.ada.execute(&turn).await;
        assert_eq!(refused.error(), "ModelAttachmentRefused", "{name}");
        assert!(refused.text.contains("a.pdf"), "{name}: {}", refused.text);

        let retried = on(wire, "Go [[script: status 503 retry-after-ms 1 times 1; say \"At last.\"]]");
        assert_eq!(says(&wires.ada, &retried).await, "At last.", "{name}");
        let said = says(&wires.ada, &on(wire, "Go [[script: say \"Half of it\"; incomplete]]")).await;
        assert_eq!(said, "Half of it", "{name}");

        let refused = wires.ada.execute(&on(wire, "Go [[script: refuse \"I can't.\"]]")).await;
        match wire.refusal {
            None => assert_eq!(refused.result()["PrimaryOutputText"], "I can't.", "{name}"),
            Some(code) => assert_eq!(refused.error(), code, "{name}"),
        }
    }
    wires.end().await;
}

#[tokio::test]
async fn cancel_closes_the_connection_on_every_wire() {
    let wires = Wires::start(json!({})).await;
    for (wire, provider) in wires.each() {
        let turn = on(wire, "Think [[script: say \"So\"; hang 100s; say \"it is.\"]]");
        let closed = async {
            let started = Instant::now();
            let waits = || assert!(started.elapsed() < PATIENCE, "{}", wire.name);
            while provider.calls().is_empty() {
                waits();
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            cancel(&wires.ada, &turn).await;
            while provider.abandoned() == 0 {
                waits();
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let (answer, ()) = futures::join!(wires.ada.execute(&turn), closed);
        assert_eq!(answer.error(), "TurnCancelled", "{}", wire.name);
    }
    wires.end().await;
}

#[tokio::test]
async fn session_moves_between_wires_with_its_tool_rounds() {
    let next = |wire: &Wire| format!("next-{}", wire.name);
    let fallbacks: Vec<Value> =
        WIRES.iter().map(|wire| json!({ "Provider": wire.name, "ModelName": next(wire) })).collect();
    let wires = Wires::start(json!({ "Fallbacks": fallbacks })).await;
    for (wire, _) in wires.each() {
        let name = wire.name;
        let session = format!("{name}-moves");
        let first =
            "The word is plum. [[script: think \"Hm.\"; call agent_list_modes {}; then; say \"Noted.\"]]";
        assert_eq!(says(&wires.ada, &in_session(wire, &session, first)).await, "Noted.", "{name}");
        let mut failing = format!("status 503 for {} retry-after-ms 1; ", wire.model);
        for (other, provider) in wires.each() {
            // The model fails between two rounds of the turn, and so does every fallback before this one.
            let script = format!(
                "Again [[script: call agent_list_modes {{}}; then; {failing}say \"Moved to {}.\"]]",
                other.name
            );
            let answer = says(&wires.ada, &in_session(wire, &session, &script)).await;
            assert_eq!(answer, format!("Moved to {}.", other.name), "{name}");
            let newest = provider.calls().pop().unwrap();
            assert_eq!(newest[other.model_member], next(other), "{name}");
            assert!(newest.to_string().contains("The word is plum."), "{name}: {newest}");
            assert!(found(&newest, other.result).len() >= 2, "{name}: {newest}");
            failing.push_str(&format!("status 503 for {} retry-after-ms 1; ", next(other)));
        }
    }
    wires.end().await;
}

/// Models of Google and Mistral are stricter than the published API, and the mock model is by the model's name.
#[tokio::test]
async fn strict_servers_of_chat_completions_take_every_request() {
    for model in ["gemini-3-flash", "mistral-large"] {
        // One process, so that it remembers what the server refuses.
        let wires =
            Wires::with(json!({ "ModelName": model }), |options| Options { concurrency: 1, ..options }).await;
        let (wire, provider) = wires.each().nth(1).unwrap();
        let script = "Go [[script: think \"Hm.\"; call agent_list_modes {}; then; \
                      call agent_change_mode {\"mode\":\"workflow_authoring\",\"branch\":false,\"reason\":\"So.\"}; then; \
                      say \"Yes.\"]]";
        assert_eq!(says(&wires.ada, &on(wire, script)).await, "Yes.", "{model}");
        assert_eq!(says(&wires.ada, &on(wire, "Again [[script: say \"No.\"]]")).await, "No.", "{model}");
        let calls = provider.calls();
        let asks: Vec<bool> = calls.iter().map(|call| call.get("stream_options").is_some()).collect();
        match model {
            // Asked for usage once, and never again.
            "mistral-large" => assert_eq!(asks, [true, false, false, false, false]),
            _ => assert_eq!(asks, [true; 4]),
        }
        wires.end().await;
    }
}

#[tokio::test]
async fn reasoning_is_streamed_on_every_wire_and_asked_for_where_needed() {
    let wires = Wires::start(json!({ "ReasoningEffort": "low", "ReasoningSummary": "auto" })).await;
    let script = "Go [[script: think \"Let me look.\"; call agent_list_modes {}; then; think \"Found it.\"; say \"Yes.\"]]";
    for (wire, provider) in wires.each() {
        let name = wire.name;
        let mut events = wires.ada.execute_streaming(&on(wire, script), None).await.expect("a stream");
        let mut all = Vec::new();
        while let Some(event) = events.next().await {
            all.push(event);
        }
        assert_eq!(final_text_and_result(&all).0, "Yes.", "{name}");
        let mut read = BTreeMap::<u64, String>::new();
        for piece in &events.reasoning {
            let so_far = read.entry(piece["Round"].as_u64().unwrap()).or_default();
            assert_eq!(piece["Index"], so_far.len(), "{name}: {piece}");
            so_far.push_str(piece["Text"].as_str().unwrap());
        }
        let expected = [(1, "Let me look.".to_owned()), (2, "Found it.".to_owned())];
        assert_eq!(read, BTreeMap::from(expected), "{name}");
        let call = &provider.calls()[0];
        let wanted = [found(call, "summary"), found(call, "display")].concat();
        let expected: &[&str] = match name {
            "responses" => &["auto"],
            "anthropic-messages" | "bedrock-converse" => &["summarized"],
            _ => &[],
        };
        assert_eq!(wanted, expected, "{name}: {call}");
    }
    wires.end().await;
}
