//! Replacement of an org's documents, each as a whole and under its revision.

use serde::Serialize;

use crate::flow::{admin::context_edits::Precondition, entity_tag::entity_tag};
use crate::{
    ports::{Unavailable, WriteError},
    refusal::Refusal,
};

/// The most times that a change is decided again because the document changed meanwhile.
pub(super) const MAX_TRIES: usize = 8;

/// Returns true if the stored document has to be replaced, and false if it has this content already, so that a repeated
/// request succeeds. `named` is the entity tag in the new document.
///
/// # Errors
/// If the stored document isn't in the required state.
pub(super) fn must_replace<T: PartialEq + Serialize>(
    document: &'static str,
    (stored, new): (&T, &T),
    named: Option<&String>,
    required: &Precondition,
) -> Result<bool, Refusal> {
    if stored == new && *required != Precondition::Absent {
        return Ok(false);
    }
    let tag = entity_tag(stored);
    if required.admits(Some(&tag)) && named.is_none_or(|named| *named == tag) {
        Ok(true)
    } else {
        Err(Refusal::DocumentChanged { document, tag })
    }
}

/// Returns true if a write replaced the document, and false if another writer was faster.
///
/// # Errors
/// If the table can't be reached.
pub(super) fn is_replaced(written: Result<(), WriteError>) -> Result<bool, Refusal> {
    match written {
        Ok(()) => Ok(true),
        Err(WriteError::ConditionFailed | WriteError::Contended) => Ok(false),
        Err(error @ WriteError::Unknown(_)) => {
            Err(Unavailable { what: "the table", source: error.into() }.into())
        }
    }
}
