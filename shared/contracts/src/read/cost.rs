//! What tokens cost.

use serde::{Deserialize, Serialize};

/// An amount of money, where the conversation context has prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct Cost {
    /// A decimal number with at most six decimals, exact, for example `0.001875`.
    pub amount: String,
    /// The currency's ISO 4217 code.
    pub currency: String,
}
