//! Documents of orgs, which are replaced as a whole under their revision.

use aws_sdk_dynamodb::types::AttributeValue;
use turns::ports::WriteError;

use super::Table;
use crate::{failure, item::Attributes, key::Item};

impl Table {
    /// Replaces a document if its revision is the one before. A document that an older version wrote has none.
    pub(super) async fn replace_document(
        &self,
        item: &Item<'_>,
        revision: u64,
        document: String,
    ) -> Result<(), WriteError> {
        let put = self
            .put_item(item)
            .item("Revision", AttributeValue::N(revision.to_string()))
            .item("Document", AttributeValue::S(document));
        let put = match revision.saturating_sub(1) {
            0 => put.condition_expression("attribute_not_exists(Revision)"),
            before => put
                .condition_expression("Revision = :before")
                .expression_attribute_values(":before", AttributeValue::N(before.to_string())),
        };
        put.send().await.map(|_| ()).map_err(failure::write_error)
    }
}

/// Returns the revision of a document, or 0 without one.
pub(super) fn revision(item: &Attributes) -> u64 {
    let revision = item.get("Revision").and_then(|value| value.as_n().ok());
    revision.and_then(|revision| revision.parse().ok()).unwrap_or_default()
}
