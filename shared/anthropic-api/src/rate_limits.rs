//! The `anthropic-ratelimit-*` headers: the caller's limits per minute, if budgets set any.

use axum::response::{IntoResponse, Response};
use fronts::LimitHeaders;
use http::HeaderName;
use turns::flow::RateLimits;

use crate::error::ApiError;

const REQUESTS: LimitHeaders = [
    HeaderName::from_static("anthropic-ratelimit-requests-limit"),
    HeaderName::from_static("anthropic-ratelimit-requests-remaining"),
    HeaderName::from_static("anthropic-ratelimit-requests-reset"),
];
const TOKENS: LimitHeaders = [
    HeaderName::from_static("anthropic-ratelimit-tokens-limit"),
    HeaderName::from_static("anthropic-ratelimit-tokens-remaining"),
    HeaderName::from_static("anthropic-ratelimit-tokens-reset"),
];

/// Returns a response with the headers of its rate limits.
#[must_use]
pub fn with_rate_limits(response: Result<Response, ApiError>, limits: RateLimits) -> Response {
    fronts::with_rate_limits(response.into_response(), (&REQUESTS, &TOKENS), limits, |resets| {
        resets.to_string()
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
        let response = with_rate_limits(Err(ApiError::invalid("no")), limits);
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("anthropic-ratelimit-requests-limit"), Some("20"));
        assert_eq!(header("anthropic-ratelimit-requests-remaining"), Some("19"));
        let reset = header("anthropic-ratelimit-requests-reset").unwrap();
        assert!(reset.starts_with("1970-01-01T00:02:00"), "{reset}");
        assert_eq!(header("anthropic-ratelimit-tokens-limit"), None);
        let exposed = header("access-control-expose-headers").unwrap();
        assert!(
            exposed.starts_with("Retry-After, ") && exposed.ends_with("anthropic-ratelimit-tokens-reset")
        );
    }
}
