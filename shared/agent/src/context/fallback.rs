//! Fallbacks: who is asked in the place of a model that is overloaded, out, or too small.

use serde::{Deserialize, Serialize};

use super::Prices;

/// A model in a context's `Fallbacks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Fallback {
    /// A provider of the deployment; absent: the context's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's model id; absent: the context's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_name: Option<String>,
    /// What its tokens cost; absent: what the context says.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prices: Option<Prices>,
}

/// Which model of which provider is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Route {
    /// The provider's name; none: the deployment's default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's model id.
    pub model: String,
    /// What its tokens cost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prices: Option<Prices>,
}

impl Fallback {
    /// Who is asked where `first` has no answer.
    pub(super) fn after(&self, first: &Route) -> Route {
        Route {
            provider: self.provider.as_ref().or(first.provider.as_ref()).cloned(),
            model: self.model_name.as_ref().unwrap_or(&first.model).clone(),
            prices: self.prices.as_ref().or(first.prices.as_ref()).cloned(),
        }
    }
}
