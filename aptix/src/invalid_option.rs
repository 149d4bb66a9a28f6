//! Invalid options that are found after the command line was parsed.

/// An invalid option or argument. Ends the command with exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InvalidOption(String);

impl InvalidOption {
    #[expect(clippy::needless_pass_by_value, reason = "it fits `map_err`")]
    pub(crate) fn new(message: impl ToString) -> Self {
        Self(message.to_string())
    }
}
