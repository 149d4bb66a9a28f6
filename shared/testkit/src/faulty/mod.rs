//! A decorator for every port, around whose effects the process can crash, fail or lose a reply.
//!
//! The crash matrix picks the effect and the simulation draws it. Both use `Process::reach`.

mod meter;
mod org_settings;
mod payloads;
mod queue;
mod store;

use std::time::Duration;

use turns::ports::{Unavailable, WriteError};

use crate::{
    fault::{Effect, Fault},
    schedule::Process,
};

/// A port as one process uses it.
#[derive(Debug, Clone)]
pub struct Faulty<P> {
    inner: P,
    process: Process,
}

/// The most delay of an effect that is applied late.
const MAX_DELAY_MILLIS: u64 = 40_000;

impl<P> Faulty<P> {
    pub fn new(inner: P, process: Process) -> Self {
        Self { inner, process }
    }

    /// Applies a conditional write.
    async fn write<F, T>(&self, effect: Effect, apply: F) -> Result<T, WriteError>
    where
        F: Future<Output = Result<T, WriteError>> + Send + 'static,
        T: Send + 'static,
    {
        let fault = self.process.reach(effect).await;
        let done = match fault {
            Some(Fault::NotApplied) => Err(unknown()),
            Some(Fault::Throttled(_)) => Err(WriteError::Contended),
            Some(Fault::ReplyLost) => apply.await.and(Err(unknown())),
            Some(Fault::ReplyLostThenRetried) => apply.await.and(Err(WriteError::ConditionFailed)),
            Some(Fault::AppliedLate) => {
                self.apply_late(apply);
                Err(unknown())
            }
            Some(Fault::CrashBefore | Fault::CrashAfter) | None => apply.await,
        };
        self.process.leave(fault).await;
        done
    }

    /// Applies an unconditional write, or sends a message.
    async fn put<F>(&self, effect: Effect, apply: F) -> Result<(), Unavailable>
    where
        F: Future<Output = Result<(), Unavailable>> + Send + 'static,
    {
        let fault = self.process.reach(effect).await;
        let done = match fault {
            Some(Fault::NotApplied | Fault::Throttled(_)) => Err(unavailable()),
            Some(Fault::ReplyLost) => apply.await.and(Err(unavailable())),
            Some(Fault::AppliedLate) => {
                self.apply_late(apply);
                Err(unavailable())
            }
            Some(Fault::ReplyLostThenRetried | Fault::CrashBefore | Fault::CrashAfter) | None => apply.await,
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
            Some(Fault::CrashBefore | Fault::CrashAfter | Fault::ReplyLostThenRetried) | None => read.await,
            Some(Fault::NotApplied | Fault::ReplyLost | Fault::AppliedLate | Fault::Throttled(_)) => {
                Err(unavailable())
            }
        };
        self.process.leave(fault).await;
        got
    }

    fn apply_late<T, E>(&self, apply: impl Future<Output = Result<T, E>> + Send + 'static) {
        let clock = self.process.clock();
        let millis = clock.draw(|chance| chance.u64(1..MAX_DELAY_MILLIS));
        clock.apply_later(Duration::from_millis(millis), async move {
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
