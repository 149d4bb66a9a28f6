//! A list with at least one item, for members that the contract defines as "one or more".

use std::{ops::Deref, slice, vec};

use serde::{Deserialize, Serialize, Serializer};

/// One or more items, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "Vec<T>")]
pub struct NonEmpty<T>(Vec<T>);

/// The list has no items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must hold at least one item")]
pub struct Empty;

impl<T> NonEmpty<T> {
    /// Wraps a list.
    ///
    /// # Errors
    /// If the list is empty.
    pub fn new(items: Vec<T>) -> Result<Self, Empty> {
        if items.is_empty() { Err(Empty) } else { Ok(Self(items)) }
    }

    /// Creates a list of one item.
    pub fn one(item: T) -> Self {
        Self(vec![item])
    }

    /// The items.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// The items.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T> Deref for NonEmpty<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> TryFrom<Vec<T>> for NonEmpty<T> {
    type Error = Empty;
    fn try_from(items: Vec<T>) -> Result<Self, Empty> {
        Self::new(items)
    }
}

impl<T> From<NonEmpty<T>> for Vec<T> {
    fn from(items: NonEmpty<T>) -> Self {
        items.0
    }
}

impl<T> IntoIterator for NonEmpty<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a NonEmpty<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Serialize> Serialize for NonEmpty<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
