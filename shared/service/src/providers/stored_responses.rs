//! Deletes the responses that providers store.

use std::collections::BTreeMap;

use protocol::{chain::provider_id, purge::ProviderResponseRef};
use turns::ports::{ProviderResponseRemover, Unavailable};

use super::{key::CachedKey, registry::ResolvedProviders};

const SERVICE: &str = "the model provider";

/// The stored responses of all providers of a deployment.
#[derive(Debug)]
pub struct StoredResponses {
    /// The clients by provider id, see [`provider_id`].
    clients: BTreeMap<String, llm::stored_responses::StoredResponses<CachedKey>>,
    /// The provider of responses without a provider id.
    fallback_id: Option<String>,
}

impl StoredResponses {
    /// Creates clients of the providers.
    ///
    /// # Errors
    /// The invalid setting.
    pub fn new(resolved: ResolvedProviders) -> Result<Self, llm::client::ConfigError> {
        let ResolvedProviders { providers, .. } = resolved;
        let (mut clients, mut fallback_id) = (BTreeMap::new(), None);
        for (name, (config, key)) in providers {
            let name = Some(name.as_str()).filter(|name| !name.is_empty());
            let id = provider_id(name, &config.provider_host()?);
            if name.is_none() {
                fallback_id = Some(id.clone());
            }
            clients.insert(id, llm::stored_responses::StoredResponses::new(config, key)?);
        }
        Ok(Self { clients, fallback_id })
    }
}

impl ProviderResponseRemover for StoredResponses {
    async fn remove(&self, response: &ProviderResponseRef) -> Result<(), Unavailable> {
        let id = response.provider.as_ref().or(self.fallback_id.as_ref());
        let Some(client) = id.and_then(|id| self.clients.get(id)) else {
            return Err(Unavailable {
                what: SERVICE,
                source: "this deployment has no such provider, or no key for it".into(),
            });
        };
        let deleted = client.delete(&response.response_id).await;
        deleted.map_err(|error| Unavailable { what: SERVICE, source: error.into() })
    }
}
