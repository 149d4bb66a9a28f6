//! A single call: one POST per attempt. Always streams, so that silence can time out, text can be forwarded and a reply
//! can be cancelled.
//!
//! Dropping the future of a call drops its connection, which cancels the generation upstream.

use agent::model::{Error, Observer, Reply};
use contracts::error::causes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, Url};
use std::time::Duration;
use tokio::time::{Instant, timeout};

use crate::accumulator::{Progress, StateOptions};
use crate::auth::authenticate;
use crate::clock::{Clock, SystemClock};
use crate::compression::content_encoding;
use crate::config::Config;
use crate::error_info::ErrorInfo;
use crate::error_response::ErrorResponse;
use crate::key::{ApiKey, KeySource};
use crate::omissions::Omissions;
use crate::reader::Reader;
use crate::retry::FailedAttempt;
use crate::retry_loop::RetryLoop;
use crate::wire::Body;
use crate::yield_interval::YieldInterval;
use crate::{trace, wire, wire_capture};

/// The time limit for the end of a stream after its terminal event. Reading the end lets the connection be reused; it
/// usually follows at once.
const STREAM_END: Duration = Duration::from_millis(50);

/// The endpoint of a provider, with everything that a call needs.
#[derive(Debug)]
pub(crate) struct Endpoint<K, W> {
    pub(crate) http: reqwest::Client,
    pub(crate) keys: K,
    pub(crate) config: Config,
    pub(crate) clock: W,
    pub(crate) omissions: Omissions,
}

/// The request of a call.
#[derive(Debug)]
pub(crate) struct Call {
    /// The address, which has the model's id on some wires.
    pub(crate) url: Url,
    /// The model.
    pub(crate) model: String,
    /// The request body.
    pub(crate) body: Body,
    /// The conversation state that the request asks for.
    pub(crate) state: StateOptions,
}

impl<K> Endpoint<K, SystemClock> {
    /// Creates an endpoint with the system clock.
    pub(crate) fn new(http: reqwest::Client, keys: K, config: Config) -> Self {
        Self { http, keys, config, clock: SystemClock, omissions: Omissions::default() }
    }

    /// Replaces the clock.
    pub(crate) fn with_clock<W>(self, clock: W) -> Endpoint<K, W> {
        let Self { http, keys, config, clock: SystemClock, omissions } = self;
        Endpoint { http, keys, config, clock, omissions }
    }
}

impl<K: KeySource, W: Clock> Endpoint<K, W> {
    /// Sends the request until there is a reply, the retry policy gives up, or the key is rejected. Retries a reply
    /// without text and tool calls once.
    pub(crate) async fn call(
        &self,
        call: &Call,
        deadline: Instant,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let Self { keys, clock, config, .. } = self;
        let mut retries =
            RetryLoop::start(keys, clock, config, deadline, contracts::log::MODEL_CALL_FAILED).await?;
        let mut empty: Option<Reply> = None;
        loop {
            let attempt = self.attempt(call, &retries.key, retries.prior_attempts, observer);
            match (attempt.await, &empty) {
                (Ok(reply), None) if is_empty(&reply) => {
                    tracing::warn!("{}", contracts::log::EMPTY_REPLY);
                    empty = Some(reply);
                }
                (Ok(reply), Some(_)) if is_empty(&reply) => return Err(Error::Empty),
                (Ok(reply), empty) => {
                    let blank = empty.as_ref().is_some_and(|empty| !empty.text.is_empty());
                    return Ok(Reply { replaces_stream: reply.replaces_stream || blank, ..reply });
                }
                (Err(failed), _) => {
                    observer.failure = retries.describe(&failed, &call.url);
                    retries.wait_for_next(failed, |pause| observer.report_pause(Some(pause))).await?;
                    observer.report_pause(None);
                }
            }
        }
    }

    async fn attempt(
        &self,
        call: &Call,
        key: &ApiKey,
        prior_attempts: u32,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, FailedAttempt> {
        let failed = |error| FailedAttempt::without_response(prior_attempts, error);
        let request = self
            .http
            .post(call.url.clone())
            .headers(wire::headers(self.config.wire))
            .headers(self.config.headers(key).map_err(failed)?)
            .headers(trace::propagation_headers())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, wire::media_type(self.config.wire))
            .body(call.body.bytes.clone());
        let request = authenticate(request, key, &self.config.key_location).map_err(failed)?;
        observer.meter.send();
        let sent = timeout(self.config.timeouts.first_byte, self.http.execute(request)).await;
        let sent = sent.map_err(|_| failed(Error::TimedOut))?;
        // No response: the connection failed, or a pooled one was dead, as after Lambda froze and thawed the process.
        let response = sent.map_err(|error| {
            // Whoever gave up waiting may have to pay. A request that no server accepted costs nothing.
            if !error.is_timeout() {
                observer.meter.refuse();
            }
            let cause = causes(&error.without_url()).to_string();
            tracing::warn!(error = %cause, "{}", contracts::log::MODEL_UNREACHABLE);
            FailedAttempt { message: Some(cause), ..failed(Error::UNAVAILABLE) }
        })?;
        if !response.status().is_success() {
            observer.meter.refuse();
            let response = ErrorResponse::read(response).await;
            wire_capture::capture_error(observer, response.status, &response.body);
            if let Some(hint) = response.refused_hint(&call.body.hints) {
                self.omissions.refuse(&call.model, hint);
            }
            return Err(response.into_attempt(prior_attempts, call.state.chained));
        }
        let info = ErrorInfo::from_headers(response.headers());
        let nonce = self.clock.jitter().to_bits();
        let mut reader = Reader::new(self.config.limits, self.config.wire, call.state, nonce)
            .with_content_encoding(content_encoding(response.headers()));
        let usage_before = observer.usage;
        let reply = self.read(&mut reader, response, observer).await;
        match reader.error() {
            // As with a status of an error.
            Some(_) if !reader.has_output() => observer.meter.refuse(),
            _ => observer.meter.end(),
        }
        let reply = reply.map_err(|error| FailedAttempt {
            has_output: reader.has_output(),
            info: reader.error().map_or_else(|| info.clone(), |error| info.clone().with_error(error)),
            message: reader.error().and_then(|error| error.message.clone()),
            ..failed(error)
        })?;
        if observer.usage == usage_before {
            tracing::warn!(provider_request_id = info.request_id, "{}", contracts::log::USAGE_MISSING);
        }
        Ok(reply)
    }

    async fn read(
        &self,
        reader: &mut Reader,
        mut response: Response,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let mut interval = YieldInterval::start();
        loop {
            let limit = match reader.has_text() {
                true => self.config.timeouts.idle,
                false => self.config.timeouts.first_byte,
            };
            let piece = timeout(limit, response.chunk()).await;
            let piece = piece.map_err(|_| Error::TimedOut)?;
            let piece = match piece {
                Ok(piece) => piece,
                Err(error) => {
                    tracing::warn!(error = %causes(&error.without_url()), "{}", contracts::log::REPLY_INTERRUPTED);
                    // If the model has stopped, nothing of the reply is missing.
                    None
                }
            };
            let Some(piece) = piece else { return reader.finish(observer) };
            // A stream that is always ready must not starve other work in the task, such as the lease renewal.
            interval.tick().await;
            if let Progress::Complete(reply) = reader.push(&piece, observer)? {
                _ = timeout(STREAM_END, response.chunk()).await;
                return Ok(reply);
            }
        }
    }
}

fn is_empty(reply: &Reply) -> bool {
    reply.calls.is_empty() && reply.text.trim().is_empty()
}
