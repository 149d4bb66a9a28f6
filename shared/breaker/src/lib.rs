//! A circuit breaker. Opens after a number of consecutive failures, rejects calls for a while, and then lets one probe
//! call decide whether to close again.
//!
//! The state is in memory, per process and service: each process has its own view, and a new process starts closed.
//! Time is an argument. Deliberately absent: the rule for what an outage is, which each kind of service has.

use std::{
    borrow::Cow,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The thresholds of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The number of consecutive failures that opens the breaker. 0 disables it.
    pub failures: u32,
    /// The time for which the breaker stays open.
    pub pause: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { failures: 10, pause: Duration::from_secs(10) }
    }
}

/// The state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Calls are let through. Counts the consecutive failures.
    Closed { failed: u32 },
    /// Calls are rejected until then.
    Open { until: Instant },
    /// One probe call is running, and all others are rejected.
    HalfOpen,
}

/// A circuit breaker.
#[derive(Debug)]
pub struct Breaker {
    service: Cow<'static, str>,
    policy: Policy,
    state: Mutex<State>,
}

/// The error of a call that an open breaker rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the circuit breaker is open for {remaining:?}")]
pub struct Open {
    /// The time until the next probe.
    pub remaining: Duration,
}

/// A permit for one call. Dropping it before [`Permit::record`] discards the outcome.
#[derive(Debug)]
pub struct Permit<'a> {
    breaker: &'a Breaker,
    /// The time of the permit, if the call is a probe.
    probe_at: Option<Instant>,
}

impl Breaker {
    /// Creates a closed breaker.
    pub fn new(policy: Policy) -> Self {
        Self {
            service: Cow::Borrowed("the model provider"),
            policy,
            state: Mutex::new(State::Closed { failed: 0 }),
        }
    }

    /// Sets the name of the service for the log.
    #[must_use]
    pub fn with_name(self, service: impl Into<Cow<'static, str>>) -> Self {
        Self { service: service.into(), ..self }
    }

    /// True if all calls are rejected at `now`.
    pub fn is_open(&self, now: Instant) -> bool {
        match *self.state() {
            State::Open { until } => now < until,
            State::Closed { .. } | State::HalfOpen => false,
        }
    }

    /// Acquires a permit for a call.
    ///
    /// # Errors
    ///
    /// [`Open`], with the time until the next probe.
    pub fn acquire(&self, now: Instant) -> Result<Permit<'_>, Open> {
        let mut state = self.state();
        let probe_at = match *state {
            State::Closed { .. } => None,
            State::Open { until } if now >= until => Some(now),
            State::Open { until } => return Err(Open { remaining: until.saturating_duration_since(now) }),
            State::HalfOpen => return Err(Open { remaining: self.policy.pause }),
        };
        if probe_at.is_some() {
            *state = State::HalfOpen;
        }
        Ok(Permit { breaker: self, probe_at })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Records the outcome of the call. Any response other than an outage closes the breaker.
    pub fn record(mut self, was_outage: bool, now: Instant) {
        let (upstream, probed) = (self.breaker.service.as_ref(), self.probe_at.take().is_some());
        let Policy { failures, pause } = self.breaker.policy;
        let mut state = self.breaker.state();
        let failed = match *state {
            _ if !was_outage => {
                if probed {
                    tracing::info!(upstream, "{}", contracts::log::BREAKER_CLOSED);
                }
                *state = State::Closed { failed: 0 };
                return;
            }
            // A call that started before the breaker opened adds no information.
            State::Open { .. } | State::HalfOpen if !probed => return,
            State::Open { .. } | State::HalfOpen => failures,
            State::Closed { failed } => failed.saturating_add(1),
        };
        *state = match failed >= failures && failures > 0 {
            false => State::Closed { failed },
            true => {
                let seconds = pause.as_secs();
                tracing::error!(upstream, failed, seconds, "{}", contracts::log::BREAKER_OPENED);
                State::Open { until: now + pause }
            }
        };
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        // Lets the next call probe instead.
        if let Some(until) = self.probe_at {
            *self.breaker.state() = State::Open { until };
        }
    }
}

#[cfg(test)]
mod tests;
