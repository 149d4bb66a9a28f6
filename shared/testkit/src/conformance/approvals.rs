//! Approvals: put once, answered once while the turn waits, listed for those who may answer.

use contracts::Fingerprint;
use protocol::{
    approval::{Answer, AnswerRules, Approval, ApprovalId, Approver, ApproverRole, Decision, ExactCall},
    caller::User,
    id::{AttemptId, TurnKey},
    transition::{answer, settle, suspend},
    turn::{EndReason, Turn, Verdict},
};
use turns::ports::{Audience, Store, WriteError};

use super::Tenant;
use crate::build::instant;

pub(super) async fn check(store: &impl Store, run: &str) {
    answer_is_written_once_while_the_turn_waits(&Tenant::new(store, run, "approvals")).await;
    lists_are_those_of_who_may_answer(&Tenant::new(store, run, "approval-lists")).await;
}

fn approval(turn: &TurnKey, arguments: &str, expires: u64, users: &[&str]) -> Approval {
    let call = ExactCall {
        tool: "shop__refund".to_owned(),
        connection: "shop".to_owned(),
        revision: 1,
        schema: Fingerprint::hash_bytes(b"schema"),
        arguments: arguments.to_owned(),
    };
    Approval {
        id: ApprovalId::of_call(turn, arguments, &call.hash()),
        turn: turn.clone(),
        round: 1,
        call_id: "c".to_owned(),
        call,
        asker: "ann".parse().unwrap(),
        rules: AnswerRules {
            roles: vec![ApproverRole::Asker, ApproverRole::Operator],
            users: users.iter().map(|user| user.parse().unwrap()).collect(),
            ..AnswerRules::default()
        },
        created: instant(0),
        expires: instant(expires),
        answer: None,
    }
}

fn answered(approval: &Approval) -> Approval {
    let user = User { id: "ann".parse().unwrap(), name: "Ann".to_owned() };
    let by = Approver { user, operator: true, agent_editor: false };
    let decision = Decision::Denied { reason: Some("No.".to_owned()) };
    Approval { answer: Some(Answer { by, at: instant(3), decision }), ..approval.clone() }
}

fn is_refused(written: Result<(), WriteError>) -> bool {
    matches!(written, Err(WriteError::ConditionFailed))
}

async fn answer_is_written_once_while_the_turn_waits<S: Store>(tenant: &Tenant<'_, S>) {
    let (store, key) = (tenant.store, tenant.turn("s", "t1"));
    let turn = tenant.start_turn("ann", &key, instant(0)).await;
    let (first, second) = (approval(&key, "a", 90, &[]), approval(&key, "b", 91, &[]));
    store.put_approval(&first).await.unwrap();
    store.put_approval(&second).await.unwrap();
    assert_eq!(store.approval(&tenant.org, &first.id).await.unwrap(), Some(first.clone()));
    let waiting =
        suspend::suspend_for_approval(&turn, turn.attempt.clone(), instant(90), instant(900)).unwrap();
    let change = answer::answer(&waiting.after, instant(3), &tenant.timing).unwrap();
    assert!(is_refused(store.answer_approval(&answered(&first), &change).await), "it runs");
    store.write_turn(&waiting).await.unwrap();
    let attempt = AttemptId::new("somebody".to_owned());
    let other =
        answer::answer(&Turn { attempt, ..waiting.after.clone() }, instant(3), &tenant.timing).unwrap();
    assert!(is_refused(store.answer_approval(&answered(&first), &other).await));
    assert_eq!(store.turn(&key).await.unwrap(), Some(waiting.after.clone()));
    store.answer_approval(&answered(&first), &change).await.unwrap();
    assert_eq!(store.turn(&key).await.unwrap(), Some(change.after.clone()), "it is due soon");
    let changed = Answer { at: instant(4), ..answered(&first).answer.unwrap() };
    let again = Approval { answer: Some(changed), ..first.clone() };
    assert!(is_refused(store.answer_approval(&again, &change).await), "it has an answer");
    store.put_approval(&first).await.unwrap();
    let mut stored = store.approvals(&key).await.unwrap();
    stored.sort_by_key(|approval| approval.expires);
    assert_eq!(stored, [answered(&first), second.clone()], "a repeated put changes nothing");
    assert_eq!(store.approval(&tenant.org, &first.id).await.unwrap(), Some(answered(&first)));
    // The id of the other turn is the beginning of this one's.
    assert_eq!(store.approvals(&tenant.turn("s", "t")).await.unwrap(), []);
    let ended = Verdict::Ended(EndReason::Cancelled);
    let settled = settle::end(&waiting.after, EndReason::Cancelled, instant(5), &tenant.timing).unwrap();
    assert_eq!(settled.after.settlement().map(|settlement| &settlement.verdict), Some(&ended));
    store.write_turn(&settled).await.unwrap();
    assert!(is_refused(store.answer_approval(&answered(&second), &change).await), "it has ended");
    let entries = store.items(&key.session).await.unwrap();
    assert!(entries.iter().any(|entry| entry.kind == "approvals"));
    store.remove_items(&key.session, &entries).await.unwrap();
    assert_eq!(store.approval(&tenant.org, &first.id).await.unwrap(), None);
}

async fn lists_are_those_of_who_may_answer<S: Store>(tenant: &Tenant<'_, S>) {
    let (store, key) = (tenant.store, tenant.turn("s", "t"));
    let turn = tenant.start_turn("ann", &key, instant(0)).await;
    let waiting =
        suspend::suspend_for_approval(&turn, turn.attempt.clone(), instant(90), instant(900)).unwrap();
    store.write_turn(&waiting).await.unwrap();
    let approvals =
        [approval(&key, "a", 90, &["bob"]), approval(&key, "b", 91, &[]), approval(&key, "c", 92, &["bob"])];
    for approval in &approvals {
        store.put_approval(approval).await.unwrap();
    }
    let listed = async |audience: Audience, now: u64, limit: usize| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page =
                store.open_approvals(&tenant.org, &audience, instant(now), limit, after).await.unwrap();
            found.extend(page.items.into_iter().map(|(_, approval)| approval.call.arguments));
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    let user = |user: &str| Audience::User(user.parse().unwrap());
    assert_eq!(listed(user("bob"), 1, 1).await, ["a", "c"]);
    assert_eq!(listed(user("ann"), 1, 2).await, ["a", "b", "c"]);
    assert_eq!(listed(Audience::Operators, 1, 9).await, ["a", "b", "c"]);
    assert_eq!(listed(Audience::All, 91, 9).await, ["c"], "the others have expired");
    assert_eq!(listed(Audience::AgentEditors, 1, 9).await, [""; 0]);
    assert_eq!(listed(user("cy"), 1, 9).await, [""; 0]);
    let change = answer::answer(&waiting.after, instant(3), &tenant.timing).unwrap();
    store.answer_approval(&answered(&approvals[2]), &change).await.unwrap();
    assert_eq!(listed(user("bob"), 1, 9).await, ["a"]);
}
