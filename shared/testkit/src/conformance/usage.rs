//! The usage of an org adds up, per day, user, agent and model.

use std::collections::BTreeMap;

use contracts::{Day, Usage};
use protocol::{
    cost::{Amount, Cost},
    usage::{UsageAmounts, UsageEntry, UsageKey},
};
use turns::ports::Store;

use super::{Tenant, at};
use crate::build;

pub(super) async fn check(store: &impl Store, run: &str) {
    let tenant = Tenant::new(store, run, "usage");
    let today = Day::from(at(0));
    let entry = |day: Day, user: &str, agent: &str, model: Option<&str>, tokens: u64| UsageEntry {
        key: UsageKey {
            org: tenant.org.clone(),
            day,
            user: build::user(user).id,
            agent: agent.to_owned(),
            model: model.map(str::to_owned),
        },
        session: tenant.session("s").session,
        amounts: amounts(model, tokens),
    };
    let entries = [
        entry(today, "ann", "default", Some("m/1#x"), 10),
        entry(today, "ann", "default", Some("m/1#x"), 5),
        entry(today, "ann", "default", None, 0),
        entry(today, "ann", "other", Some("m/1#x"), 7),
        entry(today, "anne", "default", Some("m/1#x"), 3),
        entry(today.plus(1), "ann", "default", Some("m/1#x"), 100),
    ];
    for (number, entry) in entries.iter().enumerate() {
        // Several sessions, so that a user's items are spread.
        let session = format!("s{number}");
        let mut commit = tenant.start(None, "ann", &tenant.turn(&session, "t"), at(0));
        let session = tenant.session(&session).session;
        commit.usage = vec![UsageEntry { session, ..entry.clone() }];
        store.commit(&commit).await.unwrap();
        let again = store.commit(&commit).await;
        assert!(again.is_err(), "a transaction that fails adds nothing");
    }
    for (day, user) in [
        (today, None),
        (today, Some("ann")),
        (today, Some("anne")),
        (today.plus(1), None),
        (today.plus(2), None),
    ] {
        let wanted = entries.iter().filter(|entry| entry.key.day == day);
        let wanted = wanted.filter(|entry| user.is_none_or(|user| entry.key.user.as_str() == user));
        let wanted = wanted.map(|entry| (entry.key.clone(), entry.amounts.clone()));
        let user = user.map(|user| build::user(user).id);
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let page = store.usage(&tenant.org, day, user.as_ref(), after).await.unwrap();
            rows.extend(page.items);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(sums(rows), sums(wanted), "{day} {user:?}");
    }
}

/// Returns amounts in which each counter is another one's plus one, so that none is taken for another.
fn amounts(model: Option<&str>, tokens: u64) -> UsageAmounts {
    let mut amounts = UsageAmounts {
        usage: Usage {
            prompt_tokens: tokens,
            completion_tokens: 1,
            total_tokens: tokens + 1,
            cached_tokens: model.map(|_| 0),
            ..Usage::default()
        },
        costs: model
            .map(|_| Cost { amount: Amount::from_micros(tokens), currency: "EUR".to_owned() })
            .into_iter()
            .collect(),
        ..UsageAmounts::default()
    };
    for (name, count) in UsageAmounts::COUNTERS.iter().zip(tokens..) {
        *amounts.counter(name).expect("a counter") = count;
    }
    amounts
}

fn sums(rows: impl IntoIterator<Item = (UsageKey, UsageAmounts)>) -> BTreeMap<UsageKey, UsageAmounts> {
    let mut sums: BTreeMap<UsageKey, UsageAmounts> = BTreeMap::new();
    for (key, amounts) in rows {
        let sum = sums.entry(key).or_default();
        *sum = std::mem::take(sum).plus(&amounts);
    }
    sums
}
