//! The model providers of a deployment, by name.

use std::collections::BTreeMap;

use protocol::chain::provider_id;

/// The default provider, and the others that contexts may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    /// Id of the default provider in records ([`provider_id`]).
    pub default: String,
    /// Ids of the other providers in records, by name.
    pub named: BTreeMap<String, String>,
}

impl Providers {
    /// Creates the configuration of a deployment with one provider.
    #[must_use]
    pub fn single(id: &str) -> Self {
        Self { default: id.to_owned(), named: BTreeMap::new() }
    }

    /// Returns the id of a provider in records. For a name that the deployment doesn't have, the id has no host.
    #[must_use]
    pub fn id(&self, name: Option<&str>) -> String {
        match name {
            None => self.default.clone(),
            Some(name) => self.named.get(name).cloned().unwrap_or_else(|| provider_id(Some(name), "")),
        }
    }
}
