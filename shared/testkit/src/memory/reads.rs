//! The table for whoever may read it.

use agent::context::{AgentContext, ConversationContext};
use contracts::{
    Timestamp,
    id::{AgentContextId, ConversationContextId, OrgId, UserId},
};
use futures::future::try_join;
use protocol::{
    detail::{Feedback, ModeChange, ModePlace, Participant, RequestDetail},
    id::{SessionKey, TurnKey},
    place::Place,
    purge::Purge,
    session::Session,
    turn::Turn,
};
use turns::checkpoint::Checkpoint;
use turns::ports::{Between, CHECKPOINTS_PAGE, ListError, Order, Page, Reads, Record, Unavailable};

use super::{Contents, Table};

impl Reads for Table {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, Unavailable> {
        Ok(self.contents().sessions.get(key).cloned())
    }

    async fn turn(&self, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
        Ok(self.contents().heads.get(key).cloned())
    }

    async fn turns(&self, keys: &[TurnKey]) -> Result<Vec<Turn>, Unavailable> {
        let contents = self.contents();
        Ok(keys.iter().filter_map(|key| contents.heads.get(key).cloned()).collect())
    }

    // Two reads: whatever may come between them in the table does here.
    async fn session_and_turn(&self, key: &TurnKey) -> Result<(Option<Session>, Option<Turn>), Unavailable> {
        try_join(self.session(&key.session), self.turn(key)).await
    }

    async fn request_detail(&self, key: &TurnKey) -> Result<Option<RequestDetail>, Unavailable> {
        Ok(self.contents().requests.get(key).cloned())
    }

    async fn earlier(
        &self,
        session: &SessionKey,
        before: u64,
        most: usize,
    ) -> Result<Vec<Turn>, Unavailable> {
        let contents = self.contents();
        let of_session = contents.heads.values().filter(|turn| turn.key.session == *session);
        let mut turns: Vec<Turn> = of_session.filter(|turn| turn.sequence < before).cloned().collect();
        turns.sort_by_key(|turn| std::cmp::Reverse(turn.sequence));
        turns.truncate(most);
        Ok(turns)
    }

    async fn takes_part(&self, session: &SessionKey, user: &UserId) -> Result<bool, Unavailable> {
        Ok(self.contents().participants.contains_key(&(session.clone(), user.clone())))
    }

    async fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<Place>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        let contents = self.contents();
        let of_turn = contents.checkpoints.iter().filter(|((key, _), _)| key == turn);
        let later = of_turn.filter(|((_, ends), _)| after.is_none_or(|after| *ends > after));
        Ok(later.map(|(_, checkpoint)| checkpoint.clone()).take(CHECKPOINTS_PAGE).collect())
    }

    async fn last_checkpoint(&self, turn: &TurnKey) -> Result<Option<Place>, Unavailable> {
        let contents = self.contents();
        Ok(contents.checkpoints.keys().filter(|(key, _)| key == turn).map(|(_, ends)| *ends).max())
    }

    async fn segment(&self, turn: &TurnKey, ends: Place) -> Result<Vec<Checkpoint>, Unavailable> {
        let contents = self.contents();
        let of_turn = contents.checkpoints.iter().filter(|((key, _), _)| key == turn);
        let within = of_turn.filter(|((_, at), _)| at.segment == ends.segment && *at <= ends);
        Ok(within.map(|(_, checkpoint)| checkpoint.clone()).collect())
    }

    async fn purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        Ok(self.contents().purges.get(key).cloned())
    }

    async fn agent_context(
        &self,
        org: &OrgId,
        id: &AgentContextId,
    ) -> Result<Option<AgentContext>, Unavailable> {
        Ok(self.contents().agents.get(&(org.clone(), id.clone())).cloned())
    }

    async fn conversation_context(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
    ) -> Result<Option<ConversationContext>, Unavailable> {
        Ok(self.contents().conversations.get(&(org.clone(), id.clone())).cloned())
    }

    async fn records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        most: usize,
    ) -> Result<Vec<Record>, Unavailable> {
        let contents = self.contents();
        let mut records: Vec<Record> = contents
            .heads
            .keys()
            .filter(|key| key.session == *session)
            .filter_map(|key| contents.record(key))
            .filter(|record| {
                after.is_none_or(|after| match order {
                    Order::OldestFirst => record.turn.sequence > after,
                    Order::NewestFirst => record.turn.sequence < after,
                })
            })
            .collect();
        records.sort_by_key(|record| record.turn.sequence);
        if order == Order::NewestFirst {
            records.reverse();
        }
        records.truncate(most);
        Ok(records)
    }

    async fn record(&self, key: &TurnKey) -> Result<Option<Record>, Unavailable> {
        Ok(self.contents().record(key))
    }

    async fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModePlace>,
        most: usize,
    ) -> Result<Vec<ModeChange>, Unavailable> {
        let contents = self.contents();
        let earlier = |place: &ModePlace| before.is_none_or(|before| *place < before);
        let of_session = contents.modes.iter().filter(|((of, place), _)| of == session && earlier(place));
        Ok(of_session.rev().take(most).map(|(_, change)| change.clone()).collect())
    }

    async fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        most: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        let contents = self.contents();
        let of_turn = contents.feedback.iter().filter(|((of, _), _)| of == turn);
        let later = of_turn.filter(|((_, user), _)| after.is_none_or(|after| user > after));
        Ok(later.map(|(_, said)| said.clone()).take(most).collect())
    }

    async fn participants(&self, session: &SessionKey, most: usize) -> Result<Vec<Participant>, Unavailable> {
        let contents = self.contents();
        let of_session = contents.participants.iter().filter(|((of, _), _)| of == session);
        Ok(of_session.map(|(_, participant)| participant.clone()).take(most).collect())
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &Between,
        most: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        let contents = self.contents();
        // The token names its list, so that one of another list is refused.
        let list = format!("{org}|{}|", user.map_or("", UserId::as_str));
        let before = match &after {
            Some(token) => Some(token.strip_prefix(&list).ok_or(ListError::BadToken)?),
            None => None,
        };
        let mut places: Vec<(String, &Session)> = contents
            .sessions
            .values()
            .filter(|session| session.key.org == *org && !session.is_purged())
            .filter_map(|session| Some((contents.activity(session, user)?, session)))
            .filter(|((at, _), _)| active.holds(*at))
            .map(|((_, place), session)| (place, session))
            .filter(|(place, _)| before.is_none_or(|before| place.as_str() < before))
            .collect();
        places.sort_by(|one, other| other.0.cmp(&one.0));
        let next =
            places.get(most).and_then(|_| places.get(most - 1)).map(|(place, _)| format!("{list}{place}"));
        Ok(Page { items: places.into_iter().take(most).map(|(_, session)| session.clone()).collect(), next })
    }
}

impl Contents {
    fn record(&self, key: &TurnKey) -> Option<Record> {
        Some(Record {
            turn: self.heads.get(key)?.clone(),
            request: self.requests.get(key)?.clone(),
            result: self.results.get(key).cloned(),
        })
    }

    /// A session's place in the org's list, or in the list of a user who takes part in it.
    fn activity(&self, session: &Session, user: Option<&UserId>) -> Option<(Timestamp, String)> {
        let at = match user {
            None => session.last_activity,
            Some(user) => self.participants.get(&(session.key.clone(), user.clone()))?.last_activity,
        };
        Some((at, format!("{at}#{}", session.key.session)))
    }
}
