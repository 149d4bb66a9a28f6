//! The record of a session's purge.

use contracts::Timestamp;
use protocol::{
    id::SessionKey,
    purge::{Found, Purge, Stage, Upstream},
};
use serde::{Deserialize, Serialize};

use super::Stored;
use crate::key;

/// Attributes that come and go.
pub(crate) const OPTIONAL: &[&str] =
    &["GSI1PK", "GSI1SK", "Due", "Began", "Done", "ItemsTo", "ObjectsTo", "Upstream"];

/// (PU) in the catalogue.
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
    began: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    done: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    items_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    objects_to: Option<String>,
    found: Found,
    #[serde(skip_serializing_if = "is_empty", default)]
    upstream: Upstream,
}

fn is_empty(upstream: &Upstream) -> bool {
    *upstream == Upstream::default()
}

impl Stored for Purge {
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
            began: purge.began,
            done: purge.done,
            items_to: purge.items_to.clone(),
            objects_to: purge.objects_to.clone(),
            found: purge.found.clone(),
            upstream: purge.upstream.clone(),
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
            began: self.began,
            done: self.done,
            items_to: self.items_to,
            objects_to: self.objects_to,
            found: self.found,
            upstream: self.upstream,
        }
    }
}
