//! The context that a function's invocation gives to its request.

use std::time::Duration;

use protocol::correlation::CorrelationId;

use crate::ports::Timer;

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
        }
    }
}

/// The deadline and the log correlation of one request.
#[derive(Debug, Clone)]
pub(crate) struct RequestScope {
    /// The instant at which the function ends, on [`Timer::monotonic`].
    pub(crate) deadline: Duration,
    /// See [`Invocation::correlation`].
    pub(crate) correlation: Option<CorrelationId>,
}
