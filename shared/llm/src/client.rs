//! The client: the model port, on top of a single call (`call.rs`).

use std::time::Duration;

use agent::model::{Error, Model, Observer, Reply, Request};
use breaker::Breaker;
use contracts::gen_ai;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

pub use crate::config::{Config, ConfigError, Timeouts};

use crate::accumulator::StateOptions;
use crate::call::{Call, Endpoint};
use crate::clock::{Clock, SystemClock};
use crate::key::{ApiKey, KeySource};
use crate::outage::{is_outage, rejected};
use crate::wire::Body;
use crate::{trace, wire, wire_capture};

/// A client of one provider. Each client has its own connection pool.
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
        config.provider_host()?;
        let http = config.http_client()?;
        let breaker = Breaker::new(config.breaker);
        Ok(Self { endpoint: Endpoint::new(http, keys, config), breaker })
    }

    /// Replaces the clock, for tests.
    pub fn with_clock<W: Clock>(self, clock: W) -> Client<K, W> {
        Client { endpoint: self.endpoint.with_clock(clock), breaker: self.breaker }
    }
}

impl<K: KeySource, W: Clock> Model for Client<K, W> {
    async fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let config = &self.endpoint.config;
        let body = self.body(request)?;
        let url = config.endpoint_url(&wire::operation(config.wire, &request.model));
        let url = url.map_err(|_| Error::UNAVAILABLE)?;
        let now = self.endpoint.clock.now();
        let permit = self.breaker.acquire(now).map_err(rejected)?;
        let deadline_at = now + deadline.min(config.timeouts.total);
        // A timeout says nothing about the provider: the caller may have had too little time left.
        let span = trace::call_span(gen_ai::CHAT, &request.model, config, url.host_str());
        let state = StateOptions::from_request(request);
        let call = Call { url, model: request.model.clone(), body, state };
        let outcome =
            timeout_at(deadline_at, self.call(request, call, deadline_at, observer)).instrument(span.clone());
        let Ok(reply) = outcome.await else {
            trace::record_error(&span, &Error::TimedOut);
            return Err(Error::TimedOut);
        };
        trace::record_outcome(&span, reply.as_ref(), observer.usage);
        permit.record(reply.as_ref().is_err_and(is_outage), self.endpoint.clock.now());
        reply
    }
}

impl<K: KeySource, W: Clock> Client<K, W> {
    /// Builds the body of a request without what its model refused.
    fn body(&self, request: &Request) -> Result<Body, Error> {
        let Endpoint { config, omissions, .. } = &self.endpoint;
        let body = wire::body(config, request, &omissions.refused(&request.model))?;
        omissions.log(&request.model, &body.omitted);
        Ok(body)
    }

    /// Sends the request. If the model refuses a setting that the request can do without, sends it again without.
    async fn call(
        &self,
        request: &Request,
        mut call: Call,
        deadline: Instant,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        loop {
            let reply = self.send(&call, deadline, observer).await;
            let is_rejected = matches!(reply, Err(Error::Rejected { .. } | Error::ParameterRejected { .. }));
            let refused = self.endpoint.omissions.refused(&call.model);
            // Each round leaves out more, so there is an end.
            if !is_rejected || !refused.iter().any(|hint| call.body.hints.contains(hint)) {
                return reply;
            }
            call.body = self.body(request)?;
        }
    }

    async fn send(
        &self,
        call: &Call,
        deadline: Instant,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        wire_capture::capture_request(observer, &call.body.bytes);
        self.endpoint.call(call, deadline, observer).await
    }
}
