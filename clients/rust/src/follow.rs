//! Follows the event stream of a turn across connections.

use futures::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use sse_stream::{Sse, SseStream};

use crate::api::{Api, Envelope, Request};
use crate::backoff::Backoff;
use crate::error::Error;

/// An event before the result.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// More text of the answer.
    Delta(String),
    /// Discards the text sent so far. Holds the reason, if the API gives one.
    Reset(Option<String>),
    /// The current phase of the turn.
    Status(Value),
    /// More of the model's reasoning, which is not part of the answer.
    Reasoning {
        /// The text.
        text: String,
        /// True at the start of a model call's reasoning.
        is_start: bool,
    },
    /// The connection was lost, or the API asked to retry. The request is sent again after a delay.
    Retry(Error),
}

/// A position in a turn's stream. It is valid across all requests of the turn, including those with tool results.
#[derive(Debug, Default, Clone)]
pub struct Position {
    last_event_id: Option<u64>,
    /// The length of the text since the last reset, in UTF-16 code units.
    text_length: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Delta {
    index: usize,
    text: String,
}

impl Api {
    /// Reads a turn's events until its result and returns the result. If a connection is lost or ends before the
    /// turn, the request is sent again with the id of the last event.
    ///
    /// # Errors
    /// The error of the turn, or a failure that outlasted the retries. See [`Error::retry`] for what to do.
    pub async fn follow(
        &self,
        request: &Request,
        position: &mut Position,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Value, Error> {
        let mut backoff = Backoff::new();
        loop {
            match self.connection(request, position, &mut backoff, on_event).await {
                Ok(Outcome::Turn(envelope)) => return envelope.into_result(),
                Ok(Outcome::Response(envelope)) => match envelope.into_result() {
                    Ok(result) => return Ok(result),
                    Err(refused) => back_off(&mut backoff, refused, on_event).await?,
                },
                Err(failed) => back_off(&mut backoff, failed, on_event).await?,
            }
        }
    }

    /// Reads one connection to its end.
    async fn connection(
        &self,
        request: &Request,
        position: &mut Position,
        backoff: &mut Backoff,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Outcome, Error> {
        let response =
            self.send(request, "text/event-stream, application/json", position.last_event_id).await?;
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            // 204 means that there are no events after the last one yet.
            let empty = response.status().as_u16() == 204;
            return if empty { Err(Error::Interrupted) } else { buffered(self, response).await };
        }
        let mut events = Box::pin(SseStream::from_bytes_stream(response.bytes_stream()));
        while let Some(event) = next_event(&mut events).await? {
            let id = event.id.as_deref().and_then(|id| id.parse::<u64>().ok());
            if id.is_some() && id <= position.last_event_id {
                // Skips events that a new connection repeats.
                continue;
            }
            position.last_event_id = id.or(position.last_event_id);
            let data = event.data.unwrap_or_default();
            if event.event.as_deref() == Some("result") {
                let envelope = Envelope::from_event(&data)?;
                // A result without an id belongs to the request: the API refused it, and the turn continues.
                return Ok(if id.is_some() { Outcome::Turn(envelope) } else { Outcome::Response(envelope) });
            }
            backoff.reset();
            position.apply(event.event.as_deref().unwrap_or_default(), &data, on_event)?;
        }
        Err(Error::Interrupted)
    }
}

/// The outcome of a connection.
enum Outcome {
    /// The outcome of the turn.
    Turn(Envelope),
    /// The response to the request: a buffered response, or a refusal that may be temporary.
    Response(Envelope),
}

async fn buffered(api: &Api, response: reqwest::Response) -> Result<Outcome, Error> {
    Ok(Outcome::Response(api.read_envelope(response).await?))
}

async fn next_event<E>(
    events: &mut (impl Stream<Item = Result<Sse, E>> + Unpin),
) -> Result<Option<Sse>, Error> {
    events.next().await.transpose().map_err(|_| Error::Interrupted)
}

async fn back_off(
    backoff: &mut Backoff,
    error: Error,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<(), Error> {
    let delay = backoff.next_delay(error.clone())?;
    on_event(Event::Retry(error));
    tokio::time::sleep(delay).await;
    Ok(())
}

impl Position {
    fn apply(
        &mut self,
        name: &str,
        data: &str,
        on_event: &mut (dyn FnMut(Event) + Send),
    ) -> Result<(), Error> {
        let read = |data| serde_json::from_str::<Value>(data).map_err(|_| Error::Interrupted);
        match name {
            "delta" => {
                let Delta { index, text } = serde_json::from_str(data).map_err(|_| Error::Interrupted)?;
                if index != self.text_length {
                    // A gap in the text: discard it. The result has the complete answer.
                    self.text_length = index;
                    on_event(Event::Reset(Some("corrected".to_owned())));
                }
                self.text_length += text.encode_utf16().count();
                on_event(Event::Delta(text));
            }
            "reset" => {
                self.text_length = 0;
                let reason = read(data)?.get("Reason").and_then(Value::as_str).map(str::to_owned);
                on_event(Event::Reset(reason));
            }
            "status" => on_event(Event::Status(read(data)?)),
            "reasoning" => {
                let Delta { index, text } = serde_json::from_str(data).map_err(|_| Error::Interrupted)?;
                on_event(Event::Reasoning { text, is_start: index == 0 });
            }
            // Later versions may add events. The answer doesn't depend on them.
            _ => {}
        }
        Ok(())
    }
}
