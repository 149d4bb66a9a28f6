//! Compares the messages after a request with the replies of a turn.

use agent::outcome::Response;
use contracts::{
    Fingerprint,
    read::StatusReason,
    request::{ChatCall, ChatMessage, UserMessage, UserTurn},
    response::ToolCall,
    text::single_spaced,
};
use turns::flow::TurnSnapshot;

use crate::chain::canonical_json;

/// The part of a turn's replies that a chat holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Replies {
    /// All of them, up to the answer. Holds the number of messages.
    Answered(usize),
    /// Those up to the calls of a suspension with this number. The messages end there.
    Called(u32),
}

/// Compares messages with the replies of a turn, from a suspension on. `None` if they differ.
///
/// Results of calls don't count. A text may have more before the stored one: a stream can't withdraw what it has sent.
pub(crate) fn compare(snapshot: &TurnSnapshot, from: u32, messages: &[ChatMessage]) -> Option<Replies> {
    let mut reader = Reader { messages, position: 0 };
    let mut round = from;
    while let Some(suspension) = snapshot.suspension(round) {
        reader.calls(&suspension.text, &suspension.calls)?;
        reader.skip_results();
        if reader.is_at_end() {
            return Some(Replies::Called(round));
        }
        if let Some(text) = &suspension.message {
            reader.user(text)?;
        }
        round = round.checked_add(1)?;
    }
    let is_answered = snapshot.head.status == StatusReason::Completed && round == snapshot.head.round;
    let answer = snapshot.response.as_ref().filter(|_| is_answered).and_then(Response::answer_text)?;
    is_same_answer(&reader.text(), &answer).then_some(Replies::Answered(reader.position))
}

/// Compares messages with the words of a turn's only reply. Returns the number of messages. `None` if it takes the stored
/// reply to know: a stream can have sent more before it, and replies of another service can precede it.
pub(crate) fn compare_words(answer: Fingerprint, messages: &[ChatMessage]) -> Option<usize> {
    let mut reader = Reader { messages, position: 0 };
    let said = reader.text();
    let is_whole = matches!(messages.get(reader.position), None | Some(ChatMessage::User(_)));
    (is_whole && Fingerprint::hash_words(&said) == answer).then_some(reader.position)
}

/// Returns the replies and results of another service with which a turn without an input of its own began.
#[must_use]
pub fn brought(request: &UserTurn) -> &[ChatMessage] {
    let has_input = request.instruction.is_some()
        || !request.clipboard_images.is_empty()
        || !request.input_artifacts.is_empty();
    let is_user = |message: &ChatMessage| matches!(message, ChatMessage::User(_));
    let last = request.ancestry.rsplit(is_user).next().unwrap_or_default();
    if has_input { &[] } else { last }
}

/// Returns the number of messages after a turn's input that its client brought. `None` if the messages are others.
pub(crate) fn brought_replies(request: &UserTurn, messages: &[ChatMessage]) -> Option<usize> {
    let brought = brought(request);
    let sent = messages.get(..brought.len())?;
    let calls = |messages: &[ChatMessage]| -> Vec<(String, String)> {
        let calls = messages.iter().filter_map(|message| match message {
            ChatMessage::Call(call) => Some((call.name.clone(), canonical_json(&call.arguments))),
            _ => None,
        });
        calls.collect()
    };
    (calls(brought) == calls(sent)).then_some(brought.len())
}

struct Reader<'a> {
    messages: &'a [ChatMessage],
    position: usize,
}

impl Reader<'_> {
    /// Reads a reply that called functions. `None` if it isn't this one.
    fn calls(&mut self, text: &str, calls: &[ToolCall]) -> Option<()> {
        let mut said = String::new();
        let mut expected = calls.iter();
        let mut left = calls.len();
        while left > 0 {
            match self.messages.get(self.position)? {
                ChatMessage::Assistant(text) => said = format!("{said} {text}"),
                ChatMessage::Call(call) => {
                    is_same_call(call, expected.next()?).then_some(())?;
                    left = left.saturating_sub(1);
                }
                ChatMessage::Result(_) | ChatMessage::System(_) => {}
                ChatMessage::User(_) => return None,
            }
            self.position = self.position.saturating_add(1);
        }
        let (said, text) = (single_spaced(&said), single_spaced(text));
        // Some clients drop a text beside calls.
        (said.is_empty() || said.ends_with(&text)).then_some(())
    }

    /// Reads adjacent texts of the model.
    fn text(&mut self) -> String {
        let mut said = String::new();
        while let Some(message) = self.messages.get(self.position) {
            match message {
                ChatMessage::Assistant(text) => said = format!("{said} {text}"),
                ChatMessage::System(_) => {}
                ChatMessage::User(_) | ChatMessage::Call(_) | ChatMessage::Result(_) => break,
            }
            self.position = self.position.saturating_add(1);
        }
        said
    }

    /// Reads the text of the user that came with results. `None` if it is another one.
    fn user(&mut self, text: &str) -> Option<()> {
        let mut said = String::new();
        while let Some(ChatMessage::User(_) | ChatMessage::System(_)) = self.messages.get(self.position) {
            if let Some(ChatMessage::User(UserMessage { text, .. }) | ChatMessage::System(text)) =
                self.messages.get(self.position)
            {
                said = format!("{said} {text}");
            }
            self.position = self.position.saturating_add(1);
        }
        (single_spaced(&said) == single_spaced(text)).then_some(())
    }

    fn skip_results(&mut self) {
        while let Some(ChatMessage::Result(_) | ChatMessage::System(_)) = self.messages.get(self.position) {
            self.position = self.position.saturating_add(1);
        }
    }

    fn is_at_end(&self) -> bool {
        self.position >= self.messages.len()
    }
}

fn is_same_call(sent: &ChatCall, stored: &ToolCall) -> bool {
    sent.name == stored.name && canonical_json(&sent.arguments) == canonical_json(&stored.arguments_json)
}

fn is_same_answer(sent: &str, stored: &str) -> bool {
    let (sent, stored) = (single_spaced(sent), single_spaced(stored));
    sent.is_empty() == stored.is_empty() && sent.ends_with(&stored)
}
