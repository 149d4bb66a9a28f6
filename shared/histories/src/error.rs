//! The reasons why a chat starts no turn.

use contracts::Error;
use turns::refusal::Refusal;

/// The reason why a chat starts no turn. A front states it in the words of its protocol.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The messages end with the model's, or there are none.
    #[error("The messages must end with a message of the user or results of tools.")]
    NothingNew,
    /// The new messages are results alone, of calls that the messages don't hold. Has the id of the first.
    #[error("No message holds a call with the id {0:?}.")]
    UnknownCall(String),
    /// The service's own rules refuse the input, for example an image that is none.
    #[error("{}", .0.message)]
    Invalid(Box<Error>),
    /// A file of the messages can't be read. Holds the error of the function's own port.
    #[error(transparent)]
    File(Box<dyn std::error::Error + Send + Sync>),
    /// The turn can't be read or started.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<Error> for StartError {
    fn from(error: Error) -> Self {
        Self::Invalid(Box::new(error))
    }
}
