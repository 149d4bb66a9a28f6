//! Makes one reply of a stream's events.
//!
//! Pure. The pieces of text handed on, joined, are the reply's text: segments (parts of messages) are
//! joined by a blank line, and a refusal is text too. A stream has to end with a terminal event;
//! whatever ends without one has no reply.

use agent::model::{Chain, Error, FunctionCall, Observer, Reply, Request};
use contracts::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::event::{self, Delta, Event, Item, Part, Response};
use crate::{failure, raw};

const MOST_TEXT: usize = 8 << 20;
const MOST_ITEMS: usize = 1_024;
const MOST_CALLS: usize = 128;

/// Whether the stream goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// More events are to come.
    More,
    /// This was the terminal event.
    Done(Reply),
}

/// What a request asks of the provider's memory, for comparison with what the response says of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Whether the response is to be kept.
    pub keep: bool,
    /// Whether it is to go on from a kept one.
    pub recall: bool,
}

impl Memory {
    /// What this request asks.
    pub fn of(request: &Request) -> Self {
        Self { keep: request.store, recall: matches!(request.chain, Chain::Continues { .. }) }
    }

    /// Whether a response that says this of what came before has not gone on from it.
    fn is_forgotten(self, previous: Option<&Option<String>>) -> bool {
        self.recall && previous == Some(&None)
    }
}

/// What the stream has told so far.
#[derive(Debug, Default)]
pub struct Fold {
    memory: Memory,
    /// The text that was handed on.
    text: String,
    /// Where the last piece of it belongs.
    segment: Option<(u32, u32)>,
    /// The items that are whole, for servers whose terminal event leaves them out.
    items: Vec<Item>,
}

impl Fold {
    /// The start of the response to a request that asks this.
    pub fn of(memory: Memory) -> Self {
        Self { memory, ..Self::default() }
    }

    /// Whether any text was handed on.
    pub fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Takes an event's data and hands the text in it on.
    ///
    /// # Errors
    ///
    /// What the event says went wrong; [`Error::Malformed`] when it can't be read.
    pub fn push(&mut self, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        // Some servers keep a stream alive with the one and end it with the other; neither is an event
        // of the API.
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(Progress::More);
        }
        match serde_json::from_str(data).map_err(|_| Error::Malformed)? {
            // Nothing is written yet, so that the request can be made again and tell what came before itself.
            Event::Created { response }
                if self.memory.is_forgotten(response.previous_response_id.as_ref()) =>
            {
                return Err(Error::ChainLost);
            }
            Event::Created { .. } => {}
            Event::TextDelta(delta) | Event::RefusalDelta(delta) => self.write(&delta, observer)?,
            Event::ItemDone { item } => {
                if self.items.len() == MOST_ITEMS {
                    return Err(Error::Malformed);
                }
                self.items.push(item);
            }
            Event::Completed { response } => {
                ended(data, response.usage, observer);
                return self.finish(response, observer).map(Progress::Done);
            }
            Event::Failed { response } => {
                observer.failed_id = Some(response.id).filter(|id| !id.is_empty());
                ended(data, response.usage, observer);
                return Err(failure::of_failed(response.error.as_ref()));
            }
            Event::Incomplete { response } => {
                observer.failed_id = Some(response.id).filter(|id| !id.is_empty());
                ended(data, response.usage, observer);
                return Err(failure::of_incomplete(response.incomplete_details.as_ref()));
            }
            Event::Error(error) => {
                ended(data, None, observer);
                return Err(failure::of_failed(Some(&error)));
            }
            Event::Other => {}
        }
        Ok(Progress::More)
    }

    fn write(&mut self, delta: &Delta, observer: &mut Observer<'_>) -> Result<(), Error> {
        if delta.delta.is_empty() {
            return Ok(());
        }
        let segment = Some((delta.output_index, delta.content_index));
        if self.segment.is_some() && self.segment != segment {
            self.hand_on("\n\n", observer)?;
        }
        self.segment = segment;
        self.hand_on(&delta.delta, observer)
    }

    fn hand_on(&mut self, piece: &str, observer: &mut Observer<'_>) -> Result<(), Error> {
        if self.text.len().saturating_add(piece.len()) > MOST_TEXT {
            return Err(Error::Malformed);
        }
        self.text.push_str(piece);
        (observer.deltas)(piece);
        Ok(())
    }

    fn finish(&mut self, response: Response, observer: &mut Observer<'_>) -> Result<Reply, Error> {
        let failed_id = || Some(response.id.clone()).filter(|id| !id.is_empty());
        match response.status.as_deref() {
            Some("failed" | "cancelled") => {
                observer.failed_id = failed_id();
                return Err(failure::of_failed(response.error.as_ref()));
            }
            Some("incomplete") => {
                observer.failed_id = failed_id();
                return Err(failure::of_incomplete(response.incomplete_details.as_ref()));
            }
            _ => {}
        }
        if response.id.is_empty() {
            return Err(Error::Malformed);
        }
        let items = match response.output {
            Some(output) if !output.is_empty() => output,
            _ => std::mem::take(&mut self.items),
        };
        let calls = calls(&items)?;
        let kept = self.memory.keep
            && response.store != Some(false)
            && !self.memory.is_forgotten(response.previous_response_id.as_ref());
        // What was handed on can't be taken back: the whole text may only add to it.
        let whole = text(&items);
        if let Some(rest) = whole.strip_prefix(self.text.as_str()).filter(|rest| !rest.is_empty()) {
            self.hand_on(rest, observer)?;
        }
        Ok(Reply {
            response_id: response.id,
            model: response.model.unwrap_or_default(),
            text: std::mem::take(&mut self.text),
            calls,
            kept,
            cut_short: false,
            restated: false,
        })
    }
}

/// What a terminal event tells besides the reply: the tokens used, and the raw response where it is
/// wanted. A bare error event has no response, and is kept as it is.
fn ended(data: &str, used: Option<event::Usage>, observer: &mut Observer<'_>) {
    observer.usage = used.map(usage);
    if observer.raw.is_some() {
        let response = serde_json::from_str(data).ok().and_then(|Terminal { response }| response);
        raw::received(observer, response.map_or(data, RawValue::get));
    }
}

#[derive(Deserialize)]
struct Terminal<'a> {
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
}

/// The items' texts and refusals, joined by a blank line.
fn text(items: &[Item]) -> String {
    let parts = items.iter().flat_map(|item| match item {
        Item::Message { content } => content.as_slice(),
        Item::FunctionCall { .. } | Item::Other => &[],
    });
    let texts = parts.filter_map(|part| match part {
        Part::OutputText { text } => Some(text.as_str()),
        Part::Refusal { refusal } => Some(refusal.as_str()),
        Part::Other => None,
    });
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

/// The calls in the model's order. Without an id or with a repeated one they could not be answered.
fn calls(items: &[Item]) -> Result<Vec<FunctionCall>, Error> {
    let mut calls: Vec<FunctionCall> = Vec::new();
    for item in items {
        let Item::FunctionCall { call_id, name, arguments } = item else {
            continue;
        };
        let repeated = calls.iter().any(|call| call.call_id == *call_id);
        if call_id.is_empty() || name.is_empty() || repeated || calls.len() == MOST_CALLS {
            return Err(Error::Malformed);
        }
        calls.push(FunctionCall {
            call_id: call_id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
        });
    }
    Ok(calls)
}

fn usage(usage: event::Usage) -> Usage {
    let sum = usage.input_tokens.saturating_add(usage.output_tokens);
    Usage {
        prompt_tokens: usage.input_tokens,
        completion_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens.unwrap_or(sum),
        cached_tokens: usage.input_tokens_details.and_then(|input| input.cached_tokens),
        reasoning_tokens: usage.output_tokens_details.and_then(|output| output.reasoning_tokens),
    }
}

#[cfg(test)]
mod tests;
