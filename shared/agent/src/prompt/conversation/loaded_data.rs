//! The data of a conversation that is loaded before a request.

use contracts::request::UserTurn;
use protocol::session::SolutionContext;

use crate::history::{Exchange, LoadedHistory};

/// Data that the next request needs and that isn't loaded yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingData {
    /// Set if the user's request is needed.
    pub request: bool,
    /// Token budget for the earlier turns, if they are needed.
    pub history: Option<u32>,
    /// Set if the turns since the last completed one are needed.
    pub unanswered: bool,
    /// The solution context whose text is needed.
    pub solution: Option<SolutionContext>,
}

/// The data that was loaded for the requests of a turn.
#[derive(Debug, Default)]
pub struct LoadedData {
    /// The user's request.
    pub request: Option<UserTurn>,
    /// The text of the solution context.
    pub solution_text: Option<String>,
    /// The earlier turns.
    pub history: Option<LoadedHistory>,
    /// The turns since the last completed one that called tools and got no answer, oldest first.
    pub unanswered: Option<Vec<Exchange>>,
}

impl LoadedData {
    /// Adds more loaded data.
    pub fn extend(&mut self, more: Self) {
        let Self { request, solution_text, history, unanswered } = more;
        self.request = request.or(self.request.take());
        self.solution_text = solution_text.or(self.solution_text.take());
        self.history = history.or(self.history.take());
        self.unanswered = unanswered.or(self.unanswered.take());
    }
}
