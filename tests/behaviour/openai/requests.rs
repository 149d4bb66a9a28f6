//! `POST /v1/responses` in one piece.

use serde_json::json;

use super::{RESPONSES, create, created, error, id, path, request, text, with};
use crate::support::{System, is_chained, said, system_message, tools};

pub(super) const PNG: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn response_has_answer_settings_and_usage() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let sent = with(
        request("Hi [[script: say \"Hello.\"; usage 100 20 cached 5 reasoning 7]]"),
        &json!({"instructions": "Answer in French.", "temperature": 0.25, "max_output_tokens": 64, "metadata": {"a": "b"},
                "reasoning": {"effort": "low"}, "user": "u1"}),
    );
    let answer = create(&ada, &sent).await;
    assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()));
    let response = answer.json();
    assert_eq!((answer.status, text(&response).as_str()), (200, "Hello."), "{response}");
    for (name, value) in [
        ("object", json!("response")),
        ("status", json!("completed")),
        ("model", json!("scripted")),
        ("instructions", json!("Answer in French.")),
        ("temperature", json!(0.25)),
        ("max_output_tokens", json!(64)),
        ("metadata", json!({"a": "b"})),
        ("user", json!("u1")),
        ("error", json!(null)),
        ("incomplete_details", json!(null)),
        ("previous_response_id", json!(null)),
        ("tools", json!([])),
        ("tool_choice", json!("auto")),
    ] {
        assert_eq!(response[name], value, "{name}");
    }
    assert_eq!(
        response["usage"],
        json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 0},
               "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 7}, "total_tokens": 120})
    );
    let message = &response["output"][0];
    assert_eq!(
        (&message["type"], &message["role"], &message["status"]),
        (&json!("message"), &json!("assistant"), &json!("completed"))
    );
    let call = &system.model_calls()[0];
    assert_eq!(
        (&call["temperature"], &call["max_output_tokens"], &call["reasoning"]["effort"]),
        (&json!(0.25), &json!(64), &json!("low"))
    );
    assert!(system_message(call).contains("Answer in French."));
    let read = ada.get(&path(&response)).await.json();
    assert_eq!(
        (&read["output"], &read["usage"], &read["metadata"]),
        (&response["output"], &response["usage"], &response["metadata"])
    );
}

#[tokio::test]
async fn image_file_and_structured_output_reach_the_model() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
                        "additionalProperties": false});
    let sent = json!({
        "model": "agent/default",
        "input": [{"role": "user", "content": [
            {"type": "input_text", "text": "Count [[script: say \"{\\\"n\\\":1}\"]]"},
            {"type": "input_image", "image_url": PNG, "detail": "auto"},
            {"type": "input_file", "filename": "notes.txt", "file_data": "data:text/plain;base64,aGVsbG8="},
        ]}],
        "text": {"format": {"type": "json_schema", "name": "count", "schema": schema, "strict": true}},
    });
    let response = created(&ada, &sent).await;
    assert_eq!(text(&response), "{\"n\":1}", "{response}");
    assert_eq!(response["text"]["format"]["name"], "count");
    let call = &system.model_calls()[0];
    assert_eq!(
        (&call["text"]["format"]["type"], &call["text"]["format"]["name"]),
        (&json!("json_schema"), &json!("count"))
    );
    let sent = call["input"].to_string();
    assert!(sent.contains(PNG) && sent.contains("notes.txt"), "{sent}");
    let items = ada.get(&format!("{}/input_items", path(&response))).await.json();
    let parts = items["data"][0]["content"].as_array().unwrap();
    assert_eq!(
        (parts[1]["image_url"].as_str(), parts[2]["filename"].as_str()),
        (Some(PNG), Some("notes.txt"))
    );
    assert_eq!((&items["object"], &items["has_more"]), (&json!("list"), &json!(false)));
}

#[tokio::test]
async fn previous_response_continues_or_forks() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = created(&ada, &request("My name is Ada. [[script: say \"Noted.\"]]")).await;
    let after = |previous: &serde_json::Value, input: &str| {
        with(request(input), &json!({"previous_response_id": previous["id"]}))
    };
    let second = created(&ada, &after(&first, "Second [[script: say \"Two.\"]]")).await;
    assert_eq!(second["previous_response_id"], first["id"]);
    assert!(is_chained(&system.model_calls()[1]));
    let third = created(&ada, &after(&first, "Other [[script: say \"Three.\"]]")).await;
    let sessions = ada.get("/api/ai/agent/sessions").await.result();
    let mut turns: Vec<u64> =
        sessions["Items"].as_array().unwrap().iter().map(|s| s["TurnCount"].as_u64().unwrap()).collect();
    turns.sort_unstable();
    assert_eq!(turns, [1, 2], "an earlier response forks its session");
    assert_ne!((id(&second), text(&third).as_str()), (id(&third), "Two."));
    let from_items = json!({"model": "scripted", "input": [
        {"role": "user", "content": "Other words than those of the turn"}, second["output"][0],
        {"role": "user", "content": "Fourth [[script: say \"Four.\"]]"},
    ]});
    let fourth = created(&ada, &from_items).await;
    assert_eq!((&fourth["previous_response_id"], text(&fourth).as_str()), (&json!(null), "Four."));
    assert!(system.model_calls()[3].to_string().contains("Other words"), "the client's content counts");
    let conversation = created(&ada, &with(request("a"), &json!({"conversation": "conv_c1"}))).await;
    assert_eq!(conversation["conversation"], json!({"id": "conv_c1"}));
    created(&ada, &with(request("b"), &json!({"conversation": {"id": "conv_c1"}}))).await;
    assert_eq!(ada.get("/api/ai/agent/sessions/c1").await.result()["TurnCount"], 2);
}

#[tokio::test]
async fn instructions_hold_for_their_response_alone() {
    let system = System::start().await;
    let ada = system.client("acme", "ada");
    let first = created(&ada, &with(request("Hi"), &json!({"instructions": "Speak like a pirate."}))).await;
    let next = |text: &str| with(request(text), &json!({"previous_response_id": first["id"]}));
    created(&ada, &next("again")).await;
    let calls = system.model_calls();
    assert!(system_message(&calls[0]).contains("Speak like a pirate."));
    assert!(!said(&calls[1]).contains("Speak like a pirate."));
}

#[tokio::test]
async fn refusals_have_the_shape_of_openai() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let first = created(&ada, &request("Hi")).await;
    let previous = |id: &str| with(request("x"), &json!({"previous_response_id": id}));
    for (sent, status, param, code) in [
        (json!({"input": "Hi"}), 400, "model", "missing_required_parameter"),
        (with(request("x"), &json!({"prompt": {"id": "p"}})), 400, "prompt", "unsupported_parameter"),
        (with(request("x"), &json!({"thread": "red"})), 400, "thread", "unsupported_parameter"),
        (with(request("x"), &json!({"model": "gpt-unknown"})), 404, "model", "model_not_found"),
        (with(request("x"), &json!({"model": "agent/nobody"})), 404, "model", "model_not_found"),
        (previous("resp_unknown"), 400, "previous_response_id", "previous_response_not_found"),
        (
            with(
                request("x"),
                &json!({"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}),
            ),
            400,
            "input",
            "invalid_value",
        ),
    ] {
        let answer = create(&ada, &sent).await;
        assert_eq!(error(&answer), (status, param.to_owned(), code.to_owned()), "{sent}");
        assert_eq!(answer.header("x-should-retry"), Some("false"));
    }
    let other_agent = with(previous(id(&first)), &json!({"model": "agent/workspace"}));
    assert_eq!(
        error(&create(&ada, &other_agent).await),
        (400, "model".to_owned(), "invalid_value".to_owned())
    );
    let foreign = create(&eve, &previous(id(&first))).await;
    assert_eq!(error(&foreign).2, "previous_response_not_found");
    assert_eq!(error(&ada.post(RESPONSES, "{".to_owned()).await).2, "invalid_json");
    assert_eq!(
        error(&ada.post("/v1/embeddings", "{}".to_owned()).await),
        (404, String::new(), "unknown_url".to_owned())
    );
    assert_eq!(error(&ada.get("/v1/assistants").await).2, "unknown_url");
    assert_eq!(error(&create(&ada, &request("x [[script: status 503 times 9]]")).await).0, 503);
    let calls = system.model_calls().len();
    assert!(calls >= 2, "the first one and the failed one: {calls}");
}

#[tokio::test]
async fn agents_and_models_are_listed() {
    let system = System::start().await;
    let (ada, eve) = (system.client("acme", "ada"), system.client("rival", "eve"));
    let agent = |id: &str| json!({"Kind": "agent", "Id": id, "Name": "An agent"});
    system.put_contexts("acme", &json!([agent("engineer"), agent("workspace")])).await;
    for (client, expected) in [
        (
            &ada,
            vec![
                "agent/default",
                "agent/engineer",
                "agent/workspace",
                "default",
                "engineer",
                "workspace",
                "scripted",
            ],
        ),
        (&eve, vec!["agent/default", "agent/workspace", "default", "workspace", "scripted"]),
    ] {
        let models = client.get("/v1/models").await.json();
        let ids: Vec<&str> =
            models["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
        assert_eq!((&models["object"], ids), (&json!("list"), expected));
    }
    assert_eq!(ada.get("/v1/models/agent/engineer").await.json()["id"], "agent/engineer");
    assert_eq!(error(&eve.get("/v1/models/agent/engineer").await).0, 404);
    assert_eq!(ada.get("/v1/models/agent/workspace").await.json()["object"], "model");
    assert_eq!(
        error(&ada.get("/v1/models/gpt-unknown").await),
        (404, "model".to_owned(), "model_not_found".to_owned())
    );
    let named = created(&eve, &with(request("Hi"), &json!({"model": "agent/workspace"}))).await;
    assert_eq!(named["model"], "agent/workspace");
    assert!(tools(&system.model_calls()[0]).iter().any(|name| name.starts_with("workspace_")));
}
