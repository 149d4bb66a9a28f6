//! The standing of each member of a request, and of members that nobody knows.

use contracts::paths::ORG_SETTINGS;
use openai_api::request::standing::{CHAT, Member, RESPONSES as RESPONSE_MEMBERS, Standing};
use reqwest::Method;
use serde_json::{Value, json};

use super::{RESPONSES, create, created, error, request, with};
use crate::{
    export::operator,
    support::{Answer, Client, System},
};

const CHATS: &str = "/v1/chat/completions";
const IGNORED: &str = "x-aptix-ignored";

/// Returns a value of a member that asks for something.
fn sample(name: &str) -> Value {
    match name {
        "access_programs" => json!({"cyber": "standard"}),
        "audio" => json!({"voice": "alloy", "format": "wav"}),
        "background" | "stream" | "parallel_tool_calls" => json!(false),
        "background_options" => json!({"completion_window": "soonest"}),
        "cache_control" => json!({"type": "ephemeral"}),
        "client_metadata" => json!({"session": "s"}),
        "context_management" => json!([{"type": "compaction", "compact_threshold": 1000}]),
        "conversation" => json!("conv_members"),
        "frequency_penalty" | "presence_penalty" => json!(0.5),
        "function_call" => json!({"name": "f"}),
        "functions" => json!([{"name": "f"}]),
        "image" => json!({"context_compression": "auto"}),
        "include" => json!(["reasoning.encrypted_content"]),
        "input" => json!("Hi"),
        "instructions" => json!("Be brief."),
        "logit_bias" => json!({"50256": -100}),
        "logprobs" => json!(true),
        "max_completion_tokens" | "max_output_tokens" | "max_tokens" => json!(64),
        "max_tool_calls" | "top_k" | "seed" | "top_logprobs" => json!(3),
        "messages" => json!([{"role": "user", "content": "Hi"}]),
        "metadata" => json!({"a": "b"}),
        "modalities" => json!(["text", "audio"]),
        "model" => json!("scripted"),
        "moderation" => json!({"model": "omni-moderation-latest"}),
        "n" => json!(2),
        "prediction" => json!({"type": "content", "content": "Hi"}),
        "previous_response_id" => json!(null),
        "prompt" => json!({"id": "pmpt_1"}),
        "prompt_cache_options" => json!({"mode": "explicit"}),
        "prompt_cache_retention" => json!("24h"),
        "prompt_cache_key" | "safety_identifier" | "user" => json!("u1"),
        "reasoning" => json!({}),
        "reasoning.context" | "reasoning.summary" | "reasoning.generate_summary" => json!("auto"),
        "reasoning.effort" | "reasoning_effort" | "text.verbosity" | "verbosity" => json!("low"),
        "reasoning.mode" => json!("standard"),
        "response_format" | "text.format" => json!({"type": "text"}),
        "service_tier" | "tool_choice" => json!("auto"),
        "stop" => json!(["END"]),
        // Only a conversation and a response in the background have to be stored.
        "store" => json!(false),
        "stream_options" | "text" => json!({}),
        "stream_options.include_obfuscation" | "stream_options.include_usage" => json!(true),
        "temperature" | "top_p" => json!(0.5),
        "tools" => json!([{"type": "function", "name": "f", "function": {"name": "f"}}]),
        "truncation" => json!("disabled"),
        "web_search_options" => json!({"search_context_size": "low"}),
        name => panic!("give {name} a sample"),
    }
}

/// Sets a member of a request, which may be nested.
fn set(mut request: Value, name: &str, value: Value) -> Value {
    match name.split_once('.') {
        Some((object, nested)) => request[object][nested] = value,
        None => request[name] = value,
    }
    request
}

async fn check(client: &Client, path: &str, request: Value, table: &[Member]) {
    for Member { name, standing, .. } in table {
        let mut value = sample(name);
        if *name == "tools" && path == RESPONSES {
            value[0].as_object_mut().unwrap().remove("function");
        } else if *name == "tools" {
            value[0].as_object_mut().unwrap().remove("name");
        }
        let answer = client.post(path, set(request.clone(), name, value).to_string()).await;
        match standing {
            Standing::Supported | Standing::Hint => {
                assert_eq!(answer.status, 200, "{path} {name}: {}", answer.text);
                assert_eq!(answer.header(IGNORED), None, "{path} {name} is known");
            }
            Standing::Refused(neutral) => {
                let expected = (400, (*name).to_owned(), "unsupported_parameter".to_owned());
                assert_eq!(error(&answer), expected, "{path} {name}");
                for text in *neutral {
                    let value = serde_json::from_str(text).unwrap();
                    let answer = client.post(path, set(request.clone(), name, value).to_string()).await;
                    assert_eq!(answer.status, 200, "{path} {name} {text}: {}", answer.text);
                }
            }
        }
    }
}

#[tokio::test]
async fn every_member_has_its_standing() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let chat = json!({"model": "scripted", "messages": [{"role": "user", "content": "Hi"}]});
    tokio::join!(check(&ada, RESPONSES, request("Hi"), RESPONSE_MEMBERS), check(&ada, CHATS, chat, CHAT));
}

#[tokio::test]
async fn unknown_members_are_named_or_refused() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let unknown = with(request("Hi"), &json!({"colour": "red", "reasoning": {"depth": 3}}));
    let chat = json!({"model": "scripted", "colour": "red", "messages": [{"role": "user", "content": "Hi", "mood": 1}]});
    let ignored = |answer: &Answer| {
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.header(IGNORED).unwrap().to_owned()
    };
    assert_eq!(ignored(&create(&ada, &unknown).await), "colour, reasoning.depth");
    assert_eq!(ignored(&ada.post(CHATS, chat.to_string()).await), "colour, messages[0].mood");
    let exposed = create(&ada, &unknown).await;
    assert!(exposed.header("access-control-expose-headers").unwrap().contains("X-Aptix-Ignored"));
    for promise in
        ["thread", "container", "prompt", "previous_message_id", "mcp_servers", "compaction", "output_config"]
    {
        let answer = create(&ada, &set(request("Hi"), promise, json!("x"))).await;
        let expected = (400, promise.to_owned(), "unsupported_parameter".to_owned());
        assert_eq!(error(&answer), expected, "{promise}");
    }

    let strict = json!({"StrictRequests": true}).to_string();
    let operator = operator(&system, "acme");
    operator.send(Method::PUT, ORG_SETTINGS, Some(strict)).await.result();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(90);
    let mut refused = create(&ada, &unknown).await;
    // A process reads the settings of an org at most a minute late.
    while refused.status == 200 && std::time::Instant::now() < deadline {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        refused = create(&ada, &unknown).await;
    }
    assert_eq!(error(&refused), (400, "colour".to_owned(), "unknown_parameter".to_owned()));
    let refused = ada.post(CHATS, chat.to_string()).await;
    assert_eq!(error(&refused), (400, "colour".to_owned(), "unknown_parameter".to_owned()));
    created(&ada, &with(request("Hi"), &json!({"seed": 1, "client_metadata": {}}))).await;
    created(&system.client("rival", "eve"), &unknown).await;
}

/// `api-version` is a parameter of Azure's clients.
#[tokio::test]
async fn history_is_counted_and_compacted() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let history = json!([
        {"role": "user", "content": "My name is Ada."}, {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Go on. [[script: say \"Ada was here.\"]]"},
    ]);
    let body = json!({"model": "scripted", "input": history}).to_string();
    let counted = ada.post("/v1/responses/input_tokens?api-version=2026-01-01", body.clone()).await.json();
    assert_eq!(counted["object"], "response.input_tokens");
    assert!((10..60).contains(&counted["input_tokens"].as_u64().unwrap()), "{counted}");
    let compacted = ada.post("/v1/responses/compact", body).await;
    assert_eq!(compacted.status, 200, "{}", compacted.text);
    let compacted = compacted.json();
    assert_eq!(compacted["object"], "response.compaction");
    assert!(
        compacted["output"][0]["content"][0]["text"].as_str().unwrap().ends_with("Ada was here."),
        "{compacted}"
    );
    assert!(compacted["usage"]["total_tokens"].as_u64().unwrap() > 0);
    created(
        &ada,
        &json!({"model": "scripted", "input": [compacted["output"][0], {"role": "user", "content": "Next"}]}),
    )
    .await;
    assert!(system.model_calls()[1].to_string().contains("Ada was here."));
}

/// Tools of OpenAI's service alone are left out. Any number of functions may be required, with long descriptions.
#[tokio::test]
async fn coding_agents_tools_are_taken_or_left_out_by_name() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let mut tools: Vec<Value> = (0..100)
        .map(|n| json!({"type": "function", "name": format!("tool_{n}"), "description": "d".repeat(600)}))
        .collect();
    tools[0]["description"] = json!("d".repeat(5_000));
    tools.push(json!({"type": "web_search"}));
    tools.push(json!({"type": "namespace", "name": "mcp", "description": "d", "tools": []}));
    tools.push(json!({"type": "custom", "name": "apply_patch", "description": "d"}));
    let sent =
        with(request("Hi"), &json!({"tools": tools, "tool_choice": "required", "max_output_tokens": 1}));
    let answer = create(&ada, &sent).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header(IGNORED), Some("tools[100]"));
    let call = &system.model_calls()[0];
    assert_eq!((&call["tool_choice"], &call["max_output_tokens"]), (&json!("required"), &json!(16)));
    assert!(call["tools"].as_array().unwrap().len() >= 100);
    let format = json!({"type": "json_object"});
    let object = with(
        request("Give JSON [[script: say \"{}\"]]"),
        &json!({"text": {"format": format}, "max_tool_calls": 2}),
    );
    created(&ada, &object).await;
    let call = system.model_calls().pop().unwrap();
    assert_eq!((&call["text"]["format"], &call["max_tool_calls"]), (&format, &json!(2)));
    let allowed =
        json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "tool_1"}]});
    created(&ada, &with(request("Hi"), &json!({"tools": tools, "tool_choice": allowed}))).await;
    let call = system.model_calls().pop().unwrap();
    let names: Vec<&str> =
        crate::support::tools(&call).into_iter().filter(|name| name.starts_with("tool_")).collect();
    assert_eq!(names, ["tool_1"]);
    let mcp = json!([{"type": "mcp", "server_label": "x", "server_url": "https://x.y"}]);
    let refused = create(&ada, &with(request("Hi"), &json!({"tools": mcp}))).await;
    assert_eq!(error(&refused), (400, "tools[0].type".to_owned(), "unsupported_parameter".to_owned()));
}

#[tokio::test]
async fn agent_is_named_without_a_slash() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    system.put_contexts("acme", &json!([{"Kind": "agent", "Id": "engineer", "Name": "An agent"}])).await;
    for (name, agent) in [("default", "default"), ("engineer", "engineer"), ("agent/engineer", "engineer")] {
        let response = created(&ada, &with(request("Hi"), &json!({"model": name}))).await;
        assert_eq!(response["model"], name);
        let next = json!({"model": format!("agent/{agent}"), "input": "More", "previous_response_id": response["id"]});
        created(&ada, &next).await;
        let chat = json!({"model": name, "messages": [{"role": "user", "content": format!("Hi {name}")}]});
        let chat = ada.post(CHATS, chat.to_string()).await;
        assert_eq!((chat.status, &chat.json()["model"]), (200, &json!(name)), "{}", chat.text);
        assert_eq!(ada.get(&format!("/v1/models/{name}")).await.json()["id"], name);
    }
    let unknown = create(&eve, &with(request("Hi"), &json!({"model": "engineer"}))).await;
    assert_eq!(error(&unknown), (404, "model".to_owned(), "model_not_found".to_owned()));
    assert_eq!(error(&eve.get("/v1/models/engineer").await).0, 404);
}
