//! Starts or resumes the turn of a chat.

use contracts::{
    ErrorCode,
    id::{SessionId, TurnId},
    read::StatusReason,
    request::{ChatMessage, ChatResult, ForkRequest, UserMessage},
};
use protocol::session::IdOrigin;
use turns::{
    flow::{DerivedSession, DerivedTurn, StartConditions, StartRead, TurnHead, TurnSnapshot},
    refusal::Refusal,
    stream::ResponseStart,
};

use crate::{
    chain::{Chain, Mark},
    chat::{Chat, TurnRound},
    error::StartError,
    find::{Called, Finder, MAX_EQUAL, Previous, TurnMatch, is_absence, session_id, turn_id},
    port::Turns,
    turn::{NewTurn, continuation, internal},
};

/// A turn that a chat started or resumed.
pub struct Started<W> {
    /// The turn, and the round that the response belongs to.
    pub id: TurnRound,
    /// The turn before the results, if it was resumed.
    pub resumed: Option<TurnSnapshot>,
    /// The start of its response.
    pub start: ResponseStart<W>,
}

/// The result of looking for the turn of a chat.
#[expect(clippy::large_enum_variant, reason = "a request has one, and most start a turn")]
pub enum Step<W> {
    /// A turn was resumed with the results of its calls.
    Resumed(Box<Started<W>>),
    /// A new turn has to start.
    Next(NextTurn),
}

/// The place and the input of a chat's new turn.
#[derive(Default)]
pub struct NextTurn {
    /// The turn that it follows. None if it begins a session.
    pub previous: Option<TurnRound>,
    /// True if the previous turn is the last of its session.
    pub is_last: bool,
    /// The read of the turn in the session of the previous one, if it is known.
    pub read: Option<Box<StartRead>>,
    /// The sessions that the chat names. Without a previous turn, it starts over in the first one that is free for it.
    pub named: Vec<SessionId>,
    /// A turn of the chat that waits for results in vain: they came with images, which no turn takes in the middle.
    pub superseded: Option<TurnId>,
    /// The messages before the input that no stored turn has.
    pub ancestry: Vec<ChatMessage>,
    /// The input. Empty if the ancestry ends with the results to answer.
    pub message: UserMessage,
}

/// Starts the turn of a chat: after the turn that its history ends with, or else with the history as its ancestry. Results
/// of the calls that a turn waits for resume that turn.
///
/// # Errors
/// If the messages hold nothing new, the service's rules refuse them, or a turn can't be read.
pub async fn start_chat<T: Turns>(turns: &T, chat: &Chat) -> Result<Started<T::Work>, StartError> {
    match resume_chat(turns, chat).await? {
        Step::Resumed(started) => Ok(*started),
        Step::Next(next) => start_next(turns, chat, next).await,
    }
}

/// Starts a turn in a session of its own, whose ancestry is the chat. It resumes and follows no turn.
///
/// # Errors
/// As [`start_next`].
pub async fn start_apart<T: Turns>(turns: &T, chat: &Chat) -> Result<Started<T::Work>, StartError> {
    let start = after_last_reply(&chat.messages, chat.messages.len());
    let (ancestry, message) = new_messages(turns, chat, start, 0).await?;
    start_next(turns, chat, NextTurn { ancestry, message, ..NextTurn::default() }).await
}

/// Starts the next turn of a chat.
///
/// # Errors
/// If the service's rules refuse it, or a turn can't be read.
pub async fn start_next<T: Turns>(
    turns: &T,
    chat: &Chat,
    next: NextTurn,
) -> Result<Started<T::Work>, StartError> {
    let is_first = next.previous.is_none();
    let started = Beginning { turns, chat, next }.begin().await?;
    if is_first || !is_of_another_agent(&started) {
        return Ok(started);
    }
    // The client went over to another agent. Its sessions are its own, so the chat goes on in a new one.
    Box::pin(start_apart(turns, chat)).await
}

/// Resumes the turn that waits for the results in a chat, or finds the place of its next turn.
///
/// # Errors
/// As [`start_chat`].
pub async fn resume_chat<T: Turns>(turns: &T, chat: &Chat) -> Result<Step<T::Work>, StartError> {
    let start = after_last_reply(&chat.messages, chat.messages.len());
    let input = chat.messages.get(start..).unwrap_or_default();
    if !input.iter().any(|message| matches!(message, ChatMessage::Result(_) | ChatMessage::User(_))) {
        return Err(StartError::NothingNew);
    }
    let finder = Finder { turns, chat, start };
    let mut superseded = None;
    let previous = match finder.find().await? {
        None => None,
        Some(TurnMatch::Answered(previous)) => Some(previous),
        Some(TurnMatch::Called(called)) => {
            let (id, replies) = (called.id.clone(), called.replies);
            if let Some(resumed) = resume(turns, chat, start, *called).await? {
                return Ok(Step::Resumed(Box::new(resumed)));
            }
            if has_files(input) {
                superseded = Some(id);
                None
            } else {
                // The turn has ended, or continued with other results. The chat goes on beside it.
                let start = after_last_reply(&chat.messages, replies);
                match (Finder { turns, chat, start }).find().await? {
                    Some(TurnMatch::Answered(previous)) => Some(previous),
                    Some(TurnMatch::Called(_)) | None => None,
                }
            }
        }
    };
    // A turn that isn't stored has a session of its own, which is purged after it.
    let previous = previous.filter(|_| !chat.options.unstored);
    if let Some(id) = unknown_call(&chat.messages, input) {
        return Err(StartError::UnknownCall(id));
    }
    let until = previous.as_ref().map_or(0, |previous| previous.until);
    let (ancestry, message) = new_messages(turns, chat, start, until).await?;
    let is_last = previous.as_ref().is_some_and(|previous| previous.is_last);
    let (previous, read) = previous.map(|Previous { id, read, .. }| (id, read)).unzip();
    let read = read.flatten();
    // A turn that isn't stored has a session of its own.
    let mut named: Vec<SessionId> = superseded.iter().map(|id| id.session.clone()).collect();
    named.extend(finder.named_sessions()?);
    named.retain(|_| !chat.options.unstored);
    let superseded = superseded.map(|id| id.turn);
    Ok(Step::Next(NextTurn { previous, is_last, read, named, superseded, ancestry, message }))
}

/// Returns the id of a result, if the input is results of calls alone that no message holds: there is nothing to answer.
fn unknown_call(messages: &[ChatMessage], input: &[ChatMessage]) -> Option<String> {
    let is_known = |result: &ChatResult| {
        let mut calls = messages.iter().filter_map(|message| match message {
            ChatMessage::Call(call) => Some(&call.id),
            _ => None,
        });
        calls.any(|id| result.call_id.is_empty() || *id == result.call_id)
    };
    let mut unknown = None;
    for message in input {
        match message {
            ChatMessage::Result(result) if !is_known(result) => {
                unknown = unknown.or(Some(result.call_id.clone()));
            }
            ChatMessage::System(_) => {}
            _ => return None,
        }
    }
    unknown
}

/// True if messages of the user have images or files.
fn has_files(messages: &[ChatMessage]) -> bool {
    messages.iter().any(
        |message| matches!(message, ChatMessage::User(user) if !user.images.is_empty() || !user.files.is_empty()),
    )
}

/// Returns the position after the last reply among the first messages.
fn after_last_reply(messages: &[ChatMessage], count: usize) -> usize {
    let is_reply =
        |message: &ChatMessage| matches!(message, ChatMessage::Assistant(_) | ChatMessage::Call(_));
    let first = messages.get(..count).unwrap_or_default();
    first.iter().rposition(is_reply).map_or(0, |last| last.saturating_add(1))
}

/// Resumes a turn with the results of its calls, and the user's text after them. `None` if the turn doesn't wait for them.
async fn resume<T: Turns>(
    turns: &T,
    chat: &Chat,
    start: usize,
    Called { id, snapshot, replies }: Called,
) -> Result<Option<Started<T::Work>>, StartError> {
    let Some(suspension) = snapshot.suspension(id.round) else { return Ok(None) };
    let is_open = matches!(
        snapshot.head.status,
        StatusReason::WaitingForTools | StatusReason::Running | StatusReason::Completed
    );
    let mut texts = Vec::new();
    let input = chat.messages.get(start..).unwrap_or_default();
    // Results carry no files.
    if has_files(input) {
        return Ok(None);
    }
    for message in input {
        match message {
            ChatMessage::User(UserMessage { text, .. }) | ChatMessage::System(text) if !text.is_empty() => {
                texts.push(text.as_str());
            }
            _ => {}
        }
    }
    let is_stored_against_its_wish = chat.options.unstored && !snapshot.head.is_unstored;
    if !is_open && !chat.is_retry || is_stored_against_its_wish {
        return Ok(None);
    }
    let since = chat.messages.get(replies..).unwrap_or_default();
    let (sent, results) = outputs(since, suspension.calls.len());
    let message = (!texts.is_empty()).then(|| texts.join("\n\n"));
    let continuation = continuation(&id, &suspension.calls, &sent, &results, message)?;
    let started = turns.resume(continuation).await;
    Ok((!is_of_another_turn(&started)).then(|| Started {
        id: id.next(),
        resumed: Some(snapshot),
        start: started,
    }))
}

/// Returns the ids of the last calls among the messages of a turn, as the client sends them, and the results that may be
/// theirs.
fn outputs(since: &[ChatMessage], count: usize) -> (Vec<&str>, Vec<&ChatResult>) {
    let (mut sent, mut results) = (Vec::new(), Vec::new());
    for message in since {
        match message {
            ChatMessage::Call(call) => sent.push(call.id.as_str()),
            ChatMessage::Result(result) => results.push(result),
            _ => {}
        }
    }
    sent.drain(..sent.len().saturating_sub(count));
    // Results of earlier rounds name other calls, or come first.
    let unnamed = results.iter().filter(|result| result.call_id.is_empty()).count();
    let mut earlier = unnamed.saturating_sub(count);
    results.retain(|result| {
        let is_earlier = result.call_id.is_empty() && earlier > 0;
        earlier = earlier.saturating_sub(usize::from(is_earlier));
        !is_earlier
    });
    (sent, results)
}

/// True if a start was refused because of what the session holds by now.
fn is_taken<W>(started: &Started<W>) -> bool {
    matches!(
        started.start,
        ResponseStart::Refused(
            Refusal::TurnIdConflict
                | Refusal::SessionIdConflict
                | Refusal::NotLastTurn
                | Refusal::SessionBusy { .. }
        )
    )
}

/// True if a start was refused because the session is another agent's.
fn is_of_another_agent<W>(started: &Started<W>) -> bool {
    let ResponseStart::Refused(refusal) = &started.start else { return false };
    refusal.error().error_code == ErrorCode::SessionContextMismatch
}

/// True if a start was refused because the turn doesn't wait for these results.
fn is_of_another_turn<W>(start: &ResponseStart<W>) -> bool {
    let ResponseStart::Refused(refusal) = start else { return false };
    !matches!(
        refusal,
        Refusal::Unavailable(_)
            | Refusal::Contended
            | Refusal::TurnInProgress { .. }
            | Refusal::SessionBusy { .. }
    ) && matches!(refusal.error().error_code.http_status(), 400 | 403 | 404 | 409 | 422)
}

/// Returns the messages that no stored turn has: the ancestry of the new turn, and its input.
async fn new_messages<T: Turns>(
    turns: &T,
    chat: &Chat,
    start: usize,
    until: usize,
) -> Result<(Vec<ChatMessage>, UserMessage), StartError> {
    let (mut ancestry, mut input) = (Vec::new(), UserMessage::default());
    for (position, message) in chat.messages.iter().enumerate().skip(until) {
        let is_input = position >= start;
        match message {
            ChatMessage::User(user) => {
                let user = turns.with_contents(user).await?;
                if is_input {
                    join(&mut input, user);
                } else {
                    ancestry.push(ChatMessage::User(user));
                }
            }
            ChatMessage::System(text) if is_input => {
                join(&mut input, UserMessage { text: text.clone(), ..UserMessage::default() });
            }
            other => ancestry.push(other.clone()),
        }
    }
    Ok((ancestry, input))
}

/// Adds a message to an input.
pub fn join(input: &mut UserMessage, UserMessage { text, images, files }: UserMessage) {
    let gap = if input.text.is_empty() || text.is_empty() { "" } else { "\n\n" };
    input.text = format!("{}{gap}{text}", input.text);
    input.images.extend(images);
    input.files.extend(files);
}

/// A new turn of a chat.
struct Beginning<'a, T> {
    turns: &'a T,
    chat: &'a Chat,
    next: NextTurn,
}

impl<T: Turns> Beginning<'_, T> {
    /// Starts the turn after the previous one, in a fork of its session, or in a new session.
    async fn begin(&self) -> Result<Started<T::Work>, StartError> {
        let caller = self.turns.caller();
        let subject = (caller.org.as_str(), caller.user.id.as_str());
        let marks = self.turns.id_keys().iter().map(|key| {
            let last = Chain::new(key, subject, &self.chat.messages).requests.pop();
            // Messages without any of the user begin with the model's.
            (key, last.map_or_else(|| Mark(key.derive(&[b"no-user"])), |end| end.mark))
        });
        let marks: Vec<_> = marks.collect();
        if self.chat.is_retry
            && let Some(found) = self.first_try(&marks).await?
        {
            let conditions = StartConditions { id_origin: IdOrigin::Derived, ..StartConditions::default() };
            return self.run(found, conditions).await;
        }
        let (key, mark) = marks.first().ok_or_else(internal)?;
        let turn = turn_id(mark)?;
        let is_new = !self.chat.is_retry;
        let conditions =
            StartConditions { is_new, id_origin: IdOrigin::Derived, ..StartConditions::default() };
        if let Some(previous) = self.next.previous.as_ref().filter(|_| self.next.is_last) {
            let here = TurnRound::first(previous.session.clone(), turn.clone());
            let follows = Some(previous.turn.clone());
            let follows = StartConditions { follows, read: self.next.read.clone(), ..conditions.clone() };
            let started = self.run(here, follows).await?;
            if !is_taken(&started) {
                return Ok(started);
            }
        }
        if self.next.previous.is_none()
            && let Some(started) = self.start_over(&turn, &conditions).await?
        {
            return Ok(started);
        }
        if let Some(started) = self.begin_in(session_id(key, mark, 0)?, &turn, &conditions).await? {
            return Ok(started);
        }
        // Equal chats have the ids before.
        let later = (1..MAX_EQUAL).map(|ordinal| session_id(key, mark, ordinal));
        let ids = later.map(|session| Ok(TurnRound::first(session?, turn.clone())));
        let ids = ids.collect::<Result<Vec<_>, StartError>>()?;
        let states = self.turns.derived_all(&ids).await?;
        for (id, found) in ids.into_iter().zip(states) {
            if found.state == DerivedSession::Free
                && let Some(started) = self.begin_in(id.session, &turn, &conditions).await?
            {
                return Ok(started);
            }
        }
        let session = SessionId::new(self.turns.random()).map_err(|_| internal())?;
        let started = self.begin_in(session, &turn, &conditions).await?;
        started.ok_or_else(|| internal().into())
    }

    /// Starts the turn in a session that the chat names, although nothing of the chat is known: its client replaced the
    /// messages, for example by a summary. `None` if no session is free for it.
    async fn start_over(
        &self,
        turn: &TurnId,
        conditions: &StartConditions,
    ) -> Result<Option<Started<T::Work>>, StartError> {
        for session in &self.next.named {
            let last = match self.turns.last_turn(session).await {
                Ok(last) => last,
                Err(refusal) if is_absence(&refusal) => continue,
                Err(refusal) => return Err(refusal.into()),
            };
            let id = TurnRound::first(session.clone(), turn.clone());
            let Some(last) = last else {
                // A session that an id names was there once, and is left alone.
                let is_new = self.chat.hints.iter().all(|hint| hint.turn.session != *session);
                match if is_new { self.begin_in(session.clone(), turn, conditions).await? } else { None } {
                    None => continue,
                    started => return Ok(started),
                }
            };
            let head = self.turns.head(&TurnRound::first(session.clone(), last.clone())).await?;
            let rests = |head: &TurnHead| match head.status {
                StatusReason::Running => false,
                StatusReason::WaitingForTools | StatusReason::WaitingForApproval => {
                    self.next.superseded.as_ref() == Some(&last)
                }
                _ => true,
            };
            if !head.is_some_and(|head| rests(&head) && !head.is_deleted && !head.is_unstored) {
                continue;
            }
            let over = StartConditions { follows: Some(last), starts_over: true, ..conditions.clone() };
            let started = self.run(id, over).await?;
            if !is_taken(&started) && !is_of_another_agent(&started) {
                return Ok(Some(started));
            }
        }
        Ok(None)
    }

    /// Starts the turn in a new session. `None` if the ids are in use.
    async fn begin_in(
        &self,
        session: SessionId,
        turn: &TurnId,
        conditions: &StartConditions,
    ) -> Result<Option<Started<T::Work>>, StartError> {
        let ids = TurnRound::first(session.clone(), turn.clone());
        if let Some(previous) = &self.next.previous {
            // An invalid input leaves no session behind.
            self.new_turn().with_ids(&ids)?;
            let fork = ForkRequest::new(session, previous.turn.clone());
            match self.turns.fork(&previous.session, &fork).await {
                Ok(()) => {}
                Err(Refusal::SessionIdConflict) => return Ok(None),
                Err(refusal) => return Err(refusal.into()),
            }
        }
        let started = self.run(ids, conditions.clone()).await?;
        let is_in_use = matches!(
            started.start,
            ResponseStart::Refused(Refusal::TurnIdConflict | Refusal::SessionIdConflict)
        );
        Ok((!is_in_use).then_some(started))
    }

    /// Finds the turn that an earlier try of the request started.
    async fn first_try(
        &self,
        marks: &[(&runtime::id_key::IdKey, Mark)],
    ) -> Result<Option<TurnRound>, StartError> {
        let previous = self.next.previous.iter().map(|previous| &previous.session);
        for session in previous.chain(&self.next.named) {
            for (_, mark) in marks {
                let here = TurnRound::first(session.clone(), turn_id(mark)?);
                if let DerivedSession::Own(Some(_)) = self.turns.derived(&here).await? {
                    return Ok(Some(here));
                }
            }
        }
        let mut ids = Vec::new();
        for ordinal in 0..MAX_EQUAL {
            // The ids of a new session derive from one key.
            for (key, mark) in marks {
                ids.push(TurnRound::first(session_id(key, mark, ordinal)?, turn_id(mark)?));
            }
        }
        let found = self.turns.derived_all(&ids).await?;
        // A free ordinal ends those in use.
        let in_use = found
            .chunks(marks.len().max(1))
            .take_while(|turns| turns.iter().any(|turn| turn.state != DerivedSession::Free))
            .flatten();
        let is_own = |turn: &DerivedTurn| matches!(turn.state, DerivedSession::Own(Some(_)));
        Ok(ids.into_iter().zip(in_use).filter(|(_, turn)| is_own(turn)).last().map(|(id, _)| id))
    }

    async fn run(&self, id: TurnRound, conditions: StartConditions) -> Result<Started<T::Work>, StartError> {
        let turn = self.new_turn().with_ids(&id)?;
        let start = self.turns.start(turn, conditions).await;
        Ok(Started { id, resumed: None, start })
    }

    fn new_turn(&self) -> NewTurn<'_> {
        let Chat { agent, instructions, options, is_streamed, .. } = self.chat;
        let NextTurn { ancestry, message, .. } = &self.next;
        let (agent, is_streamed) = (agent.as_deref(), *is_streamed);
        NewTurn { agent, instructions, options, is_streamed, ancestry, message }
    }
}
