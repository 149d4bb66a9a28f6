//! What a failed call means: lost, contended, or nobody knows.

use std::{error::Error, fmt};

use aws_sdk_dynamodb::{
    error::{ProvideErrorMetadata, SdkError},
    operation::transact_write_items::TransactWriteItemsError,
};
use contracts::error::causes;
use turns::ports::{Source, Unavailable, WriteError};

/// Codes that mean: nothing was written, try again.
const CONTENTION: [&str; 6] = [
    "TransactionConflictException",
    "TransactionConflict",
    "ThrottlingException",
    "ThrottlingError",
    "ProvisionedThroughputExceededException",
    "ProvisionedThroughputExceeded",
];

/// A failed call. Its causes say what the service said: code, message and request id.
///
/// Debug is no more than that. The SDK's own shows the raw response, which holds what is stored, and that may
/// be an answer or a secret (I14).
#[derive(thiserror::Error)]
#[error(transparent)]
struct Failed<E: Error + 'static>(SdkError<E>);

impl<E: Error + 'static> fmt::Debug for Failed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failed({})", causes(self))
    }
}

/// A failed call as a cause of something else.
pub(crate) fn cause<E: Error + Send + Sync + 'static>(error: SdkError<E>) -> Source {
    Failed(error).into()
}

/// A read or an unconditional write that failed.
pub(crate) fn unavailable<E>(what: &'static str, error: SdkError<E>) -> Unavailable
where
    E: Error + Send + Sync + 'static,
{
    Unavailable { what, source: cause(error) }
}

/// A conditional write on one item that failed.
pub(crate) fn of_write<E>(error: SdkError<E>) -> WriteError
where
    E: Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    match error.code() {
        Some("ConditionalCheckFailedException") => WriteError::Lost,
        Some(code) if CONTENTION.contains(&code) => WriteError::Contended,
        _ => WriteError::Unknown(cause(error)),
    }
}

/// A transaction that failed: one lost condition decides, whatever else was in the way.
pub(crate) fn of_transaction(error: SdkError<TransactWriteItemsError>) -> WriteError {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) = error.as_service_error()
    else {
        return of_write(error);
    };
    let codes = || cancelled.cancellation_reasons().iter().filter_map(|reason| reason.code());
    if codes().any(|code| code == "ConditionalCheckFailed") {
        WriteError::Lost
    } else if codes().any(|code| CONTENTION.contains(&code)) {
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

    /// A response that holds something.
    fn response() -> HttpResponse {
        HttpResponse::new(400.try_into().unwrap(), "marker".into())
    }

    #[test]
    fn the_causes_of_a_failed_call_say_what_the_service_said() {
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
    fn a_response_that_cannot_be_read_shows_nothing_of_what_it_holds() {
        let error: SdkError<GetItemError> = SdkError::response_error("it makes no sense", response());
        assert!(format!("{error:?}").contains("marker"), "the SDK's own error shows it");
        let error = unavailable("the table", error);
        let told = causes(&error).to_string();
        assert_eq!(told, "the table is unavailable: response error: it makes no sense");
        assert!(!format!("{error:?}").contains("marker"), "{error:?}");
    }
}
