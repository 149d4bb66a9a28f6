//! Errors for the client of a turn without an answer.

use std::time::Duration;

use contracts::{Error, ErrorCode};

use crate::{
    attempt::TurnSpec,
    model::{self, Attachment, Message},
};

/// Files named in an error, at most.
const MAX_NAMED_FILES: usize = 8;

/// Maximum wait that a client is asked for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// Returns the error for a model that called tools for more rounds than a turn allows.
pub fn tool_rounds_exceeded(spec: &TurnSpec) -> Error {
    let message = format!(
        "The model called tools more than {} times in a row without an answer. Ask for less at once, with a new TurnId.",
        spec.tools.max_rounds
    );
    Error::new(ErrorCode::ToolRoundsExceeded, message)
}

/// Returns the error for the client if the model gave no answer to a message. It names the message's files if the
/// provider refused one. `failure` is the same as for [`client_error`].
pub fn client_error_for(error: &model::Error, message: &Message, failure: Option<&str>) -> Error {
    let client_error = client_error(error, failure);
    let names: Vec<&str> = message
        .attachments
        .iter()
        .filter_map(|attachment| match attachment {
            Attachment::File { name, .. } => Some(name.as_str()),
            Attachment::Image { .. } => None,
        })
        .take(MAX_NAMED_FILES)
        .collect();
    if *error != model::Error::AttachmentRefused || names.is_empty() {
        return client_error;
    }
    let files = format!("Files of this turn that not every provider reads: {}", names.join(", "));
    client_error.with_details(files)
}

/// Returns the error for the client if the model gave no answer. `failure` is the provider's address and message, which
/// only a developer's machine has: otherwise the error never contains the provider's text (I14).
pub fn client_error(error: &model::Error, failure: Option<&str>) -> Error {
    let (code, message) = match error {
        model::Error::UnsupportedFeature { feature } => {
            let message = format!(
                "This conversation is set up with {feature}, which the API of its model provider does not have. Ask \
                 your operator to check it."
            );
            return Error::new(ErrorCode::ModelMisconfigured, message);
        }
        model::Error::RateLimited { .. } => (
            ErrorCode::ModelRateLimited,
            "The model provider is limiting requests. Wait a little and send the instruction again with a new TurnId.",
        ),
        model::Error::QuotaExceeded => (
            ErrorCode::ModelQuotaExceeded,
            "The model provider's quota is used up. Ask your operator to raise it.",
        ),
        model::Error::ContextTooLong => (
            ErrorCode::ModelContextTooLong,
            "The conversation is too long for the model. Send fewer or smaller files, or start a new session.",
        ),
        model::Error::AttachmentRefused => (
            ErrorCode::ModelAttachmentRefused,
            "The model provider can't read an image or a file of this turn. Convert the image or file, or omit it.",
        ),
        model::Error::ContentFiltered => (
            ErrorCode::ModelContentFiltered,
            "The model provider's content filter refused this turn. Rephrase the instruction.",
        ),
        model::Error::Unauthenticated => (
            ErrorCode::ModelMisconfigured,
            "The model provider refused the service's credentials. Ask your operator to check them.",
        ),
        model::Error::UnknownProvider => (
            ErrorCode::ModelMisconfigured,
            "This conversation is set up for a model provider that the service does not have. Ask your operator to check it.",
        ),
        model::Error::ModelNotFound => (
            ErrorCode::ModelNotFound,
            "The model provider does not know the model that is configured. Ask your operator to check it.",
        ),
        model::Error::ChainLost | model::Error::Rejected { .. } => (
            ErrorCode::ModelRejected,
            "The model provider rejected the request. Ask your operator to look up the reason in the log.",
        ),
        model::Error::ParameterRejected { .. } => (
            ErrorCode::ModelRejected,
            "The model provider rejected a parameter of the request. Ask your operator to check the conversation's context.",
        ),
        model::Error::Unavailable { .. } => (
            ErrorCode::ModelUnavailable,
            "The model provider is unavailable. Send the instruction again with a new TurnId.",
        ),
        model::Error::TimedOut => (
            ErrorCode::ModelTimedOut,
            "The model did not answer in time. Send the instruction again with a new TurnId.",
        ),
        model::Error::Malformed => (
            ErrorCode::ModelReplyMalformed,
            "The model provider's reply broke off or was malformed. Send the instruction again with a new TurnId.",
        ),
        model::Error::Incomplete => (
            ErrorCode::ModelReplyIncomplete,
            "The model stopped before its answer was complete. Ask for a shorter answer with a new TurnId.",
        ),
        model::Error::Empty => (
            ErrorCode::ModelReplyEmpty,
            "The model answered with neither text nor a call, twice. Send the instruction again with a new TurnId.",
        ),
    };
    let response = match failure {
        Some(failure) => Error::new(code, format!("{message} {failure}")),
        None => Error::new(code, message),
    };
    match error.retry_after() {
        Some(wait) => {
            let response = response.with_retry_after(wait.min(MAX_RETRY_AFTER));
            // For clients that don't know `RetryAfterSeconds`.
            let seconds = response.retry_after_seconds.unwrap_or(1);
            response.with_details(format!("Retry-After: {seconds}"))
        }
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use contracts::error::Retry;

    use super::*;

    #[test]
    fn error_without_a_retry_never_asks_to_send_again() {
        let retry_after = None;
        for error in [
            model::Error::RateLimited { retry_after },
            model::Error::QuotaExceeded,
            model::Error::ContextTooLong,
            model::Error::AttachmentRefused,
            model::Error::ContentFiltered,
            model::Error::Unauthenticated,
            model::Error::UnknownProvider,
            model::Error::ModelNotFound,
            model::Error::ChainLost,
            model::Error::Rejected { status: 400 },
            model::Error::ParameterRejected { status: 400 },
            model::Error::Unavailable { retry_after },
            model::Error::TimedOut,
            model::Error::Malformed,
            model::Error::Incomplete,
            model::Error::Empty,
        ] {
            let Error { error_code, message, .. } = client_error(&error, None);
            let asks = message.contains("again") || message.contains("new TurnId");
            assert_eq!(asks, error_code.retry() != Retry::Never, "{error_code}: {message}");
        }
    }

    #[test]
    fn failure_of_a_developers_machine_follows_the_message() {
        let error = client_error(&model::Error::ModelNotFound, Some("http://h/v1/responses answered 404."));
        assert!(
            error.message.ends_with("Ask your operator to check it. http://h/v1/responses answered 404.")
        );
    }
}
