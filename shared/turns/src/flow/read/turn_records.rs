//! Reads the stored state of a turn, for operators. The payloads stay unread.

use contracts::{
    id::{SessionId, TurnId},
    read::{SessionRecord, StoredObject, TurnPhase, TurnRecord, TurnRecords},
};
use futures::future::try_join;
use protocol::{
    Caller,
    id::{AttemptId, SessionKey},
    session::Session,
    turn::{Phase, State, Turn},
};

use crate::flow::{access, read::session_reader::SessionReader};
use crate::{
    ports::{Archive, PayloadReads, Reads},
    refusal::Refusal,
};

impl<R: Reads + Archive, P: PayloadReads> SessionReader<R, P> {
    /// Reads the stored state of a turn: its head, and the keys and sizes of its items and objects. Shows what exists of
    /// a turn whose items are incomplete, too.
    ///
    /// # Errors
    /// If the caller isn't an operator, or has no such turn.
    pub async fn turn_records(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
    ) -> Result<TurnRecords, Refusal> {
        access::require_operator(caller)?;
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        let (session, turn) = access::load_turn(&self.store, caller, &key).await?;
        access::audit_write(&self.store, "show", caller, &session).await;
        let (items, objects) =
            try_join(self.store.turn_items(&key), self.payloads.objects(&key, None)).await?;
        Ok(TurnRecords {
            session: session_record(&session),
            is_truncated: items.next.is_some() || objects.next.is_some(),
            items: items.items,
            objects: objects
                .items
                .into_iter()
                .map(|object| StoredObject {
                    is_referenced: turn.references(&object.payload.kind),
                    key: object.place,
                    size_bytes: object.size,
                })
                .collect(),
            turn: turn_record(&turn),
        })
    }
}

fn session_record(session: &Session) -> SessionRecord {
    let quarantine = session.quarantine.as_ref();
    SessionRecord {
        id: session.key.session.clone(),
        revision: session.rev,
        turn_count: session.turn_count,
        open_turn_id: session.open_turn.clone(),
        deleted_date: session.deleted.as_ref().map(|deletion| deletion.at),
        quarantined_date: quarantine.map(|quarantine| quarantine.at),
        quarantined_by_user_id: quarantine.map(|quarantine| quarantine.by.clone()),
    }
}

fn turn_record(turn: &Turn) -> TurnRecord {
    let text = |attempt: &AttemptId| attempt.to_string();
    let (lease_end_date, attempt_ids) = match &turn.state {
        State::Running { lease_ends, stage } => {
            (Some(*lease_ends), stage.attempts.iter().map(text).collect())
        }
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => (None, Vec::new()),
    };
    let settlement = turn.settlement();
    TurnRecord {
        id: turn.key.turn.clone(),
        sequence_number: turn.sequence,
        phase: match turn.state.phase() {
            Phase::Running => TurnPhase::Running,
            Phase::AwaitingTools => TurnPhase::AwaitingTools,
            Phase::Settled => TurnPhase::Settled,
            Phase::Finalized => TurnPhase::Finalized,
        },
        status: turn.status(),
        requested_by_user_id: turn.requested_by.clone(),
        creation_date: turn.created,
        attempt_id: text(&turn.attempt),
        attempt_ids,
        takeovers: turn.takeovers,
        round: turn.round(),
        lease_end_date,
        tool_deadline_date: match turn.state {
            State::AwaitingTools { deadline, .. } => Some(deadline),
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => None,
        },
        due_date: turn.due,
        suspended_by_attempt_id: turn.suspended_by.as_ref().map(text),
        outcome_attempt_id: settlement.and_then(|settlement| settlement.verdict.writer()).map(text),
        settled_date: settlement.map(|settlement| settlement.at),
    }
}
