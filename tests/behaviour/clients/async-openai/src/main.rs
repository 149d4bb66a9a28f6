//! Speaks to a local cloud with the crate `async-openai`, unmodified: text, stream, function, structured output, image,
//! background, cancel, conversation, models, chat completions. `OPENAI_BASE` and `OPENAI_KEY` say where and as whom.

use std::{env, error::Error, time::Duration};

use async_openai::{
    Client,
    config::OpenAIConfig,
    types::responses::{CreateResponse, OutputItem, Response, ResponseStreamEvent, Status},
};
use futures::StreamExt;
use serde_json::{Value, json};

const PNG: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn request(input: Value, more: Value) -> Result<CreateResponse> {
    let mut request = json!({"model": "scripted", "input": input});
    if let (Some(members), Value::Object(more)) = (request.as_object_mut(), more) {
        members.extend(more);
    }
    Ok(serde_json::from_value(request)?)
}

fn check(name: &str, holds: bool) -> Result<()> {
    println!("async-openai {name}: {}", if holds { "ok" } else { "failed" });
    if holds { Ok(()) } else { Err(name.into()) }
}

fn is(response: &Response, text: &str) -> bool {
    response.output_text().as_deref() == Some(text)
}

#[tokio::main]
async fn main() -> Result<()> {
    let config = OpenAIConfig::new().with_api_base(env::var("OPENAI_BASE")?).with_api_key(env::var("OPENAI_KEY")?);
    let client = Client::with_config(config);
    let responses = client.responses();

    let first = responses.create(request(json!("Hi [[script: say \"Hello.\"]]"), json!({}))?).await?;
    check("text", is(&first, "Hello.") && first.usage.is_some())?;
    let after = json!({"previous_response_id": first.id});
    let second = responses.create(request(json!("And? [[script: say \"More.\"]]"), after)?).await?;
    check("previous response", is(&second, "More."))?;

    let sent = request(json!("Go [[script: words 30]]"), json!({"stream": true}))?;
    let (mut stream, mut text, mut whole) = (responses.create_stream(sent).await?, String::new(), None);
    while let Some(event) = stream.next().await {
        match event? {
            ResponseStreamEvent::ResponseOutputTextDelta(delta) => text.push_str(&delta.delta),
            ResponseStreamEvent::ResponseCompleted(completed) => whole = completed.response.output_text(),
            _ => {}
        }
    }
    check("stream", whole.as_deref() == Some(text.as_str()) && text.ends_with("word30"))?;

    let weather = json!({
        "type": "function", "name": "get_weather", "description": "Returns the weather of a city.", "strict": true,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                       "additionalProperties": false},
    });
    let script = "Rome? [[script: call get_weather {\"city\":\"Rome\"}; then; say \"Sunny.\"]]";
    let asked = responses.create(request(json!(script), json!({"tools": [weather]}))?).await?;
    let call = asked.output.iter().find_map(|item| match item {
        OutputItem::FunctionCall(call) => Some(call.call_id.clone()),
        _ => None,
    });
    let output = json!([{"type": "function_call_output", "call_id": call, "output": "sunny"}]);
    let resumed = responses.create(request(output, json!({"previous_response_id": asked.id}))?).await?;
    check("function", call.is_some() && is(&resumed, "Sunny."))?;

    let format = json!({"text": {"format": {
        "type": "json_schema", "name": "city", "strict": true,
        "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                   "additionalProperties": false},
    }}});
    let structured = responses.create(request(json!("Which? [[script: say \"{\\\"city\\\":\\\"Rome\\\"}\"]]"), format)?);
    let structured = structured.await?.output_text().unwrap_or_default();
    check("structured output", serde_json::from_str::<Value>(&structured)? == json!({"city": "Rome"}))?;

    let parts = json!([{"role": "user", "content": [
        {"type": "input_text", "text": "What is it? [[script: say \"A dot.\"]]"},
        {"type": "input_image", "image_url": PNG, "detail": "auto"},
    ]}]);
    check("image", is(&responses.create(request(parts, json!({}))?).await?, "A dot."))?;

    let background = json!({"background": true});
    let slow = request(json!("Hi [[script: hang 1s; say \"Later.\"]]"), background.clone())?;
    let mut later = responses.create(slow).await?;
    while matches!(later.status, Status::Queued | Status::InProgress) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        later = responses.retrieve(&later.id).await?;
    }
    check("background", is(&later, "Later."))?;
    let running = responses.create(request(json!("Go [[script: hang 60s]]"), background)?).await?;
    check("cancel", responses.cancel(&running.id).await?.status == Status::Cancelled)?;

    let conversation = client.conversations().create(serde_json::from_value(json!({}))?).await?;
    let within = json!({"conversation": conversation.id});
    responses.create(request(json!("Hi [[script: say \"Hello.\"]]"), within)?).await?;
    let items = client.conversations().items(&conversation.id).list().await?;
    check("conversation", items.data.len() == 2)?;
    let agents = client.models().list().await?;
    check("models", agents.data.iter().any(|model| model.id == "agent/default"))?;
    check("delete", responses.delete(&first.id).await.is_err())?;

    let chat = json!({"model": "scripted", "messages": [
        {"role": "user", "content": "Hi [[script: say \"Chatty.\"]]"},
    ]});
    let answered = client.chat().create(serde_json::from_value(chat.clone())?).await?;
    let text = answered.choices.first().and_then(|choice| choice.message.content.clone());
    check("chat", text.as_deref() == Some("Chatty."))?;
    let mut streaming = chat;
    streaming["stream"] = json!(true);
    let mut chunks = client.chat().create_stream(serde_json::from_value(streaming)?).await?;
    let mut text = String::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        text.extend(chunk.choices.first().and_then(|choice| choice.delta.content.clone()));
    }
    check("chat stream", text == "Chatty.")
}
