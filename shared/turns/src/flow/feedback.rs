//! Feedback: what users say of a turn that is over. It is kept with the turn and decides nothing about it.

use std::time::Duration;

use contracts::{
    id::{SessionId, TurnId},
    read::{ListResponse, TurnFeedback},
    request::FeedbackRequest,
};
use protocol::{Caller, detail::Feedback, id::SessionKey, transition::wait};

use super::{executor::Executor, read::SessionReader};
use crate::{
    ports::{AgentDeps, Clock, PayloadReads, Random, Reads, Store, Timer, Unavailable, WriteError},
    refusal::Refusal,
    view,
};

/// How often it is written anew because its session was written at the same time.
const TRIES: usize = 6;
/// How long is waited before that at most.
const PAUSE: Duration = Duration::from_millis(100);

impl<D: AgentDeps> Executor<D> {
    /// Keeps what the caller says of a turn.
    ///
    /// # Errors
    /// When there is no such turn for this caller, or it is not over.
    pub async fn give_feedback(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        asked: FeedbackRequest,
    ) -> Result<TurnFeedback, Refusal> {
        let turn = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let head = self.turn_for(caller, &turn).await?;
        let now = self.deps.host().now();
        if head.settlement().is_none() {
            let retry_after = wait::likely(&head, now, self.deps.timing());
            return Err(Refusal::SessionBusy { turn: turn.turn, retry_after });
        }
        let (by, FeedbackRequest { rating, label, note, .. }) = (caller.user.clone(), asked);
        let said = Feedback { turn, by, rating, label, note, created: now, at: now };
        for _ in 0..TRIES {
            match self.deps.store().put_feedback(&said).await {
                Ok(kept) => return kept.map(view::feedback).ok_or(Refusal::TurnNotFound),
                // Its session was written meanwhile.
                Err(WriteError::Lost | WriteError::Contended) => {
                    let host = self.deps.host();
                    host.sleep(host.jitter(PAUSE)).await;
                }
                Err(error @ WriteError::Unknown(_)) => {
                    return Err(Unavailable { what: "the table", source: error.into() }.into());
                }
            }
        }
        Err(Refusal::Contended)
    }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// What users say of a turn.
    ///
    /// # Errors
    /// When there is no such turn for this caller, or the place is not one that a page of this list ended with.
    pub async fn feedback(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        page_size: u32,
        place: Option<&str>,
    ) -> Result<ListResponse<TurnFeedback>, Refusal> {
        let after = place.map(str::parse).transpose().map_err(|_| Refusal::BadContinuationToken)?;
        let turn = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, head) = self.store.session_and_turn(&turn).await?;
        self.seen(caller, session).await?.and(head).ok_or(Refusal::TurnNotFound)?;
        let most = usize::try_from(page_size).unwrap_or(usize::MAX);
        // One more than is shown tells whether there are more.
        let mut found = self.store.feedback(&turn, after.as_ref(), most.saturating_add(1)).await?;
        let more = found.len() > most;
        found.truncate(most);
        let next = found.last().filter(|_| more).map(|last| last.by.id.to_string());
        Ok(ListResponse::new(found.into_iter().map(view::feedback).collect(), page_size, next))
    }
}
