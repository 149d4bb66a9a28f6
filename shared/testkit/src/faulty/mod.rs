//! One decorator for every port: it lets an effect's process crash, fail or lose a reply around it.
//!
//! The crash matrix names the effect, the simulation draws it; both go through `Process::reach`.

mod payloads;
mod queue;
mod store;

use std::time::Duration;

use turns::ports::{Unavailable, WriteError};

use crate::{
    fault::{Effect, Fault},
    schedule::Process,
};

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
