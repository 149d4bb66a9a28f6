//! Planted bugs: decorators around the ports, each of which breaks one rule.

mod meter;
mod objects;
mod org_settings;
mod table;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use contracts::Fingerprint;
use protocol::{
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload, StoredRequest},
};

use crate::{
    faulty::Faulty,
    memory::{Objects, Table},
    schedule::{Clock, Process},
};

/// A broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bug {
    /// Conditions ignore the owner (rule 3).
    OwnerIgnored,
    /// Conditions ignore the phase.
    PhaseIgnored,
    /// A start doesn't require that the turn is new.
    AbsenceIgnored,
    /// Transactions ignore the session's `Rev`, so a sequence number may come from a stale read (rule 4).
    RevIgnored,
    /// A settlement is acknowledged before it is durable (I5).
    AcknowledgedEarly,
    /// A write with a lost reply counts as applied (I11).
    LostReplyTakenForSuccess,
    /// A transaction applies its session and its first turn, but not its second.
    SecondItemDropped,
    /// The outcome object is written after the head that refers to it (I10).
    MetadataBeforePayload,
    /// Takers look for an outcome before they fence (rule 5).
    LooksBeforeFencing,
    /// A finalization adds the turn's usage twice (I8).
    UsageAddedTwice,
    /// The finalizer takes a message as proof that its turn is settled.
    AnnouncementTrusted,
    /// The sweep takes the index as proof that a turn is dead (rule 9).
    DueIndexTrusted,
    /// Outcome objects have the turn in their key instead of their writer (rule 1).
    OutcomePerTurn,
    /// Instructions have the turn in their key instead of their request (rule 2).
    InstructionPerTurn,
    /// A settled turn leaves the sparse index, so nobody finds it if its announcement is lost (I12).
    SettledLeavesIndex,
    /// A suspension stores only the client's calls, so the server's calls of a mixed reply stay without an output
    /// (I6).
    ServerShareForgotten,
    /// Tool results have the turn in their key instead of the attempt that they resume (I6).
    ToolResultsPerTurn,
    /// An import writes whatever is stored, so that a late one changes a published session (rule 13).
    ReservationIgnored,
    /// Changes of a meter apply to whatever entry is stored, so that two finalizers count a turn twice (I8).
    MeterEntryIgnored,
    /// A start doesn't store the small request that it keeps inline (I10).
    InlineRequestDropped,
    /// A turn becomes terminal without the object of its inline request (I10).
    InlineRequestNotPublished,
    /// Heads don't say what their turn has spent, so that a call that was cut off costs nothing (I8).
    SpentForgotten,
    /// A rollout reaches every session, whatever its percentage.
    RolloutToEverySession,
}

impl Bug {
    pub const ALL: [Self; 23] = [
        Self::OwnerIgnored,
        Self::PhaseIgnored,
        Self::AbsenceIgnored,
        Self::RevIgnored,
        Self::AcknowledgedEarly,
        Self::LostReplyTakenForSuccess,
        Self::SecondItemDropped,
        Self::MetadataBeforePayload,
        Self::LooksBeforeFencing,
        Self::UsageAddedTwice,
        Self::AnnouncementTrusted,
        Self::DueIndexTrusted,
        Self::OutcomePerTurn,
        Self::InstructionPerTurn,
        Self::SettledLeavesIndex,
        Self::ServerShareForgotten,
        Self::ToolResultsPerTurn,
        Self::ReservationIgnored,
        Self::MeterEntryIgnored,
        Self::InlineRequestDropped,
        Self::InlineRequestNotPublished,
        Self::SpentForgotten,
        Self::RolloutToEverySession,
    ];

    /// Returns the key under which an object is stored.
    pub(crate) fn key(bug: Option<Self>, payload: &Payload) -> Payload {
        let kind = match (bug, &payload.kind) {
            (Some(Self::OutcomePerTurn), Kind::Outcome(_)) => Kind::Outcome(AttemptId::new("any".to_owned())),
            (Some(Self::InstructionPerTurn), Kind::Instruction(_)) => Kind::Instruction(StoredRequest {
                fingerprint: Fingerprint::hash_bytes(b"any"),
                submission_id: None,
            }),
            (Some(Self::ToolResultsPerTurn), Kind::ToolResults(_)) => {
                Kind::ToolResults(AttemptId::new("any".to_owned()))
            }
            _ => payload.kind.clone(),
        };
        Payload { turn: payload.turn.clone(), kind }
    }
}

/// The owner of the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Executor,
    Finalizer,
}

/// The objects that a process saw when it first read a running turn.
type ObjectSnapshots = Arc<Mutex<BTreeMap<TurnKey, Vec<Payload>>>>;

/// A port with faults and at most one bug.
#[derive(Debug, Clone)]
pub struct Buggy<P> {
    faulty: Faulty<P>,
    /// The port for the bug's own actions, which have no faults.
    bare: P,
    objects: Objects,
    clock: Clock,
    snapshots: ObjectSnapshots,
    bug: Option<Bug>,
    role: Role,
}

impl Buggy<Table> {
    /// Returns the table and the bucket of one process.
    #[must_use]
    pub fn pair(
        table: &Table,
        objects: &Objects,
        process: &Process,
        bug: Option<Bug>,
        role: Role,
    ) -> (Self, Buggy<Objects>) {
        let snapshots = ObjectSnapshots::default();
        (
            with_bug(table, objects, process, bug, role, &snapshots),
            with_bug(objects, objects, process, bug, role, &snapshots),
        )
    }
}

fn with_bug<P: Clone>(
    bare: &P,
    objects: &Objects,
    process: &Process,
    bug: Option<Bug>,
    role: Role,
    snapshots: &ObjectSnapshots,
) -> Buggy<P> {
    Buggy {
        faulty: Faulty::new(bare.clone(), process.clone()),
        bare: bare.clone(),
        objects: objects.clone(),
        clock: process.clock().clone(),
        snapshots: Arc::clone(snapshots),
        bug,
        role,
    }
}

impl<P> Buggy<P> {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn snapshots(&self) -> MutexGuard<'_, BTreeMap<TurnKey, Vec<Payload>>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
