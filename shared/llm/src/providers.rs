//! Several providers behind one port: a request names the provider it goes to.

use std::collections::BTreeMap;
use std::time::Duration;

use agent::model::{Error, Model, Observer, Reply, Request};

use crate::client::Client;
use crate::clock::{Clock, SystemClock};
use crate::key::{ApiKey, KeySource};

/// The providers of a deployment. Each has its own connections, key and circuit breaker.
#[derive(Debug)]
pub struct Providers<K = ApiKey, W = SystemClock> {
    /// Clients by provider name. A provider without a name has the empty one.
    pub clients: BTreeMap<String, Client<K, W>>,
    /// The provider of requests that name none.
    pub default: String,
}

impl<K: KeySource, W: Clock> Model for Providers<K, W> {
    async fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let name = request.provider.as_ref().unwrap_or(&self.default);
        let Some(client) = self.clients.get(name) else {
            tracing::error!(provider = %name, "{}", contracts::log::PROVIDER_UNKNOWN);
            return Err(Error::UnknownProvider);
        };
        client.reply(request, deadline, observer).await
    }
}
