//! Fallbacks: models to call when one is overloaded, unavailable or too small.

use super::limits::MAX_MODEL_NAME_CHARS;
use crate::{
    members::{line, table},
    model::{price::Prices, price_list::list_price, route::Route},
};

table! {
    /// A model to call when the one before it fails.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Fallback as "Fallback" {
        /// A provider of the deployment. Absent: the context's.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub provider: Option<String>,
        /// The provider's model id. Absent: the context's.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub model_name: Option<String> = line(MAX_MODEL_NAME_CHARS),
        /// The model's prices. Absent: the context's, or else its list price.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub prices: Option<Prices>,
    }
}

impl Fallback {
    /// Returns the route of this fallback. Absent members default to `first` and the context.
    pub(super) fn resolve(&self, first: &Route, of_context: Option<&Prices>) -> Route {
        let model = self.model_name.as_ref().unwrap_or(&first.model).clone();
        Route {
            provider: self.provider.as_ref().or(first.provider.as_ref()).cloned(),
            prices: self.prices.as_ref().or(of_context).cloned().or_else(|| list_price(&model)),
            model,
        }
    }
}
