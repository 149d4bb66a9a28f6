//! Vector stores: named sets of an org's documents.
//!
//! The record of a store has its name alone. A document belongs to the store that its attribute
//! [`key::VECTOR_STORE_ID`] names, which no upload of a user can set, so a search is limited to a store by a condition
//! on that attribute. In every other way its files are documents of the org.

use std::{collections::BTreeMap, fmt, str::FromStr};

use agent::retrieval::key;
use contracts::{
    NonEmpty, Timestamp,
    request::{KnowledgeAttribute, RagCondition, RagOperator, RagValue},
};
use protocol::caller::User;
use serde::{Deserialize, Serialize};

use crate::record::Document;

/// The most vector stores of an org.
pub const MAX_VECTOR_STORES: usize = 100;

/// The most files of a vector store. Its deletion deletes them all.
pub const MAX_STORE_FILES: usize = 100;

/// The start of an id.
const PREFIX: &str = "vs_";

/// The number of hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

/// The id of a vector store in its org.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VectorStoreId(String);

/// A text is no id of a vector store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidId;

impl VectorStoreId {
    /// Creates an id that no store has.
    #[must_use]
    pub fn random() -> Self {
        Self(format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the attribute of the store's documents.
    #[must_use]
    pub fn attribute(&self) -> KnowledgeAttribute {
        let values = NonEmpty::one(RagValue::Text(self.0.clone()));
        KnowledgeAttribute { key: key::VECTOR_STORE_ID.to_owned(), values }
    }

    /// True if a document belongs to the store.
    #[must_use]
    pub fn has(&self, document: &Document) -> bool {
        document.attributes.contains(&self.attribute())
    }
}

impl FromStr for VectorStoreId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let digits = text.strip_prefix(PREFIX).ok_or(InvalidId)?;
        let is_id = digits.len() == ID_DIGITS
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if is_id { Ok(Self(text.to_owned())) } else { Err(InvalidId) }
    }
}

impl fmt::Display for VectorStoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the condition that limits a search to vector stores. `None` without any.
#[must_use]
pub fn condition(stores: &[VectorStoreId]) -> Option<RagCondition> {
    let values = stores.iter().map(|store| RagValue::Text(store.to_string())).collect();
    let values = NonEmpty::new(values).ok()?;
    Some(RagCondition { key: key::VECTOR_STORE_ID.to_owned(), operator: RagOperator::Equals, values })
}

/// A vector store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct VectorStore {
    /// The name, which need not be unique.
    pub name: String,
    /// The metadata.
    pub metadata: BTreeMap<String, String>,
    /// The time of the creation.
    pub created: Timestamp,
    /// The user who created it.
    pub by: User,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_of_the_service_are_ids() {
        let id = VectorStoreId::random();
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        let digits = "0".repeat(32);
        for text in ["", "vs_", "vs_1", &digits, &format!("vs_{}", digits.replace('0', "G"))] {
            assert_eq!(text.parse::<VectorStoreId>(), Err(InvalidId), "{text}");
        }
    }

    #[test]
    fn condition_names_every_store() {
        let stores = [VectorStoreId::random(), VectorStoreId::random()];
        assert_eq!(condition(&stores).map(|condition| condition.values.len()), Some(2));
        assert_eq!(condition(&[]), None);
    }
}
