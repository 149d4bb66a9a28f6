//! A turn's process dies before a reply, an operator edits the session's context, and the same request comes
//! again: what the head froze is gone on from only where the edited context still can.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::time::Duration;

use agent::context::{ConversationContext, Document};
use contracts::{AgentExecuteResponse, InvokeResult, id::OrgId};
use protocol::chain::{ChainPolicy, Rebuild};
use testkit::{
    build::{self, ORG},
    deployment::{Deployment, Done, Sent, Settings},
    fault::{Effect, Fault},
    ledger::{Event, SentRequest},
    schedule::Faults,
};

/// What a function has of its own time.
const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease is over for everybody.
const DEAD: Duration = Duration::from_secs(33);
/// Long enough that an announced turn is finalized.
const FINALIZED: Duration = Duration::from_secs(5);

/// The conversation context of the session, before it is edited.
fn context() -> ConversationContext {
    ConversationContext { model_name: Some("model-a".to_owned()), ..build::conversation("c") }
}

fn put(deployment: &Deployment, context: ConversationContext) {
    deployment.table.put_context(&OrgId::new(ORG).unwrap(), Document::ConversationContext(context));
}

fn sent(turn: &str) -> Sent {
    Sent::new("ann", "s", turn, &format!("Instruction of {turn}")).naming(None, Some("c"))
}

/// Executes a turn to its end: the warnings of its answer.
fn answered(deployment: &mut Deployment, sent: &Sent) -> Vec<String> {
    let process = deployment.execute(sent, BUDGET, Faults::None);
    let Some(Done::Executed(Ok(body))) = deployment.finish(&process) else { panic!("no answer") };
    let result: InvokeResult<AgentExecuteResponse> = serde_json::from_slice(&body).unwrap();
    let Ok(AgentExecuteResponse::Final(answer)) = result.into_outcome() else { panic!("no final answer") };
    deployment.wait(FINALIZED);
    answer.user_warnings
}

/// What the model was sent, call by call, those included that died on their way.
fn model_requests(deployment: &Deployment) -> Vec<SentRequest> {
    let entries = deployment.ledger.entries();
    let sent = |event: &Event| match event {
        Event::ModelCalled { sent, .. } => Some(sent.clone()),
        _ => None,
    };
    entries.iter().filter_map(|entry| sent(&entry.event)).collect()
}

/// A takeover after an edit.
struct TakenOver {
    deployment: Deployment,
    /// What the turn was to go on from when it started.
    frozen: String,
    /// What the takeover sent to the model.
    request: SentRequest,
    /// What its user was warned of.
    warnings: Vec<String>,
}

/// The second turn of a session dies after its start and before a reply, the context is edited, and its
/// client sends it again once the lease is over.
fn taken_over(edited: ConversationContext) -> TakenOver {
    let mut deployment = Deployment::new(Settings::quiet());
    put(&deployment, context());
    assert!(answered(&mut deployment, &sent("t1")).is_empty());

    let dying = Faults::Reaching(Effect::CallModel, Fault::CrashBefore);
    let process = deployment.execute(&sent("t2"), BUDGET, dying);
    assert!(deployment.finish(&process).is_none(), "it crashes");
    let began = model_requests(&deployment).pop().unwrap();
    assert_eq!((began.model.as_str(), began.told.len()), ("model-a", 0), "it was to go on");
    put(&deployment, edited);
    deployment.wait(DEAD);

    let warnings = answered(&mut deployment, &sent("t2"));
    let [_, _, request] = model_requests(&deployment).try_into().expect("one call per attempt");
    let head = deployment.table.contents().heads[&sent("t2").turn()].clone();
    let frozen = head.chain.previous_response_id().unwrap().to_owned();
    assert_eq!(began.previous_response_id.as_ref(), Some(&frozen));
    assert_eq!(deployment.violations(), []);
    TakenOver { deployment, frozen, request, warnings }
}

/// The request begins a chain and tells the session's first turn.
fn tells_the_first_turn(sent: &SentRequest) {
    assert_eq!(sent.previous_response_id, None, "a chain begins");
    let [first] = sent.told.as_slice() else { panic!("one turn came before: {:?}", sent.told) };
    assert!(first.0.contains("Instruction of t1"), "{first:?}");
    assert!(first.1.contains("Answer 1 to:"), "{first:?}");
}

#[test]
fn a_takeover_by_another_model_begins_a_chain_tells_the_earlier_turn_and_warns() {
    let other = ConversationContext { model_name: Some("model-b".to_owned()), ..context() };
    let TakenOver { mut deployment, request: takeover, warnings, .. } = taken_over(other);
    assert_eq!((takeover.model.as_str(), takeover.store), ("model-b", true));
    tells_the_first_turn(&takeover);
    assert_eq!(warnings, [Rebuild::OtherModel.warning().unwrap()]);

    // The chain that it began is gone on from, by the model that wrote it.
    assert!(answered(&mut deployment, &sent("t3")).is_empty());
    let next = model_requests(&deployment).pop().unwrap();
    assert_eq!((next.model.as_str(), next.previous_response_id.as_deref()), ("model-b", Some("resp_2")));
    assert_eq!(deployment.violations(), []);
}

#[test]
fn a_takeover_that_may_leave_nothing_behind_tells_the_earlier_turn_and_warns_of_nothing() {
    let local = ConversationContext { chain: Some(ChainPolicy::Local), ..context() };
    let TakenOver { mut deployment, request: takeover, warnings, .. } = taken_over(local);
    assert_eq!((takeover.model.as_str(), takeover.store), ("model-a", false));
    tells_the_first_turn(&takeover);
    assert!(warnings.is_empty(), "{warnings:?}");

    assert!(answered(&mut deployment, &sent("t3")).is_empty());
    let next = model_requests(&deployment).pop().unwrap();
    assert_eq!((next.previous_response_id.as_deref(), next.told.len()), (None, 2));
    assert_eq!(deployment.violations(), []);
}

#[test]
fn a_takeover_after_an_edit_of_something_else_goes_on_from_what_the_turn_froze() {
    let reworded =
        ConversationContext { system: "Be brief.".to_owned(), temperature: Some(0.1), ..context() };
    let TakenOver { frozen, request: takeover, warnings, .. } = taken_over(reworded);
    assert_eq!(takeover.previous_response_id, Some(frozen));
    assert_eq!((takeover.model.as_str(), takeover.store, takeover.told.len()), ("model-a", true, 0));
    assert!(warnings.is_empty(), "{warnings:?}");
}
