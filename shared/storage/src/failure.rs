//! What a failed call means: lost, contended, or nobody knows.

use aws_sdk_dynamodb::{
    error::{ProvideErrorMetadata, SdkError},
    operation::transact_write_items::TransactWriteItemsError,
};
use turns::ports::{Unavailable, WriteError};

/// Codes that mean: nothing was written, try again.
const CONTENTION: [&str; 6] = [
    "TransactionConflictException",
    "TransactionConflict",
    "ThrottlingException",
    "ThrottlingError",
    "ProvisionedThroughputExceededException",
    "ProvisionedThroughputExceeded",
];

/// A read or an unconditional write that failed.
pub(crate) fn unavailable<E>(what: &'static str, error: SdkError<E>) -> Unavailable
where
    E: std::error::Error + Send + Sync + 'static,
{
    Unavailable { what, source: error.into() }
}

/// A conditional write on one item that failed.
pub(crate) fn of_write<E>(error: SdkError<E>) -> WriteError
where
    E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    match error.code() {
        Some("ConditionalCheckFailedException") => WriteError::Lost,
        Some(code) if CONTENTION.contains(&code) => WriteError::Contended,
        _ => WriteError::Unknown(error.into()),
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
        WriteError::Unknown(error.into())
    }
}
