//! Bugs to be found: each is a decorator around the ports that gives up one rule.

mod objects;
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

/// A rule that is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bug {
    /// Conditions do not compare the owner (rule 3).
    OwnerIgnored,
    /// Conditions do not compare the phase.
    PhaseIgnored,
    /// A start does not require that there is no such turn.
    AbsenceIgnored,
    /// Transactions do not compare the session's `Rev`, so a sequence number may come from a stale read
    /// (rule 4).
    RevIgnored,
    /// A settlement is acknowledged before it is durable (I5).
    AcknowledgedEarly,
    /// A write whose reply was lost counts as applied (I11).
    LostReplyTakenForSuccess,
    /// A transaction applies its session and its first turn, not its second.
    SecondItemDropped,
    /// The outcome object is written after the head that names it (I10).
    MetadataBeforePayload,
    /// Takers look for an outcome before they fence (rule 5).
    LooksBeforeFencing,
    /// A finalization adds the turn's usage twice (I8).
    UsageAddedTwice,
    /// The finalizer takes a message for the fact that its turn is settled.
    AnnouncementTrusted,
    /// The sweep takes the index for the fact that a turn is dead (rule 9).
    DueIndexTrusted,
    /// Outcome objects lie under the turn, not under their writer (rule 1).
    OutcomePerTurn,
    /// Instructions lie under the turn, not under their request (rule 2).
    InstructionPerTurn,
    /// A settled turn leaves the sparse index, so nobody finds it when its announcement is lost (I12).
    SettledLeavesIndex,
    /// A suspension keeps the client's calls alone, so what the server ran of a mixed reply stays without an
    /// output upstream (I6).
    ServerShareForgotten,
    /// Tool results lie under the turn, not under the attempt that they resume (I6).
    ToolResultsPerTurn,
}

impl Bug {
    pub const ALL: [Self; 17] = [
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
    ];

    /// The key under which an object lies.
    pub(crate) fn key(bug: Option<Self>, payload: &Payload) -> Payload {
        let kind = match (bug, &payload.kind) {
            (Some(Self::OutcomePerTurn), Kind::Outcome(_)) => Kind::Outcome(AttemptId::new("any".to_owned())),
            (Some(Self::InstructionPerTurn), Kind::Instruction(_)) => {
                Kind::Instruction(StoredRequest { fingerprint: Fingerprint::of_bytes(b"any"), by: None })
            }
            (Some(Self::ToolResultsPerTurn), Kind::ToolResults(_)) => {
                Kind::ToolResults(AttemptId::new("any".to_owned()))
            }
            _ => payload.kind.clone(),
        };
        Payload { turn: payload.turn.clone(), kind }
    }
}

/// Whose ports these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Executor,
    Finalizer,
}

/// The objects that a process saw when it first read a running turn.
type Looked = Arc<Mutex<BTreeMap<TurnKey, Vec<Payload>>>>;

/// A port behind faults, with at most one bug in front of it.
#[derive(Debug, Clone)]
pub struct Planted<P> {
    faulty: Faulty<P>,
    /// What the bug itself does, it does without faults.
    bare: P,
    objects: Objects,
    clock: Clock,
    looked: Looked,
    bug: Option<Bug>,
    role: Role,
}

impl Planted<Table> {
    /// The table and the bucket of one process.
    #[must_use]
    pub fn pair(
        table: &Table,
        objects: &Objects,
        process: &Process,
        bug: Option<Bug>,
        role: Role,
    ) -> (Self, Planted<Objects>) {
        let looked = Looked::default();
        (
            planted(table, objects, process, bug, role, &looked),
            planted(objects, objects, process, bug, role, &looked),
        )
    }
}

fn planted<P: Clone>(
    bare: &P,
    objects: &Objects,
    process: &Process,
    bug: Option<Bug>,
    role: Role,
    looked: &Looked,
) -> Planted<P> {
    Planted {
        faulty: Faulty::new(bare.clone(), process.clone()),
        bare: bare.clone(),
        objects: objects.clone(),
        clock: process.clock().clone(),
        looked: Arc::clone(looked),
        bug,
        role,
    }
}

impl<P> Planted<P> {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn looked(&self) -> MutexGuard<'_, BTreeMap<TurnKey, Vec<Payload>>> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
