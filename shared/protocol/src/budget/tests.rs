//! Tests of the budgets' arithmetic.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{detail::Report, id::SessionKey};

fn budget(unit: BudgetUnit, limit: u64, action: BudgetAction) -> Budget {
    Budget {
        id: format!("{unit:?}{limit}"),
        scope: BudgetScope::Org,
        subject: None,
        window: BudgetWindow::Day,
        unit,
        limit,
        action,
        unpriced: BudgetUnpriced::Refuse,
    }
}

fn budgets(all: Vec<Budget>) -> Budgets {
    let mut budgets = Budgets::default();
    budgets.budgets = all;
    budgets
}

fn subjects() -> Subjects {
    Subjects {
        user: "ada".parse().unwrap(),
        agents: vec!["default".to_owned()],
        session: "s".parse().unwrap(),
    }
}

fn turn(name: &str) -> TurnKey {
    SessionKey { org: "acme".parse().unwrap(), session: "s".parse().unwrap() }.turn(name.parse().unwrap())
}

fn now() -> Timestamp {
    Timestamp::from_millis(0)
}

const KIND: MeterKind = (BudgetScope::Org, BudgetWindow::Day);

/// Returns the meter of this kind.
fn meter((scope, window): MeterKind, at: Timestamp) -> MeterRef {
    let budget = Budget { scope, window, ..budget(BudgetUnit::Turns, 1, BudgetAction::Stop) };
    subjects().meters(&budget, at).remove(0)
}

#[test]
fn window_starts_and_ends_in_utc() {
    let at: Timestamp = "2026-01-31T23:59:30.500Z".parse().unwrap();
    for (window, start, end) in [
        (BudgetWindow::Minute, "2026-01-31T23:59", "2026-02-01T00:00:00.000Z"),
        (BudgetWindow::Day, "2026-01-31", "2026-02-01T00:00:00.000Z"),
        (BudgetWindow::Month, "2026-01", "2026-02-01T00:00:00.000Z"),
    ] {
        let meter = meter((BudgetScope::User, window), at);
        let meter = meter.key(&turn("t"), &subjects().user);
        assert_eq!((meter.start.as_str(), meter.end().unwrap().to_string().as_str()), (start, end));
        assert_eq!(meter.subject, "ada");
    }
    let first: Timestamp = "2026-02-01T00:00:00.000Z".parse().unwrap();
    assert_eq!(super::meter::window_end(BudgetWindow::Month, first).to_string(), "2026-03-01T00:00:00.000Z");
}

#[test]
fn meter_of_a_budget_is_that_of_its_turns() {
    let at: Timestamp = "2026-01-31T23:59:30.500Z".parse().unwrap();
    let (org, subjects) = ("acme".parse().unwrap(), subjects());
    for window in [BudgetWindow::Concurrent, BudgetWindow::Minute, BudgetWindow::Day, BudgetWindow::Month] {
        for (scope, subject) in
            [(BudgetScope::Org, ""), (BudgetScope::User, "ada"), (BudgetScope::Agent, "default")]
        {
            let budget = Budget { scope, window, ..budget(BudgetUnit::Turns, 1, BudgetAction::Stop) };
            let expected = meter((scope, window), at).key(&turn("t"), &subjects.user);
            assert_eq!(meter_of(&budget, &org, subject, at), Some(expected));
        }
    }
    let of_turns = Budget { window: BudgetWindow::Turn, ..budget(BudgetUnit::Tokens, 1, BudgetAction::Stop) };
    assert_eq!(meter_of(&of_turns, &org, "", at), None);
}

#[test]
fn reading_separates_reserved_amounts_from_used_ones() {
    let entry = |tokens, micros| Entry {
        amounts: Amounts { tokens, micros, unpriced: 0 },
        since: now(),
        id: EntryId(1),
    };
    let reading = MeterReading {
        sum: Amounts { tokens: 110, micros: 9, unpriced: 0 },
        turns: 3,
        entries: vec![(turn("a"), entry(10, 4)), (turn("b"), entry(5, 0))],
    };
    for (unit, used, reserved) in
        [(BudgetUnit::Tokens, 95, 15), (BudgetUnit::Money, 5, 4), (BudgetUnit::Turns, 1, 2)]
    {
        assert_eq!((reading.used(unit), reading.reserved(unit)), (used, reserved), "{unit:?}");
    }
}

#[test]
fn rate_limits_are_the_tightest_of_a_minute() {
    let per_minute = |unit, limit, action| {
        let budget = budget(unit, limit, action);
        Budget { window: BudgetWindow::Minute, ..budget }
    };
    let all = budgets(vec![
        per_minute(BudgetUnit::Turns, 20, BudgetAction::Stop),
        per_minute(BudgetUnit::Turns, 10, BudgetAction::Stop),
        per_minute(BudgetUnit::Turns, 2, BudgetAction::Warn),
        per_minute(BudgetUnit::Money, 1, BudgetAction::Stop),
        budget(BudgetUnit::Tokens, 5, BudgetAction::Stop),
    ]);
    let end = Timestamp::from_millis(60_000);
    let stored = Meter { sum: Amounts { tokens: 9, micros: 9, unpriced: 0 }, turns: 3, entry: None };
    let mut limits = RateLimits::default();
    for window in [BudgetWindow::Minute, BudgetWindow::Day] {
        limits.add((&all, &subjects()), &meter((BudgetScope::Org, window), now()), &stored, Some(end));
    }
    let turns = Some(RateLimit { limit: 10, remaining: 7, resets: end });
    assert_eq!(limits, RateLimits { turns, tokens: None });
}

#[test]
fn only_budgets_of_the_subject_apply() {
    let mut other = budget(BudgetUnit::Tokens, 10, BudgetAction::Stop);
    (other.scope, other.subject) = (BudgetScope::User, Some("bob".to_owned()));
    let mut own = other.clone();
    own.subject = Some("ada".to_owned());
    let kinds = |budgets: &Budgets| -> Vec<MeterKind> {
        let meters = meters(budgets, &subjects(), Timestamp::from_millis(0));
        meters.iter().map(MeterRef::kind).collect()
    };
    assert_eq!(kinds(&budgets(vec![other.clone()])), []);
    let both = budgets(vec![other, own, budget(BudgetUnit::Turns, 1, BudgetAction::Warn)]);
    assert_eq!(kinds(&both), [KIND, (BudgetScope::User, BudgetWindow::Day)]);
}

#[test]
fn limits_of_every_agent_of_a_turn_hold_in_meters_of_their_own() {
    let of = |subject: Option<&str>, limit| Budget {
        scope: BudgetScope::Agent,
        subject: subject.map(str::to_owned),
        ..budget(BudgetUnit::Tokens, limit, BudgetAction::Stop)
    };
    let budgets = budgets(vec![of(None, 100), of(Some("helper"), 10), of(Some("other"), 1)]);
    let agents = vec!["default".to_owned(), "helper".to_owned()];
    let subjects = Subjects { agents, ..subjects() };
    let meters = meters(&budgets, &subjects, now());
    let agents: Vec<_> = meters.iter().filter_map(|meter| meter.agent.as_deref()).collect();
    assert_eq!(agents, ["default", "helper"]);
    let used = Meter { sum: Amounts { tokens: 10, ..Amounts::default() }, ..Meter::default() };
    let refused = meters.iter().map(|meter| {
        let key = meter.key(&turn("t"), &subjects.user);
        let change = start(&budgets, &subjects, meter, (key, turn("t")), (now(), EntryId::default()));
        refusing(&budgets, &subjects, meter, &used, &change).map(|budget| budget.limit)
    });
    assert_eq!(refused.collect::<Vec<_>>(), [None, Some(10)]);
}

#[test]
fn money_is_uncounted_without_a_price_in_its_currency() {
    let stop = || budget(BudgetUnit::Money, 5, BudgetAction::Stop);
    let allows = Budget { unpriced: BudgetUnpriced::Allow, ..stop() };
    let other = Budget { scope: BudgetScope::User, subject: Some("bob".to_owned()), ..stop() };
    let all = vec![allows, other, budget(BudgetUnit::Tokens, 5, BudgetAction::Stop), stop()];
    let mut budgets = budgets(all);
    budgets.currency = Some("EUR".to_owned());
    for (currency, count) in [(Some("EUR"), 0), (Some("USD"), 1), (None, 1)] {
        assert_eq!(uncounted(&budgets, &subjects(), currency).count(), count, "{currency:?}");
    }
}

#[test]
fn turn_without_a_cost_in_the_currency_is_unpriced() {
    let usage = contracts::Usage { total_tokens: 7, ..contracts::Usage::default() };
    let cost = |currency: &str| {
        Some(crate::cost::Cost { amount: crate::cost::Amount::from_micros(3), currency: currency.to_owned() })
    };
    let report = |cost| Report { usage: Some(usage), cost, ..Report::default() };
    for (report, currency, micros, unpriced) in [
        (report(cost("EUR")), Some("EUR"), 3, 0),
        (report(cost("USD")), Some("EUR"), 0, 1),
        (report(None), Some("EUR"), 0, 1),
        (report(None), None, 0, 0),
        (Report { cost_is_partial: true, ..report(cost("EUR")) }, Some("EUR"), 3, 1),
        (Report::default(), Some("EUR"), 0, 0),
    ] {
        let expected =
            Amounts { tokens: report.usage.map_or(0, |usage| usage.total_tokens), micros, unpriced };
        assert_eq!(Amounts::of_turn(&report, currency), expected, "{report:?}");
    }
}

#[test]
fn lowest_limit_refuses_and_is_named() {
    let budgets = budgets(vec![
        budget(BudgetUnit::Tokens, 1_000, BudgetAction::Stop),
        budget(BudgetUnit::Tokens, 500, BudgetAction::Stop),
        budget(BudgetUnit::Tokens, 100, BudgetAction::Warn),
    ]);
    let subjects = subjects();
    let meter = meter(KIND, now());
    let key = meter.key(&turn("t"), &subjects.user);
    let change = start(&budgets, &subjects, &meter, (key, turn("t")), (now(), EntryId::default()));
    let used = |tokens| Meter { sum: Amounts { tokens, ..Amounts::default() }, ..Meter::default() };
    assert!(used(499).apply(&change).is_some() && used(500).apply(&change).is_none());
    let refusing = refusing(&budgets, &subjects, &meter, &used(2_000), &change).unwrap();
    assert_eq!((refusing.limit, describe(refusing, None).as_str()), (500, "of 500 tokens a day for the org"));
    assert_eq!(warning(&budgets, &subjects, &meter, &used(100)).len(), 1);
    assert!(warning(&budgets, &subjects, &meter, &used(99)).is_empty());
}

#[test]
fn turn_stops_before_the_call_that_would_exceed_its_budget() {
    let mut limit = budget(BudgetUnit::Tokens, 100, BudgetAction::Stop);
    limit.window = BudgetWindow::Turn;
    let budgets = budgets(vec![limit]);
    let tokens = |tokens| Amounts { tokens, ..Amounts::default() };
    let exceeded = |used, next| exceeded_by_turn(&budgets, &subjects(), tokens(used), tokens(next)).is_some();
    assert!(!exceeded(60, 40) && exceeded(60, 41));
}

/// An action on one turn's entry.
#[derive(Debug, Clone, Copy)]
enum Action {
    Start,
    Raise(u64),
    Finish(u64),
    Release,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Start),
        (0_u64..300).prop_map(Action::Raise),
        (0_u64..300).prop_map(Action::Finish),
        Just(Action::Release),
    ]
}

proptest! {
    /// However changes of several turns interleave and repeat, the sums are those of the turns that count, each with
    /// its last amounts, and a turn starts only while there is room.
    #[test]
    fn sums_are_those_of_the_turns_that_count(
        actions in prop::collection::vec((0_usize..4, action(), any::<bool>()), 0..60),
    ) {
        let budgets = budgets(vec![budget(BudgetUnit::Tokens, 500, BudgetAction::Stop)]);
        let subjects = subjects();
        let meter_ref = meter(KIND, now());
        let key = meter_ref.key(&turn("t"), &subjects.user);
        let (mut sum, mut turns) = (Amounts::default(), 0);
        let (mut entries, mut counted) = (BTreeMap::new(), BTreeMap::new());
        for (number, action, repeat) in actions {
            let turn = turn(&format!("t{number}"));
            let entry: Option<Entry> = entries.get(&number).copied();
            // A turn that is over isn't started again.
            if matches!(action, Action::Start) && counted.contains_key(&number) && entry.is_none() {
                continue;
            }
            let closing = |after| MeterChange {
                meter: key.clone(),
                turn: turn.clone(),
                before: entry,
                after,
                keeps_entry: false,
                ceiling: Ceiling::default(),
            };
            let tokens = |tokens| Amounts { tokens, ..Amounts::default() };
            let used = |used| Some(Entry { amounts: tokens(used), since: now(), id: EntryId::default() });
            let change = match action {
                Action::Start => start(&budgets, &subjects, &meter_ref, (key.clone(), turn.clone()), (now(), EntryId::default())),
                _ if entry.is_none() => continue,
                Action::Raise(needed) => {
                    raise(&budgets, &subjects, &meter_ref, (key.clone(), turn.clone()), entry.unwrap(), tokens(needed))
                }
                Action::Finish(tokens) => closing(used(tokens)),
                Action::Release => closing(None),
            };
            for _ in 0..=u8::from(repeat) {
                let meter = Meter { sum, turns, entry: entries.get(&number).copied() };
                let Some(after) = meter.apply(&change) else { continue };
                if change.before.is_none() {
                    prop_assert!(sum.tokens < 500, "no room was left");
                }
                (sum, turns) = (after.sum, after.turns);
                match after.entry {
                    Some(entry) => entries.insert(number, entry),
                    None => entries.remove(&number),
                };
                match change.after {
                    Some(after) => counted.insert(number, after),
                    None => counted.remove(&number),
                };
            }
            prop_assert_eq!(turns, counted.len() as u64);
            let total = counted.values().fold(Amounts::default(), |total, one: &Entry| total.plus(one.amounts));
            prop_assert_eq!(sum, total);
        }
    }
}
