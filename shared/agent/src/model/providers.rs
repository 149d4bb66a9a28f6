//! The model providers of a deployment, by name.

use std::collections::BTreeMap;

use protocol::chain::{ConversationStatePolicy, NAME_SEPARATOR, provider_id};
use serde::Deserialize;

use crate::model::Wire;

/// A provider that contexts may name, as the deployment declares it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeclaredProvider {
    /// The name.
    pub name: String,
    /// The wire.
    #[serde(default)]
    pub wire: Wire,
}

/// The default provider, and the others that contexts may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Providers {
    /// Id of the default provider in records ([`provider_id`]).
    pub default: String,
    /// Ids of the other providers in records, by name.
    pub named: BTreeMap<String, String>,
    /// Wires by id. A provider that is missing here has the default wire.
    pub wires: BTreeMap<String, Wire>,
    /// True if a provider searches the web for clients that bring the tool.
    pub searches_web: bool,
}

impl Providers {
    /// Creates the configuration of a deployment with one provider.
    #[must_use]
    pub fn single(id: &str) -> Self {
        Self { default: id.to_owned(), named: BTreeMap::new(), wires: BTreeMap::new(), searches_web: false }
    }

    /// Returns the id of a provider in records. For a name that the deployment doesn't have, the id has no host.
    #[must_use]
    pub fn id(&self, name: Option<&str>) -> String {
        match name {
            None => self.default.clone(),
            Some(name) => self.named.get(name).cloned().unwrap_or_else(|| provider_id(Some(name), "")),
        }
    }

    /// Returns the declared name of a provider, or its host if the declaration has no name.
    #[must_use]
    pub fn display_name(&self, name: Option<&str>) -> String {
        let id = self.id(name);
        id.split_once(NAME_SEPARATOR).map_or(id.as_str(), |(name, _)| name).to_owned()
    }

    /// Returns the wire of the provider with this id.
    #[must_use]
    pub fn wire(&self, id: &str) -> Wire {
        self.wires.get(id).copied().unwrap_or_default()
    }

    /// Returns the providers that contexts may name.
    pub fn declared(&self) -> impl Iterator<Item = DeclaredProvider> {
        let named = self.named.iter().filter(|(name, _)| !name.is_empty());
        named.map(|(name, id)| DeclaredProvider { name: name.clone(), wire: self.wire(id) })
    }

    /// Returns the policy on conversation state for the provider with this id: a context's own, unless the provider's wire
    /// can't continue from a response. Then the history is always kept here.
    #[must_use]
    pub fn state_policy(&self, id: &str, policy: ConversationStatePolicy) -> ConversationStatePolicy {
        match self.wire(id).continues_responses() {
            true => policy,
            false => ConversationStatePolicy::Local,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_without_response_ids_keeps_history_local() {
        let wires = [("claude@h".to_owned(), Wire::AnthropicMessages)].into();
        let providers = Providers { wires, ..Providers::single("h") };
        let policy = ConversationStatePolicy::Provider;
        assert_eq!(providers.state_policy("claude@h", policy), ConversationStatePolicy::Local);
        assert_eq!(providers.state_policy("h", policy), policy);
    }
}
