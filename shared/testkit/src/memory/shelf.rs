//! The table as readers see it.

use contracts::id::{OrgId, UserId};
use protocol::{
    detail::ModeChange,
    id::{SessionKey, TurnKey},
    session::Session,
};
use turns::ports::{ListError, Page, Record, Shelf, Unavailable};

use super::{Contents, Table};

impl Shelf for Table {
    async fn turns(&self, session: &SessionKey, after: u64, most: usize) -> Result<Vec<Record>, Unavailable> {
        let contents = self.contents();
        let mut records: Vec<Record> = contents
            .heads
            .keys()
            .filter(|key| key.session == *session)
            .filter_map(|key| contents.record(key))
            .filter(|record| record.turn.sequence > after)
            .collect();
        records.sort_by_key(|record| record.turn.sequence);
        records.truncate(most);
        Ok(records)
    }

    async fn record(&self, key: &TurnKey) -> Result<Option<Record>, Unavailable> {
        Ok(self.contents().record(key))
    }

    async fn mode_history(&self, session: &SessionKey) -> Result<Vec<ModeChange>, Unavailable> {
        let contents = self.contents();
        Ok(contents
            .modes
            .iter()
            .filter(|((of, _), _)| of == session)
            .map(|(_, change)| change.clone())
            .collect())
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
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
            .filter(|session| session.key.org == *org)
            .filter_map(|session| Some((contents.activity(session, user)?, session)))
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
            asked: self.asked.get(key)?.clone(),
            ended: self.ended.get(key).cloned(),
        })
    }

    /// A session's place in the org's list, or in the list of a user who takes part in it.
    fn activity(&self, session: &Session, user: Option<&UserId>) -> Option<String> {
        let at = match user {
            None => session.last_activity,
            Some(user) => self.participants.get(&(session.key.clone(), user.clone()))?.last_activity,
        };
        Some(format!("{at}#{}", session.key.session))
    }
}
