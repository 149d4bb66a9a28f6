//! A turn's process dies before a reply, an operator edits the session's context, and the client retries. The
//! takeover continues the chain in the turn's head only if the edited context allows that.

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
use protocol::chain::{ConversationStatePolicy, ReplayReason};
use testkit::{
    build::{self, ORG},
    deployment::{ClientRequest, Deployment, ProcessOutcome, Settings},
    fault::{Effect, Fault},
    ledger::{Event, ModelRequest},
    schedule::Faults,
};

/// The time budget of a function.
const BUDGET: Duration = Duration::from_secs(840);
/// Long enough that a lease has expired on every clock.
const DEAD: Duration = Duration::from_secs(33);
/// Long enough that an announced turn is finalized.
const FINALIZED: Duration = Duration::from_secs(5);

/// The session's conversation context before the edit.
fn context() -> ConversationContext {
    ConversationContext { model_name: Some("model-a".to_owned()), ..build::conversation("c") }
}

fn put(deployment: &Deployment, context: ConversationContext) {
    deployment.table.put_context(&OrgId::new(ORG).unwrap(), Document::ConversationContext(context));
}

fn sent(turn: &str) -> ClientRequest {
    ClientRequest::new("ann", "s", turn, &format!("Instruction of {turn}")).with_contexts(None, Some("c"))
}

/// Runs a turn to its end and returns the warnings in its answer.
fn run_turn(deployment: &mut Deployment, sent: &ClientRequest) -> Vec<String> {
    let process = deployment.execute(sent, BUDGET, Faults::None);
    let Some(ProcessOutcome::Executed(Ok(body))) = deployment.finish(&process) else { panic!("no answer") };
    let result: InvokeResult<AgentExecuteResponse> = serde_json::from_slice(&body).unwrap();
    let Ok(AgentExecuteResponse::Final(answer)) = result.into_outcome() else { panic!("no final answer") };
    deployment.wait(FINALIZED);
    answer.user_warnings
}

/// The requests to the model, including those whose process died.
fn model_requests(deployment: &Deployment) -> Vec<ModelRequest> {
    let entries = deployment.ledger.entries();
    let sent = |event: &Event| match event {
        Event::ModelCalled { sent, .. } => Some(sent.clone()),
        _ => None,
    };
    entries.iter().filter_map(|entry| sent(&entry.event)).collect()
}

/// A takeover after an edit.
struct Takeover {
    deployment: Deployment,
    /// The response that the turn continues, as of its start.
    frozen: String,
    /// The takeover's request to the model.
    request: ModelRequest,
    /// The warnings to the user.
    warnings: Vec<String>,
}

/// The second turn of a session dies after its start and before a reply. Then the context is edited, and the client
/// retries after the lease.
fn take_over_after_edit(edited: ConversationContext) -> Takeover {
    let mut deployment = Deployment::new(Settings::quiet());
    put(&deployment, context());
    assert!(run_turn(&mut deployment, &sent("t1")).is_empty());

    let dying = Faults::EveryOfKind(Effect::CallModel, Fault::CrashBefore);
    let process = deployment.execute(&sent("t2"), BUDGET, dying);
    assert!(deployment.finish(&process).is_none(), "it crashes");
    let began = model_requests(&deployment).pop().unwrap();
    assert_eq!((began.model.as_str(), began.earlier_turns.len()), ("model-a", 0), "it was to go on");
    put(&deployment, edited);
    deployment.wait(DEAD);

    let warnings = run_turn(&mut deployment, &sent("t2"));
    let [_, _, request] = model_requests(&deployment).try_into().expect("one call per attempt");
    let head = deployment.table.contents().heads[&sent("t2").turn()].clone();
    let frozen = head.chain.previous_response_id().unwrap().to_owned();
    assert_eq!(began.previous_response_id.as_ref(), Some(&frozen));
    assert_eq!(deployment.violations(), []);
    Takeover { deployment, frozen, request, warnings }
}

/// Checks that the request starts a chain and includes the session's first turn.
fn check_replays_first_turn(sent: &ModelRequest) {
    assert_eq!(sent.previous_response_id, None, "a chain begins");
    let [first] = sent.earlier_turns.as_slice() else {
        panic!("one turn came before: {:?}", sent.earlier_turns)
    };
    assert!(first.0.contains("Instruction of t1"), "{first:?}");
    assert!(first.1.contains("Answer 1 to:"), "{first:?}");
}

#[test]
fn takeover_by_other_model_replays_history_and_warns() {
    let other = ConversationContext { model_name: Some("model-b".to_owned()), ..context() };
    let Takeover { mut deployment, request: takeover, warnings, .. } = take_over_after_edit(other);
    assert_eq!((takeover.model.as_str(), takeover.store), ("model-b", true));
    check_replays_first_turn(&takeover);
    assert_eq!(warnings, [ReplayReason::ModelChanged.warning().unwrap()]);

    // The model that wrote the new chain continues it.
    assert!(run_turn(&mut deployment, &sent("t3")).is_empty());
    let next = model_requests(&deployment).pop().unwrap();
    assert_eq!((next.model.as_str(), next.previous_response_id.as_deref()), ("model-b", Some("resp_2")));
    assert_eq!(deployment.violations(), []);
}

#[test]
fn takeover_under_local_policy_replays_history_silently() {
    let local = ConversationContext { chain: Some(ConversationStatePolicy::Local), ..context() };
    let Takeover { mut deployment, request: takeover, warnings, .. } = take_over_after_edit(local);
    assert_eq!((takeover.model.as_str(), takeover.store), ("model-a", false));
    check_replays_first_turn(&takeover);
    assert!(warnings.is_empty(), "{warnings:?}");

    assert!(run_turn(&mut deployment, &sent("t3")).is_empty());
    let next = model_requests(&deployment).pop().unwrap();
    assert_eq!((next.previous_response_id.as_deref(), next.earlier_turns.len()), (None, 2));
    assert_eq!(deployment.violations(), []);
}

#[test]
fn takeover_after_unrelated_edit_continues_frozen_chain() {
    let reworded =
        ConversationContext { system: "Be brief.".to_owned(), temperature: Some(0.1), ..context() };
    let Takeover { frozen, request: takeover, warnings, .. } = take_over_after_edit(reworded);
    assert_eq!(takeover.previous_response_id, Some(frozen));
    assert_eq!((takeover.model.as_str(), takeover.store, takeover.earlier_turns.len()), ("model-a", true, 0));
    assert!(warnings.is_empty(), "{warnings:?}");
}
