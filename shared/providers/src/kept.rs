//! What providers keep of turns: it can be removed, and nothing else.

use std::collections::BTreeMap;

use protocol::{chain::provider_id, purge::LeftUpstream};
use storage::Secrets;
use turns::ports::{Unavailable, UpstreamResponses};

use crate::{
    declared::{Keyed, Settings},
    key::ProviderKey,
};

const WHAT: &str = "the model provider";

/// The responses that the providers of a deployment keep.
#[derive(Debug)]
pub struct Kept {
    /// By what each provider is in records, see [`provider_id`].
    clients: BTreeMap<String, llm::kept::Kept<ProviderKey>>,
    /// The one that has what was kept before providers were told apart.
    unnamed: Option<String>,
}

impl Kept {
    /// Of these providers.
    ///
    /// # Errors
    /// Which setting is at fault.
    pub fn new(settings: Settings, secrets: &Secrets) -> Result<Self, llm::client::Unusable> {
        let Keyed { providers, .. } = settings.keyed(secrets);
        let (mut clients, mut unnamed) = (BTreeMap::new(), None);
        for (name, (config, key)) in providers {
            let name = Some(name.as_str()).filter(|name| !name.is_empty());
            let id = provider_id(name, &config.provider()?);
            if name.is_none() {
                unnamed = Some(id.clone());
            }
            clients.insert(id, llm::kept::Kept::new(config, key)?);
        }
        Ok(Self { clients, unnamed })
    }
}

impl UpstreamResponses for Kept {
    async fn remove(&self, response: &LeftUpstream) -> Result<(), Unavailable> {
        let id = response.provider.as_ref().or(self.unnamed.as_ref());
        let Some(client) = id.and_then(|id| self.clients.get(id)) else {
            return Err(Unavailable {
                what: WHAT,
                source: "this deployment has no such provider, or no key".into(),
            });
        };
        let removed = client.remove(&response.response_id).await;
        removed.map_err(|error| Unavailable { what: WHAT, source: error.into() })
    }
}
