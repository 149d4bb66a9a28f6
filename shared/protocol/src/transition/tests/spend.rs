//! Spending of ended turns.

use std::time::Duration;

use super::{answer, at, attempt, completed, running};
use crate::{
    change::PartialWork,
    spent::{MeteredUsage, Spent},
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
