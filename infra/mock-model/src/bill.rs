//! The bill of a reply, as a provider would charge for the tokens that it has generated.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::plan::{self, Counts, words};
use crate::reply::{Reply, Usage};
use crate::request::ModelRequest;

/// Members of a delta that aren't output.
const LABELS: [&str; 5] = ["type", "signature", "role", "stop_reason", "id"];

/// The charge for a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Charge {
    /// Input tokens.
    pub input: u64,
    /// Output tokens that were generated.
    pub output: u64,
    /// True if the client read the reply to its end.
    pub is_whole: bool,
}

impl Charge {
    pub(crate) fn shown(&self) -> Value {
        json!({ "input": self.input, "output": self.output, "whole": self.is_whole })
    }
}

/// The bill of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bill {
    input: u64,
    stated: Option<(u64, u64)>,
}

impl Bill {
    /// Creates the bill of a reply to this request.
    pub(crate) fn of(asked: &ModelRequest, reply: &Reply) -> Self {
        let stated = match reply.usage {
            Usage::Stated { .. } => plan::counts(asked, &Value::Null, reply.usage),
            Usage::Counted | Usage::None => None,
        };
        let stated = stated.map(|Counts { input, output, .. }| (input, output));
        Self { input: plan::input_words(asked), stated }
    }

    /// Returns the bill for these events. A whole reply costs what its usage states.
    pub(crate) fn up_to(self, sent: &[Bytes], is_whole: bool) -> Charge {
        match self.stated.filter(|_| is_whole) {
            Some((input, output)) => Charge { input, output, is_whole },
            None => {
                let output = sent.iter().map(|event| generated(event)).sum();
                Charge { input: self.stated.map_or(self.input, |(input, _)| input), output, is_whole }
            }
        }
    }

    /// Returns the bill for a response that isn't streamed.
    pub(crate) fn whole(self, response: &Value) -> Charge {
        let output =
            ["output", "choices", "content"].iter().filter_map(|part| response.get(part)).map(words).sum();
        let (input, output) = self.stated.unwrap_or((self.input, output));
        Charge { input, output, is_whole: true }
    }
}

/// Counts the words of the deltas in an event, in text or in a binary frame.
fn generated(event: &[u8]) -> u64 {
    let first = event.iter().position(|byte| *byte == b'{');
    let last = event.iter().rposition(|byte| *byte == b'}');
    let json = first.zip(last).and_then(|(first, last)| event.get(first..=last));
    let Some(data) = json.and_then(|json| serde_json::from_slice::<Value>(json).ok()) else { return 0 };
    let choices = data.get("choices").and_then(Value::as_array);
    let of_choices = choices.into_iter().flatten().filter_map(|choice| choice.get("delta"));
    data.get("delta").into_iter().chain(of_choices).map(written).sum()
}

fn written(delta: &Value) -> u64 {
    match delta {
        Value::Object(members) => {
            let output = members.iter().filter(|(name, _)| !LABELS.contains(&name.as_str()));
            output.map(|(_, value)| written(value)).sum()
        }
        Value::Array(values) => values.iter().map(written).sum(),
        other => words(other),
    }
}
