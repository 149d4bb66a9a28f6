//! Fallbacks: models to call when one is overloaded, unavailable or too small.

use serde::{Deserialize, Serialize};

use super::Prices;

/// A model in a context's `Fallbacks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Fallback {
    /// A provider of the deployment. Absent: the context's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's model id. Absent: the context's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model_name: Option<String>,
    /// The model's prices. Absent: the context's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prices: Option<Prices>,
}

/// A provider and model to call, with the model's prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Route {
    /// The provider's name. None: the deployment's default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's model id.
    pub model: String,
    /// The model's prices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prices: Option<Prices>,
}

impl Fallback {
    /// Returns the route of this fallback from `first`, which supplies the members that it leaves out.
    pub(super) fn resolve(&self, first: &Route) -> Route {
        Route {
            provider: self.provider.as_ref().or(first.provider.as_ref()).cloned(),
            model: self.model_name.as_ref().unwrap_or(&first.model).clone(),
            prices: self.prices.as_ref().or(first.prices.as_ref()).cloned(),
        }
    }
}
