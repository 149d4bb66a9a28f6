//! A stored document, and a version of one.

use agent::context::Rollout;
use contracts::{Fingerprint, Timestamp, id::UserId};
use protocol::caller::User;
use serde::{Deserialize, Serialize};
use turns::ports::{Authorship, DocumentHead, StoredVersion};

/// The optional attributes of a head.
pub(crate) const OPTIONAL: &[&str] = &[
    "Document",
    "Version",
    "Changed",
    "ChangedBy",
    "ChangedByName",
    "RolloutVersion",
    "RolloutPercent",
    "IsDeleted",
];

/// See [`key::Item::Document`](crate::key::Item::Document) and
/// [`key::Item::ContextVersion`](crate::key::Item::ContextVersion).
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DocumentItem {
    /// The content as JSON. Absent from a deletion.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    document: Option<String>,
    /// Present on the head of a deleted context, for reads that don't need its document.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    is_deleted: bool,
    /// Absent from a head that was written without a version, and from budgets and settings.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    version: Option<u32>,
    /// The number of changes of budgets or settings. Absent if an older version wrote them, and from contexts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    revision: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    changed: Option<Timestamp>,
    /// Absent if the change was made with AWS credentials.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    changed_by: Option<UserId>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    changed_by_name: Option<String>,
    /// Only on heads, and only during a rollout.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rollout_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    rollout_percent: Option<u8>,
    /// Only on versions, as are the next.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    restored_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    content_hash: Option<Fingerprint>,
}

impl From<&DocumentHead> for DocumentItem {
    fn from(head: &DocumentHead) -> Self {
        Self {
            document: head.content.clone(),
            is_deleted: head.content.is_none(),
            version: head.version,
            rollout_version: head.rollout.map(|rollout| rollout.version),
            rollout_percent: head.rollout.map(|rollout| rollout.percent),
            ..Self::changed(head.change.as_ref())
        }
    }
}

impl From<&StoredVersion> for DocumentItem {
    fn from(version: &StoredVersion) -> Self {
        Self {
            document: version.content.clone(),
            version: Some(version.number),
            restored_version: version.restored,
            content_hash: version.hash,
            ..Self::changed(Some(&version.change))
        }
    }
}

impl DocumentItem {
    /// Returns an item with the attributes of a change.
    fn changed(change: Option<&Authorship>) -> Self {
        let by = change.and_then(|change| change.by.as_ref());
        Self {
            changed: change.map(|change| change.at),
            changed_by: by.map(|by| by.id.clone()),
            changed_by_name: by.map(|by| by.name.clone()),
            ..Self::default()
        }
    }

    fn change(&self) -> Option<Authorship> {
        let id = self.changed_by.clone();
        let by = id.map(|id| User {
            name: self.changed_by_name.clone().unwrap_or_else(|| id.as_str().to_owned()),
            id,
        });
        Some(Authorship { at: self.changed?, by })
    }

    pub(crate) fn into_head(self) -> DocumentHead {
        let rollout = self.rollout_version.zip(self.rollout_percent);
        DocumentHead {
            change: self.change(),
            version: self.version.or(self.revision),
            content: self.document,
            rollout: rollout.map(|(version, percent)| Rollout { version, percent }),
        }
    }

    /// Returns the version. `None` if the item is none.
    pub(crate) fn into_version(self) -> Option<StoredVersion> {
        Some(StoredVersion {
            number: self.version?,
            change: self.change()?,
            restored: self.restored_version,
            hash: self.content_hash,
            content: self.document,
        })
    }
}

#[cfg(test)]
mod tests {
    use agent::context::ContextKind;

    use super::*;
    use crate::item::{decode, encode_item};
    use crate::key::Item;

    #[test]
    fn head_and_version_round_trip() {
        let (org, id) = ("acme".parse().unwrap(), ContextKind::Agent.id("a").unwrap());
        let document = id.clone().into();
        let by = Some(User { id: UserId::new("ada").unwrap(), name: "Ada".to_owned() });
        let change = Authorship { at: Timestamp::from_millis(1), by };
        for content in [Some("{}".to_owned()), None] {
            let head = DocumentHead {
                content: content.clone(),
                version: Some(3),
                change: Some(change.clone()),
                rollout: content.as_ref().map(|_| Rollout { version: 2, percent: 10 }),
            };
            let item = encode_item(&Item::Document(&org, &document), &DocumentItem::from(&head)).unwrap();
            assert_eq!(item.contains_key("IsDeleted"), content.is_none());
            assert_eq!(decode::<DocumentItem>(item).unwrap().into_head(), head);
            let version = StoredVersion {
                number: 3,
                change: change.clone(),
                restored: Some(1),
                hash: content.as_ref().map(|content| Fingerprint::hash_bytes(content.as_bytes())),
                content,
            };
            let item =
                encode_item(&Item::ContextVersion(&org, &id, 3), &DocumentItem::from(&version)).unwrap();
            assert_eq!(decode::<DocumentItem>(item).unwrap().into_version(), Some(version));
        }
    }
}
