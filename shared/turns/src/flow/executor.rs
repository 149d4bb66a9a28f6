//! The executor of turns, and the context that an invocation gives it.

use std::time::Duration;

use protocol::correlation::CorrelationId;

use crate::flow::run::provider_capabilities::CapabilityCache;
use crate::ports::{AgentDeps, Timer};

/// Runs user turns, and resumes turns that await tool results.
#[derive(Debug)]
pub struct Executor<D> {
    pub(super) deps: D,
    /// The capabilities of model providers that this process has detected.
    pub(super) capabilities: CapabilityCache,
}

impl<D: AgentDeps> Executor<D> {
    /// Creates an executor over these dependencies.
    #[must_use]
    pub fn new(deps: D) -> Self {
        Self { deps, capabilities: CapabilityCache::default() }
    }
}

/// The context of a Lambda invocation, besides the request itself.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The time that the function has left to run.
    pub budget: Duration,
    /// Correlates the logs of the functions that handle the request.
    pub correlation: Option<CorrelationId>,
}

impl Invocation {
    /// Creates an invocation without a correlation id.
    #[must_use]
    pub fn with_budget(budget: Duration) -> Self {
        Self { budget, correlation: None }
    }
}

impl Invocation {
    pub(super) fn scope(&self, timer: &impl Timer) -> RequestScope {
        RequestScope {
            deadline: timer.monotonic().saturating_add(self.budget),
            correlation: self.correlation.clone(),
        }
    }
}

/// The deadline and log correlation of one request.
#[derive(Debug, Clone)]
pub(super) struct RequestScope {
    /// The instant at which the function ends, on [`Timer::monotonic`].
    pub(super) deadline: Duration,
    /// See [`Invocation::correlation`].
    pub(super) correlation: Option<CorrelationId>,
}
