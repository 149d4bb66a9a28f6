//! Search: sessions whose name, description or turns hold words, newest activity first.
//!
//! It walks the sessions that may be meant and reads what the table has of their turns: names, and the heads of
//! instructions and answers. A call looks at a bounded number of each, and says where the next one goes on.

use contracts::{
    id::{SessionId, TurnId},
    read::{FoundSession, ListResponse, MatchedIn, SearchMatch},
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{Caller, session::Session};

use super::{
    access,
    lists::WantedSessions,
    read::{AT_ONCE, SessionReader, Told, names_of, report_of},
    search_walk::Place,
};
use crate::{
    ports::{Archive, Page, PayloadReads, Reads, Record, SessionIndex, Unavailable},
    refusal::Refusal,
    view,
    words::{Held, Words},
};

/// How many sessions a call looks at.
const MOST_SESSIONS: usize = 100;

/// How many turns a call looks at: no page is begun after so many.
const MOST_TURNS: usize = 500;

/// How many turns of a session are read together.
const TURNS_PAGE: usize = 50;

/// How many matches of a session are told.
const MOST_MATCHES: usize = 10;

impl<R: Reads + Archive, P: PayloadReads> SessionReader<R, P> {
    /// Sessions that the caller may see and that hold all the words, newest activity first. Where there is an index it
    /// says which may; the table says which do.
    ///
    /// # Errors
    /// When the place is not one that a page of this search ended with.
    pub async fn search(
        &self,
        caller: &Caller,
        words: &Words,
        wanted: &WantedSessions,
        page_size: u32,
        place: Option<&str>,
        index: &impl SessionIndex,
    ) -> Result<Told<ListResponse<FoundSession>>, Refusal> {
        let most = usize::try_from(page_size).unwrap_or(usize::MAX);
        let mut found: Vec<(Session, Vec<SearchMatch>)> = Vec::new();
        let place = place.map(Place::read).transpose()?;
        let (mut walk, mut begun, mut last_turn, mut warnings) =
            self.walk(caller, words, wanted, place, index).await;
        let (mut sessions, mut turns) = (0, 0);
        let next = 'search: loop {
            let (looked_for, page) = self.page_of(caller, wanted, &mut walk).await?;
            sessions += looked_for;
            let items = self.current(page, wanted.mode.is_some()).await?;
            let looked = self.looked_at(caller, wanted, items, begun.take(), last_turn.take()).await?;
            for (session, first) in looked {
                let id = session.key.session.clone();
                let mut seen = Seen::of(words, &session);
                let mut page = first;
                let stopped = loop {
                    turns += page.items.len();
                    for record in &page.items {
                        let report = report_of(&self.store, &self.payloads, record).await?;
                        seen.look_at(words, record, report.answer_summary.as_deref());
                    }
                    let Some(after) = page.next.take() else { break None };
                    let after = TurnId::new(after).map_err(|_| Refusal::BadContinuationToken)?;
                    if turns >= MOST_TURNS {
                        break Some(after);
                    }
                    page = self.store.walk(&session.key, Some(&after), TURNS_PAGE).await?;
                };
                found.extend(seen.matches().map(|matches| (session, matches)));
                if stopped.is_some() || found.len() == most {
                    break 'search walk.behind(&id, stopped);
                }
            }
            let behind = walk.behind_page();
            let is_enough = sessions >= MOST_SESSIONS || turns >= MOST_TURNS;
            if behind.is_none() || is_enough || !walk.goes_on() {
                break behind;
            }
        };
        let next = next.and_then(|next| next.write());
        access::audit_search(caller);
        let contexts = found.iter().map(|(session, _)| &session.contexts);
        let Told { result: names, warnings: of_names } = names_of(&self.store, caller, contexts).await;
        warnings.extend(of_names);
        let items = found
            .into_iter()
            .map(|(session, matches)| FoundSession {
                session: view::session_summary(&session, &names),
                matches,
            })
            .collect();
        Ok(Told { result: ListResponse::new(items, page_size, next), warnings })
    }

    /// Those of a page that are still to be looked at, each with the first page of its turns. A session that was begun
    /// goes on behind its last turn. One that is no longer on its page has moved to the front: the page is looked at whole.
    async fn looked_at(
        &self,
        caller: &Caller,
        wanted: &WantedSessions,
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
            if !wanted.holds(&session) || !access::sees(&self.store, caller, &session).await? {
                return Ok(None);
            }
            let after = after.as_ref().filter(|_| number == 0);
            let turns = self.store.walk(&session.key, after, TURNS_PAGE).await?;
            Ok::<_, Unavailable>(Some((session, turns)))
        });
        let looked: Vec<_> = stream::iter(looked).buffered(AT_ONCE).try_collect().await?;
        Ok(looked.into_iter().flatten().collect())
    }
}

/// What was found in a session so far.
struct Seen {
    /// The words in its own texts: they count for each of its turns.
    own: Held,
    all: bool,
    texts: Vec<SearchMatch>,
    turns: Vec<SearchMatch>,
}

impl Seen {
    fn of(words: &Words, session: &Session) -> Self {
        let mut seen = Self { own: Held::default(), all: false, texts: Vec::new(), turns: Vec::new() };
        let description = session.description.as_deref().map(|text| (MatchedIn::Description, text));
        for (matched_in, text) in [(MatchedIn::Name, session.name.as_str())].into_iter().chain(description) {
            let found = words.found_in(text);
            seen.own = seen.own.or(found.held);
            seen.texts.extend(found.snippet(matched_in, text));
        }
        seen.all = words.are_all(seen.own);
        seen
    }

    /// A turn counts where it has one of the words, and with the session's own texts all of them.
    fn look_at(&mut self, words: &Words, record: &Record, answer: Option<&str>) {
        let instruction = (MatchedIn::Instruction, record.request.instruction_summary.as_str());
        let mut held = Held::default();
        let mut matches = Vec::new();
        for (matched_in, text) in
            [instruction].into_iter().chain(answer.map(|answer| (MatchedIn::Answer, answer)))
        {
            let found = words.found_in(text);
            held = held.or(found.held);
            matches.extend(found.snippet(matched_in, text).map(|one| SearchMatch {
                turn_id: Some(record.turn.key.turn.clone()),
                sequence_number: Some(record.turn.sequence),
                ..one
            }));
        }
        if held.any() && words.are_all(held.or(self.own)) {
            self.turns.extend(matches);
            // Turns come in any order: the newest are kept.
            self.turns.sort_by_key(|one| std::cmp::Reverse(one.sequence_number));
            self.turns.truncate(MOST_MATCHES);
        }
    }

    /// Where the words stand; none where they do not stand all in one place.
    fn matches(self) -> Option<Vec<SearchMatch>> {
        if !self.all && self.turns.is_empty() {
            return None;
        }
        let matches = self.texts.into_iter().chain(self.turns);
        Some(matches.take(MOST_MATCHES).collect())
    }
}
