//! `POST /v1/embeddings`: vectors of texts, without a model.
//!
//! The same text has the same vector, always, and texts that share words or parts of words are near each other: see
//! [`features`]. It refuses what the published API refuses. Where a request has one input alone that begins with
//! `[[embed: …]]`, that directive says how it fails; texts of an index never do, since they come in batches or begin
//! with their path.

mod features;
mod inputs;

use std::time::Duration;

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::answer;
use crate::memory::Memory;
use crate::provider::Profile;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::script;
use inputs::{Encoding, Inputs};

/// Answer to a request for embeddings.
pub(crate) struct Embedded {
    /// Delay before the answer.
    pub(crate) delay: Duration,
    /// Number of embedded texts. 0 for an error.
    pub(crate) texts: usize,
    /// The answer; nothing where the connection is to be closed.
    pub(crate) answer: Option<Result<Response, Refusal>>,
}

/// Decides on the answer.
pub(crate) fn embed(profile: &Profile, memory: &Memory, headers: &HeaderMap, body: &Value) -> Embedded {
    let at_once = |answer| Embedded { delay: Duration::ZERO, texts: 0, answer: Some(answer) };
    let inputs = match profile.authorize(headers).and_then(|()| Inputs::read(body)) {
        Ok(inputs) => inputs,
        Err(refusal) => return at_once(Err(refusal)),
    };
    let reply = match directive(&inputs) {
        Ok(reply) => reply.unwrap_or_default(),
        Err(refusal) => return at_once(Err(refusal)),
    };
    let same = body.to_string();
    let dropped = reply
        .drops
        .is_some_and(|drops| drops.times.is_none_or(|times| memory.spend(&format!("{same} drop"), times)));
    let answer = if dropped {
        None
    } else if let Some(refusal) = due(memory, &reply, &same) {
        Some(Err(refusal))
    } else {
        Some(Ok(vectors(&inputs)))
    };
    let texts = if matches!(answer, Some(Ok(_))) { inputs.texts.len() } else { 0 };
    Embedded { delay: reply.delay, texts, answer }
}

/// Reads the script in a single input: `status`, `delay` and `drop`, as for a response.
fn directive(inputs: &Inputs<'_>) -> Result<Option<Reply>, Refusal> {
    let [only] = inputs.texts.as_slice() else {
        return Ok(None);
    };
    let read = script::read_leading(only);
    let replies =
        read.map_err(|unreadable| Refusal::invalid("invalid_script", "input", unreadable.to_string()))?;
    Ok(replies.and_then(|replies| replies.into_iter().next()))
}

fn due(memory: &Memory, reply: &Reply, same: &str) -> Option<Refusal> {
    let is_due = |times: Option<u32>, place: usize| {
        times.is_none_or(|times| memory.spend(&format!("{same} {place}"), times))
    };
    let mut statuses = reply.statuses.iter().enumerate();
    let (_, status) = statuses.find(|(place, status)| is_due(status.times, *place))?;
    Some(answer::refusal(status))
}

fn vectors(inputs: &Inputs<'_>) -> Response {
    let each = inputs.texts.iter().enumerate().map(|(index, text)| {
        let vector = features::vector(text, inputs.dimensions);
        let written = match inputs.encoding {
            Encoding::Float => Value::from(vector).to_string(),
            Encoding::Base64 => {
                let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
                format!("\"{}\"", STANDARD.encode(bytes))
            }
        };
        format!(r#"{{"object":"embedding","index":{index},"embedding":{written}}}"#)
    });
    let data = each.collect::<Vec<_>>().join(",");
    let (model, tokens) = (Value::from(inputs.model), inputs.tokens);
    let usage = format!(r#"{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}"#);
    let body = format!(r#"{{"object":"list","data":[{data}],"model":{model},"usage":{usage}}}"#);
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
