//! Finds the turn that a chat's history ends with.
//!
//! The ids of a turn that a chat starts follow from its messages: the turn's from all of them, its session's from those of
//! the request with which the session began, or branched off. So a request finds them without a table.

use std::collections::{HashMap, HashSet};

use contracts::{
    id::{SessionId, TurnId},
    request::ChatMessage,
    text::single_spaced,
};
use runtime::id_key::IdKey;
use turns::{
    flow::{DerivedSession, DerivedTurn, StartRead, TurnSnapshot},
    refusal::Refusal,
};

use crate::{
    chain::{Chain, Mark},
    chat::{Chat, Hint, TurnRound},
    error::StartError,
    matching::{Replies, brought_replies, compare, compare_words},
    port::Turns,
    turn::internal,
};

/// The sessions that the chats of one user with equal messages may get. A deleted session, or another user's, takes one.
/// Later chats aren't recognized.
pub(crate) const MAX_EQUAL: u32 = 8;

/// The most branches of a chat in which its last turn is looked for.
const MAX_BRANCHES: usize = 16;

/// The most requests of a chat whose turns are looked for, the last ones.
const MAX_REQUESTS: usize = 24;

/// A turn that is a part of a chat.
pub(crate) enum TurnMatch {
    /// The chat holds its answer.
    Answered(Previous),
    /// The history ends with calls of the turn.
    Called(Box<Called>),
}

/// The last stored turn of a chat that has an answer.
#[derive(Debug, Clone)]
pub(crate) struct Previous {
    /// The turn.
    pub(crate) id: TurnRound,
    /// True if it is the last of its session.
    pub(crate) is_last: bool,
    /// The number of messages up to its answer.
    pub(crate) until: usize,
    /// The read of the next turn in its session, if it is known.
    pub(crate) read: Option<Box<StartRead>>,
}

/// A turn whose calls end a chat's history.
pub(crate) struct Called {
    /// The turn, with the number of the suspension.
    pub(crate) id: TurnRound,
    /// The turn as it is stored.
    pub(crate) snapshot: TurnSnapshot,
    /// The position of the first message after its input.
    pub(crate) replies: usize,
}

/// A chat and the turns of its caller.
pub(crate) struct Finder<'a, T> {
    pub(crate) turns: &'a T,
    pub(crate) chat: &'a Chat,
    /// The position of the first message after the last reply.
    pub(crate) start: usize,
}

impl<T: Turns> Finder<'_, T> {
    /// Returns the messages up to the last reply.
    pub(crate) fn history(&self) -> &[ChatMessage] {
        self.chat.messages.get(..self.start).unwrap_or_default()
    }

    /// Finds the turn that the history ends with. If it ends with none, finds the last turn that is a part of it.
    pub(crate) async fn find(&self) -> Result<Option<TurnMatch>, StartError> {
        let mut best = None;
        // Only the newest id can be of the last turn.
        if let Some(hint) = self.chat.hints.iter().rfind(|hint| hint.message < self.start) {
            let before = self.chat.messages.get(..hint.message).unwrap_or_default();
            let is_other =
                |message: &ChatMessage| matches!(message, ChatMessage::User(_) | ChatMessage::Result(_));
            let replies = before.iter().rposition(is_other).map_or(0, |last| last.saturating_add(1));
            if let Some(snapshot) = self.read(&hint.turn).await? {
                // Only the content tells if the client still sends what came before an answer.
                let is_whole = hint.is_certain || self.is_of_its_turn(hint, &snapshot)?;
                match self.matching(hint.turn.clone(), snapshot, replies) {
                    Some(TurnMatch::Answered(found)) if is_whole => {
                        if found.is_last && found.until == self.start {
                            return Ok(Some(TurnMatch::Answered(found)));
                        }
                        best = Some(found);
                    }
                    Some(TurnMatch::Answered(_)) | None => {}
                    Some(called) => return Ok(Some(called)),
                }
            }
        }
        let mut search = Search::new(self)?;
        for candidate in 0..search.candidates.len() {
            let replies = search.candidates.get(candidate).map_or(0, |candidate| candidate.replies);
            if best.as_ref().is_some_and(|best: &Previous| best.until > replies) {
                break;
            }
            match search.at(candidate).await? {
                Some(TurnMatch::Answered(found)) if !found.is_last => {
                    best = best.filter(|best| best.until >= found.until).or(Some(found));
                }
                Some(TurnMatch::Answered(found)) => {
                    let read = search.next_read(&found.id.session);
                    return Ok(Some(TurnMatch::Answered(Previous { read, ..found })));
                }
                Some(called) => return Ok(Some(called)),
                // The id may be of an earlier turn: another protocol's ids of later ones say nothing here.
                None => {}
            }
        }
        Ok(best.map(TurnMatch::Answered))
    }

    /// Returns the sessions that the chat names: by the id of its newest turn, and by the client's own name.
    pub(crate) fn named_sessions(&self) -> Result<Vec<SessionId>, StartError> {
        let caller = self.turns.caller();
        let (org, user) = (caller.org.as_str().as_bytes(), caller.user.id.as_str().as_bytes());
        let mut sessions: Vec<SessionId> =
            self.chat.hints.last().map(|hint| hint.turn.session.clone()).into_iter().collect();
        if let Some(name) = &self.chat.name {
            for key in self.turns.id_keys().iter() {
                let mark = Mark(key.derive(&[b"chat-name", org, user, name.as_bytes()]));
                sessions.push(session_id(key, &mark, 0)?);
            }
        }
        Ok(sessions)
    }

    /// True if the messages before an id are those of its answered turn, from the first one of the chat on: the turn's id
    /// follows from those before its replies, or they are the input of a turn that no other precedes.
    fn is_of_its_turn(&self, hint: &Hint, snapshot: &TurnSnapshot) -> Result<bool, StartError> {
        let starts = (1..=hint.message).rev().filter(|start| {
            let last = self.chat.messages.get(start.saturating_sub(1));
            matches!(last, Some(ChatMessage::User(_) | ChatMessage::System(_)))
        });
        for start in starts.take(MAX_REQUESTS) {
            if matches!(self.compare(snapshot, 0, start), Some((_, Replies::Answered(_)))) {
                return self.is_request_of(snapshot, &hint.turn, start);
            }
        }
        Ok(false)
    }

    /// True if the first messages are those that the model got before the replies of a turn.
    fn is_request_of(
        &self,
        snapshot: &TurnSnapshot,
        turn: &TurnRound,
        count: usize,
    ) -> Result<bool, StartError> {
        let messages = self.chat.messages.get(..count).unwrap_or_default();
        for (_, chain) in self.chains(messages) {
            if let Some(end) = chain.requests.last()
                && turn_id(&end.mark)? == turn.turn
            {
                return Ok(true);
            }
        }
        let mut said = String::new();
        for message in messages {
            match message {
                ChatMessage::User(user) => said = format!("{said} {}", user.text),
                ChatMessage::System(_) => {}
                ChatMessage::Assistant(_) | ChatMessage::Call(_) | ChatMessage::Result(_) => {
                    return Ok(false);
                }
            }
        }
        let head = &snapshot.head;
        let has_no_history = head.turns == 1 && !head.is_fork && snapshot.request.ancestry.is_empty();
        let instruction = snapshot.request.instruction.as_deref().unwrap_or_default();
        Ok(has_no_history && single_spaced(&said) == single_spaced(instruction))
    }

    /// Returns the marks of messages under each key, the key of new ids first.
    pub(crate) fn chains(&self, messages: &[ChatMessage]) -> Vec<(&IdKey, Chain)> {
        let caller = self.turns.caller();
        let subject = (caller.org.as_str(), caller.user.id.as_str());
        self.turns.id_keys().iter().map(|key| (key, Chain::new(key, subject, messages))).collect()
    }

    /// Compares the messages from a position on with the replies of a turn. `None` if they differ, or the caller has no
    /// such turn.
    async fn check(&self, turn: TurnRound, replies: usize) -> Result<Option<TurnMatch>, StartError> {
        Ok(self.read(&turn).await?.and_then(|snapshot| self.matching(turn, snapshot, replies)))
    }

    /// Does the same for a turn with derived ids, which is read so far.
    async fn check_derived(
        &self,
        id: TurnRound,
        turn: &DerivedTurn,
        replies: usize,
    ) -> Result<Option<TurnMatch>, StartError> {
        let messages = self.history().get(replies..).unwrap_or_default();
        if let (DerivedSession::Own(Some(head)), Some(answer)) = (turn.state, turn.only_answer())
            && let Some(count) = compare_words(answer, messages)
        {
            let until = replies.saturating_add(count);
            let answered = Previous { id, is_last: head.is_last, until, read: None };
            return Ok(Some(TurnMatch::Answered(answered)));
        }
        let snapshot = present(self.turns.derived_snapshot(turn).await)?;
        Ok(snapshot.and_then(|snapshot| self.matching(id, snapshot, replies)))
    }

    /// Reads a turn of the caller, if it is there.
    async fn read(&self, turn: &TurnRound) -> Result<Option<TurnSnapshot>, StartError> {
        present(self.turns.snapshot(turn).await)
    }

    /// Compares the messages from a position on with the replies of a turn.
    fn matching(&self, turn: TurnRound, snapshot: TurnSnapshot, replies: usize) -> Option<TurnMatch> {
        let (replies, matched) = self.compare(&snapshot, turn.round, replies)?;
        match matched {
            Replies::Called(round) => Some(TurnMatch::Called(Box::new(Called {
                id: TurnRound { round, ..turn },
                snapshot,
                replies,
            }))),
            // Its content is purged, so no turn continues it.
            Replies::Answered(_) if snapshot.head.is_unstored => None,
            Replies::Answered(count) => Some(TurnMatch::Answered(Previous {
                id: TurnRound { round: snapshot.head.round, ..turn },
                is_last: snapshot.head.is_last,
                until: replies.saturating_add(count),
                read: None,
            })),
        }
    }

    /// Compares the messages from a position on with the replies of a turn. Returns the position of the replies that
    /// the turn itself got, after those that its client brought.
    fn compare(&self, snapshot: &TurnSnapshot, round: u32, replies: usize) -> Option<(usize, Replies)> {
        let messages = self.history().get(replies..).unwrap_or_default();
        let brought = if round == 0 { brought_replies(&snapshot.request, messages)? } else { 0 };
        let messages = messages.get(brought..).unwrap_or_default();
        Some((replies.saturating_add(brought), compare(snapshot, round, messages)?))
    }
}

/// A request of a chat at whose turn the history may end.
struct Candidate {
    /// The position of the first message after it.
    replies: usize,
    /// The ids of its turn, one per key.
    turns: Vec<TurnId>,
    /// Its turns in the sessions that the chat names. A chat that began without its messages, over another protocol, is
    /// there.
    named: Vec<TurnRound>,
    /// The requests with which its session may have begun: the first of the chat, which most have, and then the others.
    roots: [Vec<usize>; 2],
}

/// The search for a chat's last turn by the ids that its messages give. What is stored under the likely ids is read with one
/// request, what is stored under all others with another one, and what equal chats have with a third.
struct Search<'a, T> {
    finder: &'a Finder<'a, T>,
    chains: Vec<(&'a IdKey, Chain)>,
    /// The last requests of the chat, newest first.
    candidates: Vec<Candidate>,
    /// The id of the turn that the chat starts, if it has one.
    next: Option<TurnId>,
    known: HashMap<TurnRound, DerivedTurn>,
}

impl<'a, T: Turns> Search<'a, T> {
    fn new(finder: &'a Finder<'a, T>) -> Result<Self, StartError> {
        let chains = finder.chains(&finder.chat.messages);
        let requests = chains.first().map(|(_, chain)| chain.requests.as_slice()).unwrap_or_default();
        let count = requests.iter().filter(|end| end.messages <= finder.start).count();
        let next = requests.get(count..).and_then(<[_]>::last).map(|end| turn_id(&end.mark)).transpose()?;
        let sessions = finder.named_sessions()?;
        let candidate = |position: usize| {
            let ends = chains.iter().filter_map(|(_, chain)| chain.requests.get(position));
            let replies = ends.clone().next().map_or(0, |end| end.messages);
            let turns = ends.map(|end| turn_id(&end.mark)).collect::<Result<Vec<_>, _>>()?;
            let in_named = sessions
                .iter()
                .flat_map(|session| turns.iter().map(|turn| TurnRound::first(session.clone(), turn.clone())));
            // A text that came with results ends a request within a turn.
            let is_newest = position.saturating_add(2) >= count;
            let branches = (1..=position).rev().take(if is_newest { MAX_BRANCHES } else { 0 });
            let (named, roots) = (in_named.collect(), [vec![0], branches.collect()]);
            Ok(Candidate { replies, turns, named, roots })
        };
        let candidates =
            (0..count).rev().take(MAX_REQUESTS).map(candidate).collect::<Result<_, StartError>>()?;
        Ok(Self { finder, chains, candidates, next, known: HashMap::new() })
    }

    /// Finds the turn of a request, if possible one that is the last of its session.
    async fn at(&mut self, candidate: usize) -> Result<Option<TurnMatch>, StartError> {
        let Some(Candidate { replies, named, .. }) = self.candidates.get(candidate) else { return Ok(None) };
        let (replies, named) = (*replies, named.clone());
        if candidate == 0 {
            self.read_likely(&named).await?;
        }
        let (mut found, mut earlier) = (None, Vec::new());
        for (id, turn) in self.turns(candidate, SessionGroup::Named, named).await? {
            let hit = match turn.state {
                // The session of a colleague is no derived one of the caller.
                DerivedSession::Conflict => self.finder.check(id, replies).await?,
                _ => self.check_last(id, turn, replies, &mut earlier).await?,
            };
            if !keep(&mut found, hit) {
                return Ok(found);
            }
        }
        for roots in 0..2 {
            for ordinal in 0..MAX_EQUAL {
                // A turn may be newer than the current key, and its session older.
                let ids = self.ids(candidate, roots, ordinal)?;
                let turns = self.turns(candidate, SessionGroup::Derived { roots, ordinal }, ids).await?;
                if turns.iter().all(|(_, turn)| turn.state == DerivedSession::Free) {
                    break;
                }
                for (id, turn) in turns {
                    if !keep(&mut found, self.check_last(id, turn, replies, &mut earlier).await?) {
                        return Ok(found);
                    }
                }
            }
        }
        // No turn that is the last of its session is a part of the chat. Of equal ones, any will do.
        for (id, turn) in earlier {
            if found.is_some() {
                break;
            }
            found = self.finder.check_derived(id, &turn, replies).await?;
        }
        Ok(found)
    }

    /// Compares a turn that is the last of its session. Adds one that isn't to `earlier`.
    async fn check_last(
        &self,
        id: TurnRound,
        turn: DerivedTurn,
        replies: usize,
        earlier: &mut Vec<(TurnRound, DerivedTurn)>,
    ) -> Result<Option<TurnMatch>, StartError> {
        match turn.state {
            DerivedSession::Own(Some(head)) if head.is_last => {
                self.finder.check_derived(id, &turn, replies).await
            }
            DerivedSession::Own(Some(_)) => {
                earlier.push((id, turn));
                Ok(None)
            }
            DerivedSession::Own(None) | DerivedSession::Free | DerivedSession::Conflict => Ok(None),
        }
    }

    /// Returns the read of the next turn in a session, for its start.
    fn next_read(&self, session: &SessionId) -> Option<Box<StartRead>> {
        let next = TurnRound::first(session.clone(), self.next.clone()?);
        self.known.get(&next)?.start_read()
    }

    /// Returns the ids that the turn of a request has in the sessions that began with one of its roots.
    fn ids(&self, candidate: usize, roots: usize, ordinal: u32) -> Result<Vec<TurnRound>, StartError> {
        let Some(Candidate { turns, roots: all, .. }) = self.candidates.get(candidate) else {
            return Ok(Vec::new());
        };
        let mut ids = Vec::new();
        for root in all.get(roots).into_iter().flatten() {
            for (key, chain) in &self.chains {
                let Some(end) = chain.requests.get(*root) else { continue };
                let session = session_id(key, &end.mark, ordinal)?;
                ids.extend(turns.iter().map(|turn| TurnRound::first(session.clone(), turn.clone())));
            }
        }
        Ok(ids)
    }

    /// Reads the newest request's turn in the sessions where most chats have it, and the next turn's place in them.
    async fn read_likely(&mut self, named: &[TurnRound]) -> Result<(), StartError> {
        let mut likely = [named, &self.ids(0, 0, 0)?].concat();
        if let Some(next) = &self.next {
            let places: Vec<_> =
                likely.iter().map(|id| TurnRound::first(id.session.clone(), next.clone())).collect();
            likely.extend(places);
        }
        self.read(likely).await
    }

    /// Returns what is stored under the ids of a group, with the ids. What a search may need next is read with them.
    async fn turns(
        &mut self,
        candidate: usize,
        group: SessionGroup,
        ids: Vec<TurnRound>,
    ) -> Result<Vec<(TurnRound, DerivedTurn)>, StartError> {
        if ids.iter().any(|id| !self.known.contains_key(id)) {
            let mut all = ids.clone();
            let every = 0..self.candidates.len();
            match group {
                SessionGroup::Named | SessionGroup::Derived { ordinal: 0, .. } => {
                    for candidate in every {
                        let named = self.candidates.get(candidate).map(|candidate| candidate.named.clone());
                        all.extend(named.into_iter().flatten());
                        all.extend(self.ids(candidate, 0, 0)?);
                        all.extend(self.ids(candidate, 1, 0)?);
                    }
                }
                // Equal chats have the ordinals one after the other.
                SessionGroup::Derived { roots, ordinal } => {
                    for candidate in if candidate == 0 { 0..1 } else { every } {
                        for ordinal in ordinal..MAX_EQUAL {
                            all.extend(self.ids(candidate, roots, ordinal)?);
                        }
                    }
                }
            }
            self.read(all).await?;
        }
        let known = |id: TurnRound| {
            let turn = self.known.get(&id).cloned().unwrap_or(DerivedTurn::FREE);
            (id, turn)
        };
        Ok(ids.into_iter().map(known).collect())
    }

    async fn read(&mut self, ids: Vec<TurnRound>) -> Result<(), StartError> {
        let mut seen = HashSet::new();
        let is_new = |id: &TurnRound| !self.known.contains_key(id) && seen.insert(id.clone());
        let ids: Vec<TurnRound> = ids.into_iter().filter(is_new).collect();
        let turns = self.finder.turns.derived_all(&ids).await?;
        self.known.extend(ids.into_iter().zip(turns));
        Ok(())
    }
}

/// A group of sessions in which a request may have its turn.
#[derive(Debug, Clone, Copy)]
enum SessionGroup {
    /// Those that the chat names.
    Named,
    /// Those that began with one of the request's roots, by their ordinal among equal chats.
    Derived { roots: usize, ordinal: u32 },
}

/// Keeps the first match. A later one replaces it, and false ends the search, if it is the last turn of its session.
fn keep(found: &mut Option<TurnMatch>, next: Option<TurnMatch>) -> bool {
    match next {
        Some(TurnMatch::Answered(previous)) if !previous.is_last => {
            if found.is_none() {
                *found = Some(TurnMatch::Answered(previous));
            }
            true
        }
        Some(hit) => {
            *found = Some(hit);
            false
        }
        None => true,
    }
}

/// Returns the turn if it is there.
fn present(read: Result<TurnSnapshot, Refusal>) -> Result<Option<TurnSnapshot>, StartError> {
    match read {
        Ok(snapshot) => Ok(Some(snapshot).filter(|snapshot| !snapshot.head.is_deleted)),
        Err(refusal) if is_absence(&refusal) => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}

/// True if the caller has no such turn.
pub(crate) fn is_absence(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::TurnNotFound | Refusal::SessionNotFound)
        || refusal.error().error_code.http_status() == 404
}

/// Returns the id of the turn whose request ends with this mark.
pub(crate) fn turn_id(mark: &Mark) -> Result<TurnId, StartError> {
    TurnId::new(mark.0.chars().take(32).collect::<String>()).map_err(|_| internal().into())
}

/// Returns the id of a session that began, or branched off, with this mark. `ordinal` counts the ids that it may get.
pub(crate) fn session_id(key: &IdKey, mark: &Mark, ordinal: u32) -> Result<SessionId, StartError> {
    let id = key.derive(&[b"chat-session", mark.0.as_bytes(), &ordinal.to_be_bytes()]);
    SessionId::new(id.chars().take(32).collect::<String>()).map_err(|_| internal().into())
}
