//! Items as they are stored: one file per kind, each with both directions.
//!
//! Every item carries `V`, the schema version it was written with. Attributes that a version does not
//! know survive its writes, since writes name their attributes one by one.

pub(crate) mod checkpoint;
pub(crate) mod detail;
pub(crate) mod purge;
pub(crate) mod session;
#[cfg(test)]
mod tests;
pub(crate) mod turn;

use std::{cell::Cell, collections::HashMap, iter};

use aws_sdk_dynamodb::types;
use protocol::version::Newer;
use serde::{
    Serialize,
    de::{DeserializeOwned, IntoDeserializer, value::MapDeserializer},
};
use serde_dynamo::{AttributeValue, Deserializer};

use crate::key;

/// An item as the SDK takes it.
pub(crate) type Attributes = HashMap<String, types::AttributeValue>;

/// The schema version that this code writes.
pub(crate) const VERSION: u32 = 1;

/// An item can't be read. Nothing of what it holds is said: serde's own errors quote it (I14).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    /// Written by a later version.
    #[error("the item can't be read")]
    Newer(#[from] Newer),
    /// Not of the shape it should have.
    #[error("the item is no {kind}: {}", fault(.attribute.as_deref()))]
    Malformed {
        /// What it was read as.
        kind: &'static str,
        /// The attribute that is wrong; none where one is missing.
        attribute: Option<String>,
    },
    /// An attribute that its phase needs is missing.
    #[error("the item lacks {0}")]
    Lacks(&'static str),
}

/// What is kept as an item.
pub(crate) trait Stored {
    /// The item's attributes, but for its key and its version.
    type Item: Serialize + for<'a> From<&'a Self>;

    /// Where it lies.
    fn key(&self) -> key::Item<'_>;
}

/// What is wrong with an item, as far as it can be told.
fn fault(attribute: Option<&str>) -> String {
    attribute.map_or_else(
        || "an attribute is missing or malformed".to_owned(),
        |name| format!("its attribute {name} is malformed"),
    )
}

/// An item can't be written: a fault of this code, whatever it holds.
#[derive(Debug, thiserror::Error)]
#[error("the item can't be encoded as a {0}")]
pub(crate) struct Unwritable(&'static str);

pub(crate) fn encode<S: Stored>(stored: &S) -> Result<Attributes, Unwritable> {
    encode_as(stored, &S::Item::from(stored))
}

/// The same where what it is kept as is not what it usually is.
pub(crate) fn encode_as<S: Stored>(stored: &S, item: &S::Item) -> Result<Attributes, Unwritable> {
    let mut item: Attributes = serde_dynamo::to_item(item).map_err(|_| Unwritable(kind_of::<S::Item>()))?;
    let key = stored.key();
    item.insert("PK".to_owned(), types::AttributeValue::S(key.pk()));
    item.insert("SK".to_owned(), types::AttributeValue::S(key.sk()));
    item.insert("V".to_owned(), types::AttributeValue::N(VERSION.to_string()));
    Ok(item)
}

/// Holds an item to the versions that this code knows.
pub(crate) fn known_version(item: &Attributes) -> Result<(), Unreadable> {
    let version = item.get("V").and_then(|value| value.as_n().ok()).and_then(|n| n.parse().ok()).unwrap_or(0);
    Ok(Newer::check(version, VERSION)?)
}

/// Decodes an item of a version that this code knows. Older ones are read by their defaults.
pub(crate) fn decode<T: DeserializeOwned>(item: Attributes) -> Result<T, Unreadable> {
    known_version(&item)?;
    // The attribute that is being read; none before the first and after the last.
    let current = Cell::new(None);
    let (names, values): (Vec<_>, Vec<_>) = item.into_iter().unzip();
    let mut attributes = names.iter().map(String::as_str).zip(values);
    let attributes = iter::from_fn(|| {
        let next = attributes.next();
        current.set(next.as_ref().map(|(name, _)| *name));
        next.map(|(name, value)| (name, Value(value.into())))
    });
    T::deserialize(MapDeserializer::new(attributes)).map_err(|_| Unreadable::Malformed {
        kind: kind_of::<T>(),
        attribute: current.get().map(str::to_owned),
    })
}

/// An attribute's value, for serde. What is below it may be named by whoever wrote it.
struct Value(AttributeValue);

impl IntoDeserializer<'_, serde_dynamo::Error> for Value {
    type Deserializer = Deserializer;

    fn into_deserializer(self) -> Deserializer {
        Deserializer::from_attribute_value(self.0)
    }
}

/// The name of an item's type, without the way to it.
fn kind_of<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name)
}
