//! Text search over sessions: by name, description and turns, newest activity first.
//!
//! It walks the candidate sessions and matches the texts that the table has of them: names, descriptions, and the
//! summaries of instructions and answers. A call examines a bounded number of sessions and turns, and returns a token
//! for the next call.
//!
//! The session index names the candidate sessions, if there is one. Otherwise they are all sessions in the table's list.
//! Candidates of the index are read from the table like all others, so a wrong candidate is never returned. If the
//! index can't be reached, the walk continues with the list, from the cursor of the search.

use std::collections::VecDeque;

use contracts::{
    Timestamp,
    error::causes,
    id::{SessionId, TurnId},
    invoke_result::Warning,
    read::{FoundSession, ListResponse, MatchedIn, SearchMatch},
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{Caller, id::SessionKey, session::Session};
use serde::{Deserialize, Serialize};

use crate::{
    flow::{
        access,
        finish::evidence,
        read::{
            documents,
            lists::SessionFilter,
            session_reader::{MAX_CONCURRENT_READS, SessionReader, WithWarnings},
        },
    },
    ports::{
        Archive, Candidate, Candidates, IndexQuery, Page, PayloadReads, Reads, Record, SessionIndex,
        TimeRange, Unavailable,
    },
    refusal::Refusal,
    text_search::{MatchedTerms, SearchTerms},
    view,
};

/// The most sessions that a call examines.
const MAX_SESSIONS: usize = 100;

/// The number of turns after which a call reads no further page.
const MAX_TURNS: usize = 500;

/// The number of turns of a session to read at a time.
const TURNS_PAGE_SIZE: usize = 50;

/// The most matches of a session to return.
const MAX_MATCHES: usize = 10;

impl<R: Reads + Archive, P: PayloadReads> SessionReader<R, P> {
    /// Searches the caller's visible sessions for all the words, newest activity first. If there is a session index,
    /// it names the candidates. The table decides which of them match.
    ///
    /// # Errors
    /// If the token isn't from this search.
    pub async fn search(
        &self,
        caller: &Caller,
        words: &SearchTerms,
        filter: &SessionFilter,
        page_size: u32,
        token: Option<&str>,
        index: &impl SessionIndex,
    ) -> Result<WithWarnings<ListResponse<FoundSession>>, Refusal> {
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        let mut found: Vec<(Session, Vec<SearchMatch>)> = Vec::new();
        let token = token.map(SearchCursor::parse).transpose()?;
        let (mut walk, mut resume_session, mut last_turn, mut warnings) =
            self.start_walk(caller, words, filter, token, index).await;
        let (mut sessions, mut turns) = (0, 0);
        let next = 'search: loop {
            let (examined, page) = self.load_page(caller, filter, &mut walk).await?;
            sessions += examined;
            let items = self.project_all(page, filter.mode.is_some()).await?;
            let candidates =
                self.first_pages(caller, filter, items, resume_session.take(), last_turn.take()).await?;
            for (session, first) in candidates {
                let id = session.key.session.clone();
                let mut session_matches = SessionMatches::new(words, &session);
                let mut page = first;
                let stopped_after = loop {
                    turns += page.items.len();
                    for record in &page.items {
                        let report = evidence::load_report(&self.store, &self.payloads, record).await?;
                        session_matches.add_turn(words, record, report.answer_summary.as_deref());
                    }
                    let Some(after) = page.next.take() else { break None };
                    let after = TurnId::new(after).map_err(|_| Refusal::invalid_continuation_token())?;
                    if turns >= MAX_TURNS {
                        break Some(after);
                    }
                    page = self.store.walk(&session.key, Some(&after), TURNS_PAGE_SIZE).await?;
                };
                found.extend(session_matches.into_matches().map(|matches| (session, matches)));
                if stopped_after.is_some() || found.len() == limit {
                    break 'search walk.cursor_after(&id, stopped_after);
                }
            }
            let next_cursor = walk.cursor_after_page();
            let is_enough = sessions >= MAX_SESSIONS || turns >= MAX_TURNS;
            if next_cursor.is_none() || is_enough || !walk.advance() {
                break next_cursor;
            }
        };
        let next = next.and_then(|next| next.encode());
        access::audit_search(caller);
        let contexts = found.iter().map(|(session, _)| &session.contexts);
        let WithWarnings { result: names, warnings: of_names } =
            documents::load_names(&self.store, caller, contexts).await;
        warnings.extend(of_names);
        let items = found
            .into_iter()
            .map(|(session, matches)| FoundSession {
                session: view::session_summary(&session, &names),
                matches,
            })
            .collect();
        Ok(WithWarnings { result: ListResponse::new(items, page_size, next), warnings })
    }

    /// Returns the sessions of a page that remain to be examined, each with its first page of turns. A partly
    /// examined session continues after its last examined turn. If it is no longer on the page, it has moved to the
    /// front, and the page is examined in full.
    async fn first_pages(
        &self,
        caller: &Caller,
        filter: &SessionFilter,
        mut sessions: Vec<Session>,
        resume_session: Option<SessionId>,
        last_turn: Option<TurnId>,
    ) -> Result<Vec<(Session, Page<Record>)>, Refusal> {
        let at = resume_session
            .and_then(|resume_session| sessions.iter().position(|one| one.key.session == resume_session));
        let after = last_turn.filter(|_| at.is_some());
        if let Some(at) = at {
            sessions.drain(..at + usize::from(after.is_none()));
        }
        let after = &after;
        let pages = sessions.into_iter().enumerate().map(|(number, session)| async move {
            if !filter.matches(&session) || !access::can_see(&self.store, caller, &session).await? {
                return Ok(None);
            }
            let after = after.as_ref().filter(|_| number == 0);
            let turns = self.store.walk(&session.key, after, TURNS_PAGE_SIZE).await?;
            Ok::<_, Unavailable>(Some((session, turns)))
        });
        let pages: Vec<_> = stream::iter(pages).buffered(MAX_CONCURRENT_READS).try_collect().await?;
        Ok(pages.into_iter().flatten().collect())
    }
}

/// The matches of a session so far.
struct SessionMatches {
    /// The words in the session's own texts. They count for each of its turns.
    own: MatchedTerms,
    all: bool,
    texts: Vec<SearchMatch>,
    turns: Vec<SearchMatch>,
}

impl SessionMatches {
    fn new(words: &SearchTerms, session: &Session) -> Self {
        let mut matches =
            Self { own: MatchedTerms::default(), all: false, texts: Vec::new(), turns: Vec::new() };
        let description = session.description.as_deref().map(|text| (MatchedIn::Description, text));
        for (matched_in, text) in [(MatchedIn::Name, session.name.as_str())].into_iter().chain(description) {
            let found = words.find_in(text);
            matches.own = matches.own.or(found.matched);
            matches.texts.extend(found.snippet(matched_in, text));
        }
        matches.all = words.matches_all(matches.own);
        matches
    }

    /// Adds a turn's matches. A turn matches if it contains at least one of the words, and all of them together with
    /// the session's own texts.
    fn add_turn(&mut self, words: &SearchTerms, record: &Record, answer: Option<&str>) {
        let instruction = (MatchedIn::Instruction, record.request.instruction_summary.as_str());
        let mut matched = MatchedTerms::default();
        let mut matches = Vec::new();
        for (matched_in, text) in
            [instruction].into_iter().chain(answer.map(|answer| (MatchedIn::Answer, answer)))
        {
            let found = words.find_in(text);
            matched = matched.or(found.matched);
            matches.extend(found.snippet(matched_in, text).map(|one| SearchMatch {
                turn_id: Some(record.turn.key.turn.clone()),
                sequence_number: Some(record.turn.sequence),
                ..one
            }));
        }
        if matched.any() && words.matches_all(matched.or(self.own)) {
            self.turns.extend(matches);
            // Turns come in any order, and the newest matches are kept.
            self.turns.sort_by_key(|one| std::cmp::Reverse(one.sequence_number));
            self.turns.truncate(MAX_MATCHES);
        }
    }

    /// Returns the matches; none if neither the session's texts nor a turn contain all words.
    fn into_matches(self) -> Option<Vec<SearchMatch>> {
        if !self.all && self.turns.is_empty() {
            return None;
        }
        let matches = self.texts.into_iter().chain(self.turns);
        Some(matches.take(MAX_MATCHES).collect())
    }
}

/// The number of sessions to read at a time.
const SESSIONS_PAGE_SIZE: usize = 10;

/// The warning for a search without the index.
const WITHOUT_INDEX: &str = "The index of sessions could not be reached just now, so this search goes through the sessions one by one.";

/// The cursor of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum SearchCursor {
    /// A page of the session list, the last session of it that was started, and the last turn of that session that
    /// was examined; none if the session is complete.
    Listed(Option<String>, Option<SessionId>, Option<TurnId>),
    /// A position among the index's candidates: after a session, or within it.
    #[serde(rename_all = "PascalCase")]
    Indexed { at: Timestamp, session: Option<SessionId>, turn: Option<TurnId> },
}

impl SearchCursor {
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        serde_json::from_str(text).map_err(|_| Refusal::invalid_continuation_token())
    }

    pub(crate) fn encode(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// The state of a walk.
#[derive(Debug)]
pub(crate) enum SearchWalk {
    /// In the list: the current page, and the next one.
    Listed { active: TimeRange, page: Option<String>, next: Option<String> },
    /// Among the index's candidates: the current page, and those after it. The continuation is the cursor after all
    /// of them.
    Indexed { page: Vec<Candidate>, rest: VecDeque<Candidate>, continuation: Option<SearchCursor> },
}

/// A walk, the session that was started, its last examined turn, and the warnings for the caller.
pub(crate) type StartedWalk = (SearchWalk, Option<SessionId>, Option<TurnId>, Vec<Warning>);

impl SearchWalk {
    /// Creates a walk over these candidates that come after the cursor.
    fn from_candidates(found: Candidates, cursor: Option<(Timestamp, Option<&SessionId>, bool)>) -> Self {
        let Candidates { mut sessions, is_complete } = found;
        sessions.sort_by(|one, other| other.cmp(one));
        let oldest = sessions.last().cloned();
        if let Some((at, session, within)) = cursor {
            sessions.retain(|one| {
                let is_older = one.last_activity < at;
                let is_behind =
                    |session: &SessionId| one.session < *session || within && one.session == *session;
                is_older || one.last_activity == at && session.is_none_or(is_behind)
            });
        }
        // If all candidates are at one instant and are complete, the index can't name more at that instant.
        let continuation = oldest.filter(|_| !is_complete).map(|oldest| match sessions.last() {
            Some(last) => cursor_after_candidate(last),
            None => {
                let at = Timestamp::from_millis(oldest.last_activity.as_millis().saturating_sub(1));
                SearchCursor::Indexed { at, session: None, turn: None }
            }
        });
        Self::Indexed { page: Vec::new(), rest: sessions.into(), continuation }
    }

    /// Returns the cursor after a session of this page, or after one of its turns.
    pub(crate) fn cursor_after(&self, session: &SessionId, turn: Option<TurnId>) -> Option<SearchCursor> {
        match self {
            Self::Listed { page, .. } => {
                Some(SearchCursor::Listed(page.clone(), Some(session.clone()), turn))
            }
            Self::Indexed { page: now, .. } => {
                let at = now.iter().find(|one| one.session == *session)?.last_activity;
                Some(SearchCursor::Indexed { at, session: Some(session.clone()), turn })
            }
        }
    }

    /// Returns the cursor after this page; none after the last one.
    pub(crate) fn cursor_after_page(&self) -> Option<SearchCursor> {
        match self {
            Self::Listed { next, .. } => {
                next.clone().map(|next| SearchCursor::Listed(Some(next), None, None))
            }
            Self::Indexed { page: now, rest: left, .. } if !left.is_empty() => {
                now.last().map(cursor_after_candidate)
            }
            Self::Indexed { continuation: behind, .. } => behind.clone(),
        }
    }

    /// Advances to the next page, if this call can.
    pub(crate) fn advance(&mut self) -> bool {
        match self {
            Self::Listed { page, next, .. } => {
                *page = next.take();
                page.is_some()
            }
            Self::Indexed { rest: left, .. } => !left.is_empty(),
        }
    }
}

fn cursor_after_candidate(candidate: &Candidate) -> SearchCursor {
    let Candidate { last_activity, session } = candidate.clone();
    SearchCursor::Indexed { at: last_activity, session: Some(session), turn: None }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Starts or resumes a walk.
    pub(crate) async fn start_walk(
        &self,
        caller: &Caller,
        words: &SearchTerms,
        filter: &SessionFilter,
        cursor: Option<SearchCursor>,
        index: &impl SessionIndex,
    ) -> StartedWalk {
        let mut active = filter.active;
        let (at, session, turn) = match cursor {
            Some(SearchCursor::Listed(page, session, turn)) => {
                return (SearchWalk::Listed { active, page, next: None }, session, turn, Vec::new());
            }
            Some(SearchCursor::Indexed { at, session, turn }) => (Some(at), session, turn),
            None => (None, None, None),
        };
        active.to = active.to.into_iter().chain(at).min();
        let mut warnings = Vec::new();
        // The index knows a session's last activity, but not each user's.
        if filter.user.is_none() || filter.active == TimeRange::default() {
            let terms = &words.terms();
            let query = IndexQuery { org: &caller.org, user: filter.user.as_ref(), active, terms };
            match index.candidates(&query).await {
                Ok(Some(found)) => {
                    let cursor = at.map(|at| (at, session.as_ref(), turn.is_some()));
                    return (
                        SearchWalk::from_candidates(found, cursor),
                        session.filter(|_| turn.is_some()),
                        turn,
                        warnings,
                    );
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = %causes(&error), "{}", contracts::log::SEARCH_WITHOUT_INDEX);
                    warnings.push(Warning { message: WITHOUT_INDEX.to_owned(), error_code: None });
                }
            }
        }
        (SearchWalk::Listed { active, page: None, next: None }, session, turn, warnings)
    }

    /// Loads the walk's page of sessions. Also returns the number of sessions that it looked up.
    pub(crate) async fn load_page(
        &self,
        caller: &Caller,
        filter: &SessionFilter,
        walk: &mut SearchWalk,
    ) -> Result<(usize, Vec<Session>), Refusal> {
        match walk {
            SearchWalk::Listed { active, page, next } => {
                let user = filter.user.as_ref();
                let read =
                    self.store.sessions(&caller.org, user, active, SESSIONS_PAGE_SIZE, page.clone()).await?;
                *next = read.next;
                Ok((read.items.len(), read.items))
            }
            SearchWalk::Indexed { page: now, rest: left, .. } => {
                *now = left.drain(..left.len().min(SESSIONS_PAGE_SIZE)).collect();
                let named: Vec<SessionId> = now.iter().map(|one| one.session.clone()).collect();
                let read = named.into_iter().map(|session| self.load_candidate(caller, filter, session));
                let read: Vec<Option<Session>> =
                    stream::iter(read).buffered(MAX_CONCURRENT_READS).try_collect().await?;
                Ok((now.len(), read.into_iter().flatten().collect()))
            }
        }
    }

    /// Loads a candidate of the index, if the list would contain it too.
    async fn load_candidate(
        &self,
        caller: &Caller,
        filter: &SessionFilter,
        session: SessionId,
    ) -> Result<Option<Session>, Unavailable> {
        let key = SessionKey { org: caller.org.clone(), session };
        let found = self.store.session(&key).await?;
        let found = found.filter(|one| !one.is_purged() && filter.active.contains(one.last_activity));
        let is_participant = match (&found, &filter.user) {
            (Some(_), Some(user)) => self.store.is_participant(&key, user).await?,
            _ => true,
        };
        Ok(found.filter(|_| is_participant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(at: i64, session: &str) -> Candidate {
        Candidate { last_activity: Timestamp::from_millis(at), session: SessionId::new(session).unwrap() }
    }

    fn cursor(at: i64, session: Option<&str>, turn: Option<&str>) -> SearchCursor {
        SearchCursor::Indexed {
            at: Timestamp::from_millis(at),
            session: session.map(|session| session.parse().unwrap()),
            turn: turn.map(|turn| turn.parse().unwrap()),
        }
    }

    /// The remaining sessions after a cursor, and the continuation of the walk.
    fn walk_from(
        sessions: &[Candidate],
        is_complete: bool,
        at: Option<&SearchCursor>,
    ) -> (String, Option<SearchCursor>) {
        let found = Candidates { sessions: sessions.to_vec(), is_complete };
        let at = at.map(|place| match place {
            SearchCursor::Indexed { at, session, turn } => (*at, session.as_ref(), turn.is_some()),
            SearchCursor::Listed(..) => panic!("{place:?}"),
        });
        let SearchWalk::Indexed { rest: left, continuation: behind, .. } =
            SearchWalk::from_candidates(found, at)
        else {
            panic!("a list")
        };
        (left.iter().map(|one| one.session.as_str()).collect(), behind)
    }

    #[test]
    fn indexed_walk_resumes_newest_first_at_the_cursor() {
        let found = [candidate(5, "a"), candidate(7, "b"), candidate(5, "c"), candidate(9, "d")];
        assert_eq!(walk_from(&found, true, None), ("dbca".to_owned(), None));
        let behind = Some(cursor(5, Some("a"), None));
        assert_eq!(walk_from(&found, false, None), ("dbca".to_owned(), behind.clone()));
        assert_eq!(
            walk_from(&found, false, Some(&cursor(7, Some("b"), None))),
            ("ca".to_owned(), behind.clone())
        );
        assert_eq!(
            walk_from(&found, true, Some(&cursor(7, Some("b"), Some("t")))).0,
            "bca",
            "it is not done"
        );
        assert_eq!(walk_from(&found, true, Some(&cursor(5, Some("c"), None))).0, "a", "the same instant");
        assert_eq!(walk_from(&found, true, Some(&cursor(7, None, None))).0, "bca");
        assert_eq!(walk_from(&found, true, Some(&cursor(4, Some("a"), None))), (String::new(), None));
        // The index has more candidates at that instant than it returns at once, so the search continues after it.
        let done = cursor(5, Some("a"), None);
        assert_eq!(walk_from(&found, false, Some(&done)), (String::new(), Some(cursor(4, None, None))));
    }

    #[test]
    fn cursor_round_trips() {
        let id = "s".parse::<SessionId>().unwrap();
        for place in [
            SearchCursor::Listed(None, Some(id.clone()), Some("t".parse().unwrap())),
            SearchCursor::Listed(Some("page".to_owned()), None, None),
            cursor(7, Some("s"), Some("t")),
            cursor(7, None, None),
        ] {
            assert_eq!(SearchCursor::parse(&place.encode().unwrap()).unwrap(), place);
        }
        // The format from before there was an index.
        assert_eq!(
            SearchCursor::parse(r#"["page","s",null]"#).unwrap(),
            SearchCursor::Listed(Some("page".to_owned()), Some(id), None)
        );
        assert!(SearchCursor::parse("7").is_err() && SearchCursor::parse("{}").is_err());
    }
}
