//! The stored record of a session's purge.

use contracts::{Fingerprint, Timestamp};
use protocol::{
    id::SessionKey,
    purge::{ProviderResponses, Purge, PurgeReport, Stage},
};
use serde::{Deserialize, Serialize};

use super::Entity;
use crate::key;

/// The optional attributes.
pub(crate) const OPTIONAL: &[&str] = &[
    "GSI1PK",
    "GSI1SK",
    "Due",
    "StartedAt",
    "FinishedAt",
    "ItemCursor",
    "ObjectCursor",
    "ProviderResponses",
    "Import",
];

/// See [`key::Item::Purge`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PurgeItem {
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none", default)]
    gsi1pk: Option<String>,
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none", default)]
    gsi1sk: Option<String>,
    rev: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    due: Option<Timestamp>,
    stage: Stage,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    finished_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    item_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    object_cursor: Option<String>,
    report: PurgeReport,
    #[serde(skip_serializing_if = "is_empty", default)]
    provider_responses: ProviderResponses,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    import: Option<Fingerprint>,
}

fn is_empty(responses: &ProviderResponses) -> bool {
    *responses == ProviderResponses::default()
}

impl Entity for Purge {
    type Item = PurgeItem;

    fn key(&self) -> key::Item<'_> {
        key::Item::Purge(&self.key)
    }
}

impl From<&Purge> for PurgeItem {
    fn from(purge: &Purge) -> Self {
        Self {
            gsi1pk: purge.due.map(|_| key::purge_index(key::purge_shard(&purge.key))),
            gsi1sk: purge.due.map(|due| key::purge_due(due, &purge.key)),
            rev: purge.rev,
            due: purge.due,
            stage: purge.stage,
            started_at: purge.started_at,
            finished_at: purge.finished_at,
            item_cursor: purge.item_cursor.clone(),
            object_cursor: purge.object_cursor.clone(),
            report: purge.report.clone(),
            provider_responses: purge.provider_responses.clone(),
            import: purge.import,
        }
    }
}

impl PurgeItem {
    pub(crate) fn into_purge(self, key: SessionKey) -> Purge {
        Purge {
            key,
            rev: self.rev,
            due: self.due,
            stage: self.stage,
            started_at: self.started_at,
            finished_at: self.finished_at,
            item_cursor: self.item_cursor,
            object_cursor: self.object_cursor,
            report: self.report,
            provider_responses: self.provider_responses,
            import: self.import,
        }
    }
}
