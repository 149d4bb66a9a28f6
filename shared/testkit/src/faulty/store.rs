//! The table behind faults.

use agent::context::{AgentContext, ConversationContext};
use contracts::{
    Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, UserId},
};
use futures::future::try_join;
use protocol::{
    change::{Commit, TurnChange},
    detail::{Feedback, ModeChange, ModePlace, Participant, RequestDetail, ResultDetail},
    id::{SessionKey, TurnKey},
    place::Place,
    purge::{Piece, Purge},
    session::Session,
    turn::Turn,
};
use turns::checkpoint::Checkpoint;
use turns::ports::{
    Between, ListError, Order, Page, PurgeStore, Reads, Record, Store, Unavailable, WriteError,
};

use super::Faulty;
use crate::fault::Effect;

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

    // Two reads: whatever may come between them in the table does here.
    async fn session_and_turn(&self, key: &TurnKey) -> Result<(Option<Session>, Option<Turn>), Unavailable> {
        try_join(self.session(&key.session), self.turn(key)).await
    }

    async fn request_detail(&self, key: &TurnKey) -> Result<Option<RequestDetail>, Unavailable> {
        self.read(Effect::ReadRequest, self.inner.request_detail(key)).await
    }

    async fn earlier(
        &self,
        session: &SessionKey,
        before: u64,
        most: usize,
    ) -> Result<Vec<Turn>, Unavailable> {
        self.read(Effect::ReadEarlier, self.inner.earlier(session, before, most)).await
    }

    async fn takes_part(&self, session: &SessionKey, user: &UserId) -> Result<bool, Unavailable> {
        self.read(Effect::TakesPart, self.inner.takes_part(session, user)).await
    }

    async fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<Place>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        self.read(Effect::ReadCheckpoints, self.inner.checkpoints(turn, after)).await
    }

    async fn last_checkpoint(&self, turn: &TurnKey) -> Result<Option<Place>, Unavailable> {
        self.read(Effect::ReadCheckpoints, self.inner.last_checkpoint(turn)).await
    }

    async fn segment(&self, turn: &TurnKey, ends: Place) -> Result<Vec<Checkpoint>, Unavailable> {
        self.read(Effect::ReadCheckpoints, self.inner.segment(turn, ends)).await
    }

    async fn purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        self.read(Effect::ReadPurge, self.inner.purge(key)).await
    }

    async fn agent_context(
        &self,
        org: &OrgId,
        id: &AgentContextId,
    ) -> Result<Option<AgentContext>, Unavailable> {
        self.read(Effect::ReadContext, self.inner.agent_context(org, id)).await
    }

    async fn conversation_context(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
    ) -> Result<Option<ConversationContext>, Unavailable> {
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
        most: usize,
    ) -> Result<Vec<Record>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.records(session, after, order, most)).await
    }

    async fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModePlace>,
        most: usize,
    ) -> Result<Vec<ModeChange>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.mode_history(session, before, most)).await
    }

    async fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        most: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.feedback(turn, after, most)).await
    }

    async fn participants(&self, session: &SessionKey, most: usize) -> Result<Vec<Participant>, Unavailable> {
        self.read(Effect::ReadRecords, self.inner.participants(session, most)).await
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &Between,
        most: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        let read = async {
            match self.inner.sessions(org, user, active, most, after).await {
                Ok(page) => Ok(Ok(page)),
                Err(ListError::BadToken) => Ok(Err(ListError::BadToken)),
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

    async fn put_result_detail(&self, ended: &ResultDetail) -> Result<(), Unavailable> {
        let (inner, ended) = (self.inner.clone(), ended.clone());
        self.put(Effect::PutResult, async move { inner.put_result_detail(&ended).await }).await
    }

    async fn touch(&self, participant: &Participant) -> Result<(), Unavailable> {
        let (inner, participant) = (self.inner.clone(), participant.clone());
        self.put(Effect::Touch, async move { inner.touch(&participant).await }).await
    }

    async fn put_feedback(&self, feedback: &Feedback) -> Result<Option<Feedback>, WriteError> {
        let (inner, said) = (self.inner.clone(), feedback.clone());
        self.write(Effect::PutFeedback, async move { inner.put_feedback(&said).await.map(|_| ()) }).await?;
        // What it came to: the same once more changes nothing.
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

impl<S: PurgeStore + Clone + 'static> PurgeStore for Faulty<S> {
    async fn write_purge(&self, purge: &Purge) -> Result<(), WriteError> {
        let (inner, purge) = (self.inner.clone(), purge.clone());
        self.write(Effect::WritePurge, async move { inner.write_purge(&purge).await }).await
    }

    async fn items(&self, session: &SessionKey) -> Result<Vec<Piece>, Unavailable> {
        self.read(Effect::ListItems, self.inner.items(session)).await
    }

    async fn remove_items(&self, session: &SessionKey, items: &[Piece]) -> Result<(), Unavailable> {
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
