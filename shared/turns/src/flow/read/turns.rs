//! Reads a turn: in full, and its summary.

use contracts::{
    id::{SessionId, TurnId},
    read::{AgentSessionTurn, AgentSessionTurnSummary},
};
use protocol::{Caller, id::TurnKey};

use crate::{
    flow::{finish::evidence, read::session_reader::SessionReader},
    ports::{PayloadReads, Reads, Record},
    refusal::Refusal,
    view,
};

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Reads a turn in full.
    ///
    /// # Errors
    /// If this caller has no such turn.
    pub async fn turn(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<AgentSessionTurn, Refusal> {
        let record = self.visible_record(caller, session, turn).await?;
        self.turn_view(caller, &record).await
    }

    /// Reads a turn in full, of a session that the caller was verified to see.
    pub(crate) async fn visible_turn(
        &self,
        caller: &Caller,
        key: &TurnKey,
    ) -> Result<AgentSessionTurn, Refusal> {
        let record = self.store.record(key).await?.ok_or(Refusal::TurnNotFound)?;
        self.turn_view(caller, &record).await
    }

    /// Reads the summary of a turn.
    ///
    /// # Errors
    /// If this caller has no such turn.
    pub async fn turn_summary(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<AgentSessionTurnSummary, Refusal> {
        let record = self.visible_record(caller, session, turn).await?;
        let report = evidence::load_report(&self.store, &self.payloads, &record).await?;
        Ok(view::turn_summary(&record, &report))
    }

    async fn turn_view(&self, caller: &Caller, record: &Record) -> Result<AgentSessionTurn, Refusal> {
        let report = evidence::load_report(&self.store, &self.payloads, record).await?;
        Ok(view::turn(record, &report, caller.operator))
    }
}
