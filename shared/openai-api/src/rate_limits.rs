//! The `x-ratelimit-*` headers: the caller's limits per minute, if budgets set any.

use axum::response::{IntoResponse, Response};
use fronts::LimitHeaders;
use http::HeaderName;
use turns::flow::RateLimits;

use crate::error::ApiError;

const REQUESTS: LimitHeaders = [
    HeaderName::from_static("x-ratelimit-limit-requests"),
    HeaderName::from_static("x-ratelimit-remaining-requests"),
    HeaderName::from_static("x-ratelimit-reset-requests"),
];
const TOKENS: LimitHeaders = [
    HeaderName::from_static("x-ratelimit-limit-tokens"),
    HeaderName::from_static("x-ratelimit-remaining-tokens"),
    HeaderName::from_static("x-ratelimit-reset-tokens"),
];

/// Returns a response with the headers of its rate limits. `now` is in seconds.
#[must_use]
pub fn with_rate_limits(response: Result<Response, ApiError>, limits: RateLimits, now: u64) -> Response {
    fronts::with_rate_limits(response.into_response(), (&REQUESTS, &TOKENS), limits, |resets| {
        let resets = u64::try_from(resets.as_millis().div_euclid(1_000)).unwrap_or_default();
        format!("{}s", resets.saturating_sub(now))
    })
}

#[cfg(test)]
mod tests {
    use contracts::Timestamp;
    use turns::flow::RateLimit;

    use super::*;

    #[test]
    fn headers_are_those_of_existing_limits() {
        let resets = Timestamp::from_millis(120_000);
        let turns = Some(RateLimit { limit: 20, remaining: 19, resets });
        let limits = RateLimits { turns, tokens: None };
        let response = with_rate_limits(Err(ApiError::value("x", "is invalid")), limits, 78);
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("x-ratelimit-limit-requests"), Some("20"));
        assert_eq!(header("x-ratelimit-remaining-requests"), Some("19"));
        assert_eq!(header("x-ratelimit-reset-requests"), Some("42s"));
        assert_eq!(header("x-ratelimit-limit-tokens"), None);
        let exposed = header("access-control-expose-headers").unwrap();
        assert!(exposed.starts_with("Retry-After, ") && exposed.ends_with("x-ratelimit-reset-tokens"));
    }
}
