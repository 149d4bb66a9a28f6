//! Accumulates the events of a stream into one reply.
//!
//! Pure. The reply's text is the concatenation of the emitted deltas, unless the terminal event has a different text,
//! which then takes precedence. Citations are appended to the text. Segments (parts of messages) are joined by a blank
//! line, and a refusal counts as text. A stream without a terminal event has no reply.

use agent::model::{Chain, Error, Observer, Reply, Request};
use contracts::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::error::ErrorObject;
use crate::wire::event::{Delta, Event, Response};
use crate::wire::item::Item;
use crate::{failure, wire_capture};

mod citations;
mod items;

const MAX_TEXT: usize = 8 << 20;
const MAX_ITEMS: usize = 1_024;

/// The progress of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The stream continues.
    Pending,
    /// The terminal event arrived.
    Complete(Reply),
}

/// The conversation state that a request asks for. Compared with the state that the response reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateOptions {
    /// Set to store the response.
    pub store: bool,
    /// Set if the request continues from a stored response.
    pub chained: bool,
}

impl StateOptions {
    /// Returns the options of a request.
    pub fn from_request(request: &Request) -> Self {
        Self { store: request.store, chained: matches!(request.chain, Chain::Continues { .. }) }
    }

    /// True if the response reports that it didn't continue from the previous one.
    fn is_chain_lost(self, previous: Option<&Option<String>>) -> bool {
        self.chained && previous == Some(&None)
    }
}

/// The state of a reply under construction.
#[derive(Debug, Default)]
pub struct Accumulator {
    state: StateOptions,
    /// Makes the ids that are generated here unique across replies.
    nonce: u64,
    /// The emitted text.
    text: String,
    /// The item and part of the last delta.
    segment: Option<(u32, u32)>,
    /// Set if any output arrived.
    has_output: bool,
    /// The completed items, for servers whose terminal event omits them.
    items: Vec<Item>,
    /// The error that an event reported.
    error: Option<ErrorObject>,
}

impl Accumulator {
    /// Creates an accumulator for the response to a request with this `state`. Pass a different nonce for each response.
    pub fn new(state: StateOptions, nonce: u64) -> Self {
        Self { state, nonce, ..Self::default() }
    }

    /// True if any text was emitted.
    pub fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// True if any output arrived.
    pub fn has_output(&self) -> bool {
        self.has_output
    }

    /// Returns the error that an event reported.
    pub fn error(&self) -> Option<&ErrorObject> {
        self.error.as_ref()
    }

    /// Adds an event and emits its text.
    ///
    /// # Errors
    ///
    /// The error that the event reports, or [`Error::Malformed`] if it can't be read.
    pub fn push(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        // Some servers send an empty event as a keep-alive and `[DONE]` at the end. The API has neither.
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(Progress::Pending);
        }
        match Event::read(kind, data).map_err(|_| Error::Malformed)? {
            // Nothing is written yet, so the request can be repeated with the full history.
            Event::Created { response }
                if self.state.is_chain_lost(response.previous_response_id.as_ref()) =>
            {
                return Err(Error::ChainLost);
            }
            Event::ItemAdded => self.mark_output(observer),
            Event::TextDelta(delta) | Event::RefusalDelta(delta) => self.push_delta(&delta, observer)?,
            Event::ItemDone { item } => {
                self.mark_output(observer);
                if self.items.len() == MAX_ITEMS {
                    return Err(Error::Malformed);
                }
                self.items.push(item);
            }
            Event::Completed { response } => return self.terminate("completed", data, response, observer),
            Event::Incomplete { response } => return self.terminate("incomplete", data, response, observer),
            Event::Failed { response } => return self.terminate("failed", data, response, observer),
            Event::Error(error) => {
                record_terminal(data, None, observer);
                return Err(self.fail(Some(error)));
            }
            Event::Created { .. } | Event::Other => {}
        }
        Ok(Progress::Pending)
    }

    /// Handles the terminal event `name`. The response's own status takes precedence over the name.
    fn terminate(
        &mut self,
        name: &str,
        data: &str,
        response: Response,
        observer: &mut Observer<'_>,
    ) -> Result<Progress, Error> {
        record_terminal(data, response.usage.counts, observer);
        if !response.output.is_empty() {
            self.mark_output(observer);
        }
        let outcome = match response.status.as_deref() {
            Some(status @ ("failed" | "cancelled" | "incomplete")) if name == "completed" => status,
            _ => name,
        };
        match outcome {
            "failed" | "cancelled" => {
                observer.failed_response_id = response.id.filter(|id| !id.is_empty());
                Err(self.fail(response.error))
            }
            outcome => {
                let (id, is_truncated) = (response.id.clone(), outcome == "incomplete");
                let reply = self.finish(response, is_truncated, observer);
                if reply.is_err() {
                    observer.failed_response_id = id.filter(|id| !id.is_empty());
                }
                reply.map(Progress::Complete)
            }
        }
    }

    /// Records that output arrived.
    fn mark_output(&mut self, observer: &mut Observer<'_>) {
        (self.has_output, observer.has_output) = (true, true);
    }

    fn fail(&mut self, error: Option<ErrorObject>) -> Error {
        self.error = error;
        failure::classify_failed(self.error.as_ref())
    }

    fn push_delta(&mut self, delta: &Delta, observer: &mut Observer<'_>) -> Result<(), Error> {
        if delta.delta.is_empty() {
            return Ok(());
        }
        self.mark_output(observer);
        let segment = Some((delta.output_index, delta.content_index));
        if self.segment.is_some() && self.segment != segment {
            self.emit("\n\n", observer)?;
        }
        self.segment = segment;
        self.emit(&delta.delta, observer)
    }

    fn emit(&mut self, piece: &str, observer: &mut Observer<'_>) -> Result<(), Error> {
        if self.text.len().saturating_add(piece.len()) > MAX_TEXT {
            return Err(Error::Malformed);
        }
        self.text.push_str(piece);
        (observer.deltas)(piece);
        Ok(())
    }

    fn finish(
        &mut self,
        response: Response,
        is_truncated: bool,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let reason = failure::classify_incomplete(response.incomplete_details.as_ref());
        if is_truncated && reason == Error::ContentFiltered {
            return Err(reason);
        }
        let items = match response.output {
            output if output.is_empty() => std::mem::take(&mut self.items),
            output => output,
        };
        let replaces_stream = self.reconcile_text(&items::text(&items), observer)?;
        let tool_calls = items::calls(&items, self.nonce)?;
        let confirmed = response.store != Some(false)
            && !self.state.is_chain_lost(response.previous_response_id.as_ref());
        // The provider accepts no outputs for truncated calls, or for calls whose ids were generated here.
        let answerable = !(tool_calls.has_unmatched || is_truncated && !tool_calls.calls.is_empty());
        let calls = if is_truncated { Vec::new() } else { tool_calls.calls };
        if is_truncated && self.text.trim().is_empty() {
            return Err(Error::Incomplete);
        }
        let id = response.id.filter(|id| !id.is_empty());
        Ok(Reply {
            is_stored: self.state.store && confirmed && answerable && id.is_some(),
            response_id: id.unwrap_or_else(|| format!("unnamed_{:016x}", self.nonce)),
            model: response.model.unwrap_or_default(),
            text: std::mem::take(&mut self.text),
            calls,
            is_truncated,
            replaces_stream,
            reasoning: items::reasoning(&items),
            hosted: items::hosted(&items),
        })
    }

    /// Reconciles the emitted text with the final text. Emits the rest if the final text extends the emitted one;
    /// otherwise replaces it and returns true. Keeps the emitted text if the final one is empty.
    fn reconcile_text(&mut self, final_text: &str, observer: &mut Observer<'_>) -> Result<bool, Error> {
        if let Some(rest) = final_text.strip_prefix(self.text.as_str()) {
            let rest = rest.to_owned();
            return if rest.is_empty() { Ok(false) } else { self.emit(&rest, observer).map(|()| false) };
        }
        if final_text.is_empty() {
            return Ok(false);
        }
        if final_text.len() > MAX_TEXT {
            return Err(Error::Malformed);
        }
        self.text = final_text.to_owned();
        Ok(true)
    }
}

/// Records the usage of a terminal event, and captures the raw response if enabled. A bare error event has no response
/// and is captured whole.
fn record_terminal(data: &str, usage: Option<Usage>, observer: &mut Observer<'_>) {
    observer.add_usage(usage);
    if observer.raw.is_some() {
        let response = serde_json::from_str(data).ok().and_then(|Terminal { response }| response);
        wire_capture::capture_response(observer, response.map_or(data, RawValue::get));
    }
}

#[derive(Deserialize)]
struct Terminal<'a> {
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests;
