//! A circuit breaker: once a provider failed so often in a row, it is not asked for a while, and then one call finds
//! out whether it is back.
//!
//! Of one process and one provider, and only in memory: each process finds out by itself, and a new one starts
//! without prejudice. Time comes in as a value.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::model::Error;
use tokio::time::Instant;

/// When a provider is not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// After so many failures in a row; 0 is never.
    pub failures: u32,
    /// For so long.
    pub pause: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { failures: 10, pause: Duration::from_secs(10) }
    }
}

/// What is known of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is asked. So many calls in a row failed.
    Closed { failed: u32 },
    /// It is not asked until then.
    Open { until: Instant },
    /// One call finds out whether it is back.
    Probed,
}

/// A circuit breaker.
#[derive(Debug)]
pub struct Breaker {
    who: &'static str,
    policy: Policy,
    state: Mutex<State>,
}

/// Leave to ask. Dropped before [`Admission::ended`], the call has shown nothing.
#[derive(Debug)]
pub struct Admission<'a> {
    breaker: &'a Breaker,
    /// When leave was given, to a call that finds out whether the provider is back.
    probes: Option<Instant>,
}

impl Breaker {
    /// A breaker that knows of no failure.
    pub fn new(policy: Policy) -> Self {
        Self { who: "the model provider", policy, state: Mutex::new(State::Closed { failed: 0 }) }
    }

    /// The same around another service, which the log calls so.
    #[must_use]
    pub fn around(self, who: &'static str) -> Self {
        Self { who, ..self }
    }

    /// Whether nobody is let through at this instant.
    pub fn is_open(&self, now: Instant) -> bool {
        match *self.state() {
            State::Open { until } => now < until,
            State::Closed { .. } | State::Probed => false,
        }
    }

    /// Leave to ask.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`], with what is left of the pause.
    pub fn admit(&self, now: Instant) -> Result<Admission<'_>, Error> {
        let mut state = self.state();
        let probes = match *state {
            State::Closed { .. } => None,
            State::Open { until } if now >= until => Some(now),
            State::Open { until } => return Err(closed_for(until.saturating_duration_since(now))),
            State::Probed => return Err(closed_for(self.policy.pause)),
        };
        if probes.is_some() {
            *state = State::Probed;
        }
        Ok(Admission { breaker: self, probes })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admission<'_> {
    /// What the call has shown. An answer of whatever kind shows that the provider is there.
    pub fn ended(mut self, was_outage: bool, now: Instant) {
        let (who, probed) = (self.breaker.who, self.probes.take().is_some());
        let Policy { failures, pause } = self.breaker.policy;
        let mut state = self.breaker.state();
        let failed = match *state {
            _ if !was_outage => {
                if probed {
                    tracing::info!("{who} is back");
                }
                *state = State::Closed { failed: 0 };
                return;
            }
            // A call that began before the breaker opened shows nothing new.
            State::Open { .. } | State::Probed if !probed => return,
            State::Open { .. } | State::Probed => failures,
            State::Closed { failed } => failed.saturating_add(1),
        };
        *state = match failed >= failures && failures > 0 {
            false => State::Closed { failed },
            true => {
                let seconds = pause.as_secs();
                tracing::error!(failed, seconds, "{who} is not asked for a while");
                State::Open { until: now + pause }
            }
        };
    }
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        // The next call may find out instead.
        if let Some(until) = self.probes {
            *self.breaker.state() = State::Open { until };
        }
    }
}

/// Whether it is the provider that is overloaded or out, and not the request that is wrong.
pub fn is_outage(error: &Error) -> bool {
    matches!(error, Error::Unavailable { .. } | Error::TimedOut | Error::RateLimited { .. })
}

fn closed_for(left: Duration) -> Error {
    Error::Unavailable { retry_after: Some(left) }
}

#[cfg(test)]
mod tests;
