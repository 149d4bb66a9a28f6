//! From a reply to what goes over the wire: the response object and the events that build it up.
//! Pure; the ids are given.

mod events;
mod items;

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::deviations::Deviation;
use crate::id::Issued;
use crate::provider::Echo;
use crate::reply::{End, Reply, Step, Usage};
use crate::request::ModelRequest;

pub use events::{Emission, Events};
pub use items::deltas;

/// A whole answer.
#[derive(Debug)]
pub struct Plan {
    /// The response as it is at its end.
    pub response: Value,
    /// Events to stream, in order.
    pub emissions: Vec<Emission>,
}

/// Number of function calls in the reply.
pub fn calls(reply: &Reply) -> u8 {
    let calls = reply.steps.iter();
    let calls = calls.filter(|step| matches!(step, Step::Call { .. }));
    u8::try_from(calls.count()).unwrap_or(u8::MAX)
}

/// Lays out the reply.
pub fn lay_out(asked: &ModelRequest, reply: &Reply, issued: Issued, created_at: u64) -> Plan {
    let skeleton = skeleton(asked, issued, created_at);
    let framing = asked.profile.framing;
    let mut events = Events::framed(framing, reply.has(&Deviation::NoType));
    for name in ["response.created", "response.in_progress"] {
        events.push(name, [("response", skeleton.clone())]);
    }
    let output = items::write(asked, reply, issued, &mut events);
    let usage = usage(asked, &output, reply.usage);
    let mut response = finished(skeleton, output, usage, &reply.end);
    reply.deviations.iter().for_each(|deviation| deviation.apply(&mut response));
    // A terminal event would repeat what the malformed one lost.
    let is_broken = reply.steps.contains(&Step::Malformed);
    match &reply.end {
        _ if is_broken => {}
        End::Complete => events.push("response.completed", [("response", response.clone())]),
        End::Fail(_) => events.push("response.failed", [("response", response.clone())]),
        End::Incomplete(_) => events.push("response.incomplete", [("response", response.clone())]),
        End::Error(code) => events.push(
            "error",
            [
                ("code", json!(code)),
                ("message", json!("The script asked for an error.")),
                ("param", Value::Null),
            ],
        ),
        End::Missing => {}
    }
    if reply.has(&Deviation::NoBlankLine) {
        events.leave_unended();
    }
    if framing.done {
        events.raw("data: [DONE]\n\n");
    }
    Plan { response, emissions: events.cut(reply.cut) }
}

/// Returns the duration of the reply if it is not streamed.
pub fn duration(emissions: &[Emission]) -> Duration {
    let pause = |emission: &Emission| match emission {
        Emission::Pause(pause) => *pause,
        Emission::Event(_) | Emission::Reset => Duration::ZERO,
    };
    emissions.iter().map(pause).sum()
}

fn skeleton(asked: &ModelRequest, issued: Issued, created_at: u64) -> Map<String, Value> {
    let or = |name: &str, otherwise: Value| {
        let given = asked.body.get(name).filter(|value| !value.is_null());
        given.cloned().unwrap_or(otherwise)
    };
    let mut response = Map::new();
    let mut set = |name: &str, value: Value| response.insert(name.to_owned(), value);
    set("id", json!(issued.response()));
    set("object", json!("response"));
    set("created_at", json!(created_at));
    set("status", json!("in_progress"));
    set("background", json!(false));
    set("error", Value::Null);
    set("incomplete_details", Value::Null);
    set("instructions", or("instructions", Value::Null));
    set("max_output_tokens", or("max_output_tokens", Value::Null));
    set("model", json!(asked.model));
    set("output", json!([]));
    set("parallel_tool_calls", or("parallel_tool_calls", json!(true)));
    set("reasoning", json!({ "effort": null, "summary": null }));
    set("service_tier", json!("default"));
    let previous = asked.previous.map(Issued::response);
    let told = match asked.profile.echo {
        Echo::AsRequested => Some((json!(asked.store), json!(previous))),
        Echo::NeverStored => Some((json!(false), json!(previous))),
        Echo::Stateless => Some((json!(false), Value::Null)),
        Echo::Silent => None,
    };
    if let Some((store, previous)) = told {
        set("store", store);
        set("previous_response_id", previous);
    }
    set("temperature", or("temperature", json!(1.0)));
    set("text", or("text", json!({ "format": { "type": "text" } })));
    set("tool_choice", or("tool_choice", json!("auto")));
    set("tools", or("tools", json!([])));
    set("top_p", or("top_p", json!(1.0)));
    set("truncation", or("truncation", json!("disabled")));
    set("usage", Value::Null);
    set("metadata", or("metadata", json!({})));
    response
}

fn finished(mut response: Map<String, Value>, output: Vec<Value>, usage: Value, end: &End) -> Value {
    let status = match end {
        End::Complete | End::Missing => "completed",
        End::Fail(_) | End::Error(_) => "failed",
        End::Incomplete(_) => "incomplete",
    };
    let mut set = |name: &str, value: Value| response.insert(name.to_owned(), value);
    set("status", json!(status));
    set("output", Value::Array(output));
    set("usage", usage);
    match end {
        End::Fail(code) | End::Error(code) => {
            let message = "The script asked for a failure.";
            set("error", json!({ "code": code, "message": message }));
        }
        End::Incomplete(reason) => {
            set("incomplete_details", json!({ "reason": reason }));
        }
        End::Complete | End::Missing => {}
    }
    Value::Object(response)
}

/// The token counts of a reply.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub input: u64,
    pub output: u64,
    pub cached: u64,
    pub written: u64,
    pub reasoning: u64,
}

/// Counts the tokens of a reply with this output, unless the script states them. `None` if the script asks for no usage.
pub fn counts(asked: &ModelRequest, output: &Value, stated: Usage) -> Option<Counts> {
    match stated {
        Usage::None => None,
        Usage::Stated { input, output, cached, written, reasoning } => {
            Some(Counts { input, output, cached, written, reasoning })
        }
        Usage::Counted => {
            let (input, output) = (input_words(asked), words(output));
            Some(Counts { input, output, cached: 0, written: 0, reasoning: 0 })
        }
    }
}

fn usage(asked: &ModelRequest, output: &[Value], stated: Usage) -> Value {
    let output = Value::Array(output.to_vec());
    let Some(Counts { input, output, cached, written, reasoning }) = counts(asked, &output, stated) else {
        return Value::Null;
    };
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": cached, "cache_write_tokens": written },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": reasoning },
        "total_tokens": input.saturating_add(output),
    })
}

/// Returns the number of words in the request, a stand-in for its tokens.
pub fn input_words(asked: &ModelRequest) -> u64 {
    let parts = ["instructions", "input", "tools", "toolConfig", "system", "messages"].iter();
    parts.filter_map(|part| asked.body.get(*part)).map(words).sum()
}

/// Counts the words in the texts of a value.
pub fn words(value: &Value) -> u64 {
    match value {
        Value::String(text) => u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX),
        Value::Array(values) => values.iter().map(words).sum(),
        Value::Object(members) => members.values().map(words).sum(),
        _ => 0,
    }
}
