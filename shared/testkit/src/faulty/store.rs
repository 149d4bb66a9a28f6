//! The table behind faults.

use contracts::{Timestamp, id::UserId};
use protocol::{
    change::{Commit, TurnChange},
    detail::{Asked, Ended, Participant},
    id::{SessionKey, TurnKey},
    place::Place,
    session::Session,
    turn::Turn,
};
use turns::{
    ports::{Page, Store, Unavailable, WriteError},
    stream::Checkpoint,
};

use super::{Effect, Faulty};

impl<S: Store + Clone + 'static> Store for Faulty<S> {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, Unavailable> {
        self.read(Effect::ReadSession, self.inner.session(key)).await
    }

    async fn turn(&self, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
        self.read(Effect::ReadTurn, self.inner.turn(key)).await
    }

    async fn asked(&self, key: &TurnKey) -> Result<Option<Asked>, Unavailable> {
        self.read(Effect::ReadAsked, self.inner.asked(key)).await
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

    async fn write_turn(&self, change: &TurnChange) -> Result<(), WriteError> {
        let (inner, change) = (self.inner.clone(), change.clone());
        self.write(Effect::WriteTurn, async move { inner.write_turn(&change).await }).await
    }

    async fn commit(&self, commit: &Commit) -> Result<(), WriteError> {
        let (inner, commit) = (self.inner.clone(), commit.clone());
        self.write(Effect::Commit, async move { inner.commit(&commit).await }).await
    }

    async fn put_ended(&self, ended: &Ended) -> Result<(), Unavailable> {
        let (inner, ended) = (self.inner.clone(), ended.clone());
        self.put(Effect::PutEnded, async move { inner.put_ended(&ended).await }).await
    }

    async fn touch(&self, participant: &Participant) -> Result<(), Unavailable> {
        let (inner, participant) = (self.inner.clone(), participant.clone());
        self.put(Effect::Touch, async move { inner.touch(&participant).await }).await
    }

    async fn put_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        let (inner, checkpoint) = (self.inner.clone(), checkpoint.clone());
        self.put(Effect::PutCheckpoint, async move { inner.put_checkpoint(&checkpoint).await }).await
    }

    async fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<Place>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        self.read(Effect::ReadCheckpoints, self.inner.checkpoints(turn, after)).await
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
