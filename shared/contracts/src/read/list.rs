//! Pages of a list.

use serde::{Deserialize, Serialize};

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ListResponse<T> {
    /// The items, in list order.
    pub items: Vec<T>,
    /// Maximum number of items on a page, as requested or by default.
    pub page_size: u32,
    /// Token for the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub continuation_token: Option<String>,
    /// True if there is a next page.
    pub has_more: bool,
}

impl<T> ListResponse<T> {
    /// Creates a page. `has_more` is true if there is a continuation token.
    #[must_use]
    pub fn new(items: Vec<T>, page_size: u32, continuation_token: Option<String>) -> Self {
        Self { items, page_size, has_more: continuation_token.is_some(), continuation_token }
    }
}
