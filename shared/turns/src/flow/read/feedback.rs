//! Lists the feedback on a turn.

use contracts::{
    id::{SessionId, TurnId},
    read::{ListResponse, TurnFeedback},
};
use protocol::{Caller, id::SessionKey};

use crate::flow::read::session_reader::SessionReader;
use crate::{
    ports::{PayloadReads, Reads},
    refusal::Refusal,
    view,
};

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
        let after = token.map(str::parse).transpose().map_err(|_| Refusal::invalid_continuation_token())?;
        let turn = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, head) = self.store.session_and_turn(&turn).await?;
        self.visible(caller, &turn.session, session).await?.and(head).ok_or(Refusal::TurnNotFound)?;
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        // One item more than the page shows if another page follows.
        let mut found = self.store.feedback(&turn, after.as_ref(), limit.saturating_add(1)).await?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|last| last.by.id.to_string());
        Ok(ListResponse::new(found.into_iter().map(view::feedback).collect(), page_size, next))
    }
}
