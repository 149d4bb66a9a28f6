//! Deletes the responses that providers store, and reads their usage.

use std::{collections::BTreeMap, sync::Arc};

use contracts::Usage;
use protocol::{chain::provider_id, purge::ProviderResponseRef};
use turns::ports::{ProviderResponses, Unavailable};

use super::{key::CachedKey, registry::ResolvedProviders};

type Client = llm::stored_responses::StoredResponses<CachedKey>;

const SERVICE: &str = "the model provider";

/// The stored responses of all providers of a deployment. Clones share the clients.
#[derive(Debug, Clone)]
pub struct StoredResponses {
    /// The clients by provider id, see [`provider_id`].
    clients: Arc<BTreeMap<String, Client>>,
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
        Ok(Self { clients: Arc::new(clients), fallback_id })
    }

    fn client(&self, response: &ProviderResponseRef) -> Result<&Client, Unavailable> {
        let id = response.provider.as_ref().or(self.fallback_id.as_ref());
        id.and_then(|id| self.clients.get(id)).ok_or_else(|| Unavailable {
            what: SERVICE,
            source: "this deployment has no such provider, or no key for it".into(),
        })
    }
}

impl ProviderResponses for StoredResponses {
    async fn remove(&self, response: &ProviderResponseRef) -> Result<(), Unavailable> {
        let deleted = self.client(response)?.delete(&response.response_id).await;
        deleted.map_err(|error| Unavailable { what: SERVICE, source: error.into() })
    }

    async fn usage(&self, response: &ProviderResponseRef) -> Result<Option<Usage>, Unavailable> {
        let read = self.client(response)?.usage(&response.response_id).await;
        read.map_err(|error| Unavailable { what: SERVICE, source: error.into() })
    }
}
