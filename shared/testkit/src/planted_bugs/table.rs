//! The table with a bug.

use std::time::Duration;

use agent::context::{AgentContext, ConversationContext, Rollout};
use contracts::{
    Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, UserId},
};
use futures::future::{try_join, try_join3};
use protocol::{
    change::{Commit, Condition, TurnChange},
    detail::{Feedback, ModeChange, ModeChangePosition, Participant, RequestDetail},
    id::{SessionKey, TurnKey},
    purge::Purge,
    session::Session,
    stream_position::StreamPosition,
    transition::import::Reservation,
    turn::{Phase, Settlement, State, Turn, Verdict},
};
use turns::checkpoint::{Checkpoint, LastCheckpoint};
use turns::ports::{
    AgentEntry, ArchiveItem, ArchiveStore, FoundRecord, ListError, LiveContext, Order, OrgModes, Page, Reads,
    Record, Store, TimeRange, Unavailable, WriteError,
};

use super::{Bug, Buggy, Role};
use crate::memory::Table;

impl Buggy<Table> {
    /// Returns the change with the condition that the bug leaves of it.
    fn weaken(&self, change: &TurnChange) -> TurnChange {
        let mut change = change.clone();
        if self.has(Bug::SpentForgotten) {
            change.after.spent = None;
        }
        let Some(stored) = self.bare.contents().heads.get(&change.after.key).cloned() else {
            return change;
        };
        if self.has(Bug::AbsenceIgnored) && change.condition == Condition::Absent {
            change.condition = Condition::same_owner(&stored);
        }
        if let Condition::Unchanged { phase, attempt, lease_ends } = &mut change.condition {
            match self.bug {
                Some(Bug::OwnerIgnored) => *attempt = stored.attempt.clone(),
                Some(Bug::PhaseIgnored) => *phase = stored.state.phase(),
                Some(Bug::DueIndexTrusted) if self.role == Role::Finalizer => *lease_ends = None,
                Some(Bug::AnnouncementTrusted) if self.role == Role::Finalizer => {
                    *phase = stored.state.phase();
                }
                _ => {}
            }
            if *phase != Phase::Running || stored.state.phase() != Phase::Running {
                *lease_ends = None;
            }
        }
        change
    }

    fn weaken_commit(&self, commit: &Commit) -> Commit {
        let mut commit = commit.clone();
        commit.turns = commit.turns.iter().map(|change| self.weaken(change)).collect();
        match self.bug {
            Some(Bug::RevIgnored) => {
                let stored = self.bare.contents().sessions.get(&commit.session.after.key).map(|s| s.rev);
                commit.session.condition = stored;
            }
            Some(Bug::AbsenceIgnored) => {
                let stored = self.bare.contents().sessions.get(&commit.session.after.key).map(|s| s.rev);
                let begins = commit.turns.first().map(|change| change.after.key.clone());
                if begins.is_some_and(|key| self.bare.contents().heads.contains_key(&key)) {
                    commit.request = None;
                    commit.session.condition = stored;
                }
            }
            Some(Bug::SecondItemDropped) => commit.turns.truncate(1),
            Some(Bug::InlineRequestDropped) => {
                if let Some(request) = &mut commit.request {
                    request.inline_json = None;
                }
            }
            _ => {}
        }
        commit
    }

    /// Returns the head as the bug presents it to this process.
    fn distort(&self, mut turn: Turn) -> Turn {
        if let (Role::Finalizer, State::Running { lease_ends, .. }) = (self.role, &mut turn.state) {
            match self.bug {
                Some(Bug::DueIndexTrusted) => *lease_ends = Timestamp::from_millis(0),
                Some(Bug::AnnouncementTrusted) => {
                    let verdict = Verdict::Completed { writer: turn.attempt.clone() };
                    turn.state = State::Settled(Settlement { verdict, at: turn.created });
                }
                _ => {}
            }
        }
        turn
    }

    /// Returns a context as the bug presents it.
    fn roll_out<T>(&self, context: LiveContext<T>) -> LiveContext<T> {
        let to_all = |rollout| Rollout { percent: 100, ..rollout };
        match self.has(Bug::RolloutToEverySession) {
            true => LiveContext { rollout: context.rollout.map(to_all), ..context },
            false => context,
        }
    }

    fn assume_success(&self, result: Result<(), WriteError>) -> Result<(), WriteError> {
        match result {
            Err(WriteError::Unknown(_)) if self.has(Bug::LostReplyTakenForSuccess) => Ok(()),
            result => result,
        }
    }

    /// Adds a finalization's usage to the session once more.
    fn add_usage_again(&self, commit: &Commit, before: Option<Session>) {
        let mut contents = self.bare.contents();
        let (Some(before), Some(stored)) = (before, contents.sessions.get_mut(&commit.session.after.key))
        else {
            return;
        };
        let added = commit.session.after.usage.total_tokens.saturating_sub(before.usage.total_tokens);
        stored.usage.total_tokens += added;
    }
}

impl Reads for Buggy<Table> {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, Unavailable> {
        self.faulty.session(key).await
    }

    async fn turn(&self, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
        let turn = self.faulty.turn(key).await?;
        if self.has(Bug::LooksBeforeFencing) {
            let seen =
                || self.objects.stored().keys().filter(|payload| payload.turn == *key).cloned().collect();
            let mut snapshots = self.snapshots();
            match turn.as_ref().map(|turn| turn.state.phase()) {
                Some(Phase::Running) => {
                    snapshots.entry(key.clone()).or_insert_with(seen);
                }
                _ => {
                    snapshots.remove(key);
                }
            }
        }
        Ok(turn.map(|turn| self.distort(turn)))
    }

    async fn turns(&self, keys: &[TurnKey]) -> Result<Vec<Turn>, Unavailable> {
        self.faulty.turns(keys).await
    }

    // Two reads, between which anything that can happen in the table may happen.
    async fn session_and_turn(&self, key: &TurnKey) -> Result<(Option<Session>, Option<Turn>), Unavailable> {
        try_join(self.session(&key.session), self.turn(key)).await
    }

    async fn session_and_record(&self, key: &TurnKey) -> Result<FoundRecord, Unavailable> {
        try_join3(self.session(&key.session), self.turn(key), self.request_detail(key)).await
    }

    async fn request_detail(&self, key: &TurnKey) -> Result<Option<RequestDetail>, Unavailable> {
        self.faulty.request_detail(key).await
    }

    async fn turns_before(
        &self,
        session: &SessionKey,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Turn>, Unavailable> {
        self.faulty.turns_before(session, before, limit).await
    }

    async fn is_participant(&self, session: &SessionKey, user: &UserId) -> Result<bool, Unavailable> {
        self.faulty.is_participant(session, user).await
    }

    async fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<StreamPosition>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        self.faulty.checkpoints(turn, after).await
    }

    async fn last_checkpoint(&self, turn: &TurnKey) -> Result<Option<LastCheckpoint>, Unavailable> {
        self.faulty.last_checkpoint(turn).await
    }

    async fn segment(&self, turn: &TurnKey, end: StreamPosition) -> Result<Vec<Checkpoint>, Unavailable> {
        self.faulty.segment(turn, end).await
    }

    async fn purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        self.faulty.purge(key).await
    }

    async fn agent_context(
        &self,
        org: &OrgId,
        id: &AgentContextId,
    ) -> Result<Option<LiveContext<AgentContext>>, Unavailable> {
        Ok(self.faulty.agent_context(org, id).await?.map(|found| self.roll_out(found)))
    }

    async fn agents(&self, org: &OrgId, limit: usize) -> Result<Vec<AgentEntry>, Unavailable> {
        self.faulty.agents(org, limit).await
    }

    async fn modes(&self, org: &OrgId) -> Result<OrgModes, Unavailable> {
        self.faulty.modes(org).await
    }

    async fn agent_version(
        &self,
        org: &OrgId,
        id: &AgentContextId,
        version: u32,
    ) -> Result<Option<AgentContext>, Unavailable> {
        self.faulty.agent_version(org, id, version).await
    }

    async fn conversation_version(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
        version: u32,
    ) -> Result<Option<ConversationContext>, Unavailable> {
        self.faulty.conversation_version(org, id, version).await
    }

    async fn conversation_context(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
    ) -> Result<Option<LiveContext<ConversationContext>>, Unavailable> {
        Ok(self.faulty.conversation_context(org, id).await?.map(|found| self.roll_out(found)))
    }

    async fn record(&self, key: &TurnKey) -> Result<Option<Record>, Unavailable> {
        self.faulty.record(key).await
    }

    async fn records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>, Unavailable> {
        self.faulty.records(session, after, order, limit).await
    }

    async fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModeChangePosition>,
        limit: usize,
    ) -> Result<Vec<ModeChange>, Unavailable> {
        self.faulty.mode_history(session, before, limit).await
    }

    async fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        limit: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        self.faulty.feedback(turn, after, limit).await
    }

    async fn participants(
        &self,
        session: &SessionKey,
        limit: usize,
    ) -> Result<Vec<Participant>, Unavailable> {
        self.faulty.participants(session, limit).await
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &TimeRange,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        self.faulty.sessions(org, user, active, limit, after).await
    }
}

impl ArchiveStore for Buggy<Table> {
    async fn put_archive_items(
        &self,
        reservation: &Reservation,
        items: &[ArchiveItem],
    ) -> Result<(), WriteError> {
        match self.has(Bug::ReservationIgnored) {
            true => self.faulty.put_unreserved(items).await,
            false => self.faulty.put_archive_items(reservation, items).await,
        }
    }
}

impl Store for Buggy<Table> {
    async fn write_turn(&self, change: &TurnChange) -> Result<(), WriteError> {
        let change = self.weaken(change);
        if self.has(Bug::AcknowledgedEarly) && change.after.state.phase() == Phase::Settled {
            let bare = self.bare.clone();
            self.clock.apply_later(Duration::from_secs(2), async move {
                let _ = bare.write_turn(&change).await;
            });
            return Ok(());
        }
        self.assume_success(self.faulty.write_turn(&change).await)
    }

    async fn commit(&self, commit: &Commit) -> Result<(), WriteError> {
        let commit = self.weaken_commit(commit);
        let before = self.bare.contents().sessions.get(&commit.session.after.key).cloned();
        let result = self.assume_success(self.faulty.commit(&commit).await);
        let finalizes = commit.turns.iter().any(|change| change.after.state.phase() == Phase::Finalized);
        if result.is_ok() && finalizes && self.has(Bug::UsageAddedTwice) {
            self.add_usage_again(&commit, before);
        }
        result
    }

    async fn put_feedback(&self, feedback: &Feedback) -> Result<Option<Feedback>, WriteError> {
        self.faulty.put_feedback(feedback).await
    }

    async fn put_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        self.faulty.put_checkpoint(checkpoint).await
    }

    async fn due(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<TurnKey>, Unavailable> {
        let mut page = self.faulty.due(shard, now, after).await?;
        if self.has(Bug::SettledLeavesIndex) {
            let contents = self.bare.contents();
            let settled =
                |key: &TurnKey| contents.heads.get(key).is_some_and(|turn| turn.settlement().is_some());
            page.items.retain(|key| !settled(key));
        }
        Ok(page)
    }
}
