//! Routes: models and their providers.

use serde::{Deserialize, Serialize};

use crate::model::price::Prices;

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
