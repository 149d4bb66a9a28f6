//! Classifies failed calls: condition failed, contended, or unknown.

use std::{error::Error, fmt};

use aws_sdk_dynamodb::{
    error::{ProvideErrorMetadata, SdkError},
    operation::transact_write_items::TransactWriteItemsError,
};
use contracts::error::causes;
use turns::ports::{Source, Unavailable, WriteError};

/// Error codes that mean that nothing was written and the call can be retried. A call's own error has the code with a
/// suffix; the reasons of a cancelled transaction have it without.
const CONTENTION_CODES: [&str; 6] = [
    "TransactionConflictException",
    "TransactionConflict",
    "ThrottlingException",
    "ThrottlingError",
    "ProvisionedThroughputExceededException",
    "ProvisionedThroughputExceeded",
];

/// A failed call. Its sources contain the service's code, message and request id.
///
/// `Debug` shows the same. The SDK's own `Debug` prints the raw response, which may contain an answer or a secret
/// (I14).
#[derive(thiserror::Error)]
#[error(transparent)]
struct CallError<E: Error + 'static>(SdkError<E>);

impl<E: Error + 'static> fmt::Debug for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failed({})", causes(self))
    }
}

/// Wraps a failed call as the source of another error.
pub(crate) fn cause<E: Error + Send + Sync + 'static>(error: SdkError<E>) -> Source {
    CallError(error).into()
}

/// Converts the error of a read or of an unconditional write.
pub(crate) fn unavailable<E>(what: &'static str, error: SdkError<E>) -> Unavailable
where
    E: Error + Send + Sync + 'static,
{
    Unavailable { what, source: cause(error) }
}

/// Converts the error of a conditional write to one item.
pub(crate) fn write_error<E>(error: SdkError<E>) -> WriteError
where
    E: Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    match error.code() {
        Some("ConditionalCheckFailedException") => WriteError::ConditionFailed,
        Some(code) if CONTENTION_CODES.contains(&code) => WriteError::Contended,
        // Such as a timeout: the write may have happened, so callers read back before they retry.
        _ => WriteError::Unknown(cause(error)),
    }
}

/// Converts the error of a transaction. One failed condition decides, whatever else went wrong.
pub(crate) fn transaction_error(error: SdkError<TransactWriteItemsError>) -> WriteError {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
    else {
        return write_error(error);
    };
    let codes = || cancelled.cancellation_reasons().iter().filter_map(|reason| reason.code());
    if codes().any(|code| code == "ConditionalCheckFailed") {
        WriteError::ConditionFailed
    } else if codes().any(|code| CONTENTION_CODES.contains(&code)) {
        WriteError::Contended
    } else {
        WriteError::Unknown(cause(error))
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::{
        config::http::HttpResponse, error::ErrorMetadata, operation::get_item::GetItemError,
        types::error::ResourceNotFoundException,
    };

    use super::*;

    /// A response with a body.
    fn response() -> HttpResponse {
        HttpResponse::new(400.try_into().unwrap(), "marker".into())
    }

    #[test]
    fn failed_call_reports_service_error() {
        let refused = ErrorMetadata::builder().code("AccessDeniedException").message("not yours").build();
        let error =
            unavailable("the table", SdkError::service_error(GetItemError::generic(refused), response()));
        assert_eq!(
            causes(&error).to_string(),
            "the table is unavailable: service error: unhandled error (AccessDeniedException): \
             Error { code: \"AccessDeniedException\", message: \"not yours\" }"
        );

        let missing = ResourceNotFoundException::builder().message("no such table").build();
        let missing = GetItemError::ResourceNotFoundException(missing);
        let error = unavailable("the table", SdkError::service_error(missing, response()));
        assert_eq!(
            causes(&error).to_string(),
            "the table is unavailable: service error: ResourceNotFoundException: no such table"
        );
    }

    #[test]
    fn unreadable_response_error_hides_its_content() {
        let error: SdkError<GetItemError> = SdkError::response_error("it makes no sense", response());
        assert!(format!("{error:?}").contains("marker"), "the SDK's own error shows it");
        let error = unavailable("the table", error);
        let message = causes(&error).to_string();
        assert_eq!(message, "the table is unavailable: response error: it makes no sense");
        assert!(!format!("{error:?}").contains("marker"), "{error:?}");
    }
}
