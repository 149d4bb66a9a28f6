//! The sessions that a search looks at, newest activity first: those that the index names, where there is one, or all that
//! the table lists.
//!
//! What the index names is looked at in the table like everything else, so a session that it names wrongly is found by
//! nobody. Where it can't be reached the list takes over, from the place where the search stands.

use std::collections::VecDeque;

use contracts::{
    Timestamp,
    error::causes,
    id::{SessionId, TurnId},
    invoke_result::Warning,
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{Caller, id::SessionKey, session::Session};
use serde::{Deserialize, Serialize};

use super::{
    lists::WantedSessions,
    read::{AT_ONCE, SessionReader},
};
use crate::{
    ports::{Between, Candidate, Candidates, PayloadReads, Reads, SessionIndex, Sought, Unavailable},
    refusal::Refusal,
    words::Words,
};

/// How many sessions are looked at together.
const SESSIONS_PAGE: usize = 10;

/// What a caller is told of a search without the index.
const WITHOUT_INDEX: &str = "The index of sessions could not be reached just now, so this search goes through the sessions one by one.";

/// Where a search goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Place {
    /// A page of the list of sessions, the last session of it that was begun, and the last turn of that one that was
    /// looked at; none where the session is done.
    Listed(Option<String>, Option<SessionId>, Option<TurnId>),
    /// The same by the index: behind a session, or within one.
    #[serde(rename_all = "PascalCase")]
    Indexed { at: Timestamp, session: Option<SessionId>, turn: Option<TurnId> },
}

impl Place {
    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        serde_json::from_str(text).map_err(|_| Refusal::BadContinuationToken)
    }

    pub(super) fn write(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// Where a walk stands.
#[derive(Debug)]
pub(super) enum Walk {
    /// In the list: this page, and the next one.
    Listed { active: Between, page: Option<String>, next: Option<String> },
    /// Among what the index names: these now, and those after them. Behind all of them it goes on at a place.
    Indexed { now: Vec<Candidate>, left: VecDeque<Candidate>, behind: Option<Place> },
}

/// A walk, the session that was begun, its last turn, and what the caller is told.
pub(super) type Begun = (Walk, Option<SessionId>, Option<TurnId>, Vec<Warning>);

impl Walk {
    /// Among these, behind the place where the search stands.
    fn among(found: Candidates, place: Option<(Timestamp, Option<&SessionId>, bool)>) -> Self {
        let Candidates { mut sessions, are_all } = found;
        sessions.sort_by(|one, other| other.cmp(one));
        let oldest = sessions.last().cloned();
        if let Some((at, session, within)) = place {
            sessions.retain(|one| {
                let is_older = one.last_activity < at;
                let is_behind =
                    |session: &SessionId| one.session < *session || within && one.session == *session;
                is_older || one.last_activity == at && session.is_none_or(is_behind)
            });
        }
        // Where all that were named are at one instant and done, there is nothing more to be named of it.
        let behind = oldest.filter(|_| !are_all).map(|oldest| match sessions.last() {
            Some(last) => behind(last),
            None => {
                let at = Timestamp::from_millis(oldest.last_activity.as_millis().saturating_sub(1));
                Place::Indexed { at, session: None, turn: None }
            }
        });
        Self::Indexed { now: Vec::new(), left: sessions.into(), behind }
    }

    /// The place behind a session of this page, or behind one of its turns.
    pub(super) fn behind(&self, session: &SessionId, turn: Option<TurnId>) -> Option<Place> {
        match self {
            Self::Listed { page, .. } => Some(Place::Listed(page.clone(), Some(session.clone()), turn)),
            Self::Indexed { now, .. } => {
                let at = now.iter().find(|one| one.session == *session)?.last_activity;
                Some(Place::Indexed { at, session: Some(session.clone()), turn })
            }
        }
    }

    /// The place behind this page; none behind the last one.
    pub(super) fn behind_page(&self) -> Option<Place> {
        match self {
            Self::Listed { next, .. } => next.clone().map(|next| Place::Listed(Some(next), None, None)),
            Self::Indexed { now, left, .. } if !left.is_empty() => now.last().map(behind),
            Self::Indexed { behind, .. } => behind.clone(),
        }
    }

    /// Goes on to the next page, if this call can.
    pub(super) fn goes_on(&mut self) -> bool {
        match self {
            Self::Listed { page, next, .. } => {
                *page = next.take();
                page.is_some()
            }
            Self::Indexed { left, .. } => !left.is_empty(),
        }
    }
}

fn behind(candidate: &Candidate) -> Place {
    let Candidate { last_activity, session } = candidate.clone();
    Place::Indexed { at: last_activity, session: Some(session), turn: None }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Begins a walk, or goes on with one.
    pub(super) async fn walk(
        &self,
        caller: &Caller,
        words: &Words,
        wanted: &WantedSessions,
        place: Option<Place>,
        index: &impl SessionIndex,
    ) -> Begun {
        let mut active = wanted.active;
        let (at, begun, turn) = match place {
            Some(Place::Listed(page, begun, turn)) => {
                return (Walk::Listed { active, page, next: None }, begun, turn, Vec::new());
            }
            Some(Place::Indexed { at, session, turn }) => (Some(at), session, turn),
            None => (None, None, None),
        };
        active.to = active.to.into_iter().chain(at).min();
        let mut warnings = Vec::new();
        // The index knows when a session was last active, and not when each user was.
        if wanted.user.is_none() || wanted.active == Between::default() {
            let terms = &words.terms();
            let sought = Sought { org: &caller.org, user: wanted.user.as_ref(), active, terms };
            match index.candidates(&sought).await {
                Ok(Some(found)) => {
                    let place = at.map(|at| (at, begun.as_ref(), turn.is_some()));
                    return (Walk::among(found, place), begun.filter(|_| turn.is_some()), turn, warnings);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = %causes(&error), "sessions were searched without the index");
                    warnings.push(Warning { message: WITHOUT_INDEX.to_owned(), error_code: None });
                }
            }
        }
        (Walk::Listed { active, page: None, next: None }, begun, turn, warnings)
    }

    /// The sessions of a walk's page, and how many were looked for.
    pub(super) async fn page_of(
        &self,
        caller: &Caller,
        wanted: &WantedSessions,
        walk: &mut Walk,
    ) -> Result<(usize, Vec<Session>), Refusal> {
        match walk {
            Walk::Listed { active, page, next } => {
                let user = wanted.user.as_ref();
                let read =
                    self.store.sessions(&caller.org, user, active, SESSIONS_PAGE, page.clone()).await?;
                *next = read.next;
                Ok((read.items.len(), read.items))
            }
            Walk::Indexed { now, left, .. } => {
                *now = left.drain(..left.len().min(SESSIONS_PAGE)).collect();
                let named: Vec<SessionId> = now.iter().map(|one| one.session.clone()).collect();
                let read = named.into_iter().map(|session| self.as_listed(caller, wanted, session));
                let read: Vec<Option<Session>> = stream::iter(read).buffered(AT_ONCE).try_collect().await?;
                Ok((now.len(), read.into_iter().flatten().collect()))
            }
        }
    }

    /// A session that the index names, where the list would have it too.
    async fn as_listed(
        &self,
        caller: &Caller,
        wanted: &WantedSessions,
        session: SessionId,
    ) -> Result<Option<Session>, Unavailable> {
        let key = SessionKey { org: caller.org.clone(), session };
        let found = self.store.session(&key).await?;
        let found = found.filter(|one| !one.is_purged() && wanted.active.holds(one.last_activity));
        let takes_part = match (&found, &wanted.user) {
            (Some(_), Some(user)) => self.store.takes_part(&key, user).await?,
            _ => true,
        };
        Ok(found.filter(|_| takes_part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(at: i64, session: &str) -> Candidate {
        Candidate { last_activity: Timestamp::from_millis(at), session: SessionId::new(session).unwrap() }
    }

    fn place(at: i64, session: Option<&str>, turn: Option<&str>) -> Place {
        Place::Indexed {
            at: Timestamp::from_millis(at),
            session: session.map(|session| session.parse().unwrap()),
            turn: turn.map(|turn| turn.parse().unwrap()),
        }
    }

    /// The sessions that are left of these behind a place, and where the walk goes on behind them.
    fn left(sessions: &[Candidate], are_all: bool, at: Option<&Place>) -> (String, Option<Place>) {
        let found = Candidates { sessions: sessions.to_vec(), are_all };
        let at = at.map(|place| match place {
            Place::Indexed { at, session, turn } => (*at, session.as_ref(), turn.is_some()),
            Place::Listed(..) => panic!("{place:?}"),
        });
        let Walk::Indexed { left, behind, .. } = Walk::among(found, at) else { panic!("a list") };
        (left.iter().map(|one| one.session.as_str()).collect(), behind)
    }

    #[test]
    fn what_the_index_names_is_walked_newest_first_from_where_the_search_stands() {
        let found = [named(5, "a"), named(7, "b"), named(5, "c"), named(9, "d")];
        assert_eq!(left(&found, true, None), ("dbca".to_owned(), None));
        let behind = Some(place(5, Some("a"), None));
        assert_eq!(left(&found, false, None), ("dbca".to_owned(), behind.clone()));
        assert_eq!(left(&found, false, Some(&place(7, Some("b"), None))), ("ca".to_owned(), behind.clone()));
        assert_eq!(left(&found, true, Some(&place(7, Some("b"), Some("t")))).0, "bca", "it is not done");
        assert_eq!(left(&found, true, Some(&place(5, Some("c"), None))).0, "a", "the same instant");
        assert_eq!(left(&found, true, Some(&place(7, None, None))).0, "bca");
        assert_eq!(left(&found, true, Some(&place(4, Some("a"), None))), (String::new(), None));
        // More are named at that instant than the index tells at once: the search goes on behind it.
        let done = place(5, Some("a"), None);
        assert_eq!(left(&found, false, Some(&done)), (String::new(), Some(place(4, None, None))));
    }

    #[test]
    fn a_place_reads_back_as_it_was_whichever_way_it_came_from() {
        let id = "s".parse::<SessionId>().unwrap();
        for place in [
            Place::Listed(None, Some(id.clone()), Some("t".parse().unwrap())),
            Place::Listed(Some("page".to_owned()), None, None),
            place(7, Some("s"), Some("t")),
            place(7, None, None),
        ] {
            assert_eq!(Place::read(&place.write().unwrap()).unwrap(), place);
        }
        // As it was written before there was an index.
        assert_eq!(
            Place::read(r#"["page","s",null]"#).unwrap(),
            Place::Listed(Some("page".to_owned()), Some(id), None)
        );
        assert!(Place::read("7").is_err() && Place::read("{}").is_err());
    }
}
