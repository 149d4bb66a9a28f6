//! Items as they are stored: one file per kind, each with both directions.
//!
//! Every item carries `V`, the schema version it was written with. Attributes that a version does not
//! know survive its writes, since writes name their attributes one by one.

pub(crate) mod checkpoint;
pub(crate) mod detail;
pub(crate) mod session;
#[cfg(test)]
mod tests;
pub(crate) mod turn;

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Serialize, de::DeserializeOwned};

/// An item as the SDK takes it.
pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// The schema version that this code writes.
pub(crate) const VERSION: u32 = 1;

/// An item can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    /// Written by a later version.
    #[error("the item has schema version {0}, this code reads up to {VERSION}")]
    Newer(u32),
    /// Not of the shape it should have.
    #[error("the item is malformed")]
    Malformed(#[source] serde_dynamo::Error),
    /// An attribute that its phase needs is missing.
    #[error("the item lacks {0}")]
    Lacks(&'static str),
}

/// What every item has.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Head {
    #[serde(rename = "PK")]
    pub(crate) pk: String,
    #[serde(rename = "SK")]
    pub(crate) sk: String,
    #[serde(rename = "V")]
    pub(crate) version: u32,
}

impl Head {
    pub(crate) fn of(key: &crate::key::Item<'_>) -> Self {
        Self { pk: key.pk(), sk: key.sk(), version: VERSION }
    }
}

pub(crate) fn encode(item: &impl Serialize) -> Result<Attributes, serde_dynamo::Error> {
    serde_dynamo::to_item(item)
}

/// Decodes an item of a version that this code knows. Older ones are read by their defaults.
pub(crate) fn decode<T: DeserializeOwned>(item: Attributes) -> Result<T, Unreadable> {
    let version = item.get("V").and_then(|value| value.as_n().ok()).and_then(|n| n.parse().ok()).unwrap_or(0);
    if version > VERSION {
        return Err(Unreadable::Newer(version));
    }
    serde_dynamo::from_item(item).map_err(Unreadable::Malformed)
}
