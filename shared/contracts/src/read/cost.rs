//! Cost of tokens.

use serde::{Deserialize, Serialize};

/// An amount of money. Present if the model has a price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Cost {
    /// The exact amount, a decimal number with at most six decimals, for example `0.001875`.
    pub amount: String,
    /// ISO 4217 code of the currency.
    pub currency: String,
}
