//! Spending of ended turns.

use std::time::Duration;

use contracts::Usage;

use super::{answer, at, attempt, completed, running};
use crate::{
    change::PartialWork,
    cost::{Amount, Cost},
    price::Prices,
    purge::ProviderResponseRef,
    session::Session,
    spent::{MeteredUsage, PendingUsage, Spent},
    timing::Timing,
    transition::{
        finalize, settle,
        spend::{self, Seal},
        suspend,
    },
    turn::{EndReason, Turn},
};

const GRACE: Duration = Duration::from_secs(5);

fn spent(prompt: u64, completion: u64) -> Spent {
    let MeteredUsage { usage, estimated_tokens } = MeteredUsage::estimated(prompt, completion);
    Spent { usage, estimated_tokens, model_calls: 1, ..Spent::default() }
}

fn cancelled(turn: &Turn) -> Turn {
    settle::end(turn, EndReason::Cancelled, at(3), &Timing::default()).unwrap().after
}

#[test]
fn attempt_of_an_ended_turn_tells_once_and_until_the_seal() {
    let (session, turn) = running();
    let ended = cancelled(&turn);
    let told = spend::record(&ended, &turn.attempt, spent(10, 7)).unwrap();
    assert!(told.condition.holds(Some(&ended)));
    assert!(!told.condition.holds(Some(&told.after)));
    assert!(spend::record(&told.after, &turn.attempt, spent(10, 9)).is_err());
    assert!(spend::record(&ended, &attempt("other"), spent(10, 9)).is_err());
    assert_eq!(spend::seal(&told.after, at(3), GRACE), Seal::None);

    assert_eq!(spend::seal(&ended, at(7), GRACE), Seal::Wait);
    let Seal::Write(sealed) = spend::seal(&ended, at(8), GRACE) else { panic!("it has waited long enough") };
    assert!(!told.condition.holds(Some(&sealed.after)), "too late");
    assert!(!told.was_applied(&sealed.after));
    let report = finalize::finalize(&session, &told.after, None).unwrap().result.report;
    assert_eq!((report.usage, report.estimated_tokens), (Some(spent(10, 7).usage), 17));
}

/// A turn that was cancelled, and whose attempt told an estimate of 17 tokens that its provider may replace.
fn pending() -> (Session, Turn) {
    let (session, turn) = running();
    let response = ProviderResponseRef { provider: Some("api".to_owned()), response_id: "r".to_owned() };
    let price = |micros: u64| Amount::from_micros(micros * 1_000_000);
    let prices = Prices {
        prompt_per_million: price(1),
        cached_prompt_per_million: None,
        cache_write_per_million: None,
        completion_per_million: price(10),
        currency: "EUR".to_owned(),
    };
    let pending = PendingUsage { response, estimate: MeteredUsage::estimated(10, 7), prices: Some(prices) };
    let cost = Some(Cost { amount: Amount::from_micros(500 + 80), currency: "EUR".to_owned() });
    // Another call before it was told.
    let usage = spent(110, 107).usage;
    let figure = Spent { usage, model_calls: 2, cost, pending: Some(Box::new(pending)), ..spent(10, 7) };
    let told = spend::record(&cancelled(&turn), &turn.attempt, figure).unwrap();
    (session, told.after)
}

#[test]
fn provider_replaces_the_estimate_until_the_seal() {
    let (session, turn) = pending();
    let figure = turn.spent.clone().unwrap();
    assert!(figure.is_told && !figure.is_final && spend::is_open(&turn));
    assert!(spend::record(&turn, &turn.attempt, spent(10, 9)).is_err(), "an attempt tells once");
    assert!(finalize::finalize(&session, &turn, None).is_err(), "it may still change");
    assert_eq!(spend::seal(&turn, at(7), GRACE), Seal::Wait);
    let Seal::Write(estimate) = spend::seal(&turn, at(8), GRACE) else { panic!("it has waited long enough") };
    let told = spend::seal_told(&turn, &MeteredUsage::estimated(20, 5).usage);
    for sealed in [&told, &*estimate] {
        assert!(sealed.condition.holds(Some(&turn)) && !sealed.condition.holds(Some(&sealed.after)));
        assert!(!spend::is_open(&sealed.after) && sealed.after.spent.as_ref().unwrap().pending.is_none());
    }
    assert!(!told.was_applied(&estimate.after) && !estimate.was_applied(&told.after), "one of them counts");
    let report = |turn| finalize::finalize(&session, turn, None).unwrap().result.report;
    let counted = report(&told.after);
    assert_eq!((counted.usage, counted.estimated_tokens), (Some(spent(120, 105).usage), 0));
    assert_eq!(counted.cost.unwrap().amount, Amount::from_micros(500 + 70));
    assert_eq!(
        (report(&estimate.after).usage, report(&estimate.after).estimated_tokens),
        (Some(figure.usage), 17)
    );
    let nothing = spend::seal_told(&turn, &Usage::default());
    assert_eq!(nothing.after, estimate.after, "zeros are no counts");
}

#[test]
fn pending_usage_is_stored_with_the_figure() {
    let figure = pending().1.spent.unwrap();
    let json = serde_json::to_value(&figure).unwrap();
    assert_eq!((&json["Pending"]["ResponseId"], &json["IsTold"]), (&"r".into(), &true.into()), "{json}");
    assert_eq!(serde_json::from_value::<Spent>(json).unwrap(), figure);
    let plain = serde_json::to_value(spent(10, 7)).unwrap();
    assert!(plain.get("Pending").is_none() && plain.get("IsTold").is_none(), "{plain}");
}

#[test]
fn turns_without_an_attempt_at_work_are_not_waited_for() {
    let timing = Timing::default();
    let (_, turn) = running();
    let waiting = suspend::suspend(&turn, attempt("a"), at(500)).unwrap().after;
    assert_eq!(spend::seal(&cancelled(&waiting), at(3), GRACE), Seal::None);
    let settled = settle::settle(&turn, completed("a"), at(3), at(3), &timing).unwrap().after;
    assert_eq!(spend::seal(&settled, at(3), GRACE), Seal::None);
    let left = PartialWork { spent: Some(spent(5, 0).into_final()), ..PartialWork::default() };
    let abandoned = settle::end(&turn, EndReason::Abandoned, at(3), &timing).unwrap().with_partial_work(left);
    assert_eq!(spend::seal(&abandoned.after, at(3), GRACE), Seal::None);
}

#[test]
fn greater_figure_of_an_ended_turn_counts() {
    let (session, turn) = running();
    let outcome = answer("resp_1");
    let recorded = outcome.report.usage.unwrap();
    for (spent, expected) in [(spent(1_000, 2_000), spent(1_000, 2_000).usage), (Spent::default(), recorded)]
    {
        let ended = Turn { spent: Some(spent.into_final()), ..cancelled(&turn) };
        let finalized = finalize::finalize(&session, &ended, Some(&outcome)).unwrap();
        assert_eq!(finalized.result.report.usage, Some(expected));
        assert_eq!(finalized.session.usage, expected);
        assert_eq!(finalized.usage.unwrap().amounts.usage, expected);
    }
}
