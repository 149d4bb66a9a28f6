//! Instants on the wire: ISO-8601, UTC, milliseconds, `Z`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// An instant, in whole milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// The string is not an ISO-8601 instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an ISO-8601 UTC timestamp such as 2026-01-31T23:59:59.000Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// Creates an instant from milliseconds since the Unix epoch, clamped to the years that ISO-8601 writes with
    /// four digits.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        // 0000-01-01 and 9999-12-31, both at the edge of what the text form can hold.
        Self(millis.clamp(-62_167_219_200_000, 253_402_300_799_999))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the instant that is this much later.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_add(by))
    }

    /// The time until `later`, or zero if `later` has passed.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instant = jiff::Timestamp::from_millisecond(self.0).map_err(|_| fmt::Error)?;
        write!(f, "{instant:.3}")
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| InvalidTimestamp)?;
        Ok(Self::from_millis(instant.as_millisecond()))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = InvalidTimestamp;
    fn try_from(text: String) -> Result<Self, InvalidTimestamp> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> Self {
        at.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_has_milliseconds_and_z() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(1_764_547_200_120).to_string(), "2025-12-01T00:00:00.120Z");
    }

    #[test]
    fn text_order_is_time_order() {
        let early = Timestamp::from_millis(999).to_string();
        let late = Timestamp::from_millis(1_000).to_string();
        assert!(early < late);
    }
}
