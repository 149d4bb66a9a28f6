//! One decorator for every port: it lets an effect's process crash, fail or lose a reply around it.
//!
//! The crash matrix names the effect, the simulation draws it; both go through `Process::reach`.

mod payloads;
mod queue;
mod store;

use std::time::Duration;

use turns::ports::{Unavailable, WriteError};

use crate::schedule::Process;

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
    ReadCheckpoints,
    Due,
    PutPayload,
    GetPayload,
    FindPayload,
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

/// A port with its process around it.
#[derive(Debug, Clone)]
pub struct Faulty<P> {
    inner: P,
    process: Process,
}

/// How late what lands late lands, at most.
const LATEST_MILLIS: u64 = 40_000;

impl<P> Faulty<P> {
    pub fn new(inner: P, process: Process) -> Self {
        Self { inner, process }
    }

    /// A conditional write.
    async fn write<F>(&self, effect: Effect, apply: F) -> Result<(), WriteError>
    where
        F: Future<Output = Result<(), WriteError>> + Send + 'static,
    {
        let fault = self.process.reach(effect).await;
        let done = match fault {
            Some(Fault::NotApplied) => Err(unknown()),
            Some(Fault::Throttled(_)) => Err(WriteError::Contended),
            Some(Fault::ReplyLost) => apply.await.and(Err(unknown())),
            Some(Fault::RepliedLost) => apply.await.and(Err(WriteError::Lost)),
            Some(Fault::LandsLate) => {
                self.land_late(apply);
                Err(unknown())
            }
            Some(Fault::CrashBefore | Fault::CrashAfter) | None => apply.await,
        };
        self.process.leave(fault).await;
        done
    }

    /// A write without a condition, or the sending of a message.
    async fn put<F>(&self, effect: Effect, apply: F) -> Result<(), Unavailable>
    where
        F: Future<Output = Result<(), Unavailable>> + Send + 'static,
    {
        let fault = self.process.reach(effect).await;
        let done = match fault {
            Some(Fault::NotApplied | Fault::Throttled(_)) => Err(unavailable()),
            Some(Fault::ReplyLost) => apply.await.and(Err(unavailable())),
            Some(Fault::LandsLate) => {
                self.land_late(apply);
                Err(unavailable())
            }
            Some(Fault::RepliedLost | Fault::CrashBefore | Fault::CrashAfter) | None => apply.await,
        };
        self.process.leave(fault).await;
        done
    }

    async fn read<T>(
        &self,
        effect: Effect,
        read: impl Future<Output = Result<T, Unavailable>>,
    ) -> Result<T, Unavailable> {
        let fault = self.process.reach(effect).await;
        let got = match fault {
            Some(Fault::CrashBefore | Fault::CrashAfter | Fault::RepliedLost) | None => read.await,
            Some(Fault::NotApplied | Fault::ReplyLost | Fault::LandsLate | Fault::Throttled(_)) => {
                Err(unavailable())
            }
        };
        self.process.leave(fault).await;
        got
    }

    fn land_late<T, E>(&self, apply: impl Future<Output = Result<T, E>> + Send + 'static) {
        let clock = self.process.clock();
        let millis = clock.draw(|chance| chance.u64(1..LATEST_MILLIS));
        clock.later(Duration::from_millis(millis), async move {
            let _ = apply.await;
        });
    }
}

fn unknown() -> WriteError {
    WriteError::Unknown("the reply was lost".into())
}

fn unavailable() -> Unavailable {
    Unavailable { what: "a faulty port", source: "no reply".into() }
}
