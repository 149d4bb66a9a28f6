//! The events of a turn, over as many connections as it takes.

use futures::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::Value;
use sse_stream::{Sse, SseStream};

use crate::api::{Api, Asked, Envelope};
use crate::error::Error;
use crate::tries::Tries;

/// What happens before the result.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// More of the answer.
    Delta(String),
    /// What was shown so far is not the answer; why, where that is told.
    Reset(Option<String>),
    /// What the turn is at.
    Status(Value),
    /// The connection was lost, or the API wants the same request later. It is sent again after a pause.
    Retry(Error),
}

/// How far a turn's stream was read. It counts over all requests of the turn: its own, and those with tool results.
#[derive(Debug, Default, Clone)]
pub struct Position {
    last: Option<u64>,
    /// The length of what was told since the last reset, in UTF-16 code units.
    length: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Delta {
    index: usize,
    text: String,
}

impl Api {
    /// Reads a turn's events until its result, and gives that. A connection that is lost, or that ends before its
    /// turn, is followed by the same request again, with the id of the last event that was got.
    ///
    /// # Errors
    /// What the turn failed with, or that nothing more can be had: then [`Error::retry`] says what to do.
    pub async fn follow(
        &self,
        asked: &Asked,
        position: &mut Position,
        tell: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Value, Error> {
        let mut tries = Tries::new();
        loop {
            match self.connection(asked, position, &mut tries, tell).await {
                Ok(Answered::Turn(envelope)) => return envelope.result(),
                Ok(Answered::Request(envelope)) => match envelope.result() {
                    Ok(result) => return Ok(result),
                    Err(refused) => wait(&mut tries, refused, tell).await?,
                },
                Err(failed) => wait(&mut tries, failed, tell).await?,
            }
        }
    }

    /// One connection, to its end.
    async fn connection(
        &self,
        asked: &Asked,
        position: &mut Position,
        tries: &mut Tries,
        tell: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Answered, Error> {
        let response = self.open(asked, "text/event-stream, application/json", position.last).await?;
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            // 204: nothing yet after the last event.
            let empty = response.status().as_u16() == 204;
            return if empty { Err(Error::Interrupted) } else { whole(self, response).await };
        }
        let mut events = Box::pin(SseStream::from_bytes_stream(response.bytes_stream()));
        while let Some(event) = next(&mut events).await? {
            let id = event.id.as_deref().and_then(|id| id.parse::<u64>().ok());
            if id.is_some() && id <= position.last {
                // What a connection repeats is no news.
                continue;
            }
            position.last = id.or(position.last);
            let data = event.data.unwrap_or_default();
            if event.event.as_deref() == Some("result") {
                let envelope = Envelope::of_event(&data)?;
                // A result without an id is of the request: a refusal, which the turn goes on after.
                return Ok(if id.is_some() { Answered::Turn(envelope) } else { Answered::Request(envelope) });
            }
            tries.progress();
            position.tell(event.event.as_deref().unwrap_or_default(), &data, tell)?;
        }
        Err(Error::Interrupted)
    }
}

/// What a connection ended with.
enum Answered {
    /// What the turn came to.
    Turn(Envelope),
    /// What the request came to: an answer in one piece, or a refusal that may pass.
    Request(Envelope),
}

async fn whole(api: &Api, response: reqwest::Response) -> Result<Answered, Error> {
    Ok(Answered::Request(api.envelope(response).await?))
}

async fn next<E>(events: &mut (impl Stream<Item = Result<Sse, E>> + Unpin)) -> Result<Option<Sse>, Error> {
    events.next().await.transpose().map_err(|_| Error::Interrupted)
}

async fn wait(tries: &mut Tries, error: Error, tell: &mut (dyn FnMut(Event) + Send)) -> Result<(), Error> {
    let pause = tries.after(error.clone())?;
    tell(Event::Retry(error));
    tokio::time::sleep(pause).await;
    Ok(())
}

impl Position {
    fn tell(&mut self, name: &str, data: &str, tell: &mut (dyn FnMut(Event) + Send)) -> Result<(), Error> {
        let read = |data| serde_json::from_str::<Value>(data).map_err(|_| Error::Interrupted);
        match name {
            "delta" => {
                let Delta { index, text } = serde_json::from_str(data).map_err(|_| Error::Interrupted)?;
                if index != self.length {
                    // Texts that don't fit together are not the answer; the result has it whole.
                    self.length = index;
                    tell(Event::Reset(Some("mended".to_owned())));
                }
                self.length += text.encode_utf16().count();
                tell(Event::Delta(text));
            }
            "reset" => {
                self.length = 0;
                let reason = read(data)?.get("Reason").and_then(Value::as_str).map(str::to_owned);
                tell(Event::Reset(reason));
            }
            "status" => tell(Event::Status(read(data)?)),
            // Others may be added; they say nothing that an answer depends on.
            _ => {}
        }
        Ok(())
    }
}
