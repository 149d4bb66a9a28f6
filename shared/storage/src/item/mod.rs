//! Stored items: one module per kind, with both conversions.
//!
//! Every item has `V`, the schema version that it was written with. Updates set attributes one by one, so they
//! preserve attributes that this version doesn't know.

pub(crate) mod approval;
pub(crate) mod checkpoint;
pub(crate) mod detail;
pub(crate) mod document;
pub(crate) mod effect;
pub(crate) mod purge;
pub(crate) mod session;
#[cfg(test)]
mod tests;
pub(crate) mod turn;
pub(crate) mod webhook;

use std::{cell::Cell, collections::HashMap, iter};

use aws_sdk_dynamodb::types;
use protocol::version::UnsupportedVersion;
use serde::{
    Serialize,
    de::{DeserializeOwned, IntoDeserializer, value::MapDeserializer},
};
use serde_dynamo::{AttributeValue, Deserializer};
use turns::ports::Unavailable;

use crate::key;

/// An item in the SDK's representation.
pub(crate) type Attributes = HashMap<String, types::AttributeValue>;

/// The schema version that this code writes.
pub(crate) const VERSION: u32 = 1;

/// An unreadable item. The error never includes its content, which serde's own errors quote (I14).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    /// A later version wrote it.
    #[error("unreadable item")]
    Newer(#[from] UnsupportedVersion),
    /// It has the wrong shape.
    #[error("invalid {kind}: {}", fault(.attribute.as_deref()))]
    Malformed {
        /// The expected type.
        kind: &'static str,
        /// The invalid attribute. `None` if one is missing.
        attribute: Option<String>,
    },
    /// An attribute that the turn's phase requires is missing.
    #[error("missing attribute {0}")]
    Lacks(&'static str),
}

/// True if the table delivered an item that this code can't read, rather than failed.
#[must_use]
pub fn is_unreadable(error: &Unavailable) -> bool {
    error.source.is::<Unreadable>()
}

/// An entity that the table stores as an item.
pub(crate) trait Entity {
    /// The item's attributes, without its key and version.
    type Item: Serialize + for<'a> From<&'a Self>;

    /// The item's key.
    fn key(&self) -> key::Item<'_>;
}

/// Describes the problem with an item, as far as it is known.
fn fault(attribute: Option<&str>) -> String {
    attribute.map_or_else(
        || "an attribute is missing or malformed".to_owned(),
        |name| format!("attribute {name} is malformed"),
    )
}

/// An item that can't be encoded. Always a bug.
#[derive(Debug, thiserror::Error)]
#[error("can't encode the item as {0}")]
pub(crate) struct Unwritable(&'static str);

pub(crate) fn encode<S: Entity>(stored: &S) -> Result<Attributes, Unwritable> {
    encode_item(&stored.key(), &S::Item::from(stored))
}

/// Encodes the attributes of an item with this key.
pub(crate) fn encode_item<T: Serialize>(key: &key::Item<'_>, item: &T) -> Result<Attributes, Unwritable> {
    let mut item: Attributes = serde_dynamo::to_item(item).map_err(|_| Unwritable(type_name::<T>()))?;
    item.insert("PK".to_owned(), types::AttributeValue::S(key.pk()));
    item.insert("SK".to_owned(), types::AttributeValue::S(key.sk()));
    item.insert("V".to_owned(), types::AttributeValue::N(VERSION.to_string()));
    Ok(item)
}

/// Checks that this code can read the item's version.
pub(crate) fn check_version(item: &Attributes) -> Result<(), Unreadable> {
    Ok(UnsupportedVersion::check(version_of(item), VERSION)?)
}

/// Returns the schema version that the item was written with.
pub(crate) fn version_of(item: &Attributes) -> u32 {
    item.get("V").and_then(|value| value.as_n().ok()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Decodes an item. Defaults fill in attributes that older versions lack.
pub(crate) fn decode<T: DeserializeOwned>(item: Attributes) -> Result<T, Unreadable> {
    check_version(&item)?;
    // The attribute being read. `None` before the first and after the last.
    let current = Cell::new(None);
    let (names, values): (Vec<_>, Vec<_>) = item.into_iter().unzip();
    let mut attributes = names.iter().map(String::as_str).zip(values);
    let attributes = iter::from_fn(|| {
        let next = attributes.next();
        current.set(next.as_ref().map(|(name, _)| *name));
        next.map(|(name, value)| (name, Value(value.into())))
    });
    T::deserialize(MapDeserializer::new(attributes)).map_err(|_| Unreadable::Malformed {
        kind: type_name::<T>(),
        attribute: current.get().map(str::to_owned),
    })
}

/// An attribute's value, for serde. Errors must not name anything inside it, because users choose those names.
struct Value(AttributeValue);

impl IntoDeserializer<'_, serde_dynamo::Error> for Value {
    type Deserializer = Deserializer;

    fn into_deserializer(self) -> Deserializer {
        Deserializer::from_attribute_value(self.0)
    }
}

/// Returns a type's name without its path.
fn type_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name)
}
