//! Continuations at the provider.

use super::{after, answer, at, attempt, running, setup, submission, target};
use crate::{
    chain::{ChainStart, ConversationStatePolicy, HistoryOwner, ReplayReason, Target},
    session::{ChainHead, Session},
    timing::Timing,
    transition::begin::{self, Setup},
};

#[test]
fn chain_continues_only_for_its_model_and_provider_until_expiry() {
    let mut first = answer("resp_1");
    first.report.provider = Some("p".to_owned());
    let session = after(&first);
    let start = |session: &Session, target: Target, now| {
        let setup = Setup { target, ..setup() };
        let next = submission("t2", "two");
        let commit =
            begin::begin(Some(session), None, &next, &setup, attempt("b"), false, now, &Timing::default());
        let turn = &commit.turns[0].after;
        (turn.chain.previous_response_id().map(str::to_owned), turn.chain.replay_reason())
    };
    let chained = (Some("resp_1".to_owned()), None);
    assert_eq!(start(&session, target("m", "p"), at(999)), chained);
    assert_eq!(start(&session, target("m", "p"), at(1_000)), (None, Some(ReplayReason::Expired)));
    assert_eq!(start(&session, target("n", "p"), at(5)), (None, Some(ReplayReason::ModelChanged)));
    assert_eq!(start(&session, target("m", "q"), at(5)), (None, Some(ReplayReason::ProviderChanged)));
    let local = Target { policy: ConversationStatePolicy::Local, ..target("m", "p") };
    assert_eq!(start(&session, local, at(5)), (None, Some(ReplayReason::NotStored)));

    let recorded = session.chain.clone().unwrap();
    let unrecorded = Session { chain: Some(ChainHead { provider: None, ..recorded }), ..session };
    assert_eq!(start(&unrecorded, target("m", "q"), at(5)), chained, "older sessions keep their chain");
    first.report.chain_expires = None;
    let not_stored = (None, Some(ReplayReason::NotStored));
    assert_eq!(
        start(&after(&first), target("m", "p"), at(5)),
        not_stored,
        "nothing was stored at the provider"
    );
}

#[test]
fn stateless_provider_gets_history_unless_policy_forces_it() {
    let mut stateless = answer("resp_1");
    stateless.report.stateless_provider = Some("p".to_owned());
    let session = after(&stateless);
    assert_eq!(session.stateless_provider.as_deref(), Some("p"), "the session remembers it");
    let history_owner = |target: Target| target.upstream_for(&session).history_owner;
    let policy = |policy| Target { policy, ..target("m", "p") };
    assert_eq!(history_owner(policy(ConversationStatePolicy::Auto)), HistoryOwner::Local);
    assert_eq!(history_owner(policy(ConversationStatePolicy::Provider)), HistoryOwner::Provider);
    assert_eq!(history_owner(policy(ConversationStatePolicy::Local)), HistoryOwner::Local);
    assert_eq!(history_owner(target("m", "q")), HistoryOwner::Provider, "another provider may store them");
    assert_eq!(
        history_owner(Target { is_stateless: true, ..target("m", "q") }),
        HistoryOwner::Local,
        "the process knows"
    );

    let next = submission("t2", "two");
    let setup = Setup { target: target("m", "p"), ..setup() };
    let commit =
        begin::begin(Some(&session), None, &next, &setup, attempt("b"), false, at(5), &Timing::default());
    assert_eq!(
        commit.turns[0].after.chain,
        ChainStart::Replay(ReplayReason::NotStored),
        "nothing is asked for in vain"
    );
    assert_eq!(commit.request.unwrap().upstream.history_owner, HistoryOwner::Local);
}

#[test]
fn first_turn_starts_without_history() {
    let (_, turn) = running();
    assert_eq!(turn.chain, ChainStart::First);
}
