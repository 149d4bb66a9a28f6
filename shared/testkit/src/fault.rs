//! What a process does to the world, and what can happen to it on the way.

use std::time::Duration;

/// A call on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    ReadSession,
    ReadTurn,
    ReadRequest,
    ReadEarlier,
    ReadContext,
    ReadRecords,
    TakesPart,
    WriteTurn,
    Commit,
    PutResult,
    Touch,
    PutCheckpoint,
    PutFeedback,
    ReadCheckpoints,
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
    RemoveUpstream,
    ForgetSession,
    Announce,
    CallModel,
}

/// What can happen to an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// The process dies before it.
    CrashBefore,
    /// It happens, then the process dies.
    CrashAfter,
    /// It fails with an error and has not happened.
    NotApplied,
    /// It happens, but the reply says nothing of it.
    ReplyLost,
    /// It happens, the reply is lost, and the adapter's own second try finds its condition broken.
    RepliedLost,
    /// Its sender gives up waiting; it happens later.
    LandsLate,
    /// It is refused for want of capacity, this many times in a row.
    Throttled(u32),
}

impl Fault {
    /// Each of them once, for enumeration.
    pub const ALL: [Self; 7] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::NotApplied,
        Self::ReplyLost,
        Self::RepliedLost,
        Self::LandsLate,
        Self::Throttled(3),
    ];
}

/// How often what happens, in parts of a thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    pub crash: u32,
    pub not_applied: u32,
    pub reply_lost: u32,
    pub lands_late: u32,
    pub throttled: u32,
    /// Processes whose network is gone for a while.
    pub cut_off: u32,
}

impl Rates {
    /// From when to when after its start a process is cut off, if it is.
    pub(crate) fn cut_off(&self, chance: &mut fastrand::Rng) -> Option<(Duration, Duration)> {
        let cut_off = chance.u32(0..1_000) < self.cut_off;
        let from = Duration::from_millis(chance.u64(0..20_000));
        cut_off.then(|| (from, from + Duration::from_millis(chance.u64(5_000..60_000))))
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
            return Some(if chance.bool() { Fault::ReplyLost } else { Fault::RepliedLost });
        }
        if within(self.lands_late) {
            return Some(Fault::LandsLate);
        }
        within(self.throttled).then(|| Fault::Throttled(chance.u32(1..9)))
    }
}
