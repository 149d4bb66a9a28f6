//! Planted bugs: each breaks one rule in the ports of a process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent::{
    context::Rollout,
    outcome::{Ending, Outcome},
};
use bytes::Bytes;
use contracts::{Fingerprint, Timestamp};
use protocol::{
    change::{Commit, Condition, TurnChange},
    effect::Intent,
    id::{AttemptId, TurnKey},
    payload::{Kind, Payload, StoredRequest},
    session::Session,
    turn::{Phase, Settlement, State, Turn, Verdict},
};
use turns::ports::DocumentHead;

use crate::memory::{Objects, Table};

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
    /// Calls with effects are sent without an intent (E1).
    IntentUnwritten,
    /// A takeover sends calls of class `effect` again (E1).
    EffectRepeated,
    /// The key of a call has its attempt in it, so that the target performs it once per attempt (E1).
    KeyPerAttempt,
    /// Rounds aren't stored before their calls, so that a takeover asks the model again (E2).
    RoundUnstored,
    /// Calls with an unknown outcome aren't marked, so that an equal call is sent (E4).
    UnknownForgotten,
}

impl Bug {
    pub const ALL: [Self; 28] = [
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
        Self::IntentUnwritten,
        Self::EffectRepeated,
        Self::KeyPerAttempt,
        Self::RoundUnstored,
        Self::UnknownForgotten,
    ];

    /// Returns true if the bug breaks a rule of the ledger of effects.
    #[must_use]
    pub const fn is_of_effects(self) -> bool {
        matches!(
            self,
            Self::IntentUnwritten
                | Self::EffectRepeated
                | Self::KeyPerAttempt
                | Self::RoundUnstored
                | Self::UnknownForgotten
        )
    }

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

/// A bug in the ports of one process.
#[derive(Debug, Clone)]
pub struct Planted {
    /// The broken rule.
    pub(crate) bug: Bug,
    role: Role,
    /// The ports for the bug's own reads, which have no faults.
    table: Table,
    objects: Objects,
    snapshots: ObjectSnapshots,
}

impl Planted {
    pub(crate) fn new(bug: Bug, role: Role, table: &Table, objects: &Objects) -> Self {
        let (table, objects) = (table.clone(), objects.clone());
        Self { bug, role, table, objects, snapshots: ObjectSnapshots::default() }
    }

    fn snapshots(&self) -> MutexGuard<'_, BTreeMap<TurnKey, Vec<Payload>>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a head that was read as the bug presents it.
    pub(crate) fn see(&self, key: &TurnKey, turn: Option<Turn>) -> Option<Turn> {
        if self.bug == Bug::LooksBeforeFencing {
            let seen =
                || self.objects.stored().keys().filter(|payload| payload.turn == *key).cloned().collect();
            let mut snapshots = self.snapshots();
            match turn.as_ref().map(|turn| turn.state.phase()) {
                Some(Phase::Running) => {
                    snapshots.entry(key.clone()).or_insert_with(seen);
                }
                _ => {
                    snapshots.remove(key);
                }
            }
        }
        turn.map(|turn| self.distort(turn))
    }

    /// Returns the newest intent as the bug presents it.
    pub(crate) fn see_intent(&self, intent: Option<Intent>) -> Option<Intent> {
        match self.bug {
            // The round was not stored, so the takeover asks the model again.
            Bug::RoundUnstored => None,
            Bug::EffectRepeated => intent.map(|mut intent| {
                intent.calls.iter_mut().for_each(|call| call.is_keyed = true);
                intent
            }),
            _ => intent,
        }
    }

    /// Returns true if the process looked for this outcome before it fenced, and overlooks it now.
    pub(crate) fn overlooks(&self, payload: &Payload) -> bool {
        self.bug == Bug::LooksBeforeFencing
            && matches!(payload.kind, Kind::Outcome(_))
            && self.snapshots().get(&payload.turn).is_some_and(|snapshots| !snapshots.contains(payload))
    }

    /// Returns the head as the bug presents it to this process.
    fn distort(&self, mut turn: Turn) -> Turn {
        if let (Role::Finalizer, State::Running { lease_ends, .. }) = (self.role, &mut turn.state) {
            match self.bug {
                Bug::DueIndexTrusted => *lease_ends = Timestamp::from_millis(0),
                Bug::AnnouncementTrusted => {
                    let verdict = Verdict::Completed { writer: turn.attempt.clone() };
                    turn.state = State::Settled(Settlement { verdict, at: turn.created });
                }
                _ => {}
            }
        }
        turn
    }

    /// Returns a document as the bug presents it.
    pub(crate) fn roll_out(&self, head: DocumentHead) -> DocumentHead {
        let to_all = |rollout| Rollout { percent: 100, ..rollout };
        match self.bug {
            Bug::RolloutToEverySession => DocumentHead { rollout: head.rollout.map(to_all), ..head },
            _ => head,
        }
    }

    /// Returns the change with the condition that the bug leaves of it.
    pub(crate) fn weaken(&self, mut change: TurnChange) -> TurnChange {
        if self.bug == Bug::SpentForgotten {
            change.after.spent = None;
        }
        let Some(stored) = self.table.contents().heads.get(&change.after.key).cloned() else {
            return change;
        };
        if self.bug == Bug::AbsenceIgnored && change.condition == Condition::Absent {
            change.condition = Condition::same_owner(&stored);
        }
        if let Condition::Unchanged { phase, attempt, lease_ends } = &mut change.condition {
            match self.bug {
                Bug::OwnerIgnored => *attempt = stored.attempt.clone(),
                Bug::PhaseIgnored => *phase = stored.state.phase(),
                Bug::DueIndexTrusted if self.role == Role::Finalizer => *lease_ends = None,
                Bug::AnnouncementTrusted if self.role == Role::Finalizer => *phase = stored.state.phase(),
                _ => {}
            }
            if *phase != Phase::Running || stored.state.phase() != Phase::Running {
                *lease_ends = None;
            }
        }
        change
    }

    /// Returns the transaction as the bug leaves it.
    pub(crate) fn weaken_commit(&self, mut commit: Commit) -> Commit {
        commit.turns = commit.turns.into_iter().map(|change| self.weaken(change)).collect();
        let stored_rev = || {
            let contents = self.table.contents();
            contents.sessions.get(&commit.session.after.key).map(|session| session.rev)
        };
        match self.bug {
            Bug::RevIgnored => commit.session.condition = stored_rev(),
            Bug::AbsenceIgnored => {
                let stored = stored_rev();
                let begins = commit.turns.first().map(|change| change.after.key.clone());
                if begins.is_some_and(|key| self.table.contents().heads.contains_key(&key)) {
                    commit.request = None;
                    commit.session.condition = stored;
                }
            }
            Bug::SecondItemDropped => commit.turns.truncate(1),
            Bug::InlineRequestDropped => {
                if let Some(request) = &mut commit.request {
                    request.inline_json = None;
                }
            }
            _ => {}
        }
        commit
    }
}

impl Table {
    /// Adds a finalization's usage to its session once more, as [`Bug::UsageAddedTwice`] does.
    pub(crate) fn add_usage_again(&self, after: &Session, before: Option<&Session>) {
        let mut contents = self.contents();
        let (Some(before), Some(stored)) = (before, contents.sessions.get_mut(&after.key)) else { return };
        stored.usage.total_tokens += after.usage.total_tokens.saturating_sub(before.usage.total_tokens);
    }
}

/// Returns a suspension without the calls that are already answered, as [`Bug::ServerShareForgotten`] stores it.
pub(crate) fn without_server_share(outcome: &[u8]) -> Option<Bytes> {
    let mut outcome = Outcome::from_json(outcome).ok()?;
    let Ending::Suspended { recovery_point } = &mut outcome.ending else { return None };
    recovery_point.state.rounds.last.as_mut()?.calls.retain(|call| call.outcome.is_none());
    Some(outcome.to_json().into())
}
