//! Answers to approvals, and the continuation of a turn that waited for them.

use agent::{
    attempt::{RecoveryPoint, Totals},
    context::check_disabled,
    mode::Catalog,
    tool::{Limits, canonical, parse_arguments},
};
use bytes::Bytes;
use contracts::{Error, ErrorCode, Fingerprint, error::causes, read::Approval as ApprovalView};
use futures::future::join;
use protocol::{
    Caller,
    approval::{self, AnswerError, Approval, ApprovalId, Approver, Decision},
    payload::{Kind, Payload},
    queue_message::TurnMessage,
    transition::{self, resume::resume},
    turn::{State, Turn},
};

use crate::{
    approval_view,
    flow::{
        access,
        finish::{
            approvals::{answered_step, approval_of, is_waiting},
            outcomes,
            replay::TAKEOVER_RETRY,
            steps,
        },
        invocation::RequestScope,
        limits::OrgLimits,
        meter,
        owned_turn::{Lease, OwnedTurn},
        write::{self, Tried, WriteOutcome},
    },
    ports::{AgentDeps, Deps, Host, Payloads, Reads, Store, Timer, TurnQueue},
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

/// An approval after its answer, and the step from which its turn continues if it waits for approvals alone.
type Answered = (Approval, Option<Box<RecoveryPoint>>);

/// Answers an approval. A repeated request with the same answer gets the same approval while the turn still waits. The answer
/// that is the turn's last has the turn queue continue it, as its asker's, whoever answers.
///
/// # Errors
/// If there is no such approval, or its rules don't allow this answer. Nothing is stored then.
pub async fn answer_approval(
    deps: &impl Deps,
    queue: &impl TurnQueue,
    caller: &Caller,
    id: &str,
    given: &GivenAnswer,
) -> Result<ApprovalView, Refusal> {
    let id = ApprovalId::parse(id).ok_or_else(approval_view::not_found)?;
    let limits = OrgLimits::load(deps.store(), &caller.org).await?;
    check_disabled(&limits.settings.disabled, &caller.user.id, &[])?;
    let (answered, step) = write::decide(deps.host(), || try_to_answer(deps, caller, &id, given)).await?;
    access::audit_approval(caller, &answered);
    // The answer is stored, and the sweep makes up for whatever fails from here on.
    let sent = async {
        let Some(step) = &step else { return Ok(()) };
        // Read after the write: of two last answers at a time, one sees both.
        let approvals = deps.store().approvals(&answered.turn).await?;
        match is_waiting(step, &approvals, deps.host().now()) {
            true => Ok(()),
            false => queue.send(&TurnMessage::continue_turn(&answered.turn)).await,
        }
    };
    if let Err(error) = sent.await {
        let turn = answered.turn.turn.as_str();
        tracing::warn!(turn, error = %causes(&error), "{}", contracts::log::TURN_NOTICE_FAILED);
    }
    let status = approval_view::status(&answered, None, deps.host().now());
    Ok(approval_view::view(&answered, status, caller))
}

async fn try_to_answer(
    deps: &impl Deps,
    caller: &Caller,
    id: &ApprovalId,
    given: &GivenAnswer,
) -> Result<Tried<Answered>, Refusal> {
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
    let rounds = &step.state.rounds;
    let asked = rounds.held_calls().filter_map(|call| approval_of(&head, rounds.count, call));
    // An attempt that died may have asked for a call that the turn doesn't make.
    let is_this = |asked: &Approval| asked.id == *id;
    let asked_call = asked.into_iter().find(is_this).ok_or_else(closed)?.call;
    if asked_call != found.call {
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
    let waits_alone = matches!(head.state, State::AwaitingTools { is_for_approval: true, .. });
    let step = waits_alone.then(|| Box::new(step));
    if found.is_answered_by(&caller.user.id, &decision) {
        return Ok(Tried::Done((found, step)));
    }
    let now = deps.host().now();
    let answered =
        found.answered(by, hash.as_ref(), decision, now).map_err(|error| refused(error, &found))?;
    let waiting = transition::answer::answer(&head, now, deps.timing()).map_err(|_| closed())?;
    Ok(Tried::from(store.answer_approval(&answered, &waiting).await.map(|()| (answered, step))))
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

/// The result of continuing a turn that waits for approvals.
pub(crate) enum Continued {
    /// This call owns it. Contains the step to continue from.
    Owned(Box<OwnedTurn>, Box<RecoveryPoint>),
    /// It still waits.
    Waiting,
    /// Another writer was first.
    Superseded,
}

/// Takes a turn whose approvals all have an answer or have expired.
pub(crate) async fn continue_answered(
    deps: &impl AgentDeps,
    turn: &Turn,
    scope: &RequestScope,
    catalog: &Catalog,
) -> Result<Continued, Refusal> {
    let (host, timing) = (deps.host(), deps.timing());
    let State::AwaitingTools { round, .. } = turn.state else { return Ok(Continued::Superseded) };
    let Some(step) = answered_step(deps, turn).await? else { return Ok(Continued::Waiting) };
    let (requested, attempt) = (host.monotonic(), host.attempt_id());
    let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(attempt.clone()) };
    // I10: the head that points at it is written after it.
    deps.payloads().put(&payload, Bytes::from_static(steps::APPROVALS_ANSWERED)).await?;
    let resumption = approval::resumption(round);
    // Past its deadline, it waits for its end.
    let Ok(change) = resume(turn, attempt, resumption, host.now(), timing) else {
        return Ok(Continued::Waiting);
    };
    let totals = &step.state.totals;
    let next = Totals { next_input_tokens: totals.context_tokens.max(1), ..totals.clone() };
    let change = change.with_spent(Some(next.spent(&step.spec.route)));
    // Boxed: few orgs limit concurrent turns.
    let rejoined = Box::pin(meter::rejoin(deps, turn));
    let (written, ()) = join(write::turn(deps, &change), rejoined).await;
    if let WriteOutcome::Superseded(_) = written? {
        return Ok(Continued::Superseded);
    }
    let step = RecoveryPoint { state: step.state.with_answered_approvals(resumption), ..step };
    let lease = Lease::starting_at(requested, timing);
    let owned = OwnedTurn::new(change.after, lease, scope, catalog);
    Ok(Continued::Owned(Box::new(owned), Box::new(step)))
}
