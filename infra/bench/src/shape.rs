//! Kinds of turns that are measured.

/// Kind of turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Buffered response.
    Buffered,
    /// Streamed response, read to its end.
    Streamed,
    /// With a round of client tools: two requests and two model calls.
    ToolRound,
}

impl Shape {
    /// True if the response is streamed.
    pub(crate) fn is_streamed(self) -> bool {
        self == Self::Streamed
    }
}
