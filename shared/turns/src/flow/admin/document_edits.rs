//! Replacement of an org's documents, each as a whole and under its revision.

use serde::Serialize;

use crate::flow::{admin::context_edits::Precondition, entity_tag::entity_tag};
use crate::refusal::Refusal;

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
        Err(Refusal::document_changed(document, &tag))
    }
}
