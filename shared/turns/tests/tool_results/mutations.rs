//! Every mutation of a correct list is rejected with the exact fault, stores nothing, and costs the turn nothing.

use contracts::{Error, ErrorCode, ToolContinuation};
use proptest::{prelude::*, sample::select};
use serde_json::Value;
use testkit::{
    build,
    client::{Mutation, PendingCalls, mutate},
    deployment::{ClientRequest, Deployment, Settings},
};

use super::{calls, error, execute, resume};

/// A turn with these replies, each of which calls at least one client tool.
fn request(replies: &[String]) -> ClientRequest {
    ClientRequest::new("ann", "s", "t", &format!("Go calls: {}", replies.join(" ")))
}

fn replies() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[csfmu]{0,3}c[csfmu]{0,3}", 1..4)
}

/// Everything that is stored, and the number of model calls.
fn state(deployment: &Deployment) -> String {
    let (table, objects) = (deployment.table.contents(), deployment.objects.stored());
    format!("{table:?} {objects:?} {}", deployment.provider.count())
}

/// Sends a body as a client does: the contract parses it, then the flow decides.
fn submit(deployment: &mut Deployment, sent: &ClientRequest, body: &[u8]) -> Result<Vec<u8>, Vec<Error>> {
    let results = ToolContinuation::parse(body)?;
    resume(deployment, sent, &results).map_err(|refusal| vec![refusal.error()])
}

/// Answers rounds correctly until the turn waits for the given one. Also returns the accepted lists.
fn advance(
    deployment: &mut Deployment,
    sent: &ClientRequest,
    round: usize,
) -> (PendingCalls, Vec<Vec<Value>>) {
    let mut pending = calls(execute(deployment, sent));
    let mut earlier = Vec::new();
    for _ in 0..round {
        earlier.push(pending.results("ann"));
        pending = calls(resume(deployment, sent, &pending.correct_request("ann")));
    }
    (pending, earlier)
}

/// Checks that the correct results are still accepted, up to the answer, without violations.
fn finish(deployment: &mut Deployment, sent: &ClientRequest, pending: &PendingCalls) {
    let mut answer = resume(deployment, sent, &pending.correct_request("ann")).unwrap();
    while let Some(more) = PendingCalls::parse(&answer) {
        answer = resume(deployment, sent, &more.correct_request("ann")).unwrap();
    }
    assert_eq!(error(&answer), None);
    assert_eq!(deployment.violations(), []);
}

/// The expected message for a rejected list, computed independently: both lengths, and each position that differs.
fn mismatch(right: &PendingCalls, list: &[Value]) -> String {
    let received: Vec<&str> = list.iter().map(|one| one["ToolCallId"].as_str().unwrap()).collect();
    let mut expected_message = format!("{} results were expected, {} came", right.ids.len(), received.len());
    for position in 0..right.ids.len().max(received.len()) {
        let expected = right.ids.get(position).map_or("nothing", String::as_str);
        let got = received.get(position).copied().unwrap_or("nothing");
        if expected != got {
            expected_message
                .push_str(&format!("; ToolResults[{position}] must answer {expected}, it answers {got}"));
        }
    }
    expected_message
}

/// The expected code and member for a malformed list.
fn expected_fault(mutation: Mutation, at: usize) -> (ErrorCode, String) {
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

/// At least 512 cases per test. `PROPTEST_CASES` adds more.
fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, cases: default.cases.max(512), ..default }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn mismatched_results_are_rejected_per_position(
        replies in replies(),
        round in 0usize..3,
        steps in prop::collection::vec((select(&Mutation::LIST_MUTATIONS[..]), 0usize..8), 1..5),
    ) {
        let deployment = &mut Deployment::new(Settings::quiet());
        let sent = request(&replies);
        let (pending, earlier) = advance(deployment, &sent, round % replies.len());
        let right = pending.results("ann");
        let list = steps.into_iter().fold(right.clone(), |list, (mutation, at)| {
            let earlier = earlier.get(at % earlier.len().max(1)).map_or(&[][..], Vec::as_slice);
            mutate(&list, mutation, at, earlier).unwrap_or(list)
        });
        // Mutations can undo each other.
        prop_assume!(list != right);
        let before = state(deployment);
        let refused = match submit(deployment, &sent, &pending.body(&list)) {
            Err(refused) => refused,
            // The results of an earlier round, sent again: they return the turn's current state and nothing else.
            Ok(body) => {
                prop_assert!(earlier.contains(&list));
                prop_assert_eq!(PendingCalls::parse(&body), Some(pending.clone()));
                Vec::new()
            }
        };
        prop_assert_eq!(&state(deployment), &before, "something was stored, or the model was called");
        if earlier.contains(&list) {
            return Ok(());
        }
        let [error] = &refused[..] else { panic!("one error: {refused:?}") };
        prop_assert_eq!(error.error_code, ErrorCode::ToolResultsMismatch);
        prop_assert_eq!(error.details.clone(), Some(mismatch(&pending, &list)));
        finish(deployment, &sent, &pending);
    }

    #[test]
    fn invalid_results_are_rejected_by_member(
        replies in replies(),
        round in 0usize..3,
        mutation in select(&Mutation::SHAPE_MUTATIONS[..]),
        at in 0usize..8,
    ) {
        let deployment = &mut Deployment::new(Settings::quiet());
        let sent = request(&replies);
        let (pending, _) = advance(deployment, &sent, round % replies.len());
        let right = pending.results("ann");
        let list = mutate(&right, mutation, at, &[]).unwrap();
        let before = state(deployment);
        let refused = submit(deployment, &sent, &pending.body(&list)).unwrap_err();
        let (code, member) = expected_fault(mutation, at % right.len());
        let expected_message: Vec<_> = refused.iter().map(|error| (error.error_code, error.details.clone())).collect();
        prop_assert_eq!(expected_message, [(code, Some(member))]);
        prop_assert_eq!(&state(deployment), &before, "something was stored, or the model was called");
        finish(deployment, &sent, &pending);
    }
}

#[test]
fn long_mismatch_lists_first_differences_and_counts() {
    let deployment = &mut Deployment::new(Settings::quiet());
    let sent = request(&["c".repeat(30)]);
    let (pending, _) = advance(deployment, &sent, 0);
    let list: Vec<Value> = pending.results("ann").into_iter().rev().collect();
    let refused = submit(deployment, &sent, &pending.body(&list)).unwrap_err();
    let details = refused.first().unwrap().details.clone().unwrap();
    assert!(
        details.starts_with("30 results were expected, 30 came; ToolResults[0] must answer"),
        "{details}"
    );
    assert_eq!(details.matches("must answer").count(), 20);
    finish(deployment, &sent, &pending);
}

#[test]
fn results_of_other_user_or_org_are_rejected() {
    let deployment = &mut Deployment::new(Settings::quiet());
    let sent = request(&["c".to_owned()]);
    let (pending, _) = advance(deployment, &sent, 0);
    let before = state(deployment);
    let mut stranger = sent.clone();
    stranger.caller.org = contracts::id::OrgId::new("another").unwrap();
    let refused = resume(deployment, &stranger, &pending.correct_request("eve")).unwrap_err().error();
    assert_eq!(refused.error_code, ErrorCode::TurnNotFound);
    let colleague = ClientRequest { caller: build::caller("ben"), ..sent.clone() };
    let refused = resume(deployment, &colleague, &pending.correct_request("ben")).unwrap_err().error();
    assert_eq!(refused.error_code, ErrorCode::TurnOfAnotherUser);
    assert_eq!(state(deployment), before);
    finish(deployment, &sent, &pending);
}
