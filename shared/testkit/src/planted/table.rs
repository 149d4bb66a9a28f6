//! The table with a bug.

use std::time::Duration;

use agent::context::{AgentContext, ConversationContext};
use contracts::{
    Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, UserId},
};
use futures::future::try_join;
use protocol::{
    change::{Commit, Condition, TurnChange},
    detail::{Feedback, ModeChange, ModePlace, Participant, RequestDetail, ResultDetail},
    id::{SessionKey, TurnKey},
    place::Place,
    purge::Purge,
    session::Session,
    turn::{Phase, Settlement, State, Turn, Verdict},
};
use turns::checkpoint::Checkpoint;
use turns::ports::{Between, ListError, Order, Page, Reads, Record, Store, Unavailable, WriteError};

use super::{Bug, Planted, Role};
use crate::memory::Table;

impl Planted<Table> {
    /// The change under the condition that the bug leaves of it.
    fn weakened(&self, change: &TurnChange) -> TurnChange {
        let mut change = change.clone();
        let Some(stored) = self.bare.contents().heads.get(&change.after.key).cloned() else {
            return change;
        };
        if self.has(Bug::AbsenceIgnored) && change.condition == Condition::Absent {
            change.condition = Condition::of_attempt(&stored);
        }
        if let Condition::Stands { phase, attempt, lease_ends } = &mut change.condition {
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

    fn weakened_commit(&self, commit: &Commit) -> Commit {
        let mut commit = commit.clone();
        commit.turns = commit.turns.iter().map(|change| self.weakened(change)).collect();
        match self.bug {
            Some(Bug::RevIgnored) => {
                let stored = self.bare.contents().sessions.get(&commit.session.after.key).map(|s| s.rev);
                commit.session.condition = stored;
            }
            Some(Bug::AbsenceIgnored) => {
                let stored = self.bare.contents().sessions.get(&commit.session.after.key).map(|s| s.rev);
                if self.bare.contents().heads.contains_key(&commit.turns[0].after.key) {
                    commit.request = None;
                    commit.session.condition = stored;
                }
            }
            Some(Bug::SecondItemDropped) => commit.turns.truncate(1),
            _ => {}
        }
        commit
    }

    /// The head as the bug has this process see it.
    fn distorted(&self, mut turn: Turn) -> Turn {
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

    fn guessed(&self, result: Result<(), WriteError>) -> Result<(), WriteError> {
        match result {
            Err(WriteError::Unknown(_)) if self.has(Bug::LostReplyTakenForSuccess) => Ok(()),
            result => result,
        }
    }

    /// Adds what a finalization added to the session's usage once more.
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

impl Reads for Planted<Table> {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, Unavailable> {
        self.faulty.session(key).await
    }

    async fn turn(&self, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
        let turn = self.faulty.turn(key).await?;
        if self.has(Bug::LooksBeforeFencing) {
            let seen =
                || self.objects.stored().keys().filter(|payload| payload.turn == *key).cloned().collect();
            let mut looked = self.looked();
            match turn.as_ref().map(|turn| turn.state.phase()) {
                Some(Phase::Running) => {
                    looked.entry(key.clone()).or_insert_with(seen);
                }
                _ => {
                    looked.remove(key);
                }
            }
        }
        Ok(turn.map(|turn| self.distorted(turn)))
    }

    async fn turns(&self, keys: &[TurnKey]) -> Result<Vec<Turn>, Unavailable> {
        self.faulty.turns(keys).await
    }

    // Two reads: whatever may come between them in the table does here.
    async fn session_and_turn(&self, key: &TurnKey) -> Result<(Option<Session>, Option<Turn>), Unavailable> {
        try_join(self.session(&key.session), self.turn(key)).await
    }

    async fn request_detail(&self, key: &TurnKey) -> Result<Option<RequestDetail>, Unavailable> {
        self.faulty.request_detail(key).await
    }

    async fn earlier(
        &self,
        session: &SessionKey,
        before: u64,
        most: usize,
    ) -> Result<Vec<Turn>, Unavailable> {
        self.faulty.earlier(session, before, most).await
    }

    async fn takes_part(&self, session: &SessionKey, user: &UserId) -> Result<bool, Unavailable> {
        self.faulty.takes_part(session, user).await
    }

    async fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<Place>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        self.faulty.checkpoints(turn, after).await
    }

    async fn last_checkpoint(&self, turn: &TurnKey) -> Result<Option<Place>, Unavailable> {
        self.faulty.last_checkpoint(turn).await
    }

    async fn segment(&self, turn: &TurnKey, ends: Place) -> Result<Vec<Checkpoint>, Unavailable> {
        self.faulty.segment(turn, ends).await
    }

    async fn purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        self.faulty.purge(key).await
    }

    async fn agent_context(
        &self,
        org: &OrgId,
        id: &AgentContextId,
    ) -> Result<Option<AgentContext>, Unavailable> {
        self.faulty.agent_context(org, id).await
    }

    async fn conversation_context(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
    ) -> Result<Option<ConversationContext>, Unavailable> {
        self.faulty.conversation_context(org, id).await
    }

    async fn record(&self, key: &TurnKey) -> Result<Option<Record>, Unavailable> {
        self.faulty.record(key).await
    }

    async fn records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        most: usize,
    ) -> Result<Vec<Record>, Unavailable> {
        self.faulty.records(session, after, order, most).await
    }

    async fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModePlace>,
        most: usize,
    ) -> Result<Vec<ModeChange>, Unavailable> {
        self.faulty.mode_history(session, before, most).await
    }

    async fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        most: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        self.faulty.feedback(turn, after, most).await
    }

    async fn participants(&self, session: &SessionKey, most: usize) -> Result<Vec<Participant>, Unavailable> {
        self.faulty.participants(session, most).await
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &Between,
        most: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        self.faulty.sessions(org, user, active, most, after).await
    }
}

impl Store for Planted<Table> {
    async fn write_turn(&self, change: &TurnChange) -> Result<(), WriteError> {
        let change = self.weakened(change);
        if self.has(Bug::AcknowledgedEarly) && change.after.state.phase() == Phase::Settled {
            let bare = self.bare.clone();
            self.clock.later(Duration::from_secs(2), async move {
                let _ = bare.write_turn(&change).await;
            });
            return Ok(());
        }
        self.guessed(self.faulty.write_turn(&change).await)
    }

    async fn commit(&self, commit: &Commit) -> Result<(), WriteError> {
        let commit = self.weakened_commit(commit);
        let before = self.bare.contents().sessions.get(&commit.session.after.key).cloned();
        let result = self.guessed(self.faulty.commit(&commit).await);
        let finalizes = commit.turns.iter().any(|change| change.after.state.phase() == Phase::Finalized);
        if result.is_ok() && finalizes && self.has(Bug::UsageAddedTwice) {
            self.add_usage_again(&commit, before);
        }
        result
    }

    async fn put_result_detail(&self, ended: &ResultDetail) -> Result<(), Unavailable> {
        self.faulty.put_result_detail(ended).await
    }

    async fn touch(&self, participant: &Participant) -> Result<(), Unavailable> {
        self.faulty.touch(participant).await
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
