//! The APIs that the mock model offers.

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// `POST /v1/responses`.
    Responses,
    /// `POST /v1/chat/completions`.
    Chat,
    /// `POST /v1/messages`.
    Messages,
    /// `POST /v1/model/{model}/converse-stream`.
    Converse,
}

impl Wire {
    /// Returns the member of a request that holds the conversation.
    pub(crate) fn conversation(self) -> &'static str {
        match self {
            Self::Responses => "input",
            Self::Chat | Self::Messages | Self::Converse => "messages",
        }
    }

    /// Returns the media type of a stream.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Responses | Self::Chat | Self::Messages => "text/event-stream",
            Self::Converse => "application/vnd.amazon.eventstream",
        }
    }
}
