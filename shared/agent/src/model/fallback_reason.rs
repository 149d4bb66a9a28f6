//! Classifies errors of a model by whether the next one may succeed.

use protocol::detail::FallbackReason;

use crate::model::Error;

/// Returns the reason to fall back to another model after this error, or `None` if a fallback can't help. After any output
/// there is no fallback, because the output was paid for and may have been shown.
#[must_use]
pub fn classify(error: &Error, has_output: bool) -> Option<FallbackReason> {
    match error {
        _ if has_output => None,
        Error::RateLimited { .. } => Some(FallbackReason::RateLimited),
        Error::Unavailable { .. } | Error::TimedOut | Error::Malformed => Some(FallbackReason::Unavailable),
        Error::ContextTooLong => Some(FallbackReason::ContextOverflow),
        Error::QuotaExceeded
        | Error::AttachmentRefused
        | Error::ContentFiltered
        | Error::Unauthenticated
        | Error::ModelNotFound
        | Error::UnknownProvider
        | Error::UnsupportedFeature { .. }
        | Error::ChainLost
        | Error::Rejected { .. }
        | Error::ParameterRejected { .. }
        | Error::Incomplete
        | Error::Empty => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fallback_only_on_overload_outage_or_overflow_before_output() {
        for (error, expected) in [
            (Error::RateLimited { retry_after: None }, Some(FallbackReason::RateLimited)),
            (Error::UNAVAILABLE, Some(FallbackReason::Unavailable)),
            (Error::TimedOut, Some(FallbackReason::Unavailable)),
            (Error::Malformed, Some(FallbackReason::Unavailable)),
            (Error::ContextTooLong, Some(FallbackReason::ContextOverflow)),
            (Error::Unauthenticated, None),
            (Error::QuotaExceeded, None),
            (Error::Rejected { status: 400 }, None),
            (Error::ContentFiltered, None),
        ] {
            assert_eq!((classify(&error, false), classify(&error, true)), (expected, None), "{error:?}");
        }
    }
}
