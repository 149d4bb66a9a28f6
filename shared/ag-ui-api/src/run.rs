//! Starts or resumes the turn of a run.

use contracts::{
    ErrorCode,
    id::SessionId,
    request::{ChatMessage, ChatResult, UserMessage},
};
use fronts::MemberError;
use histories::{NewTurn, StartError, TurnRound, Turns, continuation, join};
use protocol::session::IdOrigin;
use turns::{
    flow::{StartConditions, TurnSnapshot},
    refusal::Refusal,
    stream::ResponseStart,
};

use crate::{
    error::{ApiError, no_pending_call},
    id,
    request::{InputMessage, RunInput, StoredRun},
    thread::Thread,
};

/// The turn of a run.
pub enum Run<W> {
    /// It was started or resumed.
    Started {
        /// The turn, and the round that the run shows.
        id: TurnRound,
        /// The start of its response.
        start: ResponseStart<W>,
    },
    /// An earlier try of the run started it. Holds the round that the run shows.
    Existing(TurnRound),
}

/// Starts the turn of a run in its thread, or resumes the one that waits for the results in the run's messages. The
/// stored history counts: of the messages, those after the last reply are new. In a new thread the others come before.
///
/// # Errors
/// If the messages hold nothing new, contradict what is stored, or the service's rules refuse them.
pub async fn start<T: Turns>(turns: &T, input: &RunInput, thread: &Thread) -> Result<Run<T::Work>, ApiError> {
    let runner = Runner { turns, input, session: &thread.session };
    if let Some((turn, _)) = &thread.run {
        let turn = TurnRound::first(thread.session.clone(), turn.clone());
        let snapshot =
            turns.snapshot(&turn).await.map_err(|refusal| fronts::refused::<ApiError>(&refusal))?;
        return if is_input_of(input, &snapshot) {
            Ok(Run::Existing(turn))
        } else {
            Err(fronts::refused(&Refusal::TurnIdConflict))
        };
    }
    let last = if thread.is_known {
        turns.last_turn(&thread.session).await.map_err(StartError::from)?
    } else {
        None
    };
    let Some(last) = last else { return runner.begin().await };
    let last = TurnRound::first(thread.session.clone(), last);
    let new = new_messages(&input.messages);
    let results: Vec<&ChatResult> = new.iter().filter_map(|message| result(message)).collect();
    match results.first() {
        Some(first) => match id::call_of(&last.turn, &first.call_id) {
            Some(_) => runner.resume(&last, new).await,
            None => Err(no_pending_call(&first.call_id)),
        },
        None => runner.follow(&last, new).await,
    }
}

struct Runner<'a, T> {
    turns: &'a T,
    input: &'a RunInput,
    session: &'a SessionId,
}

impl<T: Turns> Runner<'_, T> {
    /// Starts the first turn of a thread.
    async fn begin(&self) -> Result<Run<T::Work>, ApiError> {
        let messages = &self.input.messages;
        let new = new_messages(messages);
        if new.is_empty() {
            return Err(StartError::NothingNew.into());
        }
        let users: Vec<&InputMessage> = new.iter().filter(|message| is_input(message)).collect();
        let is_called = |id: &str| {
            messages
                .iter()
                .any(|message| matches!(&message.message, ChatMessage::Call(call) if call.id == id))
        };
        if let Some(unknown) = new.iter().filter_map(result).find(|result| !is_called(&result.call_id)) {
            return Err(no_pending_call(&unknown.call_id));
        }
        let mut ancestry = Vec::new();
        for message in
            messages.iter().filter(|message| !users.iter().any(|user| std::ptr::eq(*user, *message)))
        {
            ancestry.push(match &message.message {
                ChatMessage::User(user) => ChatMessage::User(self.turns.with_contents(user).await?),
                other => other.clone(),
            });
        }
        self.start(&users, &ancestry, StartConditions::default()).await
    }

    /// Starts the turn after the thread's last one.
    async fn follow(&self, last: &TurnRound, new: &[InputMessage]) -> Result<Run<T::Work>, ApiError> {
        let mut users: Vec<&InputMessage> = new.iter().filter(|message| is_input(message)).collect();
        if users.is_empty() {
            // The client has a part of the last reply, and asks for the rest.
            let mut newest_first = self.input.messages.iter().rev();
            let reply = newest_first.find_map(|message| id::turn_of_message(&message.id));
            return match reply.filter(|reply| reply.session == *self.session && reply.turn == last.turn) {
                Some(reply) => Ok(Run::Existing(reply)),
                None => Err(StartError::NothingNew.into()),
            };
        }
        if users.len() > 1 {
            // A turn without an answer has a part of them. If it has all of them, the user asks again.
            let snapshot = self.turns.snapshot(last).await.map_err(StartError::from)?;
            let stored = StoredRun::of(snapshot.request.options.as_deref()).messages;
            let is_known = |user: &&InputMessage| stored.contains(&user.id);
            users = match users.iter().rposition(is_known).map(|known| known.saturating_add(1)) {
                Some(start) if start < users.len() => users.split_off(start),
                Some(_) => users.into_iter().filter(is_known).collect(),
                None => users,
            };
        }
        let conditions = StartConditions { follows: Some(last.turn.clone()), ..StartConditions::default() };
        self.start(&users, &[], conditions).await
    }

    /// Starts the turn of the run.
    async fn start(
        &self,
        users: &[&InputMessage],
        ancestry: &[ChatMessage],
        conditions: StartConditions,
    ) -> Result<Run<T::Work>, ApiError> {
        let turn = id::turn(&self.turns.id_keys().current, self.session, &self.input.run);
        let turn = turn.ok_or_else(|| ApiError::from(contracts::Error::from(ErrorCode::Internal)))?;
        let ids = TurnRound::first(self.session.clone(), turn);
        let mut message = UserMessage::default();
        for user in users {
            join(
                &mut message,
                match &user.message {
                    ChatMessage::User(user) => self.turns.with_contents(user).await?,
                    ChatMessage::System(text) => UserMessage { text: text.clone(), ..UserMessage::default() },
                    _ => UserMessage::default(),
                },
            );
        }
        let options = self.input.options_for(users);
        let turn = NewTurn {
            agent: self.input.agent.as_deref(),
            instructions: &self.input.instructions,
            options: &options,
            is_streamed: true,
            ancestry,
            message: &message,
        };
        let turn = turn.with_ids(&ids)?;
        let conditions = StartConditions { id_origin: IdOrigin::Derived, ..conditions };
        Ok(existing_if_running(ids, self.turns.start(turn, conditions).await))
    }

    /// Resumes a turn with the results of its calls, and the user's text after them.
    async fn resume(&self, last: &TurnRound, new: &[InputMessage]) -> Result<Run<T::Work>, ApiError> {
        let snapshot = self.turns.snapshot(last).await.map_err(StartError::from)?;
        let results = self.input.messages.iter().filter_map(result);
        let results: Vec<ChatResult> = results
            .filter_map(|result| {
                let call_id = id::call_of(&last.turn, &result.call_id)?.to_owned();
                Some(ChatResult { call_id, ..result.clone() })
            })
            .collect();
        let round = (0..=snapshot.head.round)
            .rev()
            .find(|round| calls(&snapshot, *round).any(|call| has(&results, call)));
        let suspension = round.and_then(|round| Some((round, snapshot.suspension(round)?)));
        let Some((round, suspension)) = suspension else {
            let id = results.first().map(|result| id::call(&last.turn, &result.call_id));
            return Err(no_pending_call(&id.unwrap_or_default()));
        };
        if let Some(missing) = calls(&snapshot, round).find(|call| !has(&results, call)) {
            let message = format!("messages: the call '{}' has no result", id::call(&last.turn, missing));
            return Err(ApiError::new(ErrorCode::ToolResultsMismatch, message));
        }
        let text = text_beside_results(new)?;
        let id = TurnRound { round, ..last.clone() };
        let results: Vec<&ChatResult> = results.iter().collect();
        let continuation = continuation(&id, &suspension.calls, &[], &results, text)?;
        Ok(existing_if_running(id.next(), self.turns.resume(continuation).await))
    }
}

/// Returns the ids of a suspension's calls.
fn calls(snapshot: &TurnSnapshot, round: u32) -> impl Iterator<Item = &str> {
    let calls = snapshot.suspension(round).map(|suspension| suspension.calls.as_slice());
    calls.unwrap_or_default().iter().map(|call| call.tool_call_id.as_str())
}

fn has(results: &[ChatResult], call: &str) -> bool {
    results.iter().any(|result| result.call_id == call)
}

/// Returns the text of the user after results, if there is one.
fn text_beside_results(new: &[InputMessage]) -> Result<Option<String>, ApiError> {
    let mut message = UserMessage::default();
    for new in new {
        match &new.message {
            ChatMessage::User(user) => join(&mut message, user.clone()),
            ChatMessage::System(text) => {
                join(&mut message, UserMessage { text: text.clone(), ..UserMessage::default() });
            }
            ChatMessage::Assistant(_) | ChatMessage::Call(_) | ChatMessage::Result(_) => {}
        }
    }
    if !message.images.is_empty() || !message.files.is_empty() {
        let rule = "files can't accompany results of tools. Send them with the next message";
        return Err(ApiError::member("messages", rule));
    }
    Ok(Some(message.text).filter(|text| !text.trim().is_empty()))
}

fn existing_if_running<W>(id: TurnRound, start: ResponseStart<W>) -> Run<W> {
    match start {
        ResponseStart::Refused(Refusal::TurnInProgress { .. }) => Run::Existing(id),
        start => Run::Started { id, start },
    }
}

/// Returns the messages after the last reply.
fn new_messages(messages: &[InputMessage]) -> &[InputMessage] {
    let is_reply =
        |message: &InputMessage| matches!(message.message, ChatMessage::Assistant(_) | ChatMessage::Call(_));
    let start = messages.iter().rposition(is_reply).map_or(0, |last| last.saturating_add(1));
    messages.get(start..).unwrap_or_default()
}

fn is_input(message: &InputMessage) -> bool {
    matches!(message.message, ChatMessage::User(_) | ChatMessage::System(_))
}

fn result(message: &InputMessage) -> Option<&ChatResult> {
    match &message.message {
        ChatMessage::Result(result) => Some(result),
        _ => None,
    }
}

/// True if a run's last input is that of a stored turn.
fn is_input_of(input: &RunInput, snapshot: &TurnSnapshot) -> bool {
    let stored = StoredRun::of(snapshot.request.options.as_deref());
    let last = input.messages.iter().rfind(|message| matches!(message.message, ChatMessage::User(_)));
    match (stored.messages.last(), last) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(stored), Some(InputMessage { id, message })) => {
            let ChatMessage::User(UserMessage { text, .. }) = message else { return false };
            let instruction = snapshot.request.instruction.as_deref().unwrap_or_default();
            stored == id && instruction.trim_end().ends_with(text.trim_end())
        }
    }
}
