//! Entries in meters whose turns never started or no longer run: a refused start removes them.

use std::time::Duration;

use contracts::{Timestamp, request::BudgetWindow};

use super::take_over::takeover_after;
use crate::{
    budget::Entry,
    id::TurnKey,
    timing::Timing,
    turn::{EndReason, State, Turn, Verdict},
};

/// The age from which an entry without a turn belongs to a start that died. No function runs as long.
const MAX_START: Duration = Duration::from_secs(20 * 60);
/// The most entries that a refused start checks.
const MAX_CHECKED: usize = 10;

/// Returns the entries that a refused start checks against their turns, oldest first.
#[must_use]
pub fn oldest_to_check(
    window: BudgetWindow,
    mut entries: Vec<(TurnKey, Entry)>,
    now: Timestamp,
) -> Vec<(TurnKey, Entry)> {
    entries.retain(|(_, entry)| window == BudgetWindow::Concurrent || entry.since.until(now) > MAX_START);
    entries.sort_by_key(|(_, entry)| entry.since);
    entries.truncate(MAX_CHECKED);
    entries
}

/// True if a turn still has a right to its entry. A dead start has none, and a turn that no function works on isn't
/// concurrent. `turn` is the stored head, if any.
#[must_use]
pub fn is_held(
    window: BudgetWindow,
    entry: Entry,
    turn: Option<&Turn>,
    now: Timestamp,
    timing: &Timing,
) -> bool {
    let age = entry.since.until(now);
    match (window, turn.map(|turn| &turn.state)) {
        // Counting one concurrent turn too few does less harm than a refusal for minutes.
        (BudgetWindow::Concurrent, None) => age <= timing.lease,
        (BudgetWindow::Concurrent, Some(State::Running { lease_ends, .. })) => {
            now < takeover_after(*lease_ends, timing)
        }
        (BudgetWindow::Concurrent, Some(_)) => false,
        (_, None) => age <= MAX_START,
        // Its usage has replaced the entry, which a late write of its start added again. A superseded turn keeps one.
        (_, Some(State::Finalized(settlement))) => {
            settlement.verdict == Verdict::Ended(EndReason::Superseded)
        }
        (_, Some(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests, *};
    use crate::{
        budget::{Amounts, EntryId},
        transition::settle,
    };

    fn entry(since: u64) -> Entry {
        Entry { amounts: Amounts::default(), since: tests::at(since), id: EntryId::default() }
    }

    #[test]
    fn entry_of_a_dead_start_is_held_for_twenty_minutes() {
        let held = |age| is_held(BudgetWindow::Day, entry(0), None, tests::at(age), &Timing::default());
        assert!(held(1_200) && !held(1_201));
        let (_, turn) = tests::running();
        assert!(is_held(BudgetWindow::Day, entry(0), Some(&turn), tests::at(90_000), &Timing::default()));
    }

    #[test]
    fn concurrent_turn_is_held_while_a_function_may_work_on_it() {
        let timing = Timing::default();
        let held = |turn: Option<&Turn>, age| {
            is_held(BudgetWindow::Concurrent, entry(0), turn, tests::at(age), &timing)
        };
        assert!(held(None, 30) && !held(None, 31), "a start that died");
        let (_, running) = tests::running();
        assert!(held(Some(&running), 31) && !held(Some(&running), 32), "a lease of 30 s and a margin of 2 s");
        let verdict = Verdict::Completed { writer: running.attempt.clone() };
        let settled = settle::settle(&running, verdict, tests::at(1), tests::at(1), &timing).unwrap();
        assert!(!held(Some(&settled.after), 1));
    }

    #[test]
    fn ten_oldest_entries_are_checked() {
        let (_, turn) = tests::running();
        let entries = |step: u64| (0..12).rev().map(|age| (turn.key.clone(), entry(age * step))).collect();
        let checked = oldest_to_check(BudgetWindow::Concurrent, entries(1), tests::at(20));
        let since: Vec<Timestamp> = checked.iter().map(|(_, entry)| entry.since).collect();
        assert_eq!(since, (0..10).map(tests::at).collect::<Vec<_>>());
        // In other windows only those that are older than any start.
        assert_eq!(oldest_to_check(BudgetWindow::Month, entries(1), tests::at(1_203)).len(), 3);
    }
}
