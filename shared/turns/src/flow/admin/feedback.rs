//! User feedback on finished turns. It is stored with the turn and never affects it.

use contracts::{
    id::{SessionId, TurnId},
    read::TurnFeedback,
    request::FeedbackRequest,
};
use protocol::{Caller, detail::Feedback, id::SessionKey, transition::wait};

use crate::flow::{access, write};
use crate::{
    ports::{Deps, Host, Store},
    refusal::Refusal,
    view,
};

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
