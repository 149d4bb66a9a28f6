//! The client: the port to the model, on top of what one call does (`ask.rs`).

use std::time::Duration;

use agent::model::{Error, Model, Observer, Reply, Request};
use bytes::Bytes;
use tokio::time::timeout_at;
use tracing::Instrument;

pub use crate::config::{Config, Timeouts, Unusable};

use crate::ask::{Call, Upstream};
use crate::breaker::{Breaker, is_outage};
use crate::fold::Memory;
use crate::key::{ApiKey, Keys};
use crate::wait::{Real, Wait};
use crate::{builder, raw, trace};

/// The model behind a Responses API. One client keeps one pool of connections.
#[derive(Debug)]
pub struct Client<K = ApiKey, W = Real> {
    upstream: Upstream<K, W>,
    breaker: Breaker,
}

impl<K: Keys> Client<K> {
    /// A client that has not connected yet.
    ///
    /// # Errors
    ///
    /// [`Unusable`], which names the setting at fault.
    pub fn new(config: Config, keys: K) -> Result<Self, Unusable> {
        let url = config.endpoint("responses")?;
        let http = config.http()?;
        let breaker = Breaker::new(config.breaker);
        Ok(Self { upstream: Upstream { http, url, keys, config, wait: Real }, breaker })
    }

    /// The same client with another way to wait.
    pub fn waiting<W: Wait>(self, wait: W) -> Client<K, W> {
        let Self { upstream: Upstream { http, url, keys, config, wait: Real }, breaker } = self;
        Client { upstream: Upstream { http, url, keys, config, wait }, breaker }
    }
}

impl<K: Keys, W: Wait> Model for Client<K, W> {
    async fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let mut body = builder::build(request);
        if !self.upstream.config.tells_identifiers {
            (body.prompt_cache_key, body.safety_identifier) = (None, None);
        }
        let body = serde_json::to_vec(&body).map_err(|_| Error::Malformed)?;
        let call = Call { body: Bytes::from(body), memory: Memory::of(request) };
        let now = self.upstream.wait.now();
        let admission = self.breaker.admit(now)?;
        raw::sent(observer, &call.body);
        let until = now + deadline.min(self.upstream.config.timeouts.total);
        // Time that the caller had too little of says nothing of the provider.
        let span = trace::of_call("chat", &request.model, self.upstream.url.host_str());
        let asked = timeout_at(until, self.upstream.ask(&call, until, observer)).instrument(span.clone());
        let Ok(reply) = asked.await else {
            trace::failed(&span, &Error::TimedOut);
            return Err(Error::TimedOut);
        };
        trace::ended(&span, reply.as_ref(), observer.usage);
        admission.ended(reply.as_ref().is_err_and(is_outage), self.upstream.wait.now());
        reply
    }
}
