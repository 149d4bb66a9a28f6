//! The retry headers of a response: `retry-after-ms`, `retry-after` and `x-should-retry`.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::HeaderMap;

/// The provider's advice on retries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Advice {
    /// The delay before a retry.
    pub retry_after: Option<Duration>,
    /// True to retry, false not to, `None` if the provider doesn't say.
    pub should_retry: Option<bool>,
}

impl Advice {
    /// Reads the headers. Ignores invalid values.
    pub fn read(headers: &HeaderMap, now: Timestamp) -> Self {
        let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
        let in_milliseconds = || text("retry-after-ms").and_then(|value| decimal(value, 1_000.0));
        let in_seconds = || text("retry-after").and_then(|value| decimal(value, 1.0));
        let at_a_date = || text("retry-after").and_then(|value| until(value, now));
        Self {
            retry_after: in_milliseconds().or_else(in_seconds).or_else(at_a_date),
            should_retry: text("x-should-retry").and_then(|value| value.parse().ok()),
        }
    }
}

/// Returns the pause before another request that a response asks for.
#[must_use]
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    Advice::read(headers, Timestamp::now()).retry_after
}

fn decimal(value: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = value.parse().ok()?;
    Duration::try_from_secs_f64(number / per_second).ok()
}

fn until(date: &str, now: Timestamp) -> Option<Duration> {
    let date = DateTimeParser::new().parse_timestamp(date).ok()?;
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&'static str, &str)]) -> Advice {
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        Advice::read(&headers, "2015-10-21T07:28:00Z".parse().unwrap())
    }

    fn after(headers: &[(&'static str, &str)]) -> Option<Duration> {
        read(headers).retry_after
    }

    #[test]
    fn retry_after_is_read_in_every_form() {
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[("retry-after", "2")]), Some(Duration::from_secs(2)));
        assert_eq!(after(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        let date = "Wed, 21 Oct 2015 07:28:30 GMT";
        assert_eq!(after(&[("retry-after", date)]), Some(Duration::from_secs(30)));
        let past = "Wed, 21 Oct 2015 07:27:00 GMT";
        assert_eq!(after(&[("retry-after", past)]), Some(Duration::ZERO));
    }

    #[test]
    fn retry_after_ms_takes_precedence() {
        let both = [("retry-after", "2"), ("retry-after-ms", "70")];
        assert_eq!(after(&both), Some(Duration::from_millis(70)));
    }

    #[test]
    fn invalid_headers_are_ignored() {
        for value in ["soon", "-1", "NaN", "1e300", ""] {
            assert_eq!(after(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(read(&[("x-should-retry", "maybe")]).should_retry, None);
    }

    #[test]
    fn should_retry_header_is_read() {
        assert_eq!(read(&[("x-should-retry", "true")]).should_retry, Some(true));
        assert_eq!(read(&[("x-should-retry", "false")]).should_retry, Some(false));
    }
}
