//! The settings of an org, as its operators see them.

use contracts::{id::OrgId, request::OrgSettings};

use crate::flow::entity_tag::entity_tag;

/// Returns the settings as they are stored: without the org's id and the entity tag.
pub(crate) fn to_stored(settings: OrgSettings) -> OrgSettings {
    OrgSettings { org: None, etag: None, ..settings }
}

/// Returns stored settings with the id of their org and their entity tag.
pub(crate) fn from_stored(settings: OrgSettings, org: &OrgId) -> OrgSettings {
    let etag = Some(entity_tag(&settings));
    OrgSettings { org: Some(org.clone()), etag, ..settings }
}
