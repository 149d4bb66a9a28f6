//! Delivers the response of a turn: in one piece, or as a stream.

use std::future::ready;

use agent::outcome;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contracts::{
    Error, ErrorCode,
    stream::{Event, Kind},
};
use futures::{FutureExt, Stream, StreamExt, future::BoxFuture, stream};
use runtime::{keep_alive::KeepAliveJson, stream::KeepAlive, tasks};
use serde_json::Value;
use tokio::time::timeout;
use turns::{
    refusal::Refusal,
    stream::{Events, ResponseStart},
};

use crate::{
    chat::{ChatTranslator, Completion},
    error::ApiError,
    http,
    response::{Frame, Outcome, Status},
    stream::Translator,
};

/// The form in which a client gets the response of a turn.
#[derive(Debug, Clone)]
pub enum Form {
    /// A `response` object, or its events.
    Response(Frame),
    /// A `chat.completion` object, or its chunks.
    Chat {
        /// The members of the completion besides its outcome.
        completion: Completion,
        /// True if a stream ends with the usage.
        include_usage: bool,
    },
}

/// Delivers a response whose turn was started. `stream` says how.
///
/// # Errors
/// If the request was refused, or the turn failed before the response began.
pub async fn deliver<F>(
    start: ResponseStart<F>,
    form: Form,
    stream: bool,
    keep_alive: KeepAlive,
) -> Result<Response, ApiError>
where
    F: Future<Output = Result<outcome::Response, Refusal>> + Unpin + Send + 'static,
{
    let outcome = match start {
        ResponseStart::Refused(refusal) => return Err(refused(&refusal)),
        ResponseStart::Streaming(events) if stream => {
            return Ok(live(form.translator(None), events, keep_alive));
        }
        ResponseStart::Streaming(events) => collect(events).boxed(),
        ResponseStart::Complete(response) | ResponseStart::AlreadyDelivered(response) => {
            ready(Outcome::from_body(&response.to_bytes())).boxed()
        }
        ResponseStart::Pending(work) => {
            let outcome = work.map(|response| match response {
                Ok(response) => Outcome::from_body(&response.to_bytes()),
                Err(refusal) => Outcome::Failed { error: refusal.error(), text: String::new() },
            });
            outcome.boxed()
        }
    };
    if stream {
        return Ok(after(form.translator(None), outcome, keep_alive));
    }
    await_outcome(outcome, form, keep_alive).await
}

/// Returns a response whose turn was started, without waiting for its end. The turn continues in the background.
///
/// # Errors
/// If the request was refused, or the turn has failed already.
pub async fn in_background<F>(start: ResponseStart<F>, frame: Frame) -> Result<Response, ApiError>
where
    F: Future<Output = Result<outcome::Response, Refusal>> + Send + 'static,
{
    let outcome = match start {
        ResponseStart::Refused(refusal) => return Err(refused(&refusal)),
        ResponseStart::Complete(response) | ResponseStart::AlreadyDelivered(response) => {
            Some(Outcome::from_body(&response.to_bytes()))
        }
        ResponseStart::Pending(work) => {
            tasks::spawn_background(work.map(drop));
            None
        }
        ResponseStart::Streaming(mut events) => {
            // The first event tells that the turn is stored.
            let first = events.next().await;
            tasks::spawn_background(events.for_each(|_| ready(())));
            match first.map(|event| event.kind) {
                Some(Kind::Result(body)) => Some(Outcome::from_body(body.get().as_bytes())),
                _ => None,
            }
        }
    };
    let object = match outcome {
        Some(outcome) => Form::Response(frame).whole(&outcome)?,
        None => frame.in_progress(),
    };
    Ok(http::json(200, &object))
}

impl Form {
    fn translator(self, after: Option<u64>) -> AnyTranslator {
        match self {
            Self::Response(frame) => AnyTranslator::Response(Translator::new(frame, after)),
            Self::Chat { completion, include_usage } => {
                AnyTranslator::Chat(ChatTranslator::new(completion, include_usage))
            }
        }
    }

    /// Returns the whole response. Fails if its turn failed; a cancelled turn and an incomplete answer are responses.
    fn whole(&self, outcome: &Outcome) -> Result<Value, ApiError> {
        match (self, outcome) {
            (Self::Response(_), Outcome::Failed { error, .. }) if outcome.status() == Status::Failed => {
                Err(error.clone().into())
            }
            (Self::Response(frame), _) => Ok(frame.with_outcome(outcome)),
            (Self::Chat { completion, .. }, _) => completion.with_outcome(outcome),
        }
    }

    /// Returns the whole response for a client that was told of a success before the outcome was known.
    fn late(&self, outcome: &Outcome) -> Value {
        match self {
            Self::Response(frame) => frame.with_outcome(outcome),
            Self::Chat { completion, .. } => {
                completion.with_outcome(outcome).unwrap_or_else(|error| error.body())
            }
        }
    }
}

/// A translator of either protocol, into formatted events.
#[derive(Debug)]
enum AnyTranslator {
    Response(Translator),
    Chat(ChatTranslator),
}

impl AnyTranslator {
    fn start(&mut self) -> String {
        match self {
            Self::Response(translator) => to_sse(&translator.start()),
            Self::Chat(translator) => translator.start().concat(),
        }
    }

    fn event(&mut self, event: &Event) -> String {
        match self {
            Self::Response(translator) => to_sse(&translator.event(event)),
            Self::Chat(translator) => translator.event(event).concat(),
        }
    }

    fn finish(&mut self, outcome: &Outcome) -> String {
        match self {
            Self::Response(translator) => to_sse(&translator.finish(outcome)),
            Self::Chat(translator) => translator.finish(outcome).concat(),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Self::Response(translator) => translator.is_finished(),
            Self::Chat(translator) => translator.is_finished(),
        }
    }
}

fn to_sse(events: &[crate::stream::StreamEvent]) -> String {
    events.iter().map(crate::stream::StreamEvent::to_sse).collect()
}

/// Returns the events of a response that has its outcome, after those that the client has.
#[must_use]
pub fn replay(frame: Frame, known: Option<u64>, outcome: Outcome, keep_alive: KeepAlive) -> Response {
    after(Form::Response(frame).translator(known), ready(outcome).boxed(), keep_alive)
}

/// Returns the events of a response while its turn runs.
#[must_use]
pub fn follow(translator: Translator, events: Events, keep_alive: KeepAlive) -> Response {
    live(AnyTranslator::Response(translator), events, keep_alive)
}

/// Returns the events of a response while its turn runs. Those of one event of the turn are sent in one piece.
fn live(mut translator: AnyTranslator, events: Events, keep_alive: KeepAlive) -> Response {
    let first = translator.start();
    let rest = stream::unfold((translator, events), |(mut translator, mut events)| async move {
        if translator.is_finished() {
            return None;
        }
        // A stream without an end outlasts this connection: the client takes it up with `starting_after`.
        let events_of_one = translator.event(&events.next().await?);
        Some((events_of_one, (translator, events)))
    });
    send(stream::once(ready(first)).chain(rest), keep_alive)
}

/// Returns the events of a response whose turn isn't streamed: the rest of them once it has its outcome.
fn after(
    mut translator: AnyTranslator,
    outcome: BoxFuture<'static, Outcome>,
    keep_alive: KeepAlive,
) -> Response {
    let first = translator.start();
    let rest = async move { translator.finish(&outcome.await) };
    send(stream::once(ready(first)).chain(stream::once(rest)), keep_alive)
}

/// Sends the pieces, without the empty ones of what this protocol does not tell.
fn send(pieces: impl Stream<Item = String> + Send + 'static, keep_alive: KeepAlive) -> Response {
    http::events(pieces.filter(|piece| ready(!piece.is_empty())), keep_alive)
}

/// Waits for the outcome, and sends whitespace if that takes long.
async fn await_outcome(
    mut outcome: BoxFuture<'static, Outcome>,
    form: Form,
    keep_alive: KeepAlive,
) -> Result<Response, ApiError> {
    match timeout(keep_alive.whitespace_after, &mut outcome).await {
        Ok(outcome) => form.whole(&outcome).map(|object| http::json(200, &object)),
        Err(_) => {
            let body = outcome.map(move |outcome| Bytes::from(form.late(&outcome).to_string()));
            Ok(KeepAliveJson::new(body, keep_alive).into_response())
        }
    }
}

/// Waits for the result of a turn's stream.
async fn collect(mut events: Events) -> Outcome {
    while let Some(event) = events.next().await {
        if let Kind::Result(body) = &event.kind {
            return Outcome::from_body(body.get().as_bytes());
        }
    }
    Outcome::Failed { error: Error::from(ErrorCode::TurnInProgress), text: String::new() }
}

/// Returns the error of a refused request, and logs its cause if the service is at fault.
#[must_use]
pub fn refused(refusal: &Refusal) -> ApiError {
    let error = refusal.error();
    let _ = runtime::Reply::error_with_cause(refusal, error.clone());
    error.into()
}
