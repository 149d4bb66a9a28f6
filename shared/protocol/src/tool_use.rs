//! The use of tools of connections.

use serde::{Deserialize, Serialize};

use crate::cost::Cost;

/// The calls of a tool that its target got, or may have got.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ToolUse {
    /// Their number.
    pub calls: u32,
    /// The price of those that were performed, or may have been. `None` without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}
