//! The approvals of a suspended turn: stores those that its calls ask for, and tells when each is answered or has expired.

use agent::{
    attempt::RecoveryPoint,
    outcome::{Ending, Outcome},
    tool::{approval::CallApproval, rounds::ToolCallRecord},
};
use contracts::Timestamp;
use protocol::{
    approval::{Approval, ApprovalState},
    turn::{State, Turn},
};

use crate::{
    flow::{finish::outcomes, write},
    ports::{Deps, Host, Reads, Store, Unavailable},
};

/// Stores the approvals that an outcome object asks for. The head that says that the turn waits for them is written after
/// them (I10), and every writer stores the same.
pub(crate) async fn ask_approvals(
    deps: &impl Deps,
    turn: &Turn,
    outcome: &Outcome,
) -> Result<(), Unavailable> {
    let Ending::Suspended { recovery_point } = &outcome.ending else { return Ok(()) };
    let rounds = &recovery_point.state.rounds;
    for call in rounds.held_calls() {
        let Some(approval) = approval_of(turn, rounds.count, call) else { continue };
        write::decide(deps.host(), || async {
            Ok::<_, Unavailable>(deps.store().put_approval(&approval).await.into())
        })
        .await?;
    }
    Ok(())
}

/// Returns the approval that a call waits for.
pub(crate) fn approval_of(turn: &Turn, round: u32, call: &ToolCallRecord) -> Option<Approval> {
    let CallApproval { id, call: exact, rules, created, expires } = (**call.approval.as_ref()?).clone();
    Some(Approval {
        id,
        turn: turn.key.clone(),
        round,
        call_id: call.call_id.clone(),
        call: exact,
        asker: turn.requested_by.clone(),
        rules,
        created,
        expires,
        answer: None,
    })
}

/// Returns the step from which a turn continues that waits for approvals alone, if none of them is open.
pub(crate) async fn answered_step(
    deps: &impl Deps,
    turn: &Turn,
) -> Result<Option<RecoveryPoint>, Unavailable> {
    let State::AwaitingTools { is_for_approval: true, .. } = turn.state else { return Ok(None) };
    let outcome = outcomes::load(deps.payloads(), &turn.key, &turn.attempt).await?;
    let Some(step) = outcome.into_recovery_point() else { return Ok(None) };
    let approvals = deps.store().approvals(&turn.key).await?;
    Ok((!is_waiting(&step, &approvals, deps.host().now())).then_some(step))
}

/// True if one of the approvals that a step asks for is open.
pub(crate) fn is_waiting(step: &RecoveryPoint, approvals: &[Approval], now: Timestamp) -> bool {
    let is_open = |approval: &Approval| approval.state(now) == ApprovalState::Pending;
    let mut asked = step.state.rounds.held_calls().filter_map(|call| call.approval.as_ref());
    asked.any(|asked| approvals.iter().find(|found| found.id == asked.id).is_none_or(is_open))
}

/// True if a turn waits for approvals alone, and each has an answer or has expired. Approvals that an attempt asked for
/// before it died count as well, so such a turn may not seem answered.
pub(crate) async fn are_answered(
    store: &impl Reads,
    turn: &Turn,
    now: Timestamp,
) -> Result<bool, Unavailable> {
    let State::AwaitingTools { is_for_approval: true, .. } = turn.state else { return Ok(false) };
    let approvals = store.approvals(&turn.key).await?;
    Ok(approvals.iter().all(|approval| approval.state(now) != ApprovalState::Pending))
}
