//! Limits per minute, as clients read them.

use contracts::{
    Timestamp,
    request::{Budget, BudgetAction, BudgetUnit, BudgetWindow, Budgets},
};

use super::{Meter, MeterRef, Subjects, of_meter};

/// A limit per minute, as far as it is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The limit.
    pub limit: u64,
    /// The rest of it.
    pub remaining: u64,
    /// The end of the minute.
    pub resets: Timestamp,
}

/// The limits per minute of a turn's start. Of several in one unit, the one with the smallest rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// The limit of turns.
    pub turns: Option<RateLimit>,
    /// The limit of tokens.
    pub tokens: Option<RateLimit>,
}

impl RateLimits {
    /// Adds the limits of budgets that stop turns and share a meter, which has counted this until now.
    pub fn add(
        &mut self,
        (budgets, subjects): (&Budgets, &Subjects),
        meter: &MeterRef,
        stored: &Meter,
        resets: Option<Timestamp>,
    ) {
        let (BudgetWindow::Minute, Some(resets)) = (meter.window, resets) else { return };
        let stops = of_meter(budgets, subjects, meter).filter(|budget| budget.action == BudgetAction::Stop);
        for Budget { unit, limit, .. } in stops {
            let tightest = match unit {
                BudgetUnit::Turns => &mut self.turns,
                BudgetUnit::Tokens => &mut self.tokens,
                BudgetUnit::Money => continue,
            };
            let remaining = limit.saturating_sub(stored.in_unit(*unit));
            if tightest.is_none_or(|tightest| remaining < tightest.remaining) {
                *tightest = Some(RateLimit { limit: *limit, remaining, resets });
            }
        }
    }
}
