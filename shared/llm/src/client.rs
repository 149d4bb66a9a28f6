//! The client: the model port, on top of a single call (`call.rs`).

use std::time::Duration;

use agent::model::{Error, Model, Observer, Reply, Request};
use bytes::Bytes;
use tokio::time::timeout_at;
use tracing::Instrument;

pub use crate::config::{Config, ConfigError, Timeouts};

use crate::accumulator::StateOptions;
use crate::breaker::{Breaker, is_outage};
use crate::call::{Call, Endpoint};
use crate::clock::{Clock, SystemClock};
use crate::key::{ApiKey, KeySource};
use crate::{builder, trace, wire_capture};

/// A client of one Responses API. Each client has its own connection pool.
#[derive(Debug)]
pub struct Client<K = ApiKey, W = SystemClock> {
    endpoint: Endpoint<K, W>,
    breaker: Breaker,
}

impl<K: KeySource> Client<K> {
    /// Creates a client without connecting.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], which names the invalid setting.
    pub fn new(config: Config, keys: K) -> Result<Self, ConfigError> {
        let url = config.endpoint_url("responses")?;
        let http = config.http_client()?;
        let breaker = Breaker::new(config.breaker);
        Ok(Self { endpoint: Endpoint { http, url, keys, config, clock: SystemClock }, breaker })
    }

    /// Replaces the clock, for tests.
    pub fn with_clock<W: Clock>(self, clock: W) -> Client<K, W> {
        let Self { endpoint: Endpoint { http, url, keys, config, clock: SystemClock }, breaker } = self;
        Client { endpoint: Endpoint { http, url, keys, config, clock }, breaker }
    }
}

impl<K: KeySource, W: Clock> Model for Client<K, W> {
    async fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let mut body = builder::build(request);
        if !self.endpoint.config.send_identifiers {
            (body.prompt_cache_key, body.safety_identifier) = (None, None);
        }
        let body = serde_json::to_vec(&body).map_err(|_| Error::Malformed)?;
        let call = Call { body: Bytes::from(body), state: StateOptions::from_request(request) };
        let now = self.endpoint.clock.now();
        let permit = self.breaker.acquire(now)?;
        wire_capture::capture_request(observer, &call.body);
        let deadline_at = now + deadline.min(self.endpoint.config.timeouts.total);
        // A timeout says nothing about the provider: the caller may have had too little time left.
        let span = trace::call_span("chat", &request.model, self.endpoint.url.host_str());
        let outcome = timeout_at(deadline_at, self.endpoint.call(&call, deadline_at, observer))
            .instrument(span.clone());
        let Ok(reply) = outcome.await else {
            trace::record_error(&span, &Error::TimedOut);
            return Err(Error::TimedOut);
        };
        trace::record_outcome(&span, reply.as_ref(), observer.usage);
        permit.record(reply.as_ref().is_err_and(is_outage), self.endpoint.clock.now());
        reply
    }
}
