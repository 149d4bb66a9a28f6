//! The token budget for the earlier turns.

/// The token budget for the earlier turns.
#[derive(Debug)]
pub(super) struct HistoryBudget {
    /// The maximum number of tokens.
    pub(super) tokens: u32,
    /// True if it was reduced because the conversation was too long for the model.
    pub(super) is_shrunk: bool,
    /// Tokens of earlier turns in the last request.
    pub(super) used: u32,
}

impl HistoryBudget {
    pub(super) fn new(tokens: u32) -> Self {
        Self { tokens, is_shrunk: false, used: 0 }
    }

    /// Reduces the budget to half of the last request, and then to nothing.
    pub(super) fn shrink(&mut self) {
        // A new window uses three quarters of its budget, so two thirds of the last size gives half of it.
        self.tokens = if self.is_shrunk { 0 } else { self.used / 3 * 2 };
        self.is_shrunk = true;
    }
}
