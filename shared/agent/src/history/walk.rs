//! Walks back through the ancestry, from its newest turn, and collects the turns that fit.

use super::{Exchange, fit::MAX_TURNS};
use crate::attempt::{history_window::HistoryWindow, prompt_state::SolutionTexts};

/// The turns before the current one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedHistory {
    /// Completed turns, and those that called tools and got no answer, oldest first.
    pub exchanges: Vec<Exchange>,
    /// The reason why they don't go back to the first turn.
    pub truncation: Truncation,
    /// The previous history window.
    pub window: Option<HistoryWindow>,
    /// The texts of their solution contexts.
    pub solution_texts: SolutionTexts,
    /// Depth of the next older turn and the names of its files, if it was looked at and excluded.
    pub excluded: Option<(u64, Vec<String>)>,
    /// The token budget that they were collected within.
    pub token_budget: u32,
}

/// The reason why the loaded turns don't go back to the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Truncation {
    /// They do.
    #[default]
    None,
    /// They go back to the start of the previous window.
    WindowStart,
    /// The next one doesn't fit, or there are too many.
    TokenBudget,
    /// The next one can't be read.
    Unreadable,
}

/// A walk in progress.
#[derive(Debug)]
pub struct AncestryWalk {
    token_budget: u32,
    first: Option<u64>,
    window: Option<HistoryWindow>,
    newest_first: Vec<Exchange>,
    cutoff: u64,
    hidden: u64,
    brief_tokens: u32,
    full_tokens: u32,
    excluded: Option<(u64, Vec<String>)>,
}

impl AncestryWalk {
    /// Starts a walk with a token budget. `window` is the current turn's own window, if it has one already.
    #[must_use]
    pub fn new(token_budget: u32, window: Option<HistoryWindow>) -> Self {
        Self {
            token_budget,
            first: None,
            window,
            newest_first: Vec::new(),
            cutoff: 0,
            hidden: 0,
            brief_tokens: 0,
            full_tokens: 0,
            excluded: None,
        }
    }

    /// Starts a walk back to a turn, regardless of the window. It takes the newest turn even if that exceeds the
    /// budget.
    #[must_use]
    pub fn back_to(first: u64, token_budget: u32) -> Self {
        Self { first: Some(first), ..Self::new(token_budget, None) }
    }

    /// Leaves out everything up to this depth, because it belongs to a hidden session or its ancestors.
    #[must_use]
    pub fn without_hidden(self, depth: u64) -> Self {
        Self { hidden: depth, ..self }
    }

    /// Sets the cutoff of a lost ancestor. Windows of turns before it refer to turns that are gone.
    #[must_use]
    pub fn with_cutoff(self, depth: u64) -> Self {
        Self { cutoff: depth, ..self }
    }

    /// Returns the token budget.
    #[must_use]
    pub fn token_budget(&self) -> u32 {
        self.token_budget
    }

    /// Returns the depth before which no turn is wanted.
    #[must_use]
    pub fn oldest_wanted(&self) -> u64 {
        let wanted = self.first.or(self.window.as_ref().map(|window| window.from)).unwrap_or(1);
        wanted.max(self.hidden.saturating_add(1))
    }

    /// Takes the next older turn. Returns false if it doesn't fit, which ends the walk.
    pub fn push(&mut self, exchange: Exchange) -> bool {
        // A turn without an answer has no window. The one before it does.
        let is_newest = self.newest_first.iter().all(|newer| newer.is_unanswered);
        if is_newest && self.window.is_none() && exchange.depth >= self.cutoff {
            self.window.clone_from(&exchange.window);
        }
        let excess =
            self.brief_tokens.saturating_add(exchange.tokens(false)).saturating_sub(self.token_budget);
        let exchange = if excess > 0 { exchange.with_less_ancestry(excess) } else { exchange };
        self.brief_tokens = self.brief_tokens.saturating_add(exchange.tokens(false));
        self.full_tokens = self.full_tokens.saturating_add(exchange.tokens(true));
        let is_taken = self.first.is_some() && self.newest_first.is_empty();
        if !is_taken && self.brief_tokens > self.token_budget || self.newest_first.len() == MAX_TURNS {
            self.excluded = Some((exchange.depth, exchange.files));
            return false;
        }
        // Files stay in memory only as long as they can be replayed.
        let exchange = if self.full_tokens > self.token_budget { exchange.into_brief() } else { exchange };
        self.newest_first.push(exchange);
        true
    }

    /// Records that the next older turn can't be read, and the names of its files.
    pub fn skip_unreadable(&mut self, depth: u64, files: Vec<String>) {
        self.excluded = Some((depth, files));
    }

    /// Ends the walk and returns the collected turns.
    #[must_use]
    pub fn finish(self, truncation: Truncation) -> LoadedHistory {
        let mut exchanges = self.newest_first;
        exchanges.reverse();
        let supplied = exchanges.iter().filter_map(|exchange| exchange.supplied_solution.as_ref());
        let solution_texts = supplied.map(|(context, text)| (context.text, text.clone())).collect();
        let truncation = match truncation {
            Truncation::None if self.window.as_ref().is_some_and(|window| window.from > 1) => {
                Truncation::WindowStart
            }
            other => other,
        };
        let Self { window, excluded, token_budget, .. } = self;
        LoadedHistory { exchanges, truncation, window, solution_texts, excluded, token_budget }
    }
}
