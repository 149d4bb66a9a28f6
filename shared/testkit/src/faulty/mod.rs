//! A port as one process uses it: its faults, and at most one planted bug, act at every call.
//!
//! The process can crash, fail or lose a reply around each effect. The crash matrix picks the effect and the simulation
//! draws it. Both use `Process::reach`. A bug breaks one rule at the calls that it names, on the way in or out.

mod external;
mod objects;
mod table;

use std::time::Duration;

use turns::ports::{Unavailable, WriteError};

use crate::{
    fault::{Effect, Fault},
    memory::{Objects, Table},
    planted_bugs::{Bug, Planted, Role},
    schedule::Process,
};

/// A port as one process uses it.
#[derive(Debug, Clone)]
pub struct Faulty<P> {
    inner: P,
    process: Process,
    bug: Option<Planted>,
}

/// The most delay of an effect that is applied late.
const MAX_DELAY_MILLIS: u64 = 40_000;

impl<P> Faulty<P> {
    /// Creates a port without a bug.
    pub fn new(inner: P, process: Process) -> Self {
        Self { inner, process, bug: None }
    }

    /// True if the port has this bug.
    fn has(&self, bug: Bug) -> bool {
        self.bug.as_ref().is_some_and(|planted| planted.bug == bug)
    }

    /// Reaches an effect, and makes the call as the fault of the effect lets it. `late` applies a call after its sender
    /// has given up.
    async fn around<T, E: Failure, F: Future<Output = Result<T, E>>>(
        &self,
        effect: Effect,
        call: F,
        late: impl FnOnce(F),
    ) -> Result<T, E> {
        let fault = self.process.reach(effect).await;
        let done = match fault {
            Some(Fault::NotApplied) => Err(E::lost()),
            Some(Fault::Throttled(_)) => Err(E::throttled()),
            Some(Fault::ReplyLost) => call.await.and(Err(E::lost())),
            Some(Fault::ReplyLostThenRetried) => call.await.and_then(E::retried),
            Some(Fault::AppliedLate) => {
                late(call);
                Err(E::lost())
            }
            Some(Fault::CrashBefore | Fault::CrashAfter) | None => call.await,
        };
        self.process.leave(fault).await;
        done
    }

    /// Reads. A read that arrives late changes nothing.
    async fn read<T>(
        &self,
        effect: Effect,
        call: impl Future<Output = Result<T, Unavailable>>,
    ) -> Result<T, Unavailable> {
        self.around(effect, call, drop).await
    }

    /// Writes, or sends a message.
    async fn write<T, E: Failure>(
        &self,
        effect: Effect,
        call: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E> {
        self.around(effect, call, |call| {
            let clock = self.process.clock();
            let millis = clock.draw(|chance| chance.u64(1..MAX_DELAY_MILLIS));
            clock.apply_later(Duration::from_millis(millis), async move {
                let _ = call.await;
            });
        })
        .await
    }
}

impl Faulty<Table> {
    /// Returns the table and the bucket of one process.
    #[must_use]
    pub fn pair(
        table: &Table,
        objects: &Objects,
        process: &Process,
        bug: Option<Bug>,
        role: Role,
    ) -> (Self, Faulty<Objects>) {
        let bug = bug.map(|bug| Planted::new(bug, role, table, objects));
        let process = || process.clone();
        (
            Self { inner: table.clone(), process: process(), bug: bug.clone() },
            Faulty { inner: objects.clone(), process: process(), bug },
        )
    }
}

/// The error of a call that a fault hits.
trait Failure: Sized {
    /// The reply was lost.
    fn lost() -> Self;
    /// The call was throttled, and not applied.
    fn throttled() -> Self;
    /// The result after the reply was lost and the adapter's own retry met the applied call.
    fn retried<T>(first: T) -> Result<T, Self>;
}

impl Failure for WriteError {
    fn lost() -> Self {
        Self::Unknown("the reply was lost".into())
    }

    fn throttled() -> Self {
        Self::Contended
    }

    fn retried<T>(_: T) -> Result<T, Self> {
        Err(Self::ConditionFailed)
    }
}

impl Failure for Unavailable {
    fn lost() -> Self {
        Self { what: "a faulty port", source: "no reply".into() }
    }

    fn throttled() -> Self {
        Self::lost()
    }

    fn retried<T>(first: T) -> Result<T, Self> {
        Ok(first)
    }
}

/// Implements methods that read, each by the call to the port, around which the effect's fault acts.
macro_rules! reads {
    ($($effect:ident: $method:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {$(
        async fn $method(&self, $($arg: $type),*) -> Result<$result, Unavailable> {
            self.read(Effect::$effect, self.inner.$method($($arg),*)).await
        }
    )*};
}

/// Implements methods that write, each by the call to the port. The call owns its arguments, since it may be applied
/// late.
macro_rules! writes {
    ($($effect:ident: $method:ident($($arg:ident: $type:ty),*) -> $result:ty, $error:ty;)*) => {$(
        async fn $method(&self, $($arg: &$type),*) -> Result<$result, $error> {
            let (inner, $($arg),*) = (self.inner.clone(), $($arg.to_owned()),*);
            self.write(Effect::$effect, async move { inner.$method($(&$arg),*).await }).await
        }
    )*};
}

pub(crate) use {reads, writes};
