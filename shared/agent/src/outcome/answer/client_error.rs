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

/// Returns the error for the client if the model gave no answer to a message. It never contains the provider's text
/// (I14), but names the message's files if the provider refused one.
pub fn client_error_for(error: &model::Error, message: &Message) -> Error {
    let client_error = client_error(error);
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

/// Returns the error for the client if the model gave no answer. It never contains the provider's text (I14).
pub fn client_error(error: &model::Error) -> Error {
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
            "The model provider can't read an image or a file of this turn. Send it in another form, or leave it out.",
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
            "The model provider rejected the request. Send the instruction again with a new TurnId.",
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
    let response = Error::new(code, message);
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
