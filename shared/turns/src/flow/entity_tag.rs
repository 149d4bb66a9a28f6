//! Entity tags of an org's documents.

use contracts::{Fingerprint, request::Budgets};
use serde::Serialize;

/// Returns the entity tag of a stored document: the hash of its content.
pub(crate) fn entity_tag(document: &impl Serialize) -> String {
    // Strings, numbers and lists always serialize.
    Fingerprint::hash_bytes(&serde_json::to_vec(document).unwrap_or_default()).to_string()
}

/// Returns stored budgets with their entity tag.
pub(crate) fn with_entity_tag(mut budgets: Budgets) -> Budgets {
    budgets.etag = Some(entity_tag(&budgets));
    budgets
}
