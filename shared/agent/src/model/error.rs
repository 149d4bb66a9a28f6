//! Failures of a model call.

use std::time::Duration;

/// The reason why there is no reply. No variant has the provider's own text (I14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Too many requests or tokens. A later attempt may succeed.
    #[error("the model provider limits the rate of requests")]
    RateLimited {
        /// The wait that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// The account's quota is used up.
    #[error("the model provider's quota is used up")]
    QuotaExceeded,
    /// The input doesn't fit the model's context window.
    #[error("the conversation is too long for the model")]
    ContextTooLong,
    /// The provider can't read an image or a file in the request.
    #[error("the model provider can't read an image or a file")]
    AttachmentRefused,
    /// The provider's filter refused the input or the output.
    #[error("the model provider's content filter refused")]
    ContentFiltered,
    /// The provider rejected the API key.
    #[error("the model provider refused the credentials")]
    Unauthenticated,
    /// The deployment has no provider of that name.
    #[error("this deployment has no model provider of that name")]
    UnknownProvider,
    /// The wire of the provider can't carry a feature that the context asks for.
    #[error("the model provider's API has no {feature}")]
    UnsupportedFeature {
        /// The feature, as the context names it.
        feature: &'static str,
    },
    /// The provider doesn't know the model.
    #[error("the model provider does not know the model")]
    ModelNotFound,
    /// The provider doesn't continue from the previous response: it is unknown or expired, or nothing is stored.
    /// Includes every refusal of such a request that isn't about something else.
    #[error("the model provider can't continue from the previous response")]
    ChainLost,
    /// The provider rejected a parameter other than the conversation, so another form of the conversation can't help.
    #[error("the model provider rejected a parameter of the request with status {status}")]
    ParameterRejected {
        /// The HTTP status.
        status: u16,
    },
    /// Any other refusal of the request.
    #[error("the model provider rejected the request with status {status}")]
    Rejected {
        /// The HTTP status.
        status: u16,
    },
    /// The provider can't be reached, or it failed.
    #[error("the model provider is unavailable")]
    Unavailable {
        /// The wait that the provider asks for.
        retry_after: Option<Duration>,
    },
    /// A timeout, or the turn's deadline.
    #[error("the model did not answer in time")]
    TimedOut,
    /// The reply broke off or doesn't conform to the API.
    #[error("the model provider's reply was malformed or incomplete")]
    Malformed,
    /// The model stopped early, for example at its token limit before any text.
    #[error("the model stopped before its answer was complete")]
    Incomplete,
    /// Two replies in a row without text and calls.
    #[error("the model answered with neither text nor a call")]
    Empty,
}

impl Error {
    /// A provider that can't be reached or failed, without a hint when to retry.
    pub const UNAVAILABLE: Self = Self::Unavailable { retry_after: None };

    /// Returns the wait that the provider asks for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after } => *retry_after,
            _ => None,
        }
    }
}
