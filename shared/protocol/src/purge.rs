//! The purge of a session: its progress and its report (rule 12).

use std::collections::BTreeMap;

use contracts::{Fingerprint, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{id::SessionKey, payload::Payload, session::Session};

/// The number of bits for a record's own revisions. The number of purge steps is bounded by the amount of data to
/// remove.
const RECORD_BITS: u32 = 24;

/// The maximum number of provider responses that a record holds until they are removed. A full record stops the purge
/// from listing more objects.
pub const MAX_PROVIDER_RESPONSES: usize = 200;

/// The number of responses whose removal is requested in one step.
const PROVIDER_BATCH: usize = 16;

/// The maximum number of attempts to remove a response at its provider.
const MAX_PROVIDER_ROUNDS: u32 = 12;

/// The maximum number of attempts to delete a session from the session index.
const MAX_INDEX_ATTEMPTS: u32 = 12;

/// The maximum number of unremoved responses that the report lists. Further ones are only counted.
const MAX_LISTED_RESPONSES: usize = 100;

/// The record of a session's purge. Written when the session is deleted, and kept after everything else is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Purge {
    /// The session.
    pub key: SessionKey,
    /// The revision, which every write of the record increments and requires.
    pub rev: u64,
    /// The time at which the sweep should act on it, or `None` if nothing is left to do.
    pub due: Option<Timestamp>,
    /// The current stage.
    pub stage: Stage,
    /// The start time, or `None` while the session is retained.
    pub started_at: Option<Timestamp>,
    /// The end time.
    pub finished_at: Option<Timestamp>,
    /// The sort key of the last item that this stage counted.
    pub item_cursor: Option<String>,
    /// The sort key of the last object version that this stage counted.
    pub object_cursor: Option<String>,
    /// The report so far.
    pub report: PurgeReport,
    /// Responses that are stored at providers.
    pub provider_responses: ProviderResponses,
    /// The document that an import restores or restored, as a hash.
    pub import: Option<Fingerprint>,
}

/// Responses that must still be removed at their providers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ProviderResponses {
    /// The responses to remove in this round.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<ProviderResponseRef>,
    /// The responses that this round failed to remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remaining: Vec<ProviderResponseRef>,
    /// The number of rounds that left responses.
    #[serde(skip_serializing_if = "is_zero")]
    pub rounds: u32,
}

/// A reference to a response that is stored at a model provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ProviderResponseRef {
    /// The provider, see [`crate::chain::provider_id`]. Absent for responses from before providers were recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's id of the response.
    pub response_id: String,
}

/// The stage of a purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The session is deleted and its retention runs.
    Waiting,
    /// All data is being removed.
    Removing,
    /// Data that functions wrote which were still running at the start is being removed.
    Rechecking,
    /// All data is removed.
    Done,
}

/// The report of a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PurgeReport {
    /// The number of table items, by kind.
    pub items: BTreeMap<String, u64>,
    /// The number of object versions, by kind.
    pub objects: BTreeMap<String, u64>,
    /// Their total size in bytes.
    pub bytes: u64,
    /// A hash chain over the keys of all entries. With the list of keys, anyone can verify that these were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Fingerprint>,
    /// The number of responses that providers removed or no longer had.
    #[serde(skip_serializing_if = "is_zero")]
    pub provider_responses_removed: u64,
    /// The number of responses that providers did not remove.
    #[serde(skip_serializing_if = "is_zero")]
    pub provider_responses_remaining: u64,
    /// The first of those responses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remaining_responses: Vec<ProviderResponseRef>,
    /// The session's removal from the session index. Absent without an index and before the first attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_removal: Option<IndexRemoval>,
}

/// The state of a session's removal from the session index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct IndexRemoval {
    /// True if the session is removed from the index.
    pub removed: bool,
    /// The number of failed attempts.
    #[serde(skip_serializing_if = "is_zero")]
    pub attempts: u32,
}

/// The outcome of deleting a session from the session index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The deployment has no index.
    NoIndex,
    /// The session is not in the index.
    Deleted,
    /// The session may still be in the index.
    Retained,
}

fn is_zero<N: Default + PartialEq>(count: &N) -> bool {
    *count == N::default()
}

/// An item or an object version that a purge removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgeEntry {
    /// Its position in the listing: an item's sort key, or an object's key with its version.
    pub sort_key: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its size in bytes, if known, else 0.
    pub bytes: u64,
    /// The payload that it is a version of.
    pub payload: Option<Payload>,
}

impl PurgeReport {
    /// Adds an entry to the report.
    fn add(&mut self, entry: &PurgeEntry, is_item: bool) {
        let kinds = if is_item { &mut self.items } else { &mut self.objects };
        *kinds.entry(entry.kind.to_owned()).or_default() += 1;
        self.bytes = self.bytes.saturating_add(entry.bytes);
        let before = self.manifest.map(|hash| hash.to_string()).unwrap_or_default();
        self.manifest = Some(Fingerprint::hash_bytes(format!("{before}\n{}", entry.sort_key).as_bytes()));
    }
}

impl Purge {
    /// Creates the record of a session that is retained until `retained_until`. Its revisions start above those of
    /// any record of an earlier deletion.
    #[must_use]
    pub fn scheduled(session: &Session, retained_until: Timestamp) -> Self {
        Self {
            key: session.key.clone(),
            rev: session.rev << RECORD_BITS,
            due: Some(retained_until),
            stage: Stage::Waiting,
            started_at: None,
            finished_at: None,
            item_cursor: None,
            object_cursor: None,
            report: PurgeReport::default(),
            provider_responses: ProviderResponses::default(),
            import: None,
        }
    }

    /// True if a session with this revision was written together with the record, or after it. Otherwise the session
    /// was read before the record's last transaction.
    #[must_use]
    pub fn is_as_old_as(&self, session_rev: u64) -> bool {
        self.rev >> RECORD_BITS <= session_rev
    }

    /// Returns the record after counting these items. Items are not counted again if an earlier removal of them was
    /// interrupted.
    #[must_use]
    pub fn with_items(&self, items: &[PurgeEntry]) -> Self {
        let mut after = self.clone();
        let cursor = after.item_cursor.clone();
        for entry in
            items.iter().filter(|entry| cursor.as_ref().is_none_or(|cursor| entry.sort_key > *cursor))
        {
            after.report.add(entry, true);
            after.item_cursor = Some(entry.sort_key.clone());
        }
        after
    }

    /// Returns the object versions that are not counted yet.
    pub fn uncounted<'a>(&self, objects: &'a [PurgeEntry]) -> impl Iterator<Item = &'a PurgeEntry> {
        let cursor = self.object_cursor.clone();
        objects.iter().filter(move |entry| cursor.as_ref().is_none_or(|cursor| entry.sort_key > *cursor))
    }

    /// Returns the record after counting these object versions and adding the provider responses that they refer to.
    #[must_use]
    pub fn with_objects(
        &self,
        objects: &[PurgeEntry],
        responses: impl IntoIterator<Item = ProviderResponseRef>,
    ) -> Self {
        let mut after = self.clone();
        for entry in self.uncounted(objects) {
            after.report.add(entry, false);
            after.object_cursor = Some(entry.sort_key.clone());
        }
        after.provider_responses.pending.extend(responses);
        after.provider_responses.pending.sort();
        after.provider_responses.pending.dedup();
        after
    }

    /// True if provider responses must be removed before more objects are listed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.provider_responses.pending.len().saturating_add(self.provider_responses.remaining.len())
            >= MAX_PROVIDER_RESPONSES
    }

    /// Returns the record after an attempt to delete the session from the index. The flag is true if another attempt
    /// is due.
    #[must_use]
    pub fn with_index_outcome(&self, outcome: DeleteOutcome) -> (Self, bool) {
        let mut after = self.clone();
        let attempts = after.report.index_removal.map_or(0, |index| index.attempts);
        match outcome {
            DeleteOutcome::NoIndex => return (after, false),
            DeleteOutcome::Deleted => {
                after.report.index_removal = Some(IndexRemoval { removed: true, attempts: 0 })
            }
            DeleteOutcome::Retained => {
                let attempts = attempts.saturating_add(1);
                after.report.index_removal = Some(IndexRemoval { removed: false, attempts });
                return (after, attempts < MAX_INDEX_ATTEMPTS);
            }
        }
        (after, false)
    }

    /// True if provider responses are left to remove.
    #[must_use]
    pub fn has_provider_responses(&self) -> bool {
        !self.provider_responses.pending.is_empty() || !self.provider_responses.remaining.is_empty()
    }

    /// Returns the responses to remove in this step.
    #[must_use]
    pub fn provider_batch(&self) -> &[ProviderResponseRef] {
        let end = self.provider_responses.pending.len().min(PROVIDER_BATCH);
        self.provider_responses.pending.get(..end).unwrap_or_default()
    }

    /// Returns the record after a step that left `remaining` of its batch. At the end of a round that left any, the
    /// record is due again at `later`. After the last round, the report lists them.
    #[must_use]
    pub fn with_batch_result(&self, remaining: Vec<ProviderResponseRef>, later: Timestamp) -> Self {
        let attempted = self.provider_batch().len();
        let removed = attempted.saturating_sub(remaining.len()) as u64;
        let mut after = self.clone();
        after.report.provider_responses_removed =
            after.report.provider_responses_removed.saturating_add(removed);
        after.provider_responses.pending.drain(..attempted);
        after.provider_responses.remaining.extend(remaining);
        if !after.provider_responses.pending.is_empty() || after.provider_responses.remaining.is_empty() {
            return after;
        }
        let ProviderResponses { remaining, rounds, .. } = std::mem::take(&mut after.provider_responses);
        let rounds = rounds.saturating_add(1);
        if rounds < MAX_PROVIDER_ROUNDS {
            after.provider_responses =
                ProviderResponses { pending: remaining, remaining: Vec::new(), rounds };
            after.due = Some(later);
        } else {
            after.report.provider_responses_remaining =
                after.report.provider_responses_remaining.saturating_add(remaining.len() as u64);
            let free_slots = MAX_LISTED_RESPONSES.saturating_sub(after.report.remaining_responses.len());
            after.report.remaining_responses.extend(remaining.into_iter().take(free_slots));
        }
        after
    }
}
