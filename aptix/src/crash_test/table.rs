//! The table of a crash test.

use std::collections::BTreeMap;
use std::fmt;

/// What the deployment says of one refund.
#[derive(Debug, Clone)]
pub(super) struct Refund {
    pub(super) order: String,
    /// True if the model made the call.
    pub(super) was_asked: bool,
    /// True if its result is stored.
    pub(super) has_result: bool,
    /// True if its outcome is said to be unknown.
    pub(super) is_unknown: bool,
}

/// The counts of a test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    turns: usize,
    kills: usize,
    asked: usize,
    performed: usize,
    duplicated: usize,
    results: usize,
    unknown: usize,
    lost: usize,
}

impl Table {
    pub(super) fn new(
        asked: &[Refund],
        performed: &BTreeMap<String, usize>,
        turns: usize,
        kills: usize,
    ) -> Self {
        let count = |is: &dyn Fn(&&Refund) -> bool| asked.iter().filter(|one| is(one)).count();
        let times = |asked: &Refund| performed.get(&asked.order).copied().unwrap_or_default();
        Self {
            turns,
            kills,
            asked: count(&|asked| asked.was_asked || times(asked) > 0),
            performed: performed.values().sum(),
            duplicated: performed.values().map(|times| times.saturating_sub(1)).sum(),
            results: count(&|asked| asked.has_result),
            unknown: count(&|asked| asked.is_unknown),
            lost: count(&|asked| times(asked) > 0 && !asked.has_result && !asked.is_unknown),
        }
    }

    /// Returns true if the promise held.
    pub(super) fn holds(&self) -> bool {
        let is_bounded = self.results <= self.performed && self.performed <= self.results + self.unknown;
        self.duplicated == 0 && self.lost == 0 && is_bounded
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("turns", self.turns, "each refunds one order"),
            ("kills", self.kills, "of every process that runs turns"),
            ("asked", self.asked, "calls that the model made"),
            ("performed", self.performed, "refunds that the tool server counted"),
            ("duplicated", self.duplicated, "refunds beyond the first of an order"),
            ("results", self.results, "calls whose result is stored"),
            ("unknown", self.unknown, "calls whose outcome is said to be unknown"),
            ("lost", self.lost, "refunds that are neither"),
        ];
        for (name, count, meaning) in rows {
            writeln!(f, "{name:<11}{count:>7}  {meaning}")?;
        }
        let verdict = if self.holds() { "holds" } else { "is broken" };
        writeln!(f, "results <= performed <= results + unknown, duplicated = 0, lost = 0: {verdict}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(order: &str, has_result: bool, is_unknown: bool) -> Refund {
        Refund { order: order.to_owned(), was_asked: true, has_result, is_unknown }
    }

    #[test]
    fn promise_is_broken_by_duplicates_lost_effects_and_false_results() {
        let table = |asked: &[Refund], performed: &[(&str, usize)]| {
            let performed = performed.iter().map(|(order, times)| ((*order).to_owned(), *times)).collect();
            Table::new(asked, &performed, asked.len(), 0)
        };
        assert!(table(&[asked("a", true, false), asked("b", false, true)], &[("a", 1), ("b", 1)]).holds());
        assert!(table(&[asked("a", false, true)], &[]).holds());
        assert!(!table(&[asked("a", true, false)], &[("a", 2)]).holds());
        assert!(!table(&[asked("a", false, false)], &[("a", 1)]).holds());
        assert!(!table(&[asked("a", true, false)], &[]).holds());
    }
}
