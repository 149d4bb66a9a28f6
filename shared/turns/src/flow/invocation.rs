//! The context that a function's invocation gives to its request.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use agent::mode::Catalog;
use contracts::id::OrgId;
use protocol::correlation::CorrelationId;

use crate::ports::{AgentDeps, Reads, Timer, Unavailable};

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

    /// Returns the scope of the request that this invocation handles.
    pub(crate) fn scope(&self, timer: &impl Timer) -> RequestScope {
        RequestScope {
            deadline: timer.monotonic().saturating_add(self.budget),
            correlation: self.correlation.clone(),
            catalog: Arc::default(),
        }
    }
}

/// The deadline, the log correlation and the modes of one request.
#[derive(Debug, Clone)]
pub(crate) struct RequestScope {
    /// The instant at which the function ends, on [`Timer::monotonic`].
    pub(crate) deadline: Duration,
    /// See [`Invocation::correlation`].
    pub(crate) correlation: Option<CorrelationId>,
    /// The built-in modes and those of the org, once the request has read them.
    catalog: Arc<OnceLock<Catalog>>,
}

impl RequestScope {
    /// Reads the modes of the org, once.
    ///
    /// # Errors
    /// If the store can't be reached.
    pub(crate) async fn load_catalog(&self, deps: &impl AgentDeps, org: &OrgId) -> Result<(), Unavailable> {
        if self.catalog.get().is_none() {
            let own = deps.store().modes(org).await?;
            // Only one read of the request sets it.
            let _ = self.catalog.set(deps.config().catalog.with_modes(&own));
        }
        Ok(())
    }

    /// Returns the built-in modes and those of the org. Every request that works on a turn has read them.
    pub(crate) fn catalog<'a>(&'a self, deps: &'a impl AgentDeps) -> &'a Catalog {
        self.catalog.get().unwrap_or(&deps.config().catalog)
    }
}
