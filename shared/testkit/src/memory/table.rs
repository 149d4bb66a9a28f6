//! The table: heads, sessions and details, with their write conditions.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent::context::ContextId;
use contracts::{
    Fingerprint, Timestamp,
    id::{OrgId, UserId},
};
use protocol::{
    approval::{Approval, ApprovalId},
    budget::{self, Entry, MeterKey},
    change::{Commit, TurnChange},
    detail::{Feedback, ModeChange, ModeChangePosition, Participant, RequestDetail, ResultDetail},
    effect::{Intent, UnknownEffect},
    id::{AttemptId, SessionKey, TurnKey},
    purge::{Purge, PurgeEntry},
    ratings::RatingChange,
    session::Session,
    stream_position::StreamPosition,
    transition::import::Reservation,
    turn::{Phase, Turn},
    usage::{UsageAmounts, UsageKey},
    webhook::{Delivery, LaneKey, LanePosition},
};
use turns::checkpoint::Checkpoint;
use turns::ports::{
    ArchiveItem, DocumentChange, DocumentHead, DocumentId, PURGE_ITEM_PAGE_SIZE, Page, Store, StoredVersion,
    Unavailable, WriteError,
};

use crate::ledger::{Event, Ledger};

/// The page size of the sparse index. Small, so that small tests have several pages.
const DUE_PAGE: usize = 3;

/// The stored items.
#[derive(Debug, Default)]
pub struct Contents {
    pub sessions: BTreeMap<SessionKey, Session>,
    pub heads: BTreeMap<TurnKey, Turn>,
    pub requests: BTreeMap<TurnKey, RequestDetail>,
    pub results: BTreeMap<TurnKey, ResultDetail>,
    pub participants: BTreeMap<(SessionKey, UserId), Participant>,
    pub feedback: BTreeMap<(TurnKey, UserId), Feedback>,
    pub modes: BTreeMap<(SessionKey, ModeChangePosition), ModeChange>,
    pub checkpoints: BTreeMap<(TurnKey, StreamPosition), Checkpoint>,
    pub purges: BTreeMap<SessionKey, Purge>,
    pub documents: BTreeMap<(OrgId, DocumentId), DocumentHead>,
    pub versions: BTreeMap<(OrgId, ContextId, u32), StoredVersion>,
    pub usage: BTreeMap<UsageKey, UsageAmounts>,
    pub intents: BTreeMap<(TurnKey, u32), Intent>,
    pub unknown_effects: BTreeMap<(SessionKey, Fingerprint), UnknownEffect>,
    pub approvals: BTreeMap<(TurnKey, ApprovalId), Approval>,
    pub deliveries: BTreeMap<(LaneKey, LanePosition), Delivery>,
    /// The meters, with their entries.
    pub meters: BTreeMap<MeterKey, (budget::Meter, BTreeMap<TurnKey, Entry>)>,
}

/// The table. Clones share it.
#[derive(Debug, Clone)]
pub struct Table {
    contents: Arc<Mutex<Contents>>,
    pub(super) ledger: Ledger,
}

impl Table {
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self { contents: Arc::default(), ledger }
    }

    /// Returns the stored items.
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_head(&self, contents: &mut Contents, change: &TurnChange) {
        let before = contents.heads.insert(change.after.key.clone(), change.after.clone());
        self.ledger.record(Event::Head { before, after: change.after.clone() });
    }

    fn apply(&self, contents: &mut Contents, commit: &Commit) {
        let mut after = commit.session.after.clone();
        let session = after.key.clone();
        let rated = contents.sessions.get(&session).map(|stored| stored.ratings);
        if let Some(ratings) = rated.filter(|ratings| ratings.count > 0 && !after.is_purged()) {
            after.ratings = ratings;
        }
        let before = contents.sessions.insert(session.clone(), after.clone());
        self.ledger.record(Event::Session { before, after });
        for change in &commit.turns {
            self.write_head(contents, change);
        }
        if let Some(request) = &commit.request {
            contents.requests.insert(request.key.clone(), request.clone());
        }
        if let Some(result) = &commit.result {
            contents.results.insert(result.key.clone(), result.clone());
            self.ledger.record(Event::Result(result.clone()));
        }
        if let Some(participant) = &commit.participant {
            contents.participants.insert((session.clone(), participant.user.clone()), participant.clone());
        }
        if let Some(active) = &commit.activity {
            let key = (session.clone(), active.user.clone());
            let stored = contents.participants.entry(key).or_insert_with(|| active.clone());
            stored.last_activity = active.last_activity;
        }
        if let Some(purge) = &commit.purge {
            contents.purges.insert(session.clone(), purge.clone());
        }
        for entry in &commit.usage {
            let sum = contents.usage.entry(entry.key.clone()).or_default();
            *sum = std::mem::take(sum).plus(&entry.amounts);
        }
        for change in &commit.mode_changes {
            contents.modes.insert((session.clone(), change.position), change.clone());
        }
        self.mark(contents, &commit.unknown_effects);
        for delivery in &commit.deliveries {
            contents.deliveries.insert((delivery.lane.clone(), delivery.place), delivery.clone());
        }
    }

    fn mark(&self, contents: &mut Contents, effects: &[UnknownEffect]) {
        for effect in effects {
            let key = (effect.turn.session.clone(), effect.call.hash);
            contents.unknown_effects.insert(key, effect.clone());
            self.ledger.record(Event::Unknown(effect.clone()));
        }
    }

    fn insert_intent(&self, contents: &mut Contents, intent: &Intent) {
        contents.intents.insert((intent.turn.clone(), intent.round), intent.clone());
        self.ledger.record(Event::Intended(intent.clone()));
    }
}

impl Contents {
    /// Returns true if the attempt runs the turn.
    fn is_running(&self, turn: &TurnKey, attempt: &AttemptId) -> bool {
        let head = self.heads.get(turn);
        head.is_some_and(|head| head.state.phase() == Phase::Running && head.attempt == *attempt)
    }

    /// Returns true if all conditions of a transaction hold.
    fn allows(&self, commit: &Commit) -> bool {
        let session = &commit.session.after.key;
        let new = |there: bool| !there;
        self.sessions.get(session).map(|stored| stored.rev) == commit.session.condition
            && commit.turns.iter().all(|change| change.condition.holds(self.heads.get(&change.after.key)))
            && commit.request.iter().all(|request| new(self.requests.contains_key(&request.key)))
            && commit
                .participant
                .iter()
                .all(|one| new(self.participants.contains_key(&(session.clone(), one.user.clone()))))
            && commit
                .mode_changes
                .iter()
                .all(|change| new(self.modes.contains_key(&(session.clone(), change.position))))
    }
}

impl Store for Table {
    async fn write_turn(&self, change: &TurnChange) -> Result<(), WriteError> {
        let mut contents = self.contents();
        if !change.condition.holds(contents.heads.get(&change.after.key)) {
            return Err(WriteError::ConditionFailed);
        }
        self.write_head(&mut contents, change);
        Ok(())
    }

    async fn commit(&self, commit: &Commit) -> Result<(), WriteError> {
        let mut contents = self.contents();
        if !contents.allows(commit) {
            return Err(WriteError::ConditionFailed);
        }
        self.apply(&mut contents, commit);
        Ok(())
    }

    async fn put_intent(&self, intent: &Intent) -> Result<(), WriteError> {
        let mut contents = self.contents();
        let session = &intent.turn.session;
        let is_marked = |hash| contents.unknown_effects.contains_key(&(session.clone(), hash));
        if !contents.is_running(&intent.turn, &intent.attempt)
            || contents.intents.contains_key(&(intent.turn.clone(), intent.round))
            || intent.hashes().into_iter().any(is_marked)
        {
            return Err(WriteError::ConditionFailed);
        }
        self.insert_intent(&mut contents, intent);
        Ok(())
    }

    async fn put_unknown_effects(
        &self,
        turn: &TurnKey,
        attempt: &AttemptId,
        effects: &[UnknownEffect],
    ) -> Result<(), WriteError> {
        let mut contents = self.contents();
        if !contents.is_running(turn, attempt) {
            return Err(WriteError::ConditionFailed);
        }
        self.mark(&mut contents, effects);
        Ok(())
    }

    async fn remove_unknown_effect(&self, effect: &UnknownEffect) -> Result<(), WriteError> {
        let mut contents = self.contents();
        let key = (effect.turn.session.clone(), effect.call.hash);
        let same = |stored: &&UnknownEffect| stored.turn == effect.turn && stored.round == effect.round;
        if contents.unknown_effects.get(&key).filter(same).is_none() {
            return Err(WriteError::ConditionFailed);
        }
        contents.unknown_effects.remove(&key);
        Ok(())
    }

    async fn put_approval(&self, approval: &Approval) -> Result<(), WriteError> {
        let key = (approval.turn.clone(), approval.id.clone());
        self.contents().approvals.entry(key).or_insert_with(|| approval.clone());
        Ok(())
    }

    async fn answer_approval(&self, approval: &Approval, waiting: &TurnChange) -> Result<(), WriteError> {
        let mut contents = self.contents();
        let is_waiting = waiting.condition.holds(contents.heads.get(&approval.turn));
        let key = (approval.turn.clone(), approval.id.clone());
        match contents.approvals.get_mut(&key).filter(|stored| is_waiting && stored.answer.is_none()) {
            Some(stored) => {
                *stored = approval.clone();
                contents.heads.insert(approval.turn.clone(), waiting.after.clone());
                Ok(())
            }
            None => Err(WriteError::ConditionFailed),
        }
    }

    async fn change_document(
        &self,
        org: &OrgId,
        id: &DocumentId,
        change: &DocumentChange,
    ) -> Result<(), WriteError> {
        self.contents().change_document(org, id, change)
    }

    async fn put_feedback(&self, feedback: &Feedback) -> Result<Option<Feedback>, WriteError> {
        let mut contents = self.contents();
        let key = (feedback.turn.clone(), feedback.by.id.clone());
        let before = contents.feedback.get(&key);
        let change = RatingChange::new(before.map(|before| before.rating), feedback.rating);
        let created = before.map_or(feedback.created, |before| before.created);
        let session = contents.sessions.get_mut(&feedback.turn.session);
        let Some(session) = session.filter(|session| !session.is_purged()) else { return Ok(None) };
        session.ratings = session.ratings.changed_by(change);
        let stored = Feedback { created, ..feedback.clone() };
        contents.feedback.insert(key, stored.clone());
        Ok(Some(stored))
    }

    async fn put_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        let at = (checkpoint.key.clone(), checkpoint.end);
        self.contents().checkpoints.insert(at, checkpoint.clone());
        Ok(())
    }

    async fn due(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<TurnKey>, Unavailable> {
        let contents = self.contents();
        let mut due: Vec<(String, &TurnKey)> = contents
            .heads
            .values()
            .filter(|turn| shard_of(turn) == shard)
            .filter_map(|turn| Some((turn.due.filter(|due| *due < now)?, &turn.key)))
            .map(|(due, key)| (format!("{due}#{}#{}", key.session.session, key.turn), key))
            .filter(|(place, _)| after.as_ref().is_none_or(|after| place > after))
            .collect();
        due.sort();
        let next = due.get(DUE_PAGE).and_then(|_| due.get(DUE_PAGE - 1)).map(|(place, _)| place.clone());
        Ok(Page { items: due.into_iter().take(DUE_PAGE).map(|(_, key)| key.clone()).collect(), next })
    }

    async fn put_archive_items(
        &self,
        reservation: &Reservation,
        items: &[ArchiveItem],
    ) -> Result<(), WriteError> {
        if !reservation.holds(self.contents().sessions.get(&reservation.key)) {
            return Err(WriteError::ConditionFailed);
        }
        items.iter().for_each(|item| self.restore(item));
        Ok(())
    }

    async fn write_purge(&self, purge: &Purge) -> Result<(), WriteError> {
        let mut contents = self.contents();
        let stored = contents.purges.get_mut(&purge.key).filter(|stored| stored.rev == purge.rev);
        let Some(stored) = stored else { return Err(WriteError::ConditionFailed) };
        *stored = Purge { rev: purge.rev + 1, ..purge.clone() };
        Ok(())
    }

    async fn items(&self, session: &SessionKey) -> Result<Vec<PurgeEntry>, Unavailable> {
        let entries = self.contents().purge_entries(session).into_iter().take(PURGE_ITEM_PAGE_SIZE);
        Ok(entries
            .map(|(place, kind)| PurgeEntry { sort_key: place, kind, bytes: 0, payload: None })
            .collect())
    }

    async fn remove_items(&self, session: &SessionKey, items: &[PurgeEntry]) -> Result<(), Unavailable> {
        let mut contents = self.contents();
        let is_removed = |place: String| items.iter().any(|entry| entry.sort_key == place);
        let other = |key: &TurnKey| key.session != *session;
        contents.heads.retain(|key, _| other(key) || !is_removed(format!("TURN#{}", key.turn)));
        contents.requests.retain(|key, _| other(key) || !is_removed(format!("TURN#{}#REQUEST", key.turn)));
        contents.results.retain(|key, _| other(key) || !is_removed(format!("TURN#{}#RESULT", key.turn)));
        contents.participants.retain(|(key, user), _| key != session || !is_removed(format!("USER#{user}")));
        contents.modes.retain(|(key, place), _| key != session || !is_removed(format!("MODE#{place}")));
        contents
            .feedback
            .retain(|(key, user), _| other(key) || !is_removed(format!("FEEDBACK#{}#{user}", key.turn)));
        contents.checkpoints.retain(|(key, end), _| {
            other(key) || !is_removed(format!("STREAM#{}#{}", key.turn, end.event_id()))
        });
        let intent = |(key, round): &(TurnKey, u32)| format!("EFFECTS#{}#{round}", key.turn);
        contents.intents.retain(|key, _| other(&key.0) || !is_removed(intent(key)));
        let approval = |(key, id): &(TurnKey, ApprovalId)| format!("APPROVAL#{}#{}", key.turn, id.as_str());
        contents.approvals.retain(|key, _| other(&key.0) || !is_removed(approval(key)));
        contents
            .unknown_effects
            .retain(|(key, hash), _| key != session || !is_removed(format!("UNKNOWN#{hash}")));
        contents
            .deliveries
            .retain(|(lane, place), _| lane.session != *session || !is_removed(delivery_place(lane, *place)));
        Ok(())
    }

    async fn due_purges(
        &self,
        shard: u8,
        now: Timestamp,
        _: Option<String>,
    ) -> Result<Page<SessionKey>, Unavailable> {
        let contents = self.contents();
        let due =
            contents.purges.values().filter(|purge| shard == 0 && purge.due.is_some_and(|due| due < now));
        Ok(Page { items: due.map(|purge| purge.key.clone()).collect(), next: None })
    }
}

fn delivery_place(lane: &LaneKey, place: LanePosition) -> String {
    format!("HOOK#{}#{}#{}", lane.webhook, place.sequence, place.number)
}

/// Any fixed function of the turn will do.
fn shard_of(turn: &Turn) -> u8 {
    let digit = turn.fingerprint.to_string().chars().next().and_then(|digit| digit.to_digit(16));
    u8::try_from(digit.unwrap_or(0)).unwrap_or(0)
}

impl Contents {
    /// Returns the items of a session without itself and its purge record, by their places.
    fn purge_entries(&self, session: &SessionKey) -> BTreeMap<String, &'static str> {
        let of = |key: &TurnKey| key.session == *session;
        let heads = self.heads.keys().filter(|key| of(key));
        let mut entries: BTreeMap<String, &'static str> =
            heads.map(|key| (format!("TURN#{}", key.turn), "turns")).collect();
        let requests = self.requests.keys().filter(|key| of(key));
        entries.extend(requests.map(|key| (format!("TURN#{}#REQUEST", key.turn), "requests")));
        let results = self.results.keys().filter(|key| of(key));
        entries.extend(results.map(|key| (format!("TURN#{}#RESULT", key.turn), "results")));
        let users = self.participants.keys().filter(|(key, _)| key == session);
        entries.extend(users.map(|(_, user)| (format!("USER#{user}"), "participants")));
        let modes = self.modes.keys().filter(|(key, _)| key == session);
        entries.extend(modes.map(|(_, place)| (format!("MODE#{place}"), "mode_changes")));
        let said = self.feedback.keys().filter(|(key, _)| of(key));
        entries.extend(said.map(|(key, user)| (format!("FEEDBACK#{}#{user}", key.turn), "feedback")));
        let checkpoints = self.checkpoints.keys().filter(|(key, _)| of(key));
        entries.extend(
            checkpoints.map(|(key, end)| (format!("STREAM#{}#{}", key.turn, end.event_id()), "checkpoints")),
        );
        let intents = self.intents.keys().filter(|(key, _)| of(key));
        entries.extend(intents.map(|(key, round)| (format!("EFFECTS#{}#{round}", key.turn), "intents")));
        let approvals = self.approvals.keys().filter(|(key, _)| of(key));
        entries.extend(
            approvals.map(|(key, id)| (format!("APPROVAL#{}#{}", key.turn, id.as_str()), "approvals")),
        );
        let unknown = self.unknown_effects.keys().filter(|(key, _)| key == session);
        entries.extend(unknown.map(|(_, hash)| (format!("UNKNOWN#{hash}"), "unknown_effects")));
        let deliveries = self.deliveries.keys().filter(|(lane, _)| lane.session == *session);
        entries.extend(deliveries.map(|(lane, place)| (delivery_place(lane, *place), "webhook_deliveries")));
        entries
    }

    /// Returns the number of a session's items, without itself and its purge record.
    #[must_use]
    pub fn items_left(&self, session: &SessionKey) -> usize {
        self.purge_entries(session).len()
    }
}
