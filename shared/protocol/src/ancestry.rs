//! The ancestry of a turn: the earlier turns that its model is sent or that its provider remembers.
//!
//! These are usually the earlier turns of its session. A rerun continues from the parent of the turn that it repeats,
//! which leaves out everything after that parent. A fork's first turn continues from a turn of another session. Every
//! turn names its parent, and the ancestry is followed from parent to parent.

use contracts::id::{SessionId, TurnId};
use serde::{Deserialize, Serialize};

use crate::id::SessionKey;

/// The maximum number of sessions in the ancestry of a fork. A fork checks each of them before each of its turns, so no
/// fork is made of a session that has as many. Older forks may have more; their ancestry ends there.
pub const MAX_FORK_DEPTH: usize = 16;

/// A reference to a turn's parent, as the turn's head stores it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ParentRef {
    /// The parent's session, or `None` for the turn's own session.
    pub session: Option<SessionId>,
    /// The parent's sequence number there, or 0 without a parent: the ancestry starts here.
    pub sequence: u64,
}

impl ParentRef {
    /// Refers to a turn of the same session, or to none if `sequence` is 0.
    #[must_use]
    pub fn in_session(sequence: u64) -> Self {
        Self { session: None, sequence }
    }

    /// True if there is no parent: the ancestry starts here.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.sequence == 0
    }
}

/// The location of a turn's parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ResolvedParent {
    /// The session.
    pub session: SessionKey,
    /// The sequence number in that session.
    pub sequence: u64,
    /// The depth in the ancestry.
    pub depth: u64,
}

/// The turn that a session was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ForkOrigin {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The sequence number in that session.
    pub sequence: u64,
    /// Its depth in its ancestry. The fork's own turns have greater depths.
    pub depth: u64,
}

impl ForkOrigin {
    /// Returns the reference that a turn stores whose parent this is.
    #[must_use]
    pub fn to_parent_ref(&self) -> ParentRef {
        ParentRef { session: Some(self.session.clone()), sequence: self.sequence }
    }
}

/// The cutoff of an ancestry: a session in it was purged, is hidden or is out of reach, so the ancestry starts after that
/// session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Cutoff {
    /// The lost session.
    pub session: SessionId,
    /// The sequence number of the first turn that started without that session. Earlier turns may have left its
    /// content at a provider or in our records.
    pub sequence: u64,
    /// The depth of the last turn that is left out: the one that was forked from the lost session. 0 if an older version
    /// wrote the cutoff for a purged session, whose turns are gone.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub hidden_depth: u64,
}

/// The reason for which a session may no longer tell what one of its ancestry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// The ancestor was purged, or doesn't exist.
    Purged,
    /// The user may not see it, since it became private or was deleted.
    Hidden,
    /// It comes after the last one that is checked.
    ForkDepth,
}

/// A session in the ancestry of another one that this one may no longer tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostAncestor {
    /// The session.
    pub session: SessionId,
    /// The reason for which the next turn doesn't continue from it.
    pub reason: LossReason,
    /// The sessions in between, which its ancestry still includes.
    pub remaining_ancestors: Vec<SessionId>,
    /// The depth of the turn that was forked from it, and so of the last turn to leave out.
    pub hidden_depth: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(depth: &u64) -> bool {
    *depth == 0
}

/// The turn that a rerun repeats, and the change that was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RerunOf {
    /// The repeated turn.
    pub turn: TurnId,
    /// The requested model, one of those that the context names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
}
