//! Every mutation of a right list is refused precisely, leaves no trace, and costs the turn nothing.

use contracts::{Error, ErrorCode, ToolContinuation};
use proptest::{prelude::*, sample::select};
use serde_json::Value;
use testkit::{
    build,
    client::{Calls, Mutation, mutated},
    deployment::{Deployment, Sent, Settings},
};

use super::{calls, error, execute, resume};

/// A turn that is asked for so many replies with calls, each with one for the client at least.
fn asked(replies: &[String]) -> Sent {
    Sent::new("ann", "s", "t", &format!("Go calls: {}", replies.join(" ")))
}

fn replies() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[csfmu]{0,3}c[csfmu]{0,3}", 1..4)
}

/// Everything that is stored, and how often the model was called.
fn state(deployment: &Deployment) -> String {
    let (table, objects) = (deployment.table.contents(), deployment.objects.stored());
    format!("{table:?} {objects:?} {}", deployment.provider.count())
}

/// Sends a body as a client does: the contract reads it, then the flow decides.
fn submit(deployment: &mut Deployment, sent: &Sent, body: &[u8]) -> Result<Vec<u8>, Vec<Error>> {
    let results = ToolContinuation::parse(body)?;
    resume(deployment, sent, &results).map_err(|refusal| vec![refusal.error()])
}

/// Answers rounds rightly until the turn waits for the given one. The lists that were accepted, too.
fn advance(deployment: &mut Deployment, sent: &Sent, round: usize) -> (Calls, Vec<Vec<Value>>) {
    let mut waits = calls(execute(deployment, sent));
    let mut earlier = Vec::new();
    for _ in 0..round {
        earlier.push(waits.results("ann"));
        waits = calls(resume(deployment, sent, &waits.answered("ann")));
    }
    (waits, earlier)
}

/// The right results are still accepted, up to the answer, and nothing is amiss with what happened.
fn finish(deployment: &mut Deployment, sent: &Sent, waits: &Calls) {
    let mut answer = resume(deployment, sent, &waits.answered("ann")).unwrap();
    while let Some(more) = Calls::read(&answer) {
        answer = resume(deployment, sent, &more.answered("ann")).unwrap();
    }
    assert_eq!(error(&answer), None);
    assert_eq!(deployment.violations(), []);
}

/// What the refusal of a list must say, worked out anew: both lengths, and each position that differs.
fn mismatch(right: &Calls, list: &[Value]) -> String {
    let received: Vec<&str> = list.iter().map(|one| one["ToolCallId"].as_str().unwrap()).collect();
    let mut told = format!("{} results were expected, {} came", right.ids.len(), received.len());
    for position in 0..right.ids.len().max(received.len()) {
        let expected = right.ids.get(position).map_or("nothing", String::as_str);
        let got = received.get(position).copied().unwrap_or("nothing");
        if expected != got {
            told.push_str(&format!("; ToolResults[{position}] must answer {expected}, it answers {got}"));
        }
    }
    told
}

/// The code and the member that the refusal of a broken list must name.
fn broken(mutation: Mutation, at: usize) -> (ErrorCode, String) {
    let (code, member) = match mutation {
        Mutation::Empty => return (ErrorCode::MemberInvalid, "ToolResults".to_owned()),
        Mutation::BothOutcomes => (ErrorCode::MemberForbidden, ""),
        Mutation::NeitherOutcome => (ErrorCode::MemberRequired, ""),
        Mutation::NotJson => (ErrorCode::MemberInvalid, ".ResultJson"),
        Mutation::BlankError => (ErrorCode::MemberInvalid, ".ErrorMessage"),
        Mutation::NegativeTime => (ErrorCode::MemberInvalid, ".ExecutionMs"),
        Mutation::NoTime => (ErrorCode::MemberRequired, ".ExecutionMs"),
        Mutation::NoCallId => (ErrorCode::MemberRequired, ".ToolCallId"),
        Mutation::UnknownMember => (ErrorCode::MemberUnknown, ".Comment"),
        of_the_list => unreachable!("{of_the_list:?} breaks no member"),
    };
    (code, format!("ToolResults[{at}]{member}"))
}

/// Five hundred of each; more with `PROPTEST_CASES`.
fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, cases: default.cases.max(512), ..default }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_list_that_answers_other_calls_is_refused_position_by_position(
        replies in replies(),
        round in 0usize..3,
        steps in prop::collection::vec((select(&Mutation::OF_THE_LIST[..]), 0usize..8), 1..5),
    ) {
        let deployment = &mut Deployment::new(Settings::quiet());
        let sent = asked(&replies);
        let (waits, earlier) = advance(deployment, &sent, round % replies.len());
        let right = waits.results("ann");
        let list = steps.into_iter().fold(right.clone(), |list, (mutation, at)| {
            let earlier = earlier.get(at % earlier.len().max(1)).map_or(&[][..], Vec::as_slice);
            mutated(&list, mutation, at, earlier).unwrap_or(list)
        });
        // Mutations can undo each other.
        prop_assume!(list != right);
        let before = state(deployment);
        let refused = match submit(deployment, &sent, &waits.body(&list)) {
            Err(refused) => refused,
            // The very results of an earlier round, sent again: where the turn stands, and nothing else.
            Ok(body) => {
                prop_assert!(earlier.contains(&list));
                prop_assert_eq!(Calls::read(&body), Some(waits.clone()));
                Vec::new()
            }
        };
        prop_assert_eq!(&state(deployment), &before, "something was stored, or the model was called");
        if earlier.contains(&list) {
            return Ok(());
        }
        let [error] = &refused[..] else { panic!("one error: {refused:?}") };
        prop_assert_eq!(error.error_code, ErrorCode::ToolResultsMismatch);
        prop_assert_eq!(error.details.clone(), Some(mismatch(&waits, &list)));
        finish(deployment, &sent, &waits);
    }

    #[test]
    fn a_list_that_breaks_the_contract_is_refused_by_the_member(
        replies in replies(),
        round in 0usize..3,
        mutation in select(&Mutation::OF_THE_SHAPE[..]),
        at in 0usize..8,
    ) {
        let deployment = &mut Deployment::new(Settings::quiet());
        let sent = asked(&replies);
        let (waits, _) = advance(deployment, &sent, round % replies.len());
        let right = waits.results("ann");
        let list = mutated(&right, mutation, at, &[]).unwrap();
        let before = state(deployment);
        let refused = submit(deployment, &sent, &waits.body(&list)).unwrap_err();
        let (code, member) = broken(mutation, at % right.len());
        let told: Vec<_> = refused.iter().map(|error| (error.error_code, error.details.clone())).collect();
        prop_assert_eq!(told, [(code, Some(member))]);
        prop_assert_eq!(&state(deployment), &before, "something was stored, or the model was called");
        finish(deployment, &sent, &waits);
    }
}

#[test]
fn more_differences_than_a_message_holds_are_counted_and_the_first_are_listed() {
    let deployment = &mut Deployment::new(Settings::quiet());
    let sent = asked(&["c".repeat(30)]);
    let (waits, _) = advance(deployment, &sent, 0);
    let list: Vec<Value> = waits.results("ann").into_iter().rev().collect();
    let refused = submit(deployment, &sent, &waits.body(&list)).unwrap_err();
    let details = refused.first().unwrap().details.clone().unwrap();
    assert!(
        details.starts_with("30 results were expected, 30 came; ToolResults[0] must answer"),
        "{details}"
    );
    assert_eq!(details.matches("must answer").count(), 20);
    finish(deployment, &sent, &waits);
}

#[test]
fn results_of_another_user_are_refused_and_another_orgs_find_no_turn() {
    let deployment = &mut Deployment::new(Settings::quiet());
    let sent = asked(&["c".to_owned()]);
    let (waits, _) = advance(deployment, &sent, 0);
    let before = state(deployment);
    let mut stranger = sent.clone();
    stranger.caller.org = contracts::id::OrgId::new("another").unwrap();
    let refused = resume(deployment, &stranger, &waits.answered("eve")).unwrap_err().error();
    assert_eq!(refused.error_code, ErrorCode::TurnNotFound);
    let colleague = Sent { caller: build::caller("ben"), ..sent.clone() };
    let refused = resume(deployment, &colleague, &waits.answered("ben")).unwrap_err().error();
    assert_eq!(refused.error_code, ErrorCode::TurnOfAnotherUser);
    assert_eq!(state(deployment), before);
    finish(deployment, &sent, &waits);
}
