//! Every wait and bound of a turn's life (I13), with their defaults.

use std::time::Duration;

/// How long things take at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long an attempt owns a turn without renewing.
    pub lease: Duration,
    /// How long a fence that only looks for an outcome owns a turn.
    pub salvage_lease: Duration,
    /// How long before the lease's end its holder stops, by its own clock.
    pub stop_early: Duration,
    /// How much longer than the lease a taker waits.
    pub take_late: Duration,
    /// How often an attempt looks at its turn while a model or a tool is at work.
    pub look_every: Duration,
    /// For how long an attempt may rely on having seen that the turn is its own. A cancel holds its answer
    /// back for as long.
    pub look_lasts: Duration,
    /// What the sweep leaves, after a lease's end, for the client's own retry.
    pub abandon_grace: Duration,
    /// When the sweep looks at a settled turn that awaited tools and whose announcement was lost. One that ran stays due
    /// when it was.
    pub settled_grace: Duration,
    /// How long a retry waits for a running turn.
    pub replay_wait: Duration,
    /// How long a connection follows a turn that another one works on.
    pub stream_hold: Duration,
    /// What is kept of a function's time for settling a turn as failed.
    pub settle_reserve: Duration,
    /// The longest that a turn waits for the client's tools, whatever its contexts say.
    pub longest_tool_wait: Duration,
    /// How long a provider's stored response may be relied on.
    pub chain_life: Duration,
    /// How long a deleted session is kept where neither its context nor its org says otherwise.
    pub retention: Duration,
    /// How long after a purge began it looks once more: no function that was at work then runs as long.
    pub purge_again: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self::with_lease(Duration::from_secs(30))
    }
}

impl Timing {
    /// Timing around another lease; margins shrink with leases under 20 s, so that tests and local
    /// experiments can use short ones.
    #[must_use]
    pub fn with_lease(lease: Duration) -> Self {
        Self {
            lease,
            salvage_lease: Duration::from_secs(5).min(lease),
            stop_early: Duration::from_secs(5).min(lease / 4),
            take_late: Duration::from_secs(2).min(lease / 4),
            look_every: Duration::from_secs(1),
            look_lasts: Duration::from_millis(250),
            abandon_grace: Duration::from_secs(120),
            settled_grace: Duration::from_secs(30).min(lease),
            replay_wait: Duration::from_secs(10),
            stream_hold: Duration::from_secs(60),
            settle_reserve: Duration::from_secs(20),
            longest_tool_wait: Duration::from_secs(7 * 24 * 60 * 60),
            chain_life: Duration::from_secs(29 * 24 * 60 * 60),
            retention: Duration::from_secs(30 * 24 * 60 * 60),
            purge_again: Duration::from_secs(900),
        }
    }

    /// The same, for a connection that can wait for another one's turn no longer than this.
    #[must_use]
    pub fn for_at_most(&self, left: Duration) -> Self {
        Self { stream_hold: self.stream_hold.min(left), ..*self }
    }

    /// How often a holder renews: three times a lease.
    #[must_use]
    pub fn renew_every(&self) -> Duration {
        self.lease / 3
    }
}
