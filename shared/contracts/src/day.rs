//! Days on the wire: ISO-8601 dates, in UTC.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

const MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// A day in UTC, in days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day(i64);

/// The string is not an ISO-8601 date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a date such as 2026-01-31")]
pub struct InvalidDay;

impl Day {
    /// Returns the instant at which the day begins.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp::from_millis(self.0.saturating_mul(MILLIS))
    }

    /// Returns the day that is this many days later, or earlier if the number is negative.
    #[must_use]
    pub fn plus(self, days: i64) -> Self {
        Self(self.0.saturating_add(days))
    }

    /// Returns the number of days until `later`, which is negative if that day has passed.
    #[must_use]
    pub fn until(self, later: Self) -> i64 {
        later.0.saturating_sub(self.0)
    }

    /// Returns this day and the following ones up to `last`.
    pub fn through(self, last: Self) -> impl Iterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }
}

impl From<Timestamp> for Day {
    /// Returns the day of an instant.
    fn from(at: Timestamp) -> Self {
        Self(at.as_millis().div_euclid(MILLIS))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.start().to_string();
        f.write_str(start.split('T').next().unwrap_or_default())
    }
}

impl FromStr for Day {
    type Err = InvalidDay;

    fn from_str(text: &str) -> Result<Self, InvalidDay> {
        let start: Timestamp = format!("{text}T00:00:00Z").parse().map_err(|_| InvalidDay)?;
        let day = Self::from(start);
        Some(day).filter(|day| day.to_string() == text).ok_or(InvalidDay)
    }
}

impl TryFrom<String> for Day {
    type Error = InvalidDay;

    fn try_from(text: String) -> Result<Self, InvalidDay> {
        text.parse()
    }
}

impl From<Day> for String {
    fn from(day: Day) -> Self {
        day.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_is_that_of_the_instant_in_utc() {
        for (millis, day) in [(0, "1970-01-01"), (-1, "1969-12-31"), (1_764_547_199_999, "2025-11-30")] {
            assert_eq!(Day::from(Timestamp::from_millis(millis)).to_string(), day);
        }
        let day: Day = "2026-02-28".parse().unwrap();
        assert_eq!((day.plus(1).to_string().as_str(), day.until(day.plus(3))), ("2026-03-01", 3));
        assert_eq!(day.through(day.plus(2)).count(), 3);
        assert_eq!(day.through(day.plus(-1)).count(), 0);
    }

    #[test]
    fn only_a_plain_date_is_a_day() {
        for text in ["", "2026-1-31", "2026-02-30", "20260131", "2026-01-31T00", "yesterday"] {
            assert_eq!(text.parse::<Day>(), Err(InvalidDay), "{text}");
        }
    }
}
