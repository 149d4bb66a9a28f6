//! Turn steps: what a turn did, reply by reply.

use contracts::{
    id::{SessionId, TurnId},
    read::{ListResponse, TurnStep},
};
use protocol::Caller;

use super::{
    done,
    read::{SessionReader, sequence},
};
use crate::{
    ports::{PayloadReads, Reads},
    refusal::Refusal,
    step_view,
};

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// What a turn did so far.
    ///
    /// # Errors
    /// When there is no such turn for this caller, or the place is not one that a page of this list ended with.
    pub async fn turn_steps(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        page_size: u32,
        place: Option<&str>,
    ) -> Result<ListResponse<TurnStep>, Refusal> {
        let after = sequence(place)?.unwrap_or_default();
        let turn = self.record(caller, session, turn).await?.turn;
        let told = done::told(&self.store, &self.payloads, &turn).await?;
        Ok(step_view::page(&turn.key, told, caller.operator, after, page_size))
    }
}
