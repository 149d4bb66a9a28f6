//! The settings of an org, as its operators see them.

use contracts::{Fingerprint, id::OrgId, request::OrgSettings};

/// Returns the settings as they are stored: without the org's id and the entity tag.
pub(crate) fn to_stored(settings: OrgSettings) -> OrgSettings {
    OrgSettings { org: None, etag: None, ..settings }
}

/// Returns stored settings with the id of their org and their entity tag.
pub(crate) fn from_stored(settings: OrgSettings, org: &OrgId) -> OrgSettings {
    let etag = Some(entity_tag(&settings));
    OrgSettings { org: Some(org.clone()), etag, ..settings }
}

/// Returns the entity tag of stored settings: the hash of their content.
pub(crate) fn entity_tag(settings: &OrgSettings) -> String {
    // Strings, numbers and lists always serialize.
    Fingerprint::hash_bytes(&serde_json::to_vec(settings).unwrap_or_default()).to_string()
}
