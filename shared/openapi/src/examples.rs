//! Examples of requests and responses. Requests are the bodies of the sample events, and responses are serialized
//! from the contract's own types. So a test fails if an example is wrong.

use serde_json::{Value, value::to_raw_value};
use utoipa::openapi::{
    RefOr,
    example::{Example, ExampleBuilder},
};

use contracts::{
    invoke_result::InvokeResult,
    non_empty::NonEmpty,
    read::{PayloadAnswer, PayloadLink, PayloadValue},
    response::{AgentExecuteResponse, ClientToolContinuation, Final, Metadata, ToolCall},
    stream::{Delta, Event, EventId, Kind, Phase, Status},
    usage::Usage,
};

pub(crate) type Examples = Vec<(String, RefOr<Example>)>;

/// A user turn, as `sam local invoke` sends it to `execute`.
const USER_TURN: &str = include_str!("../../../events/execute.json");
/// Tool results, as `sam local invoke` sends them to `tool-continuation`.
const TOOL_RESULTS: &str = include_str!("../../../events/tool-continuation.json");

pub(crate) fn user_turn() -> Examples {
    from_event("userTurn", "A user turn with a file", USER_TURN)
}

pub(crate) fn tool_results() -> Examples {
    from_event("toolResults", "Results of client tools", TOOL_RESULTS)
}

/// Extracts the body of an API Gateway event.
fn from_event(name: &str, summary: &str, event: &str) -> Examples {
    let event: Option<Value> = serde_json::from_str(event).ok();
    let body = event.as_ref().and_then(|event| event.get("body")).and_then(Value::as_str);
    body.and_then(|body| serde_json::from_str(body).ok())
        .map(|body| example(name, summary, body))
        .into_iter()
        .collect()
}

/// A stream: the first example answer, in two pieces.
pub(crate) fn events() -> Option<Value> {
    let complete = final_response(metadata()?);
    let (first, second) = complete.primary_output_text.split_at_checked("It returns ".len())?;
    let delta = |index, text: &str| Kind::Delta(Delta { index, text: text.to_owned() });
    let kinds = [
        delta(0, first),
        delta(first.len() as u64, second),
        Kind::Result(to_raw_value(&InvokeResult::ok(AgentExecuteResponse::from(complete.clone()))).ok()?),
    ];
    let event = |(id, kind)| Some(Event { id: Some(EventId::new(id)?), kind }.to_sse());
    let thinking = Kind::Status(Status::new(Phase::Thinking, 1, Some(1)));
    let thinking = Event { id: None, kind: thinking }.to_sse();
    let events: Option<String> = std::iter::once(Some(thinking)).chain((1..).zip(kinds).map(event)).collect();
    events.map(Value::String)
}

fn final_response(metadata: Metadata) -> Final {
    let usage = Usage { prompt_tokens: 412, completion_tokens: 9, total_tokens: 421, ..Usage::default() };
    Final {
        metadata,
        primary_output_text: "It returns `0`: the sum of no numbers.".to_owned(),
        files: Vec::new(),
        tool_results: Vec::new(),
        user_warnings: Vec::new(),
        usage: Some(usage),
    }
}

/// One response of each kind.
pub(crate) fn responses() -> Examples {
    let Some(metadata) = metadata() else { return Examples::new() };
    let complete = final_response(metadata.clone());
    let call = ToolCall {
        tool_call_id: "call_1".to_owned(),
        name: "workspace_read_file".to_owned(),
        arguments_json: r#"{"path":"src/total.rs"}"#.to_owned(),
    };
    let waiting = ClientToolContinuation {
        metadata,
        tool_calls: NonEmpty::one(call),
        tool_continuation_message: Some("I'll read the file first.".to_owned()),
    };
    [
        ("final", "A complete answer", AgentExecuteResponse::from(complete)),
        ("clientToolContinuation", "Tool calls for the client", waiting.into()),
    ]
    .into_iter()
    .filter_map(|(name, summary, response)| {
        Some(example(name, summary, serde_json::to_value(InvokeResult::ok(response)).ok()?))
    })
    .collect()
}

/// An inline payload, and a link.
pub(crate) fn payloads() -> Examples {
    let text = b"It returns `0`: the sum of no numbers.";
    let value = PayloadValue::new("answer.md".to_owned(), "text/markdown; charset=utf-8".to_owned(), text);
    let expires_at = "2026-01-01T00:05:00.000Z".parse().ok();
    let link = expires_at.map(|expires_at| PayloadLink {
        url: "https://bucket.s3.amazonaws.com/key?X-Amz-Signature=…".to_owned(),
        expires_at,
    });
    let inline = ("inline", "An inline payload", PayloadAnswer::Value(value));
    [Some(inline), link.map(|link| ("link", "A link to a payload", PayloadAnswer::Link(link)))]
        .into_iter()
        .flatten()
        .filter_map(|(name, summary, answer)| {
            Some(example(name, summary, serde_json::to_value(InvokeResult::ok(answer)).ok()?))
        })
        .collect()
}

fn metadata() -> Option<Metadata> {
    Some(Metadata {
        session_id: "3f9c2b7ae1d84c6f9a5b0e6d7c8f1a23".parse().ok()?,
        turn_id: "a1b2c3d4e5f60718293a4b5c6d7e8f90".parse().ok()?,
        mode_display_name: "General".to_owned(),
    })
}

fn example(name: &str, summary: &str, value: Value) -> (String, RefOr<Example>) {
    (name.to_owned(), ExampleBuilder::new().summary(summary).value(Some(value)).build().into())
}
