//! Headers with the caller's limits per minute, if budgets set any.

use axum::response::Response;
use contracts::Timestamp;
use http::{HeaderName, HeaderValue, header};
use runtime::api::EXPOSED_HEADERS;
use turns::flow::{RateLimit, RateLimits};

/// A protocol's headers of one kind of limit: the limit, the rest of it, and the end of the minute, when it is whole again.
pub type LimitHeaders = [HeaderName; 3];

/// Adds the headers of turns and of tokens to a response. `reset` spells the end of the minute.
#[must_use]
pub fn with_rate_limits(
    mut response: Response,
    (of_turns, of_tokens): (&LimitHeaders, &LimitHeaders),
    limits: RateLimits,
    reset: impl Fn(Timestamp) -> String,
) -> Response {
    let headers = response.headers_mut();
    if limits.turns.is_some() || limits.tokens.is_some() {
        let names: Vec<&str> = of_turns.iter().chain(of_tokens).map(HeaderName::as_str).collect();
        if let Ok(exposed) = HeaderValue::try_from(format!("{EXPOSED_HEADERS}, {}", names.join(", "))) {
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
    for ([of_limit, of_rest, of_reset], limit) in [(of_turns, limits.turns), (of_tokens, limits.tokens)] {
        let Some(RateLimit { limit, remaining, resets }) = limit else { continue };
        headers.insert(of_limit, HeaderValue::from(limit));
        headers.insert(of_rest, HeaderValue::from(remaining));
        if let Ok(reset) = HeaderValue::try_from(reset(resets)) {
            headers.insert(of_reset, reset);
        }
    }
    response
}
