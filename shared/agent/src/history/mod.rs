//! History: a session's earlier turns as they are told again, where the provider can't be asked to
//! remember them.
//!
//! Pure. Deliberately absent: reading the turns, and how a request spells them.

#[cfg(test)]
mod tests;

use contracts::request::UserTurn;

use crate::{call::CallRecord, model::Exchange, outcome::Outcome, text::tokens, tool};

/// Stands for the words of a user who sent files or images alone.
const NO_WORDS: &str = "(Files or images came without an instruction.)";

/// What an exchange takes besides its texts.
const FRAME_TOKENS: u32 = 8;

impl Exchange {
    /// About how many tokens it takes to tell.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        tokens(&self.instruction).saturating_add(tokens(&self.answer)).saturating_add(FRAME_TOKENS)
    }
}

/// A completed turn as it is told: the user's words, then what tools returned and the answer. None when
/// the outcome holds no answer.
#[must_use]
pub fn exchange(request: &UserTurn, outcome: &Outcome) -> Option<Exchange> {
    let outputs: Vec<_> = outcome.calls().iter().filter_map(CallRecord::output).collect();
    let told = [tool::results_block(&outputs, tool::Values::Whole), Some(outcome.response.answer()?)];
    Some(Exchange {
        instruction: request.instruction.clone().unwrap_or_else(|| NO_WORDS.to_owned()),
        answer: told.into_iter().flatten().collect::<Vec<_>>().join("\n"),
    })
}

/// The newest of some exchanges that together take at most `room` tokens; `exchanges` are oldest first.
#[must_use]
pub fn newest_within(exchanges: &[Exchange], room: u32) -> &[Exchange] {
    let mut left = room;
    let fitting = exchanges.iter().rev().take_while(|exchange| match left.checked_sub(exchange.tokens()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    let dropped = exchanges.len() - fitting.count();
    exchanges.split_at(dropped).1
}

/// About how many tokens some exchanges take.
#[must_use]
pub fn total(exchanges: &[Exchange]) -> u32 {
    exchanges.iter().map(Exchange::tokens).fold(0, u32::saturating_add)
}
