//! Meters: each turn counts, with its usage, over crashes and takeovers.

use std::collections::BTreeMap;

use contracts::request::BudgetWindow;
use protocol::{
    budget::{Amounts, Entry, MeterKey},
    id::TurnKey,
    turn::{EndReason, State, Turn, Verdict},
};

use super::{RunRecord, Violation, violation};

pub(super) fn check(record: &RunRecord<'_>, violations: &mut Vec<Violation>) {
    let mut turns: BTreeMap<MeterKey, Vec<&Turn>> = BTreeMap::new();
    for turn in record.table.heads.values() {
        for meter in &turn.meters {
            turns.entry(meter.key(&turn.key, &turn.requested_by)).or_default().push(turn);
        }
    }
    for (key, turns) in turns {
        match record.table.meters.get(&key) {
            Some((sums, entries)) => {
                let counted = (sums.sum.tokens, sums.turns);
                sums_are_those_of_turns(record, &key, counted, entries, &turns, violations);
            }
            None => violations.push(violation("I8", format!("{key:?} is missing"))),
        }
    }
}

/// Checks that a meter counts its entries, and the usage of every turn that is over, once. A start whose write lands after
/// its turn was closed leaves an entry with another id, which counts until a start at the limit removes it.
fn sums_are_those_of_turns(
    record: &RunRecord<'_>,
    key: &MeterKey,
    counted: (u64, u64),
    entries: &BTreeMap<TurnKey, Entry>,
    turns: &[&Turn],
    violations: &mut Vec<Violation>,
) {
    let is_concurrent = key.window == BudgetWindow::Concurrent;
    let mut expected = (Amounts::default(), entries.len() as u64);
    for entry in entries.values() {
        expected.0 = expected.0.plus(entry.amounts);
    }
    for turn in turns.iter().filter(|_| !is_concurrent) {
        let meter = turn.meters.iter().find(|meter| meter.key(&turn.key, &turn.requested_by) == *key);
        let entry = entries.get(&turn.key).filter(|entry| meter.is_some_and(|meter| meter.owns(**entry)));
        let has_entry = entry.is_some();
        let is_closed = match &turn.state {
            State::Running { .. } | State::AwaitingTools { .. } => {
                if !has_entry {
                    violations.push(violation("I8", format!("{key:?} misses {}", turn.key.turn)));
                }
                false
            }
            State::Settled(_) => !has_entry,
            // A superseded turn keeps its entry.
            State::Finalized(settlement) => {
                !has_entry || settlement.verdict != Verdict::Ended(EndReason::Superseded)
            }
        };
        if is_closed {
            let usage = record.report(turn).usage;
            let tokens = usage.map_or(0, |usage| usage.total_tokens);
            expected = (expected.0.plus(Amounts { tokens, ..Amounts::default() }), expected.1 + 1);
        }
    }
    let expected = (expected.0.tokens, expected.1);
    if counted != expected {
        let what = format!("{key:?} counts {counted:?} tokens and turns, not {expected:?}");
        violations.push(violation("I8", what));
    }
}
