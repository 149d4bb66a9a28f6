//! What runs turns, and what a request gives it to run with.

use std::time::Duration;

use protocol::correlation::CorrelationId;

use super::learned::Learned;
use crate::ports::{AgentDeps, Timer};

/// Runs user turns, and goes on with those that await tool results.
#[derive(Debug)]
pub struct Executor<D> {
    pub(super) deps: D,
    /// What this process found out about model providers.
    pub(super) learned: Learned,
}

impl<D: AgentDeps> Executor<D> {
    /// Runs turns over these.
    #[must_use]
    pub fn new(deps: D) -> Self {
        Self { deps, learned: Learned::default() }
    }
}

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
    pub(super) fn begin(&self, timer: &impl Timer) -> Term {
        Term { ends: timer.monotonic().saturating_add(self.budget), correlation: self.correlation.clone() }
    }
}

/// The time that this process has for a request.
#[derive(Debug, Clone)]
pub(super) struct Term {
    /// When it is over, on [`Timer::monotonic`].
    pub(super) ends: Duration,
    /// See [`Invocation::correlation`].
    pub(super) correlation: Option<CorrelationId>,
}
