//! User feedback on finished turns. It is stored with the turn and never affects it.

use std::time::Duration;

use contracts::{
    id::{SessionId, TurnId},
    read::{ListResponse, TurnFeedback},
    request::FeedbackRequest,
};
use protocol::{Caller, detail::Feedback, id::SessionKey, transition::wait};

use crate::flow::executor::Executor;
use crate::flow::read::session_reader::SessionReader;
use crate::{
    ports::{AgentDeps, Clock, PayloadReads, Random, Reads, Store, Timer, Unavailable, WriteError},
    refusal::Refusal,
    view,
};

/// The number of tries to write it while its session is written concurrently.
const MAX_TRIES: usize = 6;
/// The longest pause between two tries.
const MAX_PAUSE: Duration = Duration::from_millis(100);

impl<D: AgentDeps> Executor<D> {
    /// Stores the caller's feedback on a turn.
    ///
    /// # Errors
    /// If this caller has no such turn, or it isn't finished.
    pub async fn submit_feedback(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        request: FeedbackRequest,
    ) -> Result<TurnFeedback, Refusal> {
        let turn = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let head = self.turn_for(caller, &turn).await?;
        let now = self.deps.host().now();
        if head.settlement().is_none() {
            let retry_after = wait::estimate_wait(&head, now, self.deps.timing());
            return Err(Refusal::SessionBusy { turn: turn.turn, retry_after });
        }
        let (by, FeedbackRequest { rating, label, note, .. }) = (caller.user.clone(), request);
        let feedback = Feedback { turn, by, rating, label, note, created: now, at: now };
        for _ in 0..MAX_TRIES {
            match self.deps.store().put_feedback(&feedback).await {
                Ok(stored) => return stored.map(view::feedback).ok_or(Refusal::TurnNotFound),
                // Its session was written concurrently.
                Err(WriteError::ConditionFailed | WriteError::Contended) => {
                    let host = self.deps.host();
                    host.sleep(host.jitter(MAX_PAUSE)).await;
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
    /// Lists the feedback on a turn.
    ///
    /// # Errors
    /// If this caller has no such turn, or the token isn't from this list.
    pub async fn feedback(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        page_size: u32,
        token: Option<&str>,
    ) -> Result<ListResponse<TurnFeedback>, Refusal> {
        let after = token.map(str::parse).transpose().map_err(|_| Refusal::InvalidContinuationToken)?;
        let turn = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, head) = self.store.session_and_turn(&turn).await?;
        self.visible(caller, session).await?.and(head).ok_or(Refusal::TurnNotFound)?;
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        // One item more than the page shows if another page follows.
        let mut found = self.store.feedback(&turn, after.as_ref(), limit.saturating_add(1)).await?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|last| last.by.id.to_string());
        Ok(ListResponse::new(found.into_iter().map(view::feedback).collect(), page_size, next))
    }
}
