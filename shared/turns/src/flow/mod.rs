//! The flows: read, decide with a pure transition, write, and again if somebody else was faster.
//!
//! A turn's way through the files: [`user_turn`](Executor::execute) begins it as [`setup`] has it, an
//! attempt owns it, `work` asks the model what `compose` makes of it and runs tools, `settle` decides it,
//! [`finalize`](Finalizer::finalize) publishes it. `tool_results`, `salvage` and `replay` are the other
//! ways in; `write` and `outcomes` are what all of them stand on.

mod attempt;
mod cancel;
mod compose;
mod finalize;
mod outcomes;
mod read;
mod replay;
mod salvage;
mod settle;
mod setup;
mod sweep;
mod tool_results;
mod user_turn;
mod work;
mod write;

use std::time::Duration;

use protocol::correlation::CorrelationId;

pub use finalize::Finalizer;
pub use read::{PayloadName, SessionReader};
pub use sweep::Swept;
pub use user_turn::Executor;

use crate::ports::Timer;

/// What a function brings to a request besides the request itself.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// How long the function may still run.
    pub budget: Duration,
    /// Joins the logs of the functions that have to do with the request.
    pub correlation: Option<CorrelationId>,
}

impl Invocation {
    /// One that nobody wants to find in the logs.
    #[must_use]
    pub fn lasting(budget: Duration) -> Self {
        Self { budget, correlation: None }
    }
}

impl Invocation {
    fn begin(&self, timer: &impl Timer) -> Term {
        Term { ends: timer.monotonic().saturating_add(self.budget), correlation: self.correlation.clone() }
    }
}

/// The time that this process has for a request.
#[derive(Debug, Clone)]
struct Term {
    /// When it is over, on [`Timer::monotonic`].
    ends: Duration,
    /// See [`Invocation::correlation`].
    correlation: Option<CorrelationId>,
}
