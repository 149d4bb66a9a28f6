//! The `x-ratelimit-*` headers: the caller's limits per minute, if budgets set any.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use runtime::api::EXPOSED_HEADERS;
use turns::flow::{RateLimit, RateLimits};

use crate::error::ApiError;

/// The headers of one kind of limit: the limit, the rest of it, and the time until it is whole again.
type Names = [HeaderName; 3];

const REQUESTS: Names = [
    HeaderName::from_static("x-ratelimit-limit-requests"),
    HeaderName::from_static("x-ratelimit-remaining-requests"),
    HeaderName::from_static("x-ratelimit-reset-requests"),
];
const TOKENS: Names = [
    HeaderName::from_static("x-ratelimit-limit-tokens"),
    HeaderName::from_static("x-ratelimit-remaining-tokens"),
    HeaderName::from_static("x-ratelimit-reset-tokens"),
];

/// Returns a response with the headers of its rate limits. `now` is in seconds.
#[must_use]
pub fn with_rate_limits(response: Result<Response, ApiError>, limits: RateLimits, now: u64) -> Response {
    let mut response = response.into_response();
    if limits.turns.is_some() || limits.tokens.is_some() {
        let names = [REQUESTS, TOKENS].concat();
        let names: Vec<&str> = names.iter().map(HeaderName::as_str).collect();
        if let Ok(exposed) = HeaderValue::try_from(format!("{EXPOSED_HEADERS}, {}", names.join(", "))) {
            response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
    add(response.headers_mut(), REQUESTS, limits.turns, now);
    add(response.headers_mut(), TOKENS, limits.tokens, now);
    response
}

fn add(headers: &mut HeaderMap, [of_limit, of_rest, of_reset]: Names, limit: Option<RateLimit>, now: u64) {
    let Some(RateLimit { limit, remaining, resets }) = limit else { return };
    let resets = u64::try_from(resets.as_millis().div_euclid(1_000)).unwrap_or_default();
    headers.insert(of_limit, HeaderValue::from(limit));
    headers.insert(of_rest, HeaderValue::from(remaining));
    if let Ok(reset) = HeaderValue::try_from(format!("{}s", resets.saturating_sub(now))) {
        headers.insert(of_reset, reset);
    }
}

#[cfg(test)]
mod tests {
    use contracts::Timestamp;

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
