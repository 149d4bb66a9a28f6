//! The failures of model calls that count for a provider's circuit breaker, and the error while it is open.

use agent::model::Error;
use breaker::Open;

/// True if the provider is overloaded or down. False if the request is at fault.
pub fn is_outage(error: &Error) -> bool {
    matches!(error, Error::Unavailable { .. } | Error::TimedOut | Error::RateLimited { .. })
}

/// Returns the error of a call that an open breaker rejects.
pub(crate) fn rejected(Open { remaining }: Open) -> Error {
    Error::Unavailable { retry_after: Some(remaining) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn overload_and_outage_count_and_faults_of_the_request_do_not() {
        for outage in [Error::UNAVAILABLE, Error::TimedOut, Error::RateLimited { retry_after: None }] {
            assert!(is_outage(&outage), "{outage:?}");
        }
        for fault in [Error::Rejected { status: 400 }, Error::ContextTooLong] {
            assert!(!is_outage(&fault), "{fault:?}");
        }
    }

    #[test]
    fn rejected_call_names_the_time_until_the_next_probe() {
        let remaining = Duration::from_secs(6);
        assert_eq!(rejected(Open { remaining }), Error::Unavailable { retry_after: Some(remaining) });
    }
}
