//! Text search over sessions: by name, description and turns, newest activity first.
//!
//! It walks the candidate sessions and matches the texts that the table has of them: names, descriptions, and the
//! summaries of instructions and answers. A call examines a bounded number of sessions and turns, and returns a token
//! for the next call.

use contracts::{
    id::{SessionId, TurnId},
    read::{FoundSession, ListResponse, MatchedIn, SearchMatch},
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{Caller, session::Session};

use crate::{
    flow::{
        access,
        finish::evidence,
        read::{
            documents,
            lists::SessionFilter,
            search_walk::SearchCursor,
            session_reader::{MAX_CONCURRENT_READS, SessionReader, WithWarnings},
        },
    },
    ports::{Archive, Page, PayloadReads, Reads, Record, SessionIndex, Unavailable},
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
