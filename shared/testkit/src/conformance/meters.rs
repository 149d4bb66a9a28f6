//! A meter's sums are the sums of its entries.

use contracts::{
    Timestamp,
    request::{BudgetScope, BudgetWindow},
};
use futures::future::join_all;
use protocol::budget::{Amounts, Ceiling, Entry, EntryId, Meter, MeterChange, MeterKey, MeterReading};
use turns::ports::{Store, WriteError};

use super::Tenant;

pub(super) async fn check(store: &impl Store, run: &str) {
    entries_change_under_their_condition(store, run).await;
    concurrent_starts_stop_at_the_ceiling(store, run).await;
}

fn key<S: Store>(tenant: &Tenant<'_, S>, subject: &str) -> MeterKey {
    MeterKey {
        org: tenant.org.clone(),
        scope: BudgetScope::User,
        subject: subject.to_owned(),
        window: BudgetWindow::Month,
        start: "2026-01".to_owned(),
    }
}

async fn entries_change_under_their_condition(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "meters");
    let (one, other) = (tenant.turn("s1", "t"), tenant.turn("s1", "t2"));
    let since = Timestamp::from_millis(1_700_000_000_123);
    let amounts = |tokens, micros| Entry {
        amounts: Amounts { tokens, micros, unpriced: tokens % 2 },
        since,
        id: EntryId(7),
    };
    let mut expected: Vec<Meter> = vec![Meter::default(); 2];
    // A turn, its entry as read, the amounts after the change, and whether the entry stays.
    for (index, before, after, keeps_entry, tokens) in [
        (0, None, Some(amounts(10, 1)), true, None),
        (0, None, Some(amounts(10, 1)), true, None),
        (1, None, Some(amounts(5, 0)), true, Some(9)),
        (1, None, Some(amounts(5, 0)), true, Some(10)),
        (0, Some(amounts(9, 1)), Some(amounts(1, 1)), true, None),
        (0, Some(amounts(10, 1)), Some(amounts(30, 4)), true, Some(15)),
        (0, Some(amounts(30, 4)), Some(amounts(20, 2)), false, None),
        (0, Some(amounts(30, 4)), Some(amounts(20, 2)), false, None),
        (1, Some(amounts(5, 0)), None, false, None),
    ] {
        let turn = if index == 0 { &one } else { &other };
        let change = MeterChange {
            meter: key(&tenant, "ann"),
            turn: turn.clone(),
            before,
            after,
            keeps_entry,
            ceiling: Ceiling { tokens, ..Ceiling::default() },
        };
        let applied = expected[index].apply(&change);
        match store.write_meter(&change).await {
            Ok(after) => assert_eq!(Some(after), applied, "{change:?}"),
            Err(WriteError::ConditionFailed) => assert!(applied.is_none(), "{change:?}"),
            Err(error) => panic!("{error:?}"),
        }
        if let Some(applied) = applied {
            let entries = [0, 1].map(|of| if of == index { applied.entry } else { expected[of].entry });
            expected = entries.map(|entry| Meter { entry, ..applied }).to_vec();
        }
        let MeterReading { sum, turns, mut entries } =
            store.meter_reading(&key(&tenant, "ann")).await.unwrap();
        assert_eq!((sum, turns), (expected[0].sum, expected[0].turns), "{change:?}");
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let all = [&one, &other].into_iter().zip(&expected);
        let stored: Vec<_> = all.filter_map(|(turn, meter)| Some((turn.clone(), meter.entry?))).collect();
        assert_eq!(entries, stored, "{change:?}");
        for (turn, expected) in [&one, &other].into_iter().zip(&expected) {
            assert_eq!(store.meter(&key(&tenant, "ann"), turn).await.unwrap(), *expected, "{change:?}");
        }
    }
    assert_eq!(expected[0].sum, amounts(20, 2).amounts);
    assert_eq!(store.meter(&key(&tenant, "anne"), &one).await.unwrap(), Meter::default());
    assert_eq!(store.meter_reading(&key(&tenant, "anne")).await.unwrap(), MeterReading::default());
}

async fn concurrent_starts_stop_at_the_ceiling(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "concurrent meters");
    let starts = (0..20).map(|number| {
        let change = MeterChange {
            meter: key(&tenant, "ann"),
            turn: tenant.turn("s", &format!("t{number}")),
            before: None,
            after: Some(Entry {
                amounts: Amounts { tokens: 10, ..Amounts::default() },
                since: Timestamp::from_millis(0),
                id: EntryId(number),
            }),
            keeps_entry: true,
            ceiling: Ceiling { tokens: Some(99), turns: Some(50), ..Ceiling::default() },
        };
        async move {
            loop {
                match store.write_meter(&change).await {
                    Ok(_) => return true,
                    Err(WriteError::ConditionFailed) => return false,
                    Err(WriteError::Contended) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
    });
    let started = join_all(starts).await.into_iter().filter(|started| *started).count();
    assert_eq!(started, 10, "each has room, or none of it applies");
    let meter = store.meter(&key(&tenant, "ann"), &tenant.turn("s", "none")).await.unwrap();
    assert_eq!((meter.sum.tokens, meter.turns, meter.entry), (100, 10, None));
}
