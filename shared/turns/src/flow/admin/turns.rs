//! Changes of a turn at a caller's request: cancels it, abandons or settles it for an operator, and rates it.

use contracts::{
    id::{SessionId, TurnId},
    invoke_result::Warning,
    read::TurnFeedback,
    request::FeedbackRequest,
};
use futures::future::join3;
use protocol::{
    Caller,
    detail::Feedback,
    id::SessionKey,
    transition::{settle, wait},
    turn::{EndReason, Turn, Verdict},
};

use crate::{
    flow::{
        access,
        admin::notices::wait_until_noticed,
        finish::{partial, settle::announce, sweep::sweep_turn},
        invocation::Invocation,
        meter,
        write::{self, Tried, WriteOutcome},
    },
    ports::{Deps, Host, ProviderResponses, QueueDeps, Store},
    refusal::Refusal,
    view,
};

/// The outcome of a cancel or an abandonment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The turn ended for this reason, by this call or by an earlier one.
    Cancelled,
    /// The turn had already ended otherwise.
    TooLate,
}

impl CancelOutcome {
    /// Returns the warning to include in the response, if any.
    #[must_use]
    pub fn warning(self) -> Option<Warning> {
        match self {
            Self::Cancelled => None,
            Self::TooLate => Some(Warning {
                message: "The turn had already ended; its outcome stands.".to_owned(),
                error_code: None,
            }),
        }
    }

    fn from_settled(turn: &Turn, reason: EndReason) -> Self {
        match turn.settlement().map(|settlement| &settlement.verdict) {
            Some(Verdict::Ended(found)) if *found == reason => Self::Cancelled,
            _ => Self::TooLate,
        }
    }
}

/// Settles a turn as cancelled. A turn that is settled already keeps its outcome. The running attempt notices at
/// its next ownership check. Once this returns, the attempt starts no further model call or tool effect.
///
/// # Errors
/// If this caller has no such turn.
pub async fn cancel_turn(
    deps: &impl QueueDeps,
    caller: &Caller,
    session: SessionId,
    turn: TurnId,
    invocation: &Invocation,
) -> Result<CancelOutcome, Refusal> {
    end(deps, caller, session, turn, (EndReason::Cancelled, "cancel"), invocation).await
}

/// Settles a turn as abandoned, for an operator who knows that nothing comes of it any more. Otherwise as
/// [`cancel_turn`].
///
/// # Errors
/// If the caller isn't an operator, or has no such turn.
pub async fn abandon_turn(
    deps: &impl QueueDeps,
    caller: &Caller,
    session: SessionId,
    turn: TurnId,
    invocation: &Invocation,
) -> Result<CancelOutcome, Refusal> {
    access::require_operator(caller)?;
    end(deps, caller, session, turn, (EndReason::Abandoned, "abandon"), invocation).await
}

async fn end(
    deps: &impl QueueDeps,
    caller: &Caller,
    session: SessionId,
    turn: TurnId,
    (reason, action): (EndReason, &'static str),
    invocation: &Invocation,
) -> Result<CancelOutcome, Refusal> {
    let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
    write::decide(deps.host(), || async {
        let store = deps.store();
        let (session, turn) = access::load_turn(store, caller, &key).await?;
        let (now, timing) = (deps.host().now(), deps.timing());
        let Ok(change) = settle::end(&turn, reason, now, timing) else {
            return Ok(Tried::Done(CancelOutcome::from_settled(&turn, reason)));
        };
        let left = partial::find_work(store, deps.payloads(), &turn).await;
        let change = match reason {
            EndReason::Cancelled => change.ended_by(&caller.user.id),
            _ => change,
        };
        let change = change.with_partial_work(left);
        // The session accepts a new turn once this one is ended.
        meter::hold_spent(deps, &turn, change.after.spent.as_ref()).await;
        if let WriteOutcome::Superseded(_) = write::turn(deps, &change).await? {
            return Ok(Tried::Conflict);
        }
        let announced = announce(deps, &turn, invocation.correlation.as_ref());
        let audited = access::audit_write(store, action, caller, &session);
        join3(announced, audited, wait_until_noticed(deps, &turn)).await;
        Ok(Tried::Done(CancelOutcome::Cancelled))
    })
    .await
}

/// Does at once what the sweep does for a turn that is due: salvages it if its attempt died, ends it if its tool
/// results are overdue, and finalizes it once it is settled. A turn that is alive stays as it is.
///
/// # Errors
/// If the caller isn't an operator, or has no such turn.
pub async fn settle_turn(
    deps: &impl Deps,
    upstream: &impl ProviderResponses,
    caller: &Caller,
    session: SessionId,
    turn: TurnId,
) -> Result<(), Refusal> {
    access::require_operator(caller)?;
    let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
    let (session, _) = access::load_turn(deps.store(), caller, &key).await?;
    sweep_turn(deps, upstream, &key).await?;
    access::audit_write(deps.store(), "settle", caller, &session).await;
    Ok(())
}

/// Stores the caller's feedback on a turn.
///
/// # Errors
/// If this caller has no such turn, it isn't finished, or its session is quarantined.
pub async fn submit_feedback(
    deps: &impl Deps,
    caller: &Caller,
    session: SessionId,
    turn: TurnId,
    request: FeedbackRequest,
) -> Result<TurnFeedback, Refusal> {
    let turn = SessionKey { org: caller.org.clone(), session }.turn(turn);
    let (session, head) = access::load_turn(deps.store(), caller, &turn).await?;
    session.ensure_released()?;
    let now = deps.host().now();
    if head.settlement().is_none() {
        let retry_after = wait::estimate_wait(&head, now, deps.timing());
        return Err(Refusal::SessionBusy { turn: turn.turn, retry_after });
    }
    let (by, FeedbackRequest { rating, label, note, .. }) = (caller.user.clone(), request);
    let feedback = Feedback { turn, by, rating, label, note, created: now, at: now };
    // Its session may be written concurrently. The same feedback again counts once, so any failure is tried again.
    let stored = write::decide(deps.host(), || async {
        Ok::<_, Refusal>(deps.store().put_feedback(&feedback).await.into())
    });
    stored.await?.map(view::feedback).ok_or(Refusal::TurnNotFound)
}
