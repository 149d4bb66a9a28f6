//! The table: heads, sessions and details, and the conditions on them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use agent::context::{AgentContext, ConversationContext, Document};
use contracts::{
    Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, UserId},
};
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
use turns::ports::{PURGED_ITEMS, Page, PurgeStore, Store, Unavailable, WriteError};

use crate::ledger::{Event, Ledger};

/// How many candidates one page of the sparse index holds: few, so that pages matter in small tests.
const DUE_PAGE: usize = 3;

/// What is stored.
#[derive(Debug, Default)]
pub struct Contents {
    pub sessions: BTreeMap<SessionKey, Session>,
    pub heads: BTreeMap<TurnKey, Turn>,
    pub requests: BTreeMap<TurnKey, RequestDetail>,
    pub results: BTreeMap<TurnKey, ResultDetail>,
    pub participants: BTreeMap<(SessionKey, UserId), Participant>,
    pub feedback: BTreeMap<(TurnKey, UserId), Feedback>,
    pub modes: BTreeMap<(SessionKey, ModePlace), ModeChange>,
    pub checkpoints: BTreeMap<(TurnKey, Place), Checkpoint>,
    pub purges: BTreeMap<SessionKey, Purge>,
    pub agents: BTreeMap<(OrgId, AgentContextId), AgentContext>,
    pub conversations: BTreeMap<(OrgId, ConversationContextId), ConversationContext>,
}

/// The table. Handles share it.
#[derive(Debug, Clone)]
pub struct Table {
    contents: Arc<Mutex<Contents>>,
    ledger: Ledger,
}

impl Table {
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self { contents: Arc::default(), ledger }
    }

    /// What is stored right now.
    pub fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a context of an org, as an operator does.
    pub fn put_context(&self, org: &OrgId, document: Document) {
        let mut contents = self.contents();
        match document {
            Document::AgentContext(context) => {
                contents.agents.insert((org.clone(), context.id.clone()), context);
            }
            Document::ConversationContext(context) => {
                contents.conversations.insert((org.clone(), context.id.clone()), context);
            }
        }
    }

    fn write_head(&self, contents: &mut Contents, change: &TurnChange) {
        let before = contents.heads.insert(change.after.key.clone(), change.after.clone());
        self.ledger.note(Event::Head { before, after: change.after.clone() });
    }

    fn apply(&self, contents: &mut Contents, commit: &Commit) {
        let after = commit.session.after.clone();
        let before = contents.sessions.insert(after.key.clone(), after.clone());
        let session = after.key.clone();
        self.ledger.note(Event::Session { before, after });
        for change in &commit.turns {
            self.write_head(contents, change);
        }
        if let Some(request) = &commit.request {
            contents.requests.insert(request.key.clone(), request.clone());
        }
        if let Some(ended) = &commit.result {
            contents.results.insert(ended.key.clone(), ended.clone());
            self.ledger.note(Event::Result(ended.clone()));
        }
        if let Some(participant) = &commit.participant {
            contents.participants.insert((session.clone(), participant.user.clone()), participant.clone());
        }
        if let Some(purge) = &commit.purge {
            contents.purges.insert(session.clone(), purge.clone());
        }
        for change in &commit.mode_changes {
            contents.modes.insert((session.clone(), change.place), change.clone());
        }
    }
}

impl Contents {
    /// Whether every condition of a transaction holds.
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
                .all(|change| new(self.modes.contains_key(&(session.clone(), change.place))))
    }
}

impl Store for Table {
    async fn write_turn(&self, change: &TurnChange) -> Result<(), WriteError> {
        let mut contents = self.contents();
        if !change.condition.holds(contents.heads.get(&change.after.key)) {
            return Err(WriteError::Lost);
        }
        self.write_head(&mut contents, change);
        Ok(())
    }

    async fn commit(&self, commit: &Commit) -> Result<(), WriteError> {
        let mut contents = self.contents();
        if !contents.allows(commit) {
            return Err(WriteError::Lost);
        }
        self.apply(&mut contents, commit);
        Ok(())
    }

    async fn put_result_detail(&self, ended: &ResultDetail) -> Result<(), Unavailable> {
        self.contents().results.insert(ended.key.clone(), ended.clone());
        self.ledger.note(Event::Result(ended.clone()));
        Ok(())
    }

    async fn touch(&self, participant: &Participant) -> Result<(), Unavailable> {
        let mut contents = self.contents();
        let key = (participant.session.clone(), participant.user.clone());
        let stored = contents.participants.entry(key).or_insert_with(|| participant.clone());
        stored.last_activity = stored.last_activity.max(participant.last_activity);
        Ok(())
    }

    async fn put_feedback(&self, feedback: &Feedback) -> Result<Option<Feedback>, WriteError> {
        let mut contents = self.contents();
        if contents.sessions.get(&feedback.turn.session).is_some_and(Session::is_purged) {
            return Ok(None);
        }
        let key = (feedback.turn.clone(), feedback.by.id.clone());
        let created = contents.feedback.get(&key).map_or(feedback.created, |before| before.created);
        let kept = Feedback { created, ..feedback.clone() };
        contents.feedback.insert(key, kept.clone());
        Ok(Some(kept))
    }

    async fn put_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        let at = (checkpoint.key.clone(), checkpoint.ends);
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
}

/// Any fixed function of the turn does.
fn shard_of(turn: &Turn) -> u8 {
    let digit = turn.fingerprint.to_string().chars().next().and_then(|digit| digit.to_digit(16));
    u8::try_from(digit.unwrap_or(0)).unwrap_or(0)
}

impl Contents {
    /// The items of a session but for itself and the record of its purge, by their places.
    fn pieces(&self, session: &SessionKey) -> BTreeMap<String, &'static str> {
        let of = |key: &TurnKey| key.session == *session;
        let heads = self.heads.keys().filter(|key| of(key));
        let mut pieces: BTreeMap<String, &'static str> =
            heads.map(|key| (format!("TURN#{}", key.turn), "turns")).collect();
        let requests = self.requests.keys().filter(|key| of(key));
        pieces.extend(requests.map(|key| (format!("TURN#{}#ASKED", key.turn), "requests")));
        let results = self.results.keys().filter(|key| of(key));
        pieces.extend(results.map(|key| (format!("TURN#{}#ENDED", key.turn), "results")));
        let users = self.participants.keys().filter(|(key, _)| key == session);
        pieces.extend(users.map(|(_, user)| (format!("USER#{user}"), "participants")));
        let modes = self.modes.keys().filter(|(key, _)| key == session);
        pieces.extend(modes.map(|(_, place)| (format!("MODE#{place}"), "mode_changes")));
        let said = self.feedback.keys().filter(|(key, _)| of(key));
        pieces.extend(said.map(|(key, user)| (format!("FEEDBACK#{}#{user}", key.turn), "feedback")));
        let checkpoints = self.checkpoints.keys().filter(|(key, _)| of(key));
        pieces.extend(
            checkpoints.map(|(key, ends)| (format!("STREAM#{}#{}", key.turn, ends.id()), "checkpoints")),
        );
        pieces
    }

    /// How many items there are of a session but for itself and the record of its purge.
    #[must_use]
    pub fn left_of(&self, session: &SessionKey) -> usize {
        self.pieces(session).len()
    }
}

impl PurgeStore for Table {
    async fn write_purge(&self, purge: &Purge) -> Result<(), WriteError> {
        let mut contents = self.contents();
        let stored = contents.purges.get_mut(&purge.key).filter(|stored| stored.rev == purge.rev);
        let Some(stored) = stored else { return Err(WriteError::Lost) };
        *stored = Purge { rev: purge.rev + 1, ..purge.clone() };
        Ok(())
    }

    async fn items(&self, session: &SessionKey) -> Result<Vec<Piece>, Unavailable> {
        let pieces = self.contents().pieces(session).into_iter().take(PURGED_ITEMS);
        Ok(pieces.map(|(place, kind)| Piece { place, kind, bytes: 0, payload: None }).collect())
    }

    async fn remove_items(&self, session: &SessionKey, items: &[Piece]) -> Result<(), Unavailable> {
        let mut contents = self.contents();
        let gone = |place: String| items.iter().any(|piece| piece.place == place);
        let other = |key: &TurnKey| key.session != *session;
        contents.heads.retain(|key, _| other(key) || !gone(format!("TURN#{}", key.turn)));
        contents.requests.retain(|key, _| other(key) || !gone(format!("TURN#{}#ASKED", key.turn)));
        contents.results.retain(|key, _| other(key) || !gone(format!("TURN#{}#ENDED", key.turn)));
        contents.participants.retain(|(key, user), _| key != session || !gone(format!("USER#{user}")));
        contents.modes.retain(|(key, place), _| key != session || !gone(format!("MODE#{place}")));
        contents
            .feedback
            .retain(|(key, user), _| other(key) || !gone(format!("FEEDBACK#{}#{user}", key.turn)));
        contents
            .checkpoints
            .retain(|(key, ends), _| other(key) || !gone(format!("STREAM#{}#{}", key.turn, ends.id())));
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
