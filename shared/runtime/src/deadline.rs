//! The time that Lambda leaves for an invocation.

use std::{
    convert::Infallible,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{extract::FromRequestParts, http::request::Parts};
use lambda_http::RequestExt;

/// The time that the function has left for this request. One minute if the deadline is unknown.
#[derive(Debug, Clone, Copy)]
pub struct RemainingTime(pub Duration);

impl RemainingTime {
    /// Returns the time until a deadline in milliseconds since 1970.
    pub fn until(deadline_ms: Option<u64>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // `cargo lambda watch` sends a deadline in 1970. Ignore a deadline that has already passed.
        let left = deadline_ms.map(Duration::from_millis).and_then(|deadline| deadline.checked_sub(now));
        Self(left.unwrap_or(Duration::from_secs(60)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RemainingTime {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::until(parts.lambda_context_ref().map(|context| context.deadline)))
    }
}
