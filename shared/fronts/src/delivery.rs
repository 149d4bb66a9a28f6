//! Delivers the response of a turn: in one piece, or as a stream.

use std::future::ready;

use agent::outcome;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use contracts::{Error, ErrorCode, stream::Kind};
use futures::{FutureExt, Stream, StreamExt, future::BoxFuture, stream};
use runtime::{
    keep_alive::KeepAliveJson,
    stream::{KeepAlive, TextEvents},
    tasks,
};
use tokio::time::timeout;
use turns::{
    refusal::Refusal,
    stream::{Events, ResponseStart},
};

use crate::{Form, Outcome, Translator, json};

/// Delivers a response whose turn was started. `stream` says how.
///
/// # Errors
/// If the request was refused, or the turn failed before the response began.
pub async fn deliver<F, T>(
    start: ResponseStart<T>,
    form: F,
    stream: bool,
    keep_alive: KeepAlive,
) -> Result<Response, F::Error>
where
    F: Form,
    T: Future<Output = Result<outcome::Response, Refusal>> + Unpin + Send + 'static,
{
    if stream {
        return streamed(start, form.translator(), keep_alive).map_err(|refusal| refused(&refusal));
    }
    let outcome = buffered(start).map_err(|refusal| refused(&refusal))?;
    await_outcome(outcome, form, keep_alive).await
}

/// Delivers the stream of a response whose turn was started.
///
/// # Errors
/// If the request was refused before the stream began.
pub fn streamed<T>(
    start: ResponseStart<T>,
    translator: impl Translator,
    keep_alive: KeepAlive,
) -> Result<Response, Refusal>
where
    T: Future<Output = Result<outcome::Response, Refusal>> + Send + 'static,
{
    match start {
        ResponseStart::Streaming(events) => Ok(live(translator, events, keep_alive)),
        start => Ok(after(translator, buffered(start)?, keep_alive)),
    }
}

/// Returns the outcome of a response that isn't streamed.
fn buffered<T>(start: ResponseStart<T>) -> Result<BoxFuture<'static, Outcome>, Refusal>
where
    T: Future<Output = Result<outcome::Response, Refusal>> + Send + 'static,
{
    match start {
        ResponseStart::Refused(refusal) => Err(refusal),
        ResponseStart::Streaming(events) => Ok(collect(events).boxed()),
        ResponseStart::Complete(response) | ResponseStart::AlreadyDelivered(response) => {
            Ok(ready(Outcome::from_body(&response.to_bytes())).boxed())
        }
        ResponseStart::Pending(work) => {
            let outcome = work.map(|response| match response {
                Ok(response) => Outcome::from_body(&response.to_bytes()),
                Err(refusal) => Outcome::Failed { error: refusal.error(), text: String::new() },
            });
            Ok(outcome.boxed())
        }
    }
}

/// Lets the turn of a response continue in the background. Returns its outcome if it has one already.
///
/// # Errors
/// If the request was refused.
pub async fn begun<T>(start: ResponseStart<T>) -> Result<Option<Outcome>, Refusal>
where
    T: Future<Output = Result<outcome::Response, Refusal>> + Send + 'static,
{
    match start {
        ResponseStart::Refused(refusal) => Err(refusal),
        ResponseStart::Complete(response) | ResponseStart::AlreadyDelivered(response) => {
            Ok(Some(Outcome::from_body(&response.to_bytes())))
        }
        ResponseStart::Pending(work) => {
            tasks::spawn_background(work.map(drop));
            Ok(None)
        }
        ResponseStart::Streaming(mut events) => {
            // The first event tells that the turn is stored.
            let first = events.next().await;
            tasks::spawn_background(events.for_each(|_| ready(())));
            Ok(match first.map(|event| event.kind) {
                Some(Kind::Result(body)) => Some(Outcome::from_body(body.get().as_bytes())),
                _ => None,
            })
        }
    }
}

/// Returns the events of a response that has its outcome.
#[must_use]
pub fn replay(translator: impl Translator, outcome: Outcome, keep_alive: KeepAlive) -> Response {
    after(translator, ready(outcome).boxed(), keep_alive)
}

/// Returns the events of a response while its turn runs. Those of one event of the turn are sent in one piece.
pub fn live(mut translator: impl Translator, events: Events, keep_alive: KeepAlive) -> Response {
    let first = translator.start();
    let rest = stream::unfold((translator, events), |(mut translator, mut events)| async move {
        if translator.is_finished() {
            return None;
        }
        let Some(event) = events.next().await else {
            // A stream without an end outlasts this connection.
            let last = translator.outlasted();
            return (!last.is_empty()).then_some((last, (translator, events)));
        };
        translator.load(Some(&event)).await;
        let events_of_one = translator.event(&event);
        Some((events_of_one, (translator, events)))
    });
    send(stream::once(ready(first)).chain(rest), keep_alive)
}

/// Returns the events of a response whose turn isn't streamed: the rest of them once it has its outcome.
fn after(
    mut translator: impl Translator,
    outcome: BoxFuture<'static, Outcome>,
    keep_alive: KeepAlive,
) -> Response {
    let first = translator.start();
    let rest = async move {
        let outcome = outcome.await;
        translator.load(None).await;
        translator.finish(&outcome)
    };
    send(stream::once(ready(first)).chain(stream::once(rest)), keep_alive)
}

/// Sends the pieces, without the empty ones of what a protocol does not tell.
fn send(pieces: impl Stream<Item = String> + Send + 'static, keep_alive: KeepAlive) -> Response {
    TextEvents::new(pieces.filter(|piece| ready(!piece.is_empty())), keep_alive).into_response()
}

/// Waits for the outcome, and sends whitespace if that takes long.
async fn await_outcome<F: Form>(
    mut outcome: BoxFuture<'static, Outcome>,
    mut form: F,
    keep_alive: KeepAlive,
) -> Result<Response, F::Error> {
    match timeout(keep_alive.whitespace_after, &mut outcome).await {
        Ok(outcome) => {
            form.load().await;
            form.whole(&outcome).map(|object| json(200, &object))
        }
        Err(_) => {
            let body = async move {
                let outcome = outcome.await;
                form.load().await;
                Bytes::from(form.late(&outcome).to_string())
            }
            .boxed();
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
pub fn refused<E: From<Error>>(refusal: &Refusal) -> E {
    let error = refusal.error();
    let _ = runtime::Reply::error_with_cause(refusal, error.clone());
    error.into()
}
