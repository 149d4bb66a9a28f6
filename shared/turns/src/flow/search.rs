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

use super::{
    access,
    lists::SessionFilter,
    read::{MAX_CONCURRENT_READS, SessionReader, WithWarnings, context_names, report_of},
    search_walk::SearchCursor,
};
use crate::{
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
        wanted: &SessionFilter,
        page_size: u32,
        place: Option<&str>,
        index: &impl SessionIndex,
    ) -> Result<WithWarnings<ListResponse<FoundSession>>, Refusal> {
        let most = usize::try_from(page_size).unwrap_or(usize::MAX);
        let mut found: Vec<(Session, Vec<SearchMatch>)> = Vec::new();
        let place = place.map(SearchCursor::parse).transpose()?;
        let (mut walk, mut begun, mut last_turn, mut warnings) =
            self.start_walk(caller, words, wanted, place, index).await;
        let (mut sessions, mut turns) = (0, 0);
        let next = 'search: loop {
            let (looked_for, page) = self.load_page(caller, wanted, &mut walk).await?;
            sessions += looked_for;
            let items = self.project_all(page, wanted.mode.is_some()).await?;
            let looked = self.first_pages(caller, wanted, items, begun.take(), last_turn.take()).await?;
            for (session, first) in looked {
                let id = session.key.session.clone();
                let mut seen = SessionMatches::new(words, &session);
                let mut page = first;
                let stopped = loop {
                    turns += page.items.len();
                    for record in &page.items {
                        let report = report_of(&self.store, &self.payloads, record).await?;
                        seen.add_turn(words, record, report.answer_summary.as_deref());
                    }
                    let Some(after) = page.next.take() else { break None };
                    let after = TurnId::new(after).map_err(|_| Refusal::InvalidContinuationToken)?;
                    if turns >= MAX_TURNS {
                        break Some(after);
                    }
                    page = self.store.walk(&session.key, Some(&after), TURNS_PAGE_SIZE).await?;
                };
                found.extend(seen.into_matches().map(|matches| (session, matches)));
                if stopped.is_some() || found.len() == most {
                    break 'search walk.cursor_after(&id, stopped);
                }
            }
            let behind = walk.cursor_after_page();
            let is_enough = sessions >= MAX_SESSIONS || turns >= MAX_TURNS;
            if behind.is_none() || is_enough || !walk.advance() {
                break behind;
            }
        };
        let next = next.and_then(|next| next.encode());
        access::audit_search(caller);
        let contexts = found.iter().map(|(session, _)| &session.contexts);
        let WithWarnings { result: names, warnings: of_names } =
            context_names(&self.store, caller, contexts).await;
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
        wanted: &SessionFilter,
        mut sessions: Vec<Session>,
        begun: Option<SessionId>,
        last_turn: Option<TurnId>,
    ) -> Result<Vec<(Session, Page<Record>)>, Refusal> {
        let at = begun.and_then(|begun| sessions.iter().position(|one| one.key.session == begun));
        let after = last_turn.filter(|_| at.is_some());
        if let Some(at) = at {
            sessions.drain(..at + usize::from(after.is_none()));
        }
        let after = &after;
        let looked = sessions.into_iter().enumerate().map(|(number, session)| async move {
            if !wanted.matches(&session) || !access::can_see(&self.store, caller, &session).await? {
                return Ok(None);
            }
            let after = after.as_ref().filter(|_| number == 0);
            let turns = self.store.walk(&session.key, after, TURNS_PAGE_SIZE).await?;
            Ok::<_, Unavailable>(Some((session, turns)))
        });
        let looked: Vec<_> = stream::iter(looked).buffered(MAX_CONCURRENT_READS).try_collect().await?;
        Ok(looked.into_iter().flatten().collect())
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
        let mut seen =
            Self { own: MatchedTerms::default(), all: false, texts: Vec::new(), turns: Vec::new() };
        let description = session.description.as_deref().map(|text| (MatchedIn::Description, text));
        for (matched_in, text) in [(MatchedIn::Name, session.name.as_str())].into_iter().chain(description) {
            let found = words.find_in(text);
            seen.own = seen.own.or(found.matched);
            seen.texts.extend(found.snippet(matched_in, text));
        }
        seen.all = words.matches_all(seen.own);
        seen
    }

    /// Adds a turn's matches. A turn matches if it contains at least one of the words, and all of them together with
    /// the session's own texts.
    fn add_turn(&mut self, words: &SearchTerms, record: &Record, answer: Option<&str>) {
        let instruction = (MatchedIn::Instruction, record.request.instruction_summary.as_str());
        let mut held = MatchedTerms::default();
        let mut matches = Vec::new();
        for (matched_in, text) in
            [instruction].into_iter().chain(answer.map(|answer| (MatchedIn::Answer, answer)))
        {
            let found = words.find_in(text);
            held = held.or(found.matched);
            matches.extend(found.snippet(matched_in, text).map(|one| SearchMatch {
                turn_id: Some(record.turn.key.turn.clone()),
                sequence_number: Some(record.turn.sequence),
                ..one
            }));
        }
        if held.any() && words.matches_all(held.or(self.own)) {
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
