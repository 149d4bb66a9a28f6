//! Budgets: what turns reserve at their start, and what counts once their usage is known.
//!
//! A meter counts what the turns of one subject (an org, a user, an agent or a session) consume in one window. A turn
//! has one entry in each of its meters. Its start adds the entry with an estimate, a running turn raises it, and the
//! finalization replaces the estimate by the turn's usage. Every change is conditional on the entry as read and changes
//! the sums by the difference, so a meter's sums always equal its entries, however often a change is repeated.
//!
//! A meter of concurrent turns counts the turns that a function works on. Their entries have no amounts, and leave with
//! the settlement or suspension.

mod meter;

mod rate_limit;

use contracts::{
    Timestamp,
    id::{OrgId, SessionId, UserId},
    request::{Budget, BudgetAction, BudgetScope, BudgetUnit, BudgetUnpriced, BudgetWindow, Budgets},
};

pub use self::meter::{
    Amounts, Ceiling, Entry, EntryId, Meter, MeterChange, MeterKey, MeterKind, MeterReading, MeterRef,
    amounts,
};
use crate::id::TurnKey;

pub use rate_limit::{RateLimit, RateLimits};

/// The part of a limit that a running turn reserves until its usage is known: one in this many.
const RESERVED_SHARE: u64 = 100;

/// The subjects of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subjects {
    /// The user who sent it.
    pub user: UserId,
    /// The agents whose limits apply to it: its session's agent, and the agents whose configuration it uses.
    pub agents: Vec<String>,
    /// Its session.
    pub session: SessionId,
}

impl Subjects {
    /// Returns the references to the meters of a budget, for turns that start at this time. Only agents may be several.
    #[must_use]
    pub fn meters(&self, budget: &Budget, at: Timestamp) -> Vec<MeterRef> {
        let Budget { scope, window, .. } = *budget;
        let meter = |agent| MeterRef { scope, window, start: window_start(window, at), agent, entry: None };
        match scope {
            BudgetScope::Agent => {
                let agents = self.agents.iter().filter(|agent| is_for(budget, agent));
                agents.map(|agent| meter(Some(agent.clone()))).collect()
            }
            BudgetScope::Org | BudgetScope::User | BudgetScope::Session => vec![meter(None)],
        }
    }

    fn has(&self, budget: &Budget) -> bool {
        match budget.scope {
            BudgetScope::Org => true,
            BudgetScope::User => is_for(budget, self.user.as_str()),
            BudgetScope::Agent => self.agents.iter().any(|agent| is_for(budget, agent)),
            BudgetScope::Session => is_for(budget, self.session.as_str()),
        }
    }
}

/// True if a budget limits the turns of a user, agent or session.
fn is_for(budget: &Budget, subject: &str) -> bool {
    budget.subject.as_ref().is_none_or(|own| own == subject)
}

/// Returns the beginning of the window that contains a time, as meters name it.
fn window_start(window: BudgetWindow, at: Timestamp) -> String {
    let chars = match window {
        // A turn has no meter.
        BudgetWindow::Turn | BudgetWindow::Concurrent => 0,
        BudgetWindow::Minute => "2026-01-31T23:59".len(),
        BudgetWindow::Day => "2026-01-31".len(),
        BudgetWindow::Month => "2026-01".len(),
    };
    at.to_string().get(..chars).unwrap_or_default().to_owned()
}

/// Returns the meter of a budget for one subject, in the window that contains a time. The org's subject is empty. A
/// budget of single turns has none.
#[must_use]
pub fn meter_of(budget: &Budget, org: &OrgId, subject: &str, at: Timestamp) -> Option<MeterKey> {
    (budget.window != BudgetWindow::Turn).then(|| MeterKey {
        org: org.clone(),
        scope: budget.scope,
        subject: subject.to_owned(),
        window: budget.window,
        start: window_start(budget.window, at),
    })
}

/// Returns the meters of a turn with these subjects. Empty if no budget applies to it.
#[must_use]
pub fn meters(budgets: &Budgets, subjects: &Subjects, at: Timestamp) -> Vec<MeterRef> {
    let mut meters: Vec<MeterRef> = applicable(budgets, subjects)
        .filter(|budget| budget.window != BudgetWindow::Turn)
        .flat_map(|budget| subjects.meters(budget, at))
        .collect();
    meters.sort_unstable_by(|one, other| (one.kind(), &one.agent).cmp(&(other.kind(), &other.agent)));
    meters.dedup();
    meters
}

fn applicable<'a>(budgets: &'a Budgets, subjects: &'a Subjects) -> impl Iterator<Item = &'a Budget> {
    budgets.budgets.iter().filter(|budget| subjects.has(budget))
}

/// Returns the budgets that a meter counts for.
fn of_meter<'a>(
    budgets: &'a Budgets,
    subjects: &'a Subjects,
    meter: &'a MeterRef,
) -> impl Iterator<Item = &'a Budget> {
    let counts = |budget: &&Budget| {
        (budget.scope, budget.window) == meter.kind()
            && meter.agent.as_ref().is_none_or(|agent| is_for(budget, agent))
    };
    applicable(budgets, subjects).filter(counts)
}

/// Returns the budgets of money that must count each turn, and can't count one whose model has prices in this
/// currency, or none.
pub fn uncounted<'a>(
    budgets: &'a Budgets,
    subjects: &'a Subjects,
    currency: Option<&str>,
) -> impl Iterator<Item = &'a Budget> {
    let is_counted = currency.is_some() && currency == budgets.currency.as_deref();
    applicable(budgets, subjects).filter(move |budget| {
        !is_counted && budget.unit == BudgetUnit::Money && budget.unpriced == BudgetUnpriced::Refuse
    })
}

/// Returns the amounts that a turn reserves at its start.
#[must_use]
pub fn reservation(budgets: &Budgets, subjects: &Subjects) -> Amounts {
    let stops = applicable(budgets, subjects).filter(|budget| budget.action == BudgetAction::Stop);
    stops.filter(|budget| budget.window != BudgetWindow::Turn).fold(Amounts::default(), |sum, budget| {
        let share = budget.limit.div_ceil(RESERVED_SHARE);
        match budget.unit {
            // The smallest share of all meters, since the same entry goes to each of them.
            BudgetUnit::Tokens => Amounts { tokens: smallest(sum.tokens, share), ..sum },
            BudgetUnit::Money => Amounts { micros: smallest(sum.micros, share), ..sum },
            BudgetUnit::Turns => sum,
        }
    })
}

/// Returns the smaller share, where 0 means that there is none yet.
fn smallest(before: u64, share: u64) -> u64 {
    if before == 0 { share } else { before.min(share) }
}

/// Returns the change that adds a turn's entry at its start. It applies while every limit has some room.
#[must_use]
pub fn start(
    budgets: &Budgets,
    subjects: &Subjects,
    meter: &MeterRef,
    (key, turn): (MeterKey, TurnKey),
    (now, id): (Timestamp, EntryId),
) -> MeterChange {
    let mut ceiling = Ceiling::default();
    for budget in of_meter(budgets, subjects, meter).filter(|budget| budget.action == BudgetAction::Stop) {
        ceiling.lower(budget.unit, budget.limit.saturating_sub(1));
    }
    let amounts = match meter.window {
        BudgetWindow::Concurrent => Amounts::default(),
        _ => reservation(budgets, subjects),
    };
    let after = Some(Entry { amounts, since: now, id });
    MeterChange { meter: key, turn, before: None, after, keeps_entry: true, ceiling }
}

/// True if a meter limits tokens or money, so that a running turn may exceed it.
#[must_use]
pub fn limits_amounts(budgets: &Budgets, subjects: &Subjects, meter: &MeterRef) -> bool {
    of_meter(budgets, subjects, meter)
        .any(|budget| budget.action == BudgetAction::Stop && budget.unit != BudgetUnit::Turns)
}

/// True if a budget of this kind limits tokens or money, of whichever subject.
#[must_use]
pub fn may_limit_amounts(budgets: &Budgets, (scope, window): MeterKind) -> bool {
    budgets.budgets.iter().any(|budget| {
        (budget.scope, budget.window) == (scope, window)
            && budget.action == BudgetAction::Stop
            && budget.unit != BudgetUnit::Turns
    })
}

/// Returns the change that raises a running turn's entry to `needed`. It applies if no limit is exceeded by it.
#[must_use]
pub fn raise(
    budgets: &Budgets,
    subjects: &Subjects,
    meter: &MeterRef,
    (key, turn): (MeterKey, TurnKey),
    before: Entry,
    needed: Amounts,
) -> MeterChange {
    let amounts = needed.max(before.amounts);
    let more = amounts.beyond(before.amounts);
    let mut ceiling = Ceiling::default();
    for budget in of_meter(budgets, subjects, meter).filter(|budget| budget.action == BudgetAction::Stop) {
        match budget.unit {
            BudgetUnit::Turns => {}
            unit => ceiling.lower(unit, budget.limit.saturating_sub(more.in_unit(unit))),
        }
    }
    let after = Some(Entry { amounts, ..before });
    MeterChange { meter: key, turn, before: Some(before), after, keeps_entry: true, ceiling }
}

/// Returns the first budget whose limit refuses a change of this meter.
#[must_use]
pub fn refusing<'a>(
    budgets: &'a Budgets,
    subjects: &'a Subjects,
    meter: &'a MeterRef,
    stored: &Meter,
    change: &MeterChange,
) -> Option<&'a Budget> {
    let stops = of_meter(budgets, subjects, meter).filter(|budget| budget.action == BudgetAction::Stop);
    let is_over = |budget: &&Budget| {
        let most = match budget.unit {
            BudgetUnit::Tokens => change.ceiling.tokens,
            BudgetUnit::Money => change.ceiling.micros,
            BudgetUnit::Turns => change.ceiling.turns,
        };
        most.is_some_and(|most| stored.in_unit(budget.unit) > most)
    };
    let mut over: Vec<&Budget> = stops.filter(is_over).collect();
    // Of several limits in one unit, the lowest one refuses first.
    over.sort_by_key(|budget| (budget.unit, budget.limit));
    over.into_iter().next()
}

/// Returns the budgets with warnings that a meter has reached.
#[must_use]
pub fn warning<'a>(
    budgets: &'a Budgets,
    subjects: &'a Subjects,
    meter: &'a MeterRef,
    stored: &Meter,
) -> Vec<&'a Budget> {
    let warns = of_meter(budgets, subjects, meter).filter(|budget| budget.action == BudgetAction::Warn);
    warns.filter(|budget| stored.in_unit(budget.unit) >= budget.limit).collect()
}

/// Returns the first budget of a single turn that the next model call would exceed. `used` is what the turn has used,
/// and `next` what the call is expected to use.
#[must_use]
pub fn exceeded_by_turn<'a>(
    budgets: &'a Budgets,
    subjects: &'a Subjects,
    used: Amounts,
    next: Amounts,
) -> Option<&'a Budget> {
    let mut stops = applicable(budgets, subjects)
        .filter(|budget| budget.window == BudgetWindow::Turn && budget.action == BudgetAction::Stop);
    stops.find(|budget| used.plus(next).in_unit(budget.unit) > budget.limit)
}

/// Describes a budget in a message for users: `of 50000 tokens a day for each user`.
#[must_use]
pub fn describe(budget: &Budget, currency: Option<&str>) -> String {
    let amount = match budget.unit {
        BudgetUnit::Tokens => format!("{} tokens", budget.limit),
        BudgetUnit::Money => {
            format!("{} {}", crate::cost::Amount::from_micros(budget.limit), currency.unwrap_or_default())
        }
        BudgetUnit::Turns => format!("{} turns", budget.limit),
    };
    let scope = match (budget.scope, &budget.subject) {
        (BudgetScope::Org, _) => "the org".to_owned(),
        (scope, Some(_)) => format!("one {}", scope.name()),
        (scope, None) => format!("each {}", scope.name()),
    };
    match budget.window {
        BudgetWindow::Concurrent => format!("of {} concurrent turns for {scope}", budget.limit),
        window => format!("of {amount} a {} for {scope}", window.name()),
    }
}

#[cfg(test)]
mod tests;
