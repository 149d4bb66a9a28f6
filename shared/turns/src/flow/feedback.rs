//! Feedback: what users say of a turn that is over. It is kept with the turn and decides nothing about it.

use contracts::{
    id::{SessionId, TurnId},
    read::{ListResponse, TurnFeedback},
    request::FeedbackRequest,
};
use futures::future::try_join;
use protocol::{Caller, detail::Feedback, id::SessionKey};

use super::{executor::Executor, read::SessionReader, replay::retry_after};
use crate::{
    ports::{AgentDeps, Clock, PayloadReads, Reads, Store},
    refusal::Refusal,
    view,
};

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
        if head.settlement().is_none() {
            let wait = retry_after(self.deps.timing().lease);
            return Err(Refusal::SessionBusy { turn: turn.turn, retry_after: wait });
        }
        let now = self.deps.host().now();
        let (by, FeedbackRequest { rating, label, note, .. }) = (caller.user.clone(), asked);
        let kept = self
            .deps
            .store()
            .put_feedback(&Feedback { turn, by, rating, label, note, created: now, at: now })
            .await?;
        Ok(view::feedback(kept))
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
        let (session, head) = try_join(self.store.session(&turn.session), self.store.turn(&turn)).await?;
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
