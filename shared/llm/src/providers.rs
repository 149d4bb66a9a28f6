//! Several providers behind one port: a request says by its name which one it goes to.

use std::collections::BTreeMap;
use std::time::Duration;

use agent::model::{Error, Model, Observer, Reply, Request};

use crate::client::Client;
use crate::key::{ApiKey, Keys};
use crate::wait::{Real, Wait};

/// The providers of a deployment. Each has connections, a key and a breaker of its own.
#[derive(Debug)]
pub struct Providers<K = ApiKey, W = Real> {
    /// By their names; one that has none is under the empty one.
    pub clients: BTreeMap<String, Client<K, W>>,
    /// The name of the one that gets the requests which name none.
    pub default: String,
}

impl<K: Keys, W: Wait> Model for Providers<K, W> {
    async fn reply(
        &self,
        request: &Request,
        deadline: Duration,
        observer: &mut Observer<'_>,
    ) -> Result<Reply, Error> {
        let name = request.provider.as_ref().unwrap_or(&self.default);
        let Some(client) = self.clients.get(name) else {
            tracing::error!(provider = %name, "a context names a provider that this deployment lacks");
            return Err(Error::UnknownProvider);
        };
        client.reply(request, deadline, observer).await
    }
}
