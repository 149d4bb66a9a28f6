//! Effects of a process, and the faults that can hit them.

use std::time::Duration;

/// A call to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    ReadSession,
    ReadTurn,
    ReadRequest,
    ReadEarlier,
    ReadContext,
    ReadRecords,
    ReadParticipant,
    WriteTurn,
    Commit,
    PutCheckpoint,
    PutFeedback,
    WriteDocument,
    PutArchive,
    ReadMeter,
    WriteMeter,
    ReadCheckpoints,
    ReadIntent,
    WriteIntent,
    ReadUnknown,
    ReadApprovals,
    WriteApproval,
    WriteUnknown,
    Due,
    PutPayload,
    RemovePayload,
    GetPayload,
    FindPayload,
    ReadPurge,
    WritePurge,
    ListItems,
    RemoveItems,
    ListVersions,
    RemoveVersions,
    RemoveProviderResponse,
    ReadProviderUsage,
    ReadIndex,
    WriteIndex,
    RemoveFromIndex,
    Announce,
    CallModel,
    CallTarget,
}

/// A fault at an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The process dies before the effect.
    CrashBefore,
    /// The effect is applied, then the process dies.
    CrashAfter,
    /// The effect fails and isn't applied.
    NotApplied,
    /// The effect is applied, but the reply is lost.
    ReplyLost,
    /// The effect is applied, the reply is lost, and the adapter's own retry finds its condition broken.
    ReplyLostThenRetried,
    /// The sender gives up waiting, and the effect is applied later.
    AppliedLate,
    /// The effect is throttled, this many times in a row.
    Throttled(u32),
}

impl Fault {
    /// Each fault once, for enumeration.
    pub const ALL: [Self; 7] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::NotApplied,
        Self::ReplyLost,
        Self::ReplyLostThenRetried,
        Self::AppliedLate,
        Self::Throttled(3),
    ];
}

/// The rates of faults, per thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    pub crash: u32,
    pub not_applied: u32,
    pub reply_lost: u32,
    pub applied_late: u32,
    pub throttled: u32,
    /// Processes that lose their network for a while.
    pub partition: u32,
}

impl Rates {
    /// Draws the period after its start in which a process has no network, if any.
    pub(crate) fn partition(&self, chance: &mut fastrand::Rng) -> Option<(Duration, Duration)> {
        let partition = chance.u32(0..1_000) < self.partition;
        let from = Duration::from_millis(chance.u64(0..20_000));
        partition.then(|| (from, from + Duration::from_millis(chance.u64(5_000..60_000))))
    }

    pub(crate) fn draw(&self, chance: &mut fastrand::Rng) -> Option<Fault> {
        let mut draw = chance.u32(0..1_000);
        let mut within = |rate: u32| {
            let hit = draw < rate;
            draw = draw.saturating_sub(rate);
            hit
        };
        if within(self.crash) {
            return Some(if chance.bool() { Fault::CrashBefore } else { Fault::CrashAfter });
        }
        if within(self.not_applied) {
            return Some(Fault::NotApplied);
        }
        if within(self.reply_lost) {
            return Some(if chance.bool() { Fault::ReplyLost } else { Fault::ReplyLostThenRetried });
        }
        if within(self.applied_late) {
            return Some(Fault::AppliedLate);
        }
        within(self.throttled).then(|| Fault::Throttled(chance.u32(1..9)))
    }
}
