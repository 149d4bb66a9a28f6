//! Reads a turn: in full, its summary, its steps and the feedback on it. Follows one on which another call works.

use agent::outcome::Response;
use contracts::{
    id::{SessionId, TurnId},
    read::{AgentSessionTurn, AgentSessionTurnSummary, ListResponse, TurnFeedback, TurnStep},
};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    timing::Timing,
    turn::State,
};

use crate::{
    approval_view,
    checkpoint::CHECKPOINT_INTERVAL,
    flow::{
        finish::{
            evidence,
            replay::{self, TAKEOVER_RETRY, WaitOutcome},
        },
        read::{
            session_reader::{SessionReader, parse_sequence},
            turn_history,
        },
    },
    ports::{Host, PayloadReads, Reads, Record},
    refusal::Refusal,
    step_view,
    stream::Writer,
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
        let waiting = match &record.turn.state {
            State::AwaitingTools { .. } => Some(self.store.approvals(&record.turn.key).await?),
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => None,
        };
        let waiting = waiting.map(|approvals| approval_view::waiting(&approvals));
        let waiting = waiting.filter(|waiting| !waiting.approvals.is_empty());
        Ok(AgentSessionTurn { waiting, ..view::turn(record, &report, caller.operator) })
    }
}

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

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Follows a turn without working on it: relays its stored stream, and returns its response, within at most
    /// [`Timing::max_stream_follow`].
    ///
    /// # Errors
    /// If this caller has no such turn, or it is still in progress after that time.
    pub async fn follow(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        stream: &Writer,
        clock: &impl Host,
        timing: &Timing,
    ) -> Result<Response, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let give_up = clock.monotonic().saturating_add(timing.max_stream_follow);
        let session = self.store.session(&key.session).await?;
        self.visible(caller, &key.session, session).await?.ok_or(Refusal::TurnNotFound)?;
        loop {
            let turn = self.store.turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            let left = give_up.saturating_sub(clock.monotonic());
            let in_progress = Refusal::TurnInProgress { retry_after: TAKEOVER_RETRY };
            match replay::wait_with(&self.store, clock, &timing.with_max_stream_follow(left), turn, stream)
                .await?
            {
                WaitOutcome::Ready(turn) => {
                    stream.set_round(&turn);
                    return replay::response(&self.payloads, &turn).await?.ok_or(in_progress);
                }
                WaitOutcome::Running { .. } => return Err(in_progress),
                // Its attempt died. A request that may write takes it over or ends it. This one only waits for that.
                WaitOutcome::Dead if left.is_zero() => return Err(in_progress),
                WaitOutcome::Dead => clock.sleep(CHECKPOINT_INTERVAL.min(left)).await,
            }
        }
    }
}
