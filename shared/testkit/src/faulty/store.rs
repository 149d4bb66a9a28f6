//! The table with faults.

use agent::context::{AgentContext, ConversationContext};
use contracts::{
    Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, UserId},
};
use futures::future::{try_join, try_join3};
use protocol::{
    change::{Commit, TurnChange},
    detail::{Feedback, ModeChange, ModeChangePosition, Participant, RequestDetail},
    id::{SessionKey, TurnKey},
    purge::{Purge, PurgeEntry},
    session::Session,
    stream_position::StreamPosition,
    transition::import::Reservation,
    turn::Turn,
};
use turns::checkpoint::{Checkpoint, LastCheckpoint};
use turns::ports::{
    AgentEntry, ArchiveItem, ArchiveStore, FoundRecord, ListError, LiveContext, Order, OrgModes, Page,
    PurgeStore, Reads, Record, Store, TimeRange, Unavailable, WriteError,
};

use super::Faulty;
use crate::{fault::Effect, memory::Table};

impl<S: Reads + Clone + 'static> Reads for Faulty<S> {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, Unavailable> {
        self.read(Effect::ReadSession, self.inner.session(key)).await
    }

    async fn turn(&self, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
        self.read(Effect::ReadTurn, self.inner.turn(key)).await
    }

    async fn turns(&self, keys: &[TurnKey]) -> Result<Vec<Turn>, Unavailable> {
        self.read(Effect::ReadTurn, self.inner.turns(keys)).await
    }

    // Two reads, between which anything that can happen in the table may happen.
    async fn session_and_turn(&self, key: &TurnKey) -> Result<(Option<Session>, Option<Turn>), Unavailable> {
        try_join(self.session(&key.session), self.turn(key)).await
    }

    async fn session_and_record(&self, key: &TurnKey) -> Result<FoundRecord, Unavailable> {
        try_join3(self.session(&key.session), self.turn(key), self.request_detail(key)).await
    }

    async fn request_detail(&self, key: &TurnKey) -> Result<Option<RequestDetail>, Unavailable> {
        self.read(Effect::ReadRequest, self.inner.request_detail(key)).await
    }

    async fn turns_before(
        &self,
        session: &SessionKey,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Turn>, Unavailable> {
        self.read(Effect::ReadEarlier, self.inner.turns_before(session, before, limit)).await
    }

    async fn is_participant(&self, session: &SessionKey, user: &UserId) -> Result<bool, Unavailable> {
        self.read(Effect::ReadParticipant, self.inner.is_participant(session, user)).await
    }

    async fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<StreamPosition>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        self.read(Effect::ReadCheckpoints, self.inner.checkpoints(turn, after)).await
    }

    async fn last_checkpoint(&self, turn: &TurnKey) -> Result<Option<LastCheckpoint>, Unavailable> {
        self.read(Effect::ReadCheckpoints, self.inner.last_checkpoint(turn)).await
    }

    async fn segment(&self, turn: &TurnKey, end: StreamPosition) -> Result<Vec<Checkpoint>, Unavailable> {
        self.read(Effect::ReadCheckpoints, self.inner.segment(turn, end)).await
    }

    async fn purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        self.read(Effect::ReadPurge, self.inner.purge(key)).await
    }

    async fn agent_context(
        &self,
        org: &OrgId,
        id: &AgentContextId,
    ) -> Result<Option<LiveContext<AgentContext>>, Unavailable> {
        self.read(Effect::ReadContext, self.inner.agent_context(org, id)).await
    }

    async fn agents(&self, org: &OrgId, limit: usize) -> Result<Vec<AgentEntry>, Unavailable> {
        self.read(Effect::ReadContext, self.inner.agents(org, limit)).await
    }

    async fn modes(&self, org: &OrgId) -> Result<OrgModes, Unavailable> {
        self.read(Effect::ReadContext, self.inner.modes(org)).await
    }

    async fn agent_version(
        &self,
        org: &OrgId,
        id: &AgentContextId,
        version: u32,
    ) -> Result<Option<AgentContext>, Unavailable> {
        self.read(Effect::ReadContext, self.inner.agent_version(org, id, version)).await
    }

    async fn conversation_version(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
        version: u32,
    ) -> Result<Option<ConversationContext>, Unavailable> {
        self.read(Effect::ReadContext, self.inner.conversation_version(org, id, version)).await
    }

    async fn conversation_context(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
    ) -> Result<Option<LiveContext<ConversationContext>>, Unavailable> {
        self.read(Effect::ReadContext, self.inner.conversation_context(org, id)).await
    }

    async fn record(&self, key: &TurnKey) -> Result<Option<Record>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.record(key)).await
    }

    async fn records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.records(session, after, order, limit)).await
    }

    async fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModeChangePosition>,
        limit: usize,
    ) -> Result<Vec<ModeChange>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.mode_history(session, before, limit)).await
    }

    async fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        limit: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.feedback(turn, after, limit)).await
    }

    async fn participants(
        &self,
        session: &SessionKey,
        limit: usize,
    ) -> Result<Vec<Participant>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.participants(session, limit)).await
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &TimeRange,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        let read = async {
            match self.inner.sessions(org, user, active, limit, after).await {
                Ok(page) => Ok(Ok(page)),
                Err(ListError::InvalidToken) => Ok(Err(ListError::InvalidToken)),
                Err(ListError::Unavailable(error)) => Err(error),
            }
        };
        self.read(Effect::ReadRecords, read).await?
    }
}

impl<S: Store + Clone + 'static> Store for Faulty<S> {
    async fn write_turn(&self, change: &TurnChange) -> Result<(), WriteError> {
        let (inner, change) = (self.inner.clone(), change.clone());
        self.write(Effect::WriteTurn, async move { inner.write_turn(&change).await }).await
    }

    async fn commit(&self, commit: &Commit) -> Result<(), WriteError> {
        let (inner, commit) = (self.inner.clone(), commit.clone());
        self.write(Effect::Commit, async move { inner.commit(&commit).await }).await
    }

    async fn put_feedback(&self, feedback: &Feedback) -> Result<Option<Feedback>, WriteError> {
        let (inner, submitted) = (self.inner.clone(), feedback.clone());
        self.write(Effect::PutFeedback, async move { inner.put_feedback(&submitted).await.map(|_| ()) })
            .await?;
        // Repeating the write returns its result and changes nothing.
        self.inner.put_feedback(feedback).await
    }

    async fn put_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        let (inner, checkpoint) = (self.inner.clone(), checkpoint.clone());
        self.put(Effect::PutCheckpoint, async move { inner.put_checkpoint(&checkpoint).await }).await
    }

    async fn due(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<TurnKey>, Unavailable> {
        self.read(Effect::Due, self.inner.due(shard, now, after)).await
    }
}

impl<S: ArchiveStore + Clone + 'static> ArchiveStore for Faulty<S> {
    async fn put_archive_items(
        &self,
        reservation: &Reservation,
        items: &[ArchiveItem],
    ) -> Result<(), WriteError> {
        let (inner, reservation, items) = (self.inner.clone(), reservation.clone(), items.to_vec());
        self.write(Effect::PutArchive, async move { inner.put_archive_items(&reservation, &items).await })
            .await
    }
}

impl Faulty<Table> {
    /// Writes items whatever is stored, as a planted bug does.
    pub(crate) async fn put_unreserved(&self, items: &[ArchiveItem]) -> Result<(), WriteError> {
        let (inner, items) = (self.inner.clone(), items.to_vec());
        self.write(Effect::PutArchive, async move {
            items.iter().for_each(|item| inner.restore(item));
            Ok(())
        })
        .await
    }
}

impl<S: PurgeStore + Clone + 'static> PurgeStore for Faulty<S> {
    async fn write_purge(&self, purge: &Purge) -> Result<(), WriteError> {
        let (inner, purge) = (self.inner.clone(), purge.clone());
        self.write(Effect::WritePurge, async move { inner.write_purge(&purge).await }).await
    }

    async fn items(&self, session: &SessionKey) -> Result<Vec<PurgeEntry>, Unavailable> {
        self.read(Effect::ListItems, self.inner.items(session)).await
    }

    async fn remove_items(&self, session: &SessionKey, items: &[PurgeEntry]) -> Result<(), Unavailable> {
        let (inner, session, items) = (self.inner.clone(), session.clone(), items.to_vec());
        self.put(Effect::RemoveItems, async move { inner.remove_items(&session, &items).await }).await
    }

    async fn due_purges(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<SessionKey>, Unavailable> {
        self.read(Effect::Due, self.inner.due_purges(shard, now, after)).await
    }
}
