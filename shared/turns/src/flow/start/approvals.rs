//! Answers to approvals, and the continuation of a turn that waited for them.

use agent::{
    attempt::{RecoveryPoint, Totals},
    context::check_disabled,
    mode::Catalog,
    tool::{Limits, canonical, parse_arguments},
};
use bytes::Bytes;
use contracts::{Error, ErrorCode, Fingerprint};
use futures::future::join;
use protocol::{
    Caller,
    approval::{AnswerError, Approval, ApprovalId, ApprovalState, Approver, Decision},
    payload::{Kind, Payload},
    transition::resume::resume,
    turn::{State, Turn},
};

use crate::{
    approval_view,
    flow::{
        access,
        finish::{outcomes, replay::TAKEOVER_RETRY, steps},
        invocation::RequestScope,
        limits::OrgLimits,
        meter,
        owned_turn::{Lease, OwnedTurn},
        write::{self, Tried, WriteOutcome},
    },
    ports::{AgentDeps, Deps, Host, Payloads, Reads, Store, Timer, WriteError},
    refusal::Refusal,
};

/// An answer as a person gives it.
#[derive(Debug, Clone)]
pub enum GivenAnswer {
    /// The call may be sent.
    Approve {
        /// The hash of the call that the person saw.
        hash: Fingerprint,
        /// Other arguments, as JSON text.
        arguments: Option<String>,
    },
    /// The call is not sent.
    Deny {
        /// The hash of the call that the person saw.
        hash: Option<Fingerprint>,
        /// The reason, for the model.
        reason: Option<String>,
    },
}

/// Answers an approval. A repeated request with the same answer gets the same approval while the turn still waits.
///
/// # Errors
/// If there is no such approval, or its rules don't allow this answer. Nothing is stored then.
pub(crate) async fn answer(
    deps: &impl Deps,
    caller: &Caller,
    id: &str,
    given: &GivenAnswer,
) -> Result<Approval, Refusal> {
    let id = ApprovalId::parse(id).ok_or_else(approval_view::not_found)?;
    let limits = OrgLimits::load(deps.store(), &caller.org).await?;
    check_disabled(&limits.settings.disabled, &caller.user.id, &[])?;
    let answered = write::decide(deps.host(), || try_to_answer(deps, caller, &id, given)).await?;
    access::audit_approval(caller, &answered);
    Ok(answered)
}

async fn try_to_answer(
    deps: &impl Deps,
    caller: &Caller,
    id: &ApprovalId,
    given: &GivenAnswer,
) -> Result<Tried<Approval>, Refusal> {
    let store = deps.store();
    let found = store.approval(&caller.org, id).await?.ok_or_else(approval_view::not_found)?;
    let by = Approver::from(caller);
    if !found.rules.admits(&found.asker, &by) {
        return Err(refused(AnswerError::NotAllowed, &found));
    }
    let head = store.turn(&found.turn).await?;
    let Some(head) = head.filter(|head| matches!(head.state, State::AwaitingTools { .. })) else {
        let is_running =
            store.turn(&found.turn).await?.is_some_and(|head| matches!(head.state, State::Running { .. }));
        return Err(match (&found.answer, is_running) {
            (Some(_), _) => refused(AnswerError::Answered, &found),
            (None, true) => Refusal::TurnInProgress { retry_after: TAKEOVER_RETRY },
            (None, false) => closed(),
        });
    };
    let outcome = outcomes::load(deps.payloads(), &head.key, &head.attempt).await?;
    let step = outcome.into_recovery_point().ok_or_else(closed)?;
    let is_this = |approval: &&Approval| approval.id == *id;
    let mut asked = step.state.rounds.held_calls().filter_map(|call| {
        let asked = outcomes::approval_of(&head, step.state.rounds.count, call);
        asked.filter(|asked| is_this(&asked))
    });
    // An attempt that died may have asked for a call that the turn doesn't make.
    let asked = asked.next().ok_or_else(closed)?;
    if asked.call != found.call {
        return Err(refused(AnswerError::OtherCall, &found));
    }
    let (hash, decision) = match given {
        GivenAnswer::Deny { hash, reason } => (*hash, Decision::Denied { reason: reason.clone() }),
        GivenAnswer::Approve { hash, arguments } => {
            let edited =
                arguments.as_deref().map(|arguments| edited(&found, &step, arguments)).transpose()?;
            (Some(*hash), Decision::Approved { arguments: edited })
        }
    };
    if found.is_answered_by(&caller.user.id, &decision) {
        return Ok(Tried::Done(found));
    }
    let now = deps.host().now();
    let answered =
        found.answered(by, hash.as_ref(), decision, now).map_err(|error| refused(error, &found))?;
    Ok(match store.answer_approval(&answered, &head.attempt).await {
        Err(WriteError::ConditionFailed) => Tried::Conflict,
        written => Tried::from(written.map(|()| answered)),
    })
}

/// Returns the canonical form of other arguments, which must fit the tool's schema.
fn edited(approval: &Approval, step: &RecoveryPoint, arguments: &str) -> Result<String, Refusal> {
    if !approval.rules.may_edit {
        return Err(refused(AnswerError::EditNotAllowed, approval));
    }
    let tool = step.spec.tools.remote.iter().find(|tool| tool.definition.name == approval.call.tool);
    let tool = tool.ok_or_else(closed)?;
    let parsed = parse_arguments(arguments, &tool.definition.parameters, &Limits::default());
    let invalid = |why| Error::new(ErrorCode::MemberInvalid, why).with_details("ArgumentsJson");
    Ok(canonical(&parsed.map_err(invalid)?))
}

fn closed() -> Refusal {
    let message = "The turn doesn't wait for this approval any more. Nothing was sent. Read the turn to see its status.";
    Error::new(ErrorCode::ApprovalClosed, message).into()
}

fn refused(error: AnswerError, approval: &Approval) -> Refusal {
    let (code, message) = match error {
        AnswerError::NotAllowed => (
            ErrorCode::ApprovalNotAllowed,
            "You may not answer this approval. Ask one of those whom the tool's policy names.".to_owned(),
        ),
        AnswerError::Answered => {
            let answer = approval.answer.as_ref();
            let by = answer
                .map_or_else(String::new, |answer| format!(" by {} at {}", answer.by.user.name, answer.at));
            (ErrorCode::ApprovalAnswered, format!("This approval was answered{by}. An answer never changes."))
        }
        AnswerError::Expired => (
            ErrorCode::ApprovalExpired,
            format!("This approval expired at {}. Nothing was sent.", approval.expires),
        ),
        AnswerError::OtherCall => (
            ErrorCode::ApprovalMismatch,
            "Hash is not that of the call. Read the approval, look at the call again, and send its Hash."
                .to_owned(),
        ),
        AnswerError::EditNotAllowed => (
            ErrorCode::ApprovalEditNotAllowed,
            "The tool's policy doesn't allow other arguments. Omit ArgumentsJson, or deny the call."
                .to_owned(),
        ),
    };
    Error::new(code, message).with_details(approval.id.as_str()).into()
}

/// Takes a turn whose approvals all have an answer or have expired. `None` if it waits for anything else, or another
/// writer was first.
pub(crate) async fn continue_answered(
    deps: &impl AgentDeps,
    turn: &Turn,
    scope: &RequestScope,
    catalog: &Catalog,
) -> Result<Option<(OwnedTurn, RecoveryPoint)>, Refusal> {
    let State::AwaitingTools { is_for_approval: true, round, .. } = turn.state else { return Ok(None) };
    let (host, timing) = (deps.host(), deps.timing());
    let outcome = outcomes::load(deps.payloads(), &turn.key, &turn.attempt).await?;
    let Some(step) = outcome.into_recovery_point() else { return Ok(None) };
    let approvals = deps.store().approvals(&turn.key).await?;
    let now = host.now();
    let is_open = |approval: &Approval| approval.state(now) == ApprovalState::Pending;
    let waits = {
        let mut asked = step.state.rounds.held_calls().filter_map(|call| call.approval.as_ref());
        asked.any(|asked| approvals.iter().find(|found| found.id == asked.id).is_none_or(is_open))
    };
    if waits {
        return Ok(None);
    }
    let (requested, attempt) = (host.monotonic(), host.attempt_id());
    let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(attempt.clone()) };
    // I10: the head that points at it is written after it.
    deps.payloads().put(&payload, Bytes::from_static(steps::APPROVALS_ANSWERED)).await?;
    let fingerprint = Fingerprint::hash_bytes(format!("aptix-approvals-answered-1 {round}").as_bytes());
    let Ok(change) = resume(turn, attempt, fingerprint, now, timing) else { return Ok(None) };
    let totals = &step.state.totals;
    let next = Totals { next_input_tokens: totals.context_tokens.max(1), ..totals.clone() };
    let change = change.with_spent(Some(next.spent(&step.spec.route)));
    // Boxed: few orgs limit concurrent turns.
    let rejoined = Box::pin(meter::rejoin(deps, turn));
    let (written, ()) = join(write::turn(deps, &change), rejoined).await;
    if let WriteOutcome::Superseded(_) = written? {
        return Ok(None);
    }
    let step = RecoveryPoint { state: step.state.with_answered_approvals(fingerprint), ..step };
    let lease = Lease::starting_at(requested, timing);
    Ok(Some((OwnedTurn::new(change.after, lease, scope, catalog), step)))
}
