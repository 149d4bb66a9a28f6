//! The model providers of a deployment, by their names.

use std::collections::BTreeMap;

use protocol::chain::provider_id;

/// The providers that contexts may name, and the one of those that name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    /// What the default is in records ([`provider_id`]).
    pub default: String,
    /// What each of the others is, by its name.
    pub named: BTreeMap<String, String>,
}

impl Providers {
    /// A deployment's only provider.
    #[must_use]
    pub fn one(id: &str) -> Self {
        Self { default: id.to_owned(), named: BTreeMap::new() }
    }

    /// What the provider of this name is in records; one that the deployment lacks has no host.
    #[must_use]
    pub fn id(&self, name: Option<&str>) -> String {
        match name {
            None => self.default.clone(),
            Some(name) => self.named.get(name).cloned().unwrap_or_else(|| provider_id(Some(name), "")),
        }
    }
}
