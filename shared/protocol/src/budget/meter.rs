//! Meters, and the entries of turns in them.

use std::time::Duration;

use contracts::{
    Day, Timestamp,
    id::UserId,
    request::{BudgetScope, BudgetUnit, BudgetWindow},
};
use serde::{Deserialize, Serialize};

use crate::{detail::Report, id::TurnKey};

/// The scope and window of a meter.
pub type MeterKind = (BudgetScope, BudgetWindow);

/// A reference from a turn's head to one of its meters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MeterRef {
    /// The scope.
    pub scope: BudgetScope,
    /// The window.
    pub window: BudgetWindow,
    /// The beginning of the window: the first characters of an ISO-8601 timestamp. Empty for concurrent turns.
    pub start: String,
    /// The agent, if the scope is an agent. Other subjects follow from the head.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The id of the turn's entry. None in a turn that an older version started.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<EntryId>,
}

/// A random number that tells an entry from others of the same turn: a start whose write is late may add another one
/// after the turn's own entry was closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub u32);

/// The identity of a meter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MeterKey {
    /// The org.
    pub org: contracts::id::OrgId,
    /// The scope.
    pub scope: BudgetScope,
    /// The id of the user, agent or session. Empty for the org.
    pub subject: String,
    /// The window.
    pub window: BudgetWindow,
    /// The beginning of the window, as in [`MeterRef::start`].
    pub start: String,
}

/// A timestamp whose end completes the beginning of a window.
const COMPLETE: &str = "1970-01-01T00:00:00.000Z";

impl MeterRef {
    /// Returns the scope and window.
    #[must_use]
    pub fn kind(&self) -> MeterKind {
        (self.scope, self.window)
    }

    /// True if the meter's window is the one that contains a time.
    #[must_use]
    pub fn begins_at(&self, at: Timestamp) -> bool {
        self.start == super::window_start(self.window, at)
    }

    /// True if an entry is the turn's own. An entry that its start didn't name may be any.
    #[must_use]
    pub fn owns(&self, entry: Entry) -> bool {
        self.entry.is_none_or(|id| id == entry.id)
    }

    /// Returns the identity of the meter, for a turn of this user.
    #[must_use]
    pub fn key(&self, turn: &TurnKey, user: &UserId) -> MeterKey {
        let subject = match self.scope {
            BudgetScope::Org => String::new(),
            BudgetScope::User => user.to_string(),
            BudgetScope::Agent => self.agent.clone().unwrap_or_default(),
            BudgetScope::Session => turn.session.session.to_string(),
        };
        let org = turn.session.org.clone();
        MeterKey { org, scope: self.scope, subject, window: self.window, start: self.start.clone() }
    }
}

impl MeterKey {
    /// Returns the end of the window. A meter of concurrent turns has none.
    #[must_use]
    pub fn end(&self) -> Option<Timestamp> {
        if self.window == BudgetWindow::Concurrent {
            return None;
        }
        let rest = COMPLETE.get(self.start.len()..).unwrap_or_default();
        let start = format!("{}{rest}", self.start).parse().unwrap_or(Timestamp::from_millis(0));
        Some(window_end(self.window, start))
    }
}

/// Amounts that a turn consumes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Tokens.
    pub tokens: u64,
    /// Millionths of the currency.
    pub micros: u64,
    /// Turns whose cost isn't among the millionths, because their model has no price in the currency.
    pub unpriced: u64,
}

/// The entry of a turn in a meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The amounts that the meter counts for the turn.
    pub amounts: Amounts,
    /// The time of the turn's start.
    pub since: Timestamp,
    /// The id, which stays when another try of the same start takes the entry over.
    pub id: EntryId,
}

/// A meter as read, with the entry of one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Meter {
    /// The sum of all entries.
    pub sum: Amounts,
    /// The number of turns.
    pub turns: u64,
    /// The turn's entry.
    pub entry: Option<Entry>,
}

/// A meter as read, with the entries of all turns that haven't ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeterReading {
    /// The sum of all entries, closed ones included.
    pub sum: Amounts,
    /// The number of turns.
    pub turns: u64,
    /// The open entries, in any order.
    pub entries: Vec<(TurnKey, Entry)>,
}

/// A change of a turn's entry in a meter. The sums change by the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterChange {
    /// The meter.
    pub meter: MeterKey,
    /// The turn.
    pub turn: TurnKey,
    /// The entry as read, which is the condition of the change.
    pub before: Option<Entry>,
    /// The entry that counts after the change, or `None` if the turn doesn't count.
    pub after: Option<Entry>,
    /// True if the entry stays, so that later changes can replace it.
    pub keeps_entry: bool,
    /// The ceiling of the sums before the change.
    pub ceiling: Ceiling,
}

/// The highest sums at which a change applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ceiling {
    /// The highest number of tokens.
    pub tokens: Option<u64>,
    /// The highest number of millionths.
    pub micros: Option<u64>,
    /// The highest number of turns.
    pub turns: Option<u64>,
}

impl Amounts {
    /// Returns the usage of a turn for budgets in this currency. A cost in another one can't be counted.
    #[must_use]
    pub fn of_turn(report: &Report, currency: Option<&str>) -> Self {
        let tokens = report.usage.map_or(0, |usage| usage.total_tokens);
        let cost = report.cost.as_ref().filter(|cost| Some(cost.currency.as_str()) == currency);
        let is_unpriced = tokens > 0 && (report.is_unpriced() || cost.is_none());
        Self {
            tokens,
            micros: cost.map_or(0, |cost| cost.amount.micros()),
            unpriced: u64::from(currency.is_some() && is_unpriced),
        }
    }

    /// Returns the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            micros: self.micros.saturating_add(other.micros),
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }

    /// Returns what these amounts exceed others by.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            micros: self.micros.saturating_sub(other.micros),
            unpriced: self.unpriced.saturating_sub(other.unpriced),
        }
    }

    /// Returns the larger of each amount.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.max(other.tokens),
            micros: self.micros.max(other.micros),
            unpriced: self.unpriced.max(other.unpriced),
        }
    }

    /// Returns the amount in a unit.
    pub(super) fn in_unit(self, unit: BudgetUnit) -> u64 {
        match unit {
            BudgetUnit::Tokens => self.tokens,
            BudgetUnit::Money => self.micros,
            BudgetUnit::Turns => 1,
        }
    }
}

impl Meter {
    pub(super) fn in_unit(&self, unit: BudgetUnit) -> u64 {
        match unit {
            BudgetUnit::Turns => self.turns,
            BudgetUnit::Tokens | BudgetUnit::Money => self.sum.in_unit(unit),
        }
    }

    /// Returns the meter after a change, or `None` if the change doesn't apply. Storage evaluates the same rule
    /// remotely.
    #[must_use]
    pub fn apply(&self, change: &MeterChange) -> Option<Self> {
        if self.entry != change.before || !change.ceiling.allows(self) {
            return None;
        }
        let (before, after) = (amounts(change.before), amounts(change.after));
        let turns = self.turns.saturating_add(u64::from(change.after.is_some()));
        Some(Self {
            sum: self.sum.plus(after).beyond(before),
            turns: turns.saturating_sub(u64::from(change.before.is_some())),
            entry: change.stored_entry(),
        })
    }
}

impl MeterReading {
    /// Returns what the open entries hold of a limit.
    #[must_use]
    pub fn reserved(&self, unit: BudgetUnit) -> u64 {
        let entries = self.entries.iter().map(|(_, entry)| entry.amounts.in_unit(unit));
        entries.fold(0, u64::saturating_add)
    }

    /// Returns what turns with closed entries used of a limit. A limit compares the sum of this and the reserved part.
    #[must_use]
    pub fn used(&self, unit: BudgetUnit) -> u64 {
        let all = Meter { sum: self.sum, turns: self.turns, entry: None };
        all.in_unit(unit).saturating_sub(self.reserved(unit))
    }
}

/// Returns the amounts of an entry, or none without one.
#[must_use]
pub fn amounts(entry: Option<Entry>) -> Amounts {
    entry.map(|entry| entry.amounts).unwrap_or_default()
}

impl MeterChange {
    /// Returns the entry that the change leaves.
    #[must_use]
    pub fn stored_entry(&self) -> Option<Entry> {
        self.after.filter(|_| self.keeps_entry)
    }
}

impl Ceiling {
    /// True if the sums of a meter are below it.
    #[must_use]
    pub fn allows(&self, meter: &Meter) -> bool {
        let below = |value: u64, most: Option<u64>| most.is_none_or(|most| value <= most);
        below(meter.sum.tokens, self.tokens)
            && below(meter.sum.micros, self.micros)
            && below(meter.turns, self.turns)
    }

    pub(super) fn lower(&mut self, unit: BudgetUnit, most: u64) {
        let ceiling = match unit {
            BudgetUnit::Tokens => &mut self.tokens,
            BudgetUnit::Money => &mut self.micros,
            BudgetUnit::Turns => &mut self.turns,
        };
        *ceiling = Some(ceiling.map_or(most, |before| before.min(most)));
    }
}

/// Returns the end of the window that contains a time.
pub(super) fn window_end(window: BudgetWindow, at: Timestamp) -> Timestamp {
    let today = Day::from(at);
    match window {
        BudgetWindow::Turn | BudgetWindow::Concurrent => at,
        BudgetWindow::Minute => {
            let minute = Duration::from_secs(60);
            let passed = Duration::from_millis(at.as_millis().rem_euclid(60_000).unsigned_abs());
            at.after(minute.saturating_sub(passed))
        }
        BudgetWindow::Day => today.plus(1).start(),
        BudgetWindow::Month => {
            let month = |day: Day| day.to_string().get(..7).map(str::to_owned);
            let next = today.through(today.plus(31)).find(|day| month(*day) != month(today));
            next.unwrap_or(today.plus(31)).start()
        }
    }
}
