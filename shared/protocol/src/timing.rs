//! All waits and bounds of a turn's life (I13), with their defaults.

use std::time::Duration;

/// The waits and bounds of a turn's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// The duration for which an attempt owns a turn without renewing its lease.
    pub lease: Duration,
    /// The lease of a fence that only looks for an outcome.
    pub salvage_lease: Duration,
    /// The time before the lease's end at which its holder stops, by its own clock.
    pub stop_margin: Duration,
    /// The time after the lease's end before another attempt may take over.
    pub takeover_margin: Duration,
    /// The interval at which an attempt checks that it still owns its turn while a model or a tool runs.
    pub ownership_check_interval: Duration,
    /// The duration for which an attempt may rely on such a check. A cancel delays its response by as long.
    pub ownership_check_ttl: Duration,
    /// The time after which a turn that was ended from outside is finalized without its attempt's last word on usage.
    /// An attempt that is alive notices within about a second.
    pub usage_grace: Duration,
    /// The same, if a client waits for the session's next turn.
    pub short_usage_grace: Duration,
    /// The time after a lease's end that the sweep leaves for the client's own retry.
    pub abandon_grace: Duration,
    /// The delay after which the sweep finalizes a settled turn that had awaited tools and whose announcement was
    /// lost. A turn that ran keeps its due time.
    pub settled_grace: Duration,
    /// The maximum time that a retry waits for a running turn.
    pub replay_wait: Duration,
    /// The maximum time that a connection follows a turn that another one works on.
    pub max_stream_follow: Duration,
    /// The part of a function's time that is reserved for settling a turn as failed.
    pub settle_reserve: Duration,
    /// The maximum time that a turn waits for the client's tools, whatever its contexts say.
    pub max_tool_wait: Duration,
    /// The duration for which a provider's stored response may be relied on.
    pub provider_response_ttl: Duration,
    /// The retention of deleted sessions if neither context nor org sets one.
    pub retention: Duration,
    /// The delay after a purge's start before it rechecks. No function that was running at the start runs as long.
    pub purge_recheck: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self::with_lease(Duration::from_secs(30))
    }
}

impl Timing {
    /// Returns the timing for another lease. Margins shrink with leases under 20 s, so that tests and local
    /// experiments can use short leases.
    #[must_use]
    pub fn with_lease(lease: Duration) -> Self {
        Self {
            lease,
            salvage_lease: Duration::from_secs(5).min(lease),
            stop_margin: Duration::from_secs(5).min(lease / 4),
            takeover_margin: Duration::from_secs(2).min(lease / 4),
            ownership_check_interval: Duration::from_secs(1),
            ownership_check_ttl: Duration::from_millis(250),
            usage_grace: Duration::from_secs(5),
            short_usage_grace: Duration::from_millis(1_500),
            abandon_grace: Duration::from_secs(120),
            settled_grace: Duration::from_secs(30).min(lease),
            replay_wait: Duration::from_secs(10),
            max_stream_follow: Duration::from_secs(60),
            settle_reserve: Duration::from_secs(20),
            max_tool_wait: Duration::from_secs(7 * 24 * 60 * 60),
            provider_response_ttl: Duration::from_secs(29 * 24 * 60 * 60),
            retention: Duration::from_secs(30 * 24 * 60 * 60),
            purge_recheck: Duration::from_secs(900),
        }
    }

    /// Returns the timing for a connection that can follow another connection's turn only for `left`.
    #[must_use]
    pub fn with_max_stream_follow(&self, left: Duration) -> Self {
        Self { max_stream_follow: self.max_stream_follow.min(left), ..*self }
    }

    /// Returns the renewal interval, a third of the lease.
    #[must_use]
    pub fn renewal_interval(&self) -> Duration {
        self.lease / 3
    }
}
