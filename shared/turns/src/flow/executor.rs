//! The executor of turns.

use crate::flow::run::provider_capabilities::CapabilityCache;
use crate::ports::AgentDeps;

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
