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
const MAX_INDEX_ROUNDS: u32 = 12;

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
    pub rounds: u32,
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
    fn add(&mut self, piece: &PurgeEntry, is_item: bool) {
        let kinds = if is_item { &mut self.items } else { &mut self.objects };
        *kinds.entry(piece.kind.to_owned()).or_default() += 1;
        self.bytes = self.bytes.saturating_add(piece.bytes);
        let before = self.manifest.map(|hash| hash.to_string()).unwrap_or_default();
        self.manifest = Some(Fingerprint::hash_bytes(format!("{before}\n{}", piece.sort_key).as_bytes()));
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
        }
    }

    /// Returns the record after counting these items. Items are not counted again if an earlier removal of them was
    /// interrupted.
    #[must_use]
    pub fn with_items(&self, items: &[PurgeEntry]) -> Self {
        let mut after = self.clone();
        let to = after.item_cursor.clone();
        for piece in items.iter().filter(|piece| to.as_ref().is_none_or(|to| piece.sort_key > *to)) {
            after.report.add(piece, true);
            after.item_cursor = Some(piece.sort_key.clone());
        }
        after
    }

    /// Returns the object versions that are not counted yet.
    pub fn uncounted<'a>(&self, objects: &'a [PurgeEntry]) -> impl Iterator<Item = &'a PurgeEntry> {
        let to = self.object_cursor.clone();
        objects.iter().filter(move |piece| to.as_ref().is_none_or(|to| piece.sort_key > *to))
    }

    /// Returns the record after counting these object versions and adding the provider responses that they refer to.
    #[must_use]
    pub fn with_objects(
        &self,
        objects: &[PurgeEntry],
        upstream: impl IntoIterator<Item = ProviderResponseRef>,
    ) -> Self {
        let mut after = self.clone();
        for piece in self.uncounted(objects) {
            after.report.add(piece, false);
            after.object_cursor = Some(piece.sort_key.clone());
        }
        after.provider_responses.pending.extend(upstream);
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
    pub fn with_index_outcome(&self, forgot: DeleteOutcome) -> (Self, bool) {
        let mut after = self.clone();
        let rounds = after.report.index_removal.map_or(0, |index| index.rounds);
        match forgot {
            DeleteOutcome::NoIndex => return (after, false),
            DeleteOutcome::Deleted => {
                after.report.index_removal = Some(IndexRemoval { removed: true, rounds: 0 })
            }
            DeleteOutcome::Retained => {
                let rounds = rounds.saturating_add(1);
                after.report.index_removal = Some(IndexRemoval { removed: false, rounds });
                return (after, rounds < MAX_INDEX_ROUNDS);
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
        let step = self.provider_responses.pending.len().min(PROVIDER_BATCH);
        self.provider_responses.pending.get(..step).unwrap_or_default()
    }

    /// Returns the record after a step that left `remaining` of its batch. At the end of a round that left any, the
    /// record is due again at `later`. After the last round, the report lists them.
    #[must_use]
    pub fn with_batch_result(&self, still: Vec<ProviderResponseRef>, later: Timestamp) -> Self {
        let asked = self.provider_batch().len();
        let removed = asked.saturating_sub(still.len()) as u64;
        let mut after = self.clone();
        after.report.provider_responses_removed =
            after.report.provider_responses_removed.saturating_add(removed);
        after.provider_responses.pending.drain(..asked);
        after.provider_responses.remaining.extend(still);
        if !after.provider_responses.pending.is_empty() || after.provider_responses.remaining.is_empty() {
            return after;
        }
        let ProviderResponses { remaining: still, rounds, .. } =
            std::mem::take(&mut after.provider_responses);
        let rounds = rounds.saturating_add(1);
        if rounds < MAX_PROVIDER_ROUNDS {
            after.provider_responses = ProviderResponses { pending: still, remaining: Vec::new(), rounds };
            after.due = Some(later);
        } else {
            after.report.provider_responses_remaining =
                after.report.provider_responses_remaining.saturating_add(still.len() as u64);
            let room = MAX_LISTED_RESPONSES.saturating_sub(after.report.remaining_responses.len());
            after.report.remaining_responses.extend(still.into_iter().take(room));
        }
        after
    }
}
