//! Results that come with warnings.

use contracts::invoke_result::Warning;

/// A result with the warnings that belong to the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithWarnings<T> {
    /// The result.
    pub result: T,
    /// Warnings about the call, for example missing names.
    pub warnings: Vec<Warning>,
}
