//! One call: a POST per attempt, always streamed, so that waits can be bounded, text can be forwarded and a reply
//! can be ended early.
//!
//! Dropping a call's future drops its connection, which ends the generation upstream.

use agent::model::{Error, Observer, Reply};
use bytes::Bytes;
use contracts::error::causes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Response, Url};
use std::time::Duration;
use tokio::time::{Instant, timeout};

use crate::config::Config;
use crate::fold::{Memory, Progress};
use crate::key::{ApiKey, Keys};
use crate::raw;
use crate::reader::Reader;
use crate::refusal::Refusal;
use crate::retry::Attempt;
use crate::retrying::Retrying;
use crate::told::Told;
use crate::trace;
use crate::wait::Wait;

/// The end of a stream follows its terminal event at once, and reading it lets the connection be used
/// again. One that doesn't come is not worth a wait.
const STREAM_END: Duration = Duration::from_millis(50);

/// Who is asked, and how.
#[derive(Debug)]
pub(crate) struct Upstream<K, W> {
    pub(crate) http: reqwest::Client,
    pub(crate) url: Url,
    pub(crate) keys: K,
    pub(crate) config: Config,
    pub(crate) wait: W,
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct Call {
    /// The request.
    pub(crate) body: Bytes,
    /// What it asks of the provider's memory.
    pub(crate) memory: Memory,
}

impl<K: Keys, W: Wait> Upstream<K, W> {
    /// Asks until a reply is there, the policy gives up, or the key is refused. A reply without text or a call is
    /// asked for once more.
    pub(crate) async fn ask(
        &self,
        call: &Call,
        until: Instant,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let Self { keys, wait, config, .. } = self;
        let mut retrying = Retrying::begin(keys, wait, config, until, "a model call failed").await?;
        let mut empty: Option<Reply> = None;
        loop {
            let attempt = self.attempt(call, &retrying.key, retrying.before, observer);
            match (attempt.await, &empty) {
                (Ok(reply), None) if is_empty(&reply) => {
                    tracing::warn!("a model reply had neither text nor a call");
                    empty = Some(reply);
                }
                (Ok(reply), Some(_)) if is_empty(&reply) => return Err(Error::Empty),
                (Ok(reply), empty) => {
                    let blank = empty.as_ref().is_some_and(|empty| !empty.text.is_empty());
                    return Ok(Reply { restated: reply.restated || blank, ..reply });
                }
                (Err(failed), _) => {
                    retrying.after(failed, |pause| observer.paused(Some(pause))).await?;
                    observer.paused(None);
                }
            }
        }
    }

    async fn attempt(
        &self,
        call: &Call,
        key: &ApiKey,
        before: u32,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Attempt> {
        let failed = |error| Attempt::without_response(before, error);
        let request = self
            .http
            .post(self.url.clone())
            .headers(self.config.headers(key).map_err(failed)?)
            .headers(trace::headers())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(call.body.clone());
        let sent = timeout(self.config.timeouts.first_byte, request.send()).await;
        let sent = sent.map_err(|_| failed(Error::TimedOut))?;
        // No response began, whether the connection failed or a pooled one turned out to be dead,
        // as it is after the platform froze and thawed the process.
        let response = sent.map_err(|error| {
            tracing::warn!(error = %causes(&error.without_url()), "the model provider can't be reached");
            failed(Error::UNAVAILABLE)
        })?;
        if !response.status().is_success() {
            let refusal = Refusal::read(response).await;
            raw::refused(observer, refusal.status, &refusal.body);
            return Err(refusal.attempt(before, call.memory.recall));
        }
        let told = Told::of_headers(response.headers());
        let nonce = self.wait.chance().to_bits();
        let mut reader = Reader::new(self.config.limits, call.memory, nonce);
        let spent = observer.usage;
        let reply = self.read(&mut reader, response, observer).await.map_err(|error| Attempt {
            has_output: reader.has_output(),
            told: reader.error().map_or_else(|| told.clone(), |error| told.clone().with(error)),
            ..failed(error)
        })?;
        if observer.usage == spent {
            tracing::warn!(provider_request_id = told.request_id, "a model reply told no usage");
        }
        Ok(reply)
    }

    async fn read(
        &self,
        reader: &mut Reader,
        mut response: Response,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let is_stream = !is_json(response.headers());
        let mut whole = Vec::new();
        loop {
            let patience = match reader.has_text() {
                true => self.config.timeouts.idle,
                false => self.config.timeouts.first_byte,
            };
            let piece = timeout(patience, response.chunk()).await;
            let piece = piece.map_err(|_| Error::TimedOut)?;
            let piece = piece.map_err(|error| {
                tracing::warn!(error = %causes(&error.without_url()), "a model reply broke off");
                Error::Malformed
            })?;
            let Some(piece) = piece else { break };
            // A stream that is always ready must not starve what shares the task: the caller's lease.
            tokio::task::yield_now().await;
            if !is_stream {
                if whole.len().saturating_add(piece.len()) > self.config.limits.event {
                    return Err(Error::Malformed);
                }
                whole.extend_from_slice(&piece);
            } else if let Progress::Done(reply) = reader.push(&piece, observer)? {
                _ = timeout(STREAM_END, response.chunk()).await;
                return Ok(reply);
            }
        }
        if is_stream { reader.end(observer) } else { reader.whole(&whole, observer) }
    }
}

/// Whether a whole response comes where a stream was asked for.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("application/json"))
}

fn is_empty(reply: &Reply) -> bool {
    reply.calls.is_empty() && reply.text.trim().is_empty()
}
