//! The context that a function's invocation gives to its request.

use std::time::Duration;

use contracts::id::UserId;
use protocol::{Caller, caller::BearerToken, correlation::CorrelationId};

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
            caller: None,
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
    /// The caller whose own request this is, with the token. `None` for requests that continue the turn of another, or
    /// after a suspension.
    caller: Option<(UserId, BearerToken)>,
}

impl RequestScope {
    /// Adds the token of the caller who asks for a turn.
    pub(crate) fn of_asker(self, caller: &Caller) -> Self {
        Self { caller: caller.token.clone().map(|token| (caller.user.id.clone(), token)), ..self }
    }

    /// Returns the token of the user who asked for the turn. `None` if this isn't the user's own request.
    pub(crate) fn token_of(&self, asker: &UserId) -> Option<&BearerToken> {
        self.caller.as_ref().filter(|(user, _)| user == asker).map(|(_, token)| token)
    }
}
