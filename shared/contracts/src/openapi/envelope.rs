//! The envelope of every body, as a schema (READING.md, `InvokeResult`).

use utoipa::ToSchema;

use crate::{error::Wire as Error, invoke_result::Warning};

/// A result or errors, never both; the status code repeats the outcome.
#[derive(ToSchema)]
#[schema(rename_all = "PascalCase")]
#[expect(dead_code, reason = "the members are read by the macro alone")]
pub struct InvokeResultSchema<T> {
    /// True exactly when `Errors` is empty.
    successful: bool,
    /// Null unless successful.
    #[schema(required)]
    result: Option<T>,
    /// What was wrong.
    errors: Vec<Error>,
    /// Warnings about the system.
    warnings: Vec<Warning>,
}
