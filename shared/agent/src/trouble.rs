//! Trouble: when another model is asked in the place of one that has no answer.

use protocol::detail::Trouble;

use crate::model::Error;

/// What is the matter with a model that failed so, where another one may have the answer. Once there was output
/// there is no other: it was paid for, and may have been shown.
#[must_use]
pub fn of(error: &Error, has_output: bool) -> Option<Trouble> {
    match error {
        _ if has_output => None,
        Error::RateLimited { .. } => Some(Trouble::Overload),
        Error::Unavailable { .. } | Error::TimedOut | Error::Malformed => Some(Trouble::Outage),
        Error::ContextTooLong => Some(Trouble::Overflow),
        Error::QuotaExceeded
        | Error::AttachmentRefused
        | Error::ContentFiltered
        | Error::Unauthenticated
        | Error::ModelNotFound
        | Error::UnknownProvider
        | Error::ChainLost
        | Error::Rejected { .. }
        | Error::Incomplete
        | Error::Empty => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_model_is_asked_in_an_overload_an_outage_or_an_overflow_and_never_after_output() {
        for (error, expected) in [
            (Error::RateLimited { retry_after: None }, Some(Trouble::Overload)),
            (Error::UNAVAILABLE, Some(Trouble::Outage)),
            (Error::TimedOut, Some(Trouble::Outage)),
            (Error::Malformed, Some(Trouble::Outage)),
            (Error::ContextTooLong, Some(Trouble::Overflow)),
            (Error::Unauthenticated, None),
            (Error::QuotaExceeded, None),
            (Error::Rejected { status: 400 }, None),
            (Error::ContentFiltered, None),
        ] {
            assert_eq!((of(&error, false), of(&error, true)), (expected, None), "{error:?}");
        }
    }
}
