//! Makes one reply of a stream's events.
//!
//! Pure. The pieces of text handed on, joined, are the reply's text, unless the response as it ends says
//! something else: that counts. What the text cites stands at its end. Segments (parts of messages) are joined by a blank line, and a refusal is text
//! too. A stream has to end with a terminal event; whatever ends without one has no reply.

use agent::model::{Chain, Error, Observer, Reply, Request};
use contracts::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::error::ErrorObject;
use crate::wire::event::{Delta, Event, Response};
use crate::wire::item::Item;
use crate::{failure, raw};

mod citations;
mod items;

const MOST_TEXT: usize = 8 << 20;
const MOST_ITEMS: usize = 1_024;

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
    /// Tells the ids that are minted here from those of other replies.
    nonce: u64,
    /// The text that was handed on.
    text: String,
    /// Where the last piece of it belongs.
    segment: Option<(u32, u32)>,
    /// Whether anything of the output was there.
    has_output: bool,
    /// The items that are whole, for servers whose terminal event leaves them out.
    items: Vec<Item>,
    /// What an event said that went wrong.
    error: Option<ErrorObject>,
}

impl Fold {
    /// The start of the response to a request that asks this. The nonce is another one for each response.
    pub fn of(memory: Memory, nonce: u64) -> Self {
        Self { memory, nonce, ..Self::default() }
    }

    /// Whether any text was handed on.
    pub fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Whether anything of the output was there.
    pub fn has_output(&self) -> bool {
        self.has_output
    }

    /// What an event said that went wrong.
    pub fn error(&self) -> Option<&ErrorObject> {
        self.error.as_ref()
    }

    /// Takes an event's kind and data and hands the text in it on.
    ///
    /// # Errors
    ///
    /// What the event says went wrong; [`Error::Malformed`] when it can't be read.
    pub fn push(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        // Some servers keep a stream alive with the one and end it with the other; neither is an event
        // of the API.
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(Progress::More);
        }
        match Event::read(kind, data).map_err(|_| Error::Malformed)? {
            // Nothing is written yet, so that the request can be made again and tell what came before itself.
            Event::Created { response }
                if self.memory.is_forgotten(response.previous_response_id.as_ref()) =>
            {
                return Err(Error::ChainLost);
            }
            Event::ItemAdded => self.outputs(observer),
            Event::TextDelta(delta) | Event::RefusalDelta(delta) => self.write(&delta, observer)?,
            Event::ItemDone { item } => {
                self.outputs(observer);
                if self.items.len() == MOST_ITEMS {
                    return Err(Error::Malformed);
                }
                self.items.push(item);
            }
            Event::Completed { response } => return self.end("completed", data, response, observer),
            Event::Incomplete { response } => return self.end("incomplete", data, response, observer),
            Event::Failed { response } => return self.end("failed", data, response, observer),
            Event::Error(error) => {
                ended(data, None, observer);
                return Err(self.failed(Some(error)));
            }
            Event::Created { .. } | Event::Other => {}
        }
        Ok(Progress::More)
    }

    /// The terminal event came, under this name. The response's own word for how it ended counts before that.
    fn end(
        &mut self,
        name: &str,
        data: &str,
        response: Response,
        observer: &mut Observer<'_>,
    ) -> Result<Progress, Error> {
        ended(data, response.usage.told, observer);
        if !response.output.is_empty() {
            self.outputs(observer);
        }
        let named = match response.status.as_deref() {
            Some(status @ ("failed" | "cancelled" | "incomplete")) if name == "completed" => status,
            _ => name,
        };
        match named {
            "failed" | "cancelled" => {
                observer.failed_id = response.id.filter(|id| !id.is_empty());
                Err(self.failed(response.error))
            }
            ended => {
                let (id, cut_short) = (response.id.clone(), ended == "incomplete");
                let reply = self.finish(response, cut_short, observer);
                if reply.is_err() {
                    observer.failed_id = id.filter(|id| !id.is_empty());
                }
                reply.map(Progress::Done)
            }
        }
    }

    /// Something of the output is there.
    fn outputs(&mut self, observer: &mut Observer<'_>) {
        (self.has_output, observer.has_output) = (true, true);
    }

    fn failed(&mut self, error: Option<ErrorObject>) -> Error {
        self.error = error;
        failure::of_failed(self.error.as_ref())
    }

    fn write(&mut self, delta: &Delta, observer: &mut Observer<'_>) -> Result<(), Error> {
        if delta.delta.is_empty() {
            return Ok(());
        }
        self.outputs(observer);
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

    fn finish(
        &mut self,
        response: Response,
        cut_short: bool,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let stopped = failure::of_incomplete(response.incomplete_details.as_ref());
        if cut_short && stopped == Error::ContentFiltered {
            return Err(stopped);
        }
        let items = match response.output {
            output if output.is_empty() => std::mem::take(&mut self.items),
            output => output,
        };
        let restated = self.restate(&items::text(&items), observer)?;
        let called = items::calls(&items, self.nonce)?;
        let echoed = response.store != Some(false)
            && !self.memory.is_forgotten(response.previous_response_id.as_ref());
        // Calls that were cut short, or that the provider could not match with their outputs, can't be answered to it.
        let answerable = !(called.minted || cut_short && !called.calls.is_empty());
        let calls = if cut_short { Vec::new() } else { called.calls };
        if cut_short && self.text.trim().is_empty() {
            return Err(Error::Incomplete);
        }
        let id = response.id.filter(|id| !id.is_empty());
        Ok(Reply {
            kept: self.memory.keep && echoed && answerable && id.is_some(),
            response_id: id.unwrap_or_else(|| format!("unnamed_{:016x}", self.nonce)),
            model: response.model.unwrap_or_default(),
            text: std::mem::take(&mut self.text),
            calls,
            cut_short,
            restated,
            reasoning: items::reasoning(&items),
            hosted: items::hosted(&items),
        })
    }

    /// The text as the response ends with it: what adds to the text that was handed on is handed on too, anything
    /// else takes its place. Of a response that ends without text, what was handed on stays.
    fn restate(&mut self, whole: &str, observer: &mut Observer<'_>) -> Result<bool, Error> {
        if let Some(rest) = whole.strip_prefix(self.text.as_str()) {
            let rest = rest.to_owned();
            return if rest.is_empty() { Ok(false) } else { self.hand_on(&rest, observer).map(|()| false) };
        }
        if whole.is_empty() {
            return Ok(false);
        }
        if whole.len() > MOST_TEXT {
            return Err(Error::Malformed);
        }
        self.text = whole.to_owned();
        Ok(true)
    }
}

/// What a terminal event tells besides the reply: the tokens used, and the raw response where it is
/// wanted. A bare error event has no response, and is kept as it is.
fn ended(data: &str, used: Option<Usage>, observer: &mut Observer<'_>) {
    observer.spent(used);
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

#[cfg(test)]
mod tests;
