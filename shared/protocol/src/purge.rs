//! The purge of a session: how far it has come, and what it found (rule 12).

use std::collections::BTreeMap;

use contracts::{Fingerprint, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{id::SessionKey, payload::Payload, session::Session};

/// How often a record can be written: its steps are bounded by what there is to remove.
const RECORD_BITS: u32 = 24;

/// How many responses at providers a record holds at most until they are removed there. While it holds so many no more
/// objects are looked at.
pub const MOST_UPSTREAM: usize = 200;

/// How many of them are asked for in one step.
const UPSTREAM_STEP: usize = 16;

/// How often a response is asked for that its provider does not remove.
const UPSTREAM_ROUNDS: u32 = 12;

/// How often the index of sessions is asked to forget a session that it does not forget.
const INDEX_ROUNDS: u32 = 12;

/// How many responses that a provider did not remove are named; more are counted.
const MOST_NAMED: usize = 100;

/// The record of a session's purge: written when the session is deleted, kept when everything else is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Purge {
    /// Which session.
    pub key: SessionKey,
    /// Raised by every write of the record; its condition.
    pub rev: u64,
    /// When the sweep should look at it; none when there is nothing left to do.
    pub due: Option<Timestamp>,
    /// How far it has come.
    pub stage: Stage,
    /// When it began; none while it waits.
    pub began: Option<Timestamp>,
    /// When it was done.
    pub done: Option<Timestamp>,
    /// The last item that this stage has counted, in the order of their keys.
    pub items_to: Option<String>,
    /// The last object that this stage has counted.
    pub objects_to: Option<String>,
    /// What it found so far.
    pub found: Found,
    /// Responses that providers keep.
    pub upstream: Upstream,
}

/// Responses that are still to be removed at their providers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Upstream {
    /// Those that are asked for next.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<LeftUpstream>,
    /// Those that were asked for in this round, and are there still.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub still: Vec<LeftUpstream>,
    /// How many rounds there were that left any.
    #[serde(skip_serializing_if = "is_none")]
    pub rounds: u32,
}

/// A response that a model's provider keeps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct LeftUpstream {
    /// The provider, see [`crate::chain::provider_id`]; none of a response from before providers were told apart.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub provider: Option<String>,
    /// The provider's id of it.
    pub response_id: String,
}

/// How far a purge has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The session is deleted and kept.
    Waits,
    /// Everything is being removed.
    Removing,
    /// What functions wrote that were still at work is to be removed.
    Again,
    /// Nothing is left.
    Done,
}

/// What a purge found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Found {
    /// How many items of the table, by kind.
    pub items: BTreeMap<String, u64>,
    /// How many versions of objects, by kind.
    pub objects: BTreeMap<String, u64>,
    /// How many bytes they had.
    pub bytes: u64,
    /// The hash over the keys of all of it, each with the hash before: whoever has the keys can tell that they are
    /// these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Fingerprint>,
    /// How many responses providers removed, or had no more.
    #[serde(skip_serializing_if = "is_none")]
    pub upstream_removed: u64,
    /// How many they did not remove.
    #[serde(skip_serializing_if = "is_none")]
    pub upstream_left: u64,
    /// The first of those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_upstream: Vec<LeftUpstream>,
    /// What became of the session in the index of sessions; none where there is no index, or it was not asked yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_index: Option<InIndex>,
}

/// What became of a session in the index of sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct InIndex {
    /// Whether it is gone there.
    pub removed: bool,
    /// How often it was asked for since it was gone, and stayed.
    #[serde(skip_serializing_if = "is_none")]
    pub rounds: u32,
}

/// What an index of sessions came to that was asked to forget one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgot {
    /// There is no index.
    NoIndex,
    /// It is gone there.
    Yes,
    /// It may be there still.
    No,
}

fn is_none<N: Default + PartialEq>(count: &N) -> bool {
    *count == N::default()
}

/// An item or a version of an object, as a purge finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its place among the others: the sort key, or the object's key with its version.
    pub place: String,
    /// What kind of thing it is.
    pub kind: &'static str,
    /// How many bytes it has, where that is known.
    pub bytes: u64,
    /// The object of ours that it is a version of.
    pub payload: Option<Payload>,
}

impl Found {
    /// One more piece.
    fn add(&mut self, piece: &Piece, is_item: bool) {
        let kinds = if is_item { &mut self.items } else { &mut self.objects };
        *kinds.entry(piece.kind.to_owned()).or_default() += 1;
        self.bytes = self.bytes.saturating_add(piece.bytes);
        let before = self.manifest.map(|hash| hash.to_string()).unwrap_or_default();
        self.manifest = Some(Fingerprint::of_bytes(format!("{before}\n{}", piece.place).as_bytes()));
    }
}

impl Purge {
    /// Of a session that is kept until then. Its revisions begin where no record of an earlier deletion comes to.
    #[must_use]
    pub fn waits(session: &Session, kept_until: Timestamp) -> Self {
        Self {
            key: session.key.clone(),
            rev: session.rev << RECORD_BITS,
            due: Some(kept_until),
            stage: Stage::Waits,
            began: None,
            done: None,
            items_to: None,
            objects_to: None,
            found: Found::default(),
            upstream: Upstream::default(),
        }
    }

    /// The record once these items are counted. Those that were counted before, and whose removal was cut short, are
    /// not counted again.
    #[must_use]
    pub fn with_items(&self, items: &[Piece]) -> Self {
        let mut after = self.clone();
        let to = after.items_to.clone();
        for piece in items.iter().filter(|piece| to.as_ref().is_none_or(|to| piece.place > *to)) {
            after.found.add(piece, true);
            after.items_to = Some(piece.place.clone());
        }
        after
    }

    /// The versions of objects that are not counted yet.
    pub fn uncounted<'a>(&self, objects: &'a [Piece]) -> impl Iterator<Item = &'a Piece> {
        let to = self.objects_to.clone();
        objects.iter().filter(move |piece| to.as_ref().is_none_or(|to| piece.place > *to))
    }

    /// The same for versions of objects, and for what these tell of responses at providers.
    #[must_use]
    pub fn with_objects(&self, objects: &[Piece], upstream: impl IntoIterator<Item = LeftUpstream>) -> Self {
        let mut after = self.clone();
        for piece in self.uncounted(objects) {
            after.found.add(piece, false);
            after.objects_to = Some(piece.place.clone());
        }
        after.upstream.next.extend(upstream);
        after.upstream.next.sort();
        after.upstream.next.dedup();
        after
    }

    /// Whether providers are to be asked before more objects are looked at.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.upstream.next.len().saturating_add(self.upstream.still.len()) >= MOST_UPSTREAM
    }

    /// The record once the index of sessions was asked to forget the session, and whether it is to be asked again.
    #[must_use]
    pub fn asked_index(&self, forgot: Forgot) -> (Self, bool) {
        let mut after = self.clone();
        let rounds = after.found.search_index.map_or(0, |index| index.rounds);
        match forgot {
            Forgot::NoIndex => return (after, false),
            Forgot::Yes => after.found.search_index = Some(InIndex { removed: true, rounds: 0 }),
            Forgot::No => {
                let rounds = rounds.saturating_add(1);
                after.found.search_index = Some(InIndex { removed: false, rounds });
                return (after, rounds < INDEX_ROUNDS);
            }
        }
        (after, false)
    }

    /// Whether a provider is to be asked for anything.
    #[must_use]
    pub fn is_left_upstream(&self) -> bool {
        !self.upstream.next.is_empty() || !self.upstream.still.is_empty()
    }

    /// The responses that are asked for in this step.
    #[must_use]
    pub fn asks_for(&self) -> &[LeftUpstream] {
        let step = self.upstream.next.len().min(UPSTREAM_STEP);
        self.upstream.next.get(..step).unwrap_or_default()
    }

    /// The record once those were asked for, and these are there still. At the end of a round that left any it looks
    /// again later; after the last round they are named.
    #[must_use]
    pub fn asked(&self, still: Vec<LeftUpstream>, later: Timestamp) -> Self {
        let asked = self.asks_for().len();
        let removed = asked.saturating_sub(still.len()) as u64;
        let mut after = self.clone();
        after.found.upstream_removed = after.found.upstream_removed.saturating_add(removed);
        after.upstream.next.drain(..asked);
        after.upstream.still.extend(still);
        if !after.upstream.next.is_empty() || after.upstream.still.is_empty() {
            return after;
        }
        let Upstream { still, rounds, .. } = std::mem::take(&mut after.upstream);
        let rounds = rounds.saturating_add(1);
        if rounds < UPSTREAM_ROUNDS {
            after.upstream = Upstream { next: still, still: Vec::new(), rounds };
            after.due = Some(later);
        } else {
            after.found.upstream_left = after.found.upstream_left.saturating_add(still.len() as u64);
            let room = MOST_NAMED.saturating_sub(after.found.left_upstream.len());
            after.found.left_upstream.extend(still.into_iter().take(room));
        }
        after
    }
}
