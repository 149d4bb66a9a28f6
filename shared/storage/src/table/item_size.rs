//! Sizes of items.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::item::Attributes;

/// Returns the approximate size of an item, as DynamoDB counts it.
pub(super) fn size_of(item: &Attributes) -> usize {
    item.iter().map(|(name, value)| name.len().saturating_add(size_of_value(value))).sum()
}

fn size_of_value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text.len(),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::L(values) => values.iter().map(|value| size_of_value(value).saturating_add(3)).sum(),
        AttributeValue::M(members) => size_of(members).saturating_add(3),
        _ => 1,
    }
}
