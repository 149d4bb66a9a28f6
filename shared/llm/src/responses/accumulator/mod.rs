//! Accumulates the events of a stream into one reply.
//!
//! Pure. The reply's text is the concatenation of the emitted deltas, unless the terminal event has a different text that
//! isn't shorter, which then takes precedence. Citations are appended to the text. Segments (items and their parts) are
//! joined by a blank line, and a refusal counts as text. What the terminal event lacks is taken from the stream. A stream
//! without a terminal event has no reply.

use agent::model::{Error, Observer, Reply};
use contracts::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::accumulator::{Accumulate, MAX_TEXT, Progress, ReplyText, StateOptions};
use crate::error_object::ErrorObject;
use crate::responses::event::{self, CreatedResponse, Delta, Event, Response};
use crate::responses::item::Item;
use crate::{failure, wire_capture};

mod citations;
mod items;
mod streamed;

use streamed::StreamedItems;

/// The most items of a reply. A broken stream must not fill the memory.
const MAX_ITEMS: usize = 1_024;

/// The state of a reply under construction.
#[derive(Debug, Default)]
pub struct Accumulator {
    state: StateOptions,
    /// Makes the ids that are generated here unique across replies.
    nonce: u64,
    /// The text. Its places are items and parts.
    text: ReplyText,
    /// The items, for servers whose terminal event omits them.
    items: StreamedItems,
    /// The response in the first event, in case that the last one can't be read.
    created: CreatedResponse,
    /// True if an event couldn't be read that may have a part of the reply.
    has_gap: bool,
    /// True if the final output lacks a call or its id, so that the provider may not have stored it.
    has_unlisted_call: bool,
    /// The error that an event reported.
    error: Option<ErrorObject>,
}

impl Accumulator {
    /// Creates an accumulator for the response to a request with this `state`. Pass a different nonce for each response.
    pub fn new(state: StateOptions, nonce: u64) -> Self {
        Self { state, nonce, ..Self::default() }
    }
}

impl Accumulate for Accumulator {
    fn push(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        // Some servers send an empty event as a keep-alive and `[DONE]` at the end. The API has neither.
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(Progress::Pending);
        }
        let Some(event) = Event::read(kind, data) else { return self.skip(kind, data, observer) };
        match event {
            // Nothing is written yet, so the request can be repeated with the full history.
            Event::Created { response }
                if self.state.is_chain_lost(response.previous_response_id.as_ref()) =>
            {
                return Err(Error::ChainLost);
            }
            Event::Created { response } => {
                if let Some(id) = &response.id
                    && self.state.store
                    && response.store != Some(false)
                {
                    observer.meter.identify(id.clone());
                }
                self.created = response;
            }
            Event::ItemAdded { output_index, item } => {
                self.text.mark_output(observer);
                self.items.begin(output_index, item)?;
            }
            Event::PartAdded(delta) => self.items.begin_part(&delta),
            Event::TextDelta(delta) => self.push_delta(&delta, observer)?,
            Event::TextDone(delta) => {
                let whole = if delta.text.is_empty() { &delta.refusal } else { &delta.text };
                if let Some(rest) = self.items.missing_text(&delta, whole) {
                    self.push_delta(&Delta { delta: rest.to_owned(), ..delta.clone() }, observer)?;
                }
            }
            Event::ArgumentsDelta(delta) => {
                self.text.mark_piece(&delta.delta, observer);
                self.items.add_arguments(&delta)?;
            }
            Event::ArgumentsDone(delta) => {
                self.text.mark_output(observer);
                self.items.set_arguments(&delta)?;
            }
            Event::ReasoningDelta(delta) => {
                self.text.push_reasoning(delta.reasoning_place(), &delta.delta, observer);
            }
            // The deltas had it, unless the server sent none.
            Event::ReasoningDone(delta) if !self.text.has_reasoning(delta.reasoning_place()) => {
                self.text.push_reasoning(delta.reasoning_place(), &delta.text, observer);
            }
            Event::OutputDelta(delta) => self.text.mark_piece(&delta.delta, observer),
            Event::ItemDone { output_index, item } => {
                self.text.mark_output(observer);
                self.items.end(output_index, item)?;
            }
            Event::Completed { response } => return self.terminate("completed", data, response, observer),
            Event::Incomplete { response } => return self.terminate("incomplete", data, response, observer),
            Event::Failed { response } => return self.terminate("failed", data, response, observer),
            Event::Error(error) => {
                record_terminal(data, None, observer);
                return Err(self.fail(Some(error)));
            }
            Event::ReasoningDone(_) | Event::Other => {}
        }
        Ok(Progress::Pending)
    }

    /// A stream without a terminal event has no reply.
    fn finish(&mut self, _observer: &mut Observer<'_>) -> Result<Reply, Error> {
        Err(Error::Malformed)
    }

    fn has_text(&self) -> bool {
        !self.text.emitted.is_empty()
    }

    fn has_output(&self) -> bool {
        self.text.has_output
    }

    fn error(&self) -> Option<&ErrorObject> {
        self.error.as_ref()
    }
}

impl Accumulator {
    /// Handles an event that can't be read, or of which only the start was. Words that keep a connection alive aren't
    /// needed. A lost piece may be in the final output. If the final output is lost itself, the stream has it all.
    fn skip(&mut self, kind: &str, data: &str, observer: &mut Observer<'_>) -> Result<Progress, Error> {
        let kind = event::unreadable_kind(kind, data);
        match kind {
            "response.completed" | "response.incomplete" | "response.failed" => {
                let CreatedResponse { id, model, store, previous_response_id } =
                    std::mem::take(&mut self.created);
                let response = Response { id, model, store, previous_response_id, ..Response::default() };
                if !self.text.has_output {
                    return Err(Error::Malformed);
                }
                return self.terminate(kind.trim_start_matches("response."), "{}", response, observer);
            }
            "error" => return Err(Error::Malformed),
            _ if kind.ends_with(".delta") || kind.ends_with(".done") || kind.ends_with(".added") => {
                self.has_gap = true;
            }
            "" => self.has_gap |= data.trim_start().starts_with(['{', '[']),
            _ => {}
        }
        Ok(Progress::Pending)
    }

    /// Handles the terminal event `name`. The response's own status takes precedence over the name.
    fn terminate(
        &mut self,
        name: &str,
        data: &str,
        mut response: Response,
        observer: &mut Observer<'_>,
    ) -> Result<Progress, Error> {
        if !response.output.is_empty() {
            self.text.mark_output(observer);
        }
        let is_content = |item: &Item| matches!(item, Item::Message(_) | Item::FunctionCall(_));
        let is_lost = self.has_gap && !response.output.iter().any(is_content);
        let listed = items::call_ids(&response.output);
        let has_output = !response.output.is_empty();
        response.output = self.items.take_merged(response.output);
        self.has_unlisted_call = has_output && items::call_ids(&response.output) != listed;
        observer.meter.receive_whole(items::size(&response.output));
        record_terminal(data, response.usage.counts, observer);
        let outcome = match response.status.as_deref() {
            Some(status @ ("failed" | "cancelled" | "incomplete")) if name == "completed" => status,
            _ => name,
        };
        match outcome {
            "failed" | "cancelled" => {
                observer.failed_response_id = response.id.filter(|id| !id.is_empty());
                Err(self.fail(response.error))
            }
            _ if is_lost => Err(Error::Malformed),
            outcome => {
                let (id, is_truncated) = (response.id.clone(), outcome == "incomplete");
                let reply = self.complete(response, is_truncated, observer);
                if reply.is_err() {
                    observer.failed_response_id = id.filter(|id| !id.is_empty());
                }
                reply.map(Progress::Complete)
            }
        }
    }

    fn fail(&mut self, error: Option<ErrorObject>) -> Error {
        self.error = error;
        failure::classify_failed(self.error.as_ref())
    }

    fn push_delta(&mut self, delta: &Delta, observer: &mut Observer<'_>) -> Result<(), Error> {
        if delta.delta.is_empty() {
            return Ok(());
        }
        let place = self.items.add_text(delta)?;
        self.text.push(place, &delta.delta, observer)
    }

    fn complete(
        &mut self,
        response: Response,
        is_truncated: bool,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let reason = response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
        let reason = failure::classify_incomplete(reason);
        if is_truncated && reason == Error::ContentFiltered {
            return Err(reason);
        }
        self.text.end_segment(observer)?;
        let items = response.output;
        let replaces_stream = self.reconcile_text(&items::text(&items), observer)?;
        let tool_calls = items::calls(&items, self.nonce)?;
        let confirmed = response.store != Some(false)
            && !self.state.is_chain_lost(response.previous_response_id.as_ref());
        // The provider accepts no outputs for truncated calls, for calls whose ids were generated here, or for unknown ones.
        let answerable = !(tool_calls.has_unmatched
            || self.has_unlisted_call
            || is_truncated && !tool_calls.calls.is_empty());
        let calls = if is_truncated { Vec::new() } else { tool_calls.calls };
        if is_truncated && self.text.is_blank() {
            return Err(Error::Incomplete);
        }
        let id = response.id.filter(|id| !id.is_empty());
        let text_parts = items::text_parts(&items, &self.text.emitted);
        Ok(Reply {
            is_stored: self.state.store && confirmed && answerable && id.is_some(),
            response_id: id.unwrap_or_else(|| format!("unnamed_{:016x}", self.nonce)),
            model: response.model.unwrap_or_default(),
            text: self.text.take(),
            calls,
            is_truncated,
            replaces_stream,
            reasoning: items::reasoning(&items),
            hosted: items::hosted(&items),
            text_parts,
        })
    }

    /// Reconciles the emitted text with the final text. Emits the rest if the final text extends the emitted one;
    /// otherwise replaces it and returns true. Keeps the emitted text if the final one is empty.
    fn reconcile_text(&mut self, final_text: &str, observer: &mut Observer<'_>) -> Result<bool, Error> {
        if let Some(rest) = final_text.strip_prefix(self.text.emitted.as_str()) {
            let rest = rest.to_owned();
            return if rest.is_empty() { Ok(false) } else { self.text.emit(&rest, observer).map(|()| false) };
        }
        if final_text.is_empty() {
            return Ok(false);
        }
        if final_text.len() > MAX_TEXT {
            return Err(Error::Malformed);
        }
        final_text.clone_into(&mut self.text.emitted);
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
