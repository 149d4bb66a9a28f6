//! Lists the steps of a turn, reply by reply.

use contracts::{
    id::{SessionId, TurnId},
    read::{ListResponse, TurnStep},
};
use protocol::Caller;

use crate::{
    flow::read::{
        session_reader::{SessionReader, parse_sequence},
        turn_history,
    },
    ports::{PayloadReads, Reads},
    refusal::Refusal,
    step_view,
};

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Lists a turn's steps so far.
    ///
    /// # Errors
    /// If this caller has no such turn, or the token isn't from this list.
    pub async fn turn_steps(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        page_size: u32,
        token: Option<&str>,
    ) -> Result<ListResponse<TurnStep>, Refusal> {
        let after = parse_sequence(token)?.unwrap_or_default();
        let turn = self.visible_record(caller, session, turn).await?.turn;
        let history = turn_history::load(&self.store, &self.payloads, &turn).await?;
        Ok(step_view::page(&turn.key, history, caller.operator, after, page_size))
    }
}
