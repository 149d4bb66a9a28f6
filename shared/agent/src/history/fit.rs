//! Fits earlier turns into a token budget, and moves the history window.

use super::Exchange;
use crate::attempt::history_window::HistoryWindow;

/// Maximum number of earlier turns in a request.
pub(super) const MAX_TURNS: usize = 100;

/// The turns that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FittedWindow {
    /// Depth of the first turn; greater than the last one's if none fits.
    pub(super) from: u64,
    /// Depth of the first turn in full.
    pub(super) full_from: u64,
    /// Estimated tokens of these turns.
    pub(super) tokens: u32,
}

/// Fits turns, oldest first, into `token_budget` tokens. As long as they fit in the previous window, it doesn't
/// change. Otherwise a quarter of the budget is freed: files and long values go first, oldest first, and then turns.
/// `next` is the depth of the current turn. `starts_at_window` is set if the loaded turns go back to the window's
/// start.
pub(super) fn fit(
    exchanges: &[Exchange],
    previous: Option<&HistoryWindow>,
    starts_at_window: bool,
    token_budget: u32,
    next: u64,
) -> FittedWindow {
    let first = exchanges.first().map_or(next, |exchange| exchange.depth);
    let from = previous.map_or(first, |window| window.from.max(first).min(next));
    let full_from = previous.map_or(from, |window| window.full_from.max(from).min(next));
    let mut fitted = FittedWindow { from, full_from, tokens: tokens(exchanges, from, full_from) };
    if starts_at_window && fitted.tokens <= token_budget && exchanges.len() <= MAX_TURNS {
        return fitted;
    }
    let target = token_budget - token_budget / 4;
    let next_depths = || exchanges.iter().map(|exchange| exchange.depth.saturating_add(1));
    for depth in next_depths() {
        if fitted.tokens <= target {
            break;
        }
        fitted.full_from = fitted.full_from.max(depth);
        fitted.tokens = tokens(exchanges, fitted.from, fitted.full_from);
    }
    let max_turns = MAX_TURNS - MAX_TURNS / 4;
    for (dropped, depth) in next_depths().enumerate() {
        if fitted.tokens <= target && exchanges.len() - dropped <= max_turns {
            break;
        }
        fitted.from = fitted.from.max(depth);
        fitted.tokens = tokens(exchanges, fitted.from, fitted.full_from);
    }
    if fitted.from > exchanges.last().map_or(0, |exchange| exchange.depth) {
        fitted.from = next;
    }
    fitted.full_from = fitted.full_from.max(fitted.from);
    fitted
}

fn tokens(exchanges: &[Exchange], from: u64, full_from: u64) -> u32 {
    let included = exchanges.iter().filter(|exchange| exchange.depth >= from);
    included.map(|exchange| exchange.tokens(exchange.depth >= full_from)).fold(0, u32::saturating_add)
}
