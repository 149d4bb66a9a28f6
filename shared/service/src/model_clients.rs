//! Clients of the model providers.

use std::collections::BTreeMap;

use agent::model::providers::Providers;
use llm::client::ConfigError;
use protocol::chain::provider_id;

use crate::providers::{CachedKey, ResolvedProviders};

/// The model behind all providers of a deployment.
pub(crate) type ModelClients = llm::Providers<CachedKey>;

/// Creates a client of each provider, and maps provider names to provider ids.
pub(crate) fn connect(resolved: ResolvedProviders) -> Result<(Providers, ModelClients), ConfigError> {
    let ResolvedProviders { providers, default } = resolved;
    let (mut ids, mut wires, mut clients) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let searches_web = providers.values().any(|(config, _)| config.searches_web());
    for (name, (config, key)) in providers {
        let host = config.provider_host()?;
        let id = provider_id(Some(name.as_str()).filter(|name| !name.is_empty()), &host);
        wires.insert(id.clone(), config.wire);
        ids.insert(name.clone(), id);
        clients.insert(name, llm::Client::new(config, key)?);
    }
    let default_id = ids.get(&default).cloned().unwrap_or_default();
    let ids = Providers { default: default_id, named: ids, wires, searches_web };
    Ok((ids, llm::Providers { clients, default }))
}
