//! Pages of a list.

use serde::{Deserialize, Serialize};

/// One page of a list (DD-003).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub struct ListResponse<T> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    /// The most items a page has, as it was asked for or by default.
    pub page_size: u32,
    /// What to ask for the next page with; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub continuation_token: Option<String>,
    /// Whether there is a next page.
    pub has_more: bool,
}

impl<T> ListResponse<T> {
    /// A page; there are more exactly when there is a token to ask for them with.
    #[must_use]
    pub fn new(items: Vec<T>, page_size: u32, continuation_token: Option<String>) -> Self {
        Self { items, page_size, has_more: continuation_token.is_some(), continuation_token }
    }
}
