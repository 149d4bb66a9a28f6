//! Errors of the API as sentences, and advice on them.

use client::{Error, Retry};

use crate::failure::list_advice;

/// Formats an error, with advice for known errors.
pub(super) fn with_advice(error: &Error, is_interactive: bool) -> String {
    match (error.code(), error.retry()) {
        (Some("Unauthenticated"), _) => {
            format!("{} Get a new token, for example with `aptix sign-in`.", sentence(error))
        }
        (_, Retry::SameRequest | Retry::NewTurn) if is_interactive => {
            format!("{} Type /retry to try again.", sentence(error))
        }
        (_, Retry::SameRequest | Retry::NewTurn) => format!("{} Run the command again.", sentence(error)),
        _ => format!("{error}{}", list_advice(error.code())),
    }
}

/// Formats an error as a sentence that another one can follow.
pub(super) fn sentence(error: &Error) -> String {
    let text = error.to_string();
    if text.ends_with(['.', '?']) { text } else { text + "." }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_follows_a_complete_sentence() {
        let unreachable = Error::Unreachable("http://127.0.0.1:9".to_owned());
        assert_eq!(
            with_advice(&unreachable, true),
            "can't reach the API at http://127.0.0.1:9. Is it running? Type /retry to try again."
        );
        assert_eq!(
            with_advice(&Error::Interrupted, false),
            "the connection closed before the response was complete. Run the command again."
        );
        assert_eq!(
            with_advice(&Error::UnexpectedResponse(404), true),
            "unexpected response with status 404, not from the API"
        );
    }
}
