//! The chain of marks over the messages of a chat.
//!
//! A mark stands for the messages up to the end of a request: the same messages of the same user have the same mark, however
//! a client spells them. It derives under a key of the deployment, so that no other user can compute it.
//!
//! - Texts count with each run of white space as one blank. Adjacent messages of one role count as one message, so that a
//!   string, parts, and two messages are equal.
//! - Calls count by name and arguments, in order. Their results don't: clients shorten them, and they follow from the calls.
//! - Ids, names, system texts, empty messages, the agent, the model and the tools don't count.

use contracts::{
    Fingerprint,
    request::{ChatContent, ChatMessage, UserMessage},
    text::single_spaced,
};
use runtime::id_key::IdKey;
use serde_json::Value;

/// The version of the canonical form. Marks of another version are unknown.
const VERSION: &[u8] = b"1";

/// A mark: the messages of a user's chat up to the end of a request, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark(pub String);

/// The end of a request within the messages of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEnd {
    /// The number of messages up to there.
    pub messages: usize,
    /// Their mark.
    pub mark: Mark,
}

/// The marks of a chat's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The ends of its requests, oldest first.
    pub requests: Vec<RequestEnd>,
}

impl Chain {
    /// Computes the marks of messages.
    #[must_use]
    pub fn new(key: &IdKey, (org, user): (&str, &str), messages: &[ChatMessage]) -> Self {
        let mut link = key.derive(&[b"mark", VERSION, org.as_bytes(), user.as_bytes()]);
        let (mut run, mut requests): (Run, Vec<RequestEnd>) = (Run::default(), Vec::new());
        for (position, message) in messages.iter().enumerate() {
            let Some(role) = Role::of(message) else { continue };
            if run.role.is_some_and(|current| current != role) {
                link = key.derive(&[link.as_bytes(), &run.to_bytes()]);
                run = Run::default();
            }
            run.role = Some(role);
            run.push(message);
            if role == Role::User {
                let mark = Mark(key.derive(&[link.as_bytes(), &run.to_bytes()]));
                let end = RequestEnd { messages: position.saturating_add(1), mark };
                // The messages of one run are one request.
                match requests.last_mut().filter(|last| last.messages == run.previous) {
                    Some(last) => *last = end,
                    None => requests.push(end),
                }
                run.previous = position.saturating_add(1);
            }
        }
        Self { requests }
    }
}

/// A side of the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Model,
}

impl Role {
    /// Returns the side of a message, if it counts.
    fn of(message: &ChatMessage) -> Option<Self> {
        match message {
            ChatMessage::User(user) if is_empty(user) => None,
            ChatMessage::User(_) => Some(Self::User),
            ChatMessage::Assistant(text) if text.trim().is_empty() => None,
            ChatMessage::Assistant(_) | ChatMessage::Call(_) => Some(Self::Model),
            ChatMessage::System(_) | ChatMessage::Result(_) => None,
        }
    }
}

fn is_empty(user: &UserMessage) -> bool {
    user.text.trim().is_empty() && user.images.is_empty() && user.files.is_empty()
}

/// Adjacent messages of one side.
#[derive(Debug, Default)]
struct Run {
    role: Option<Role>,
    /// The end of the user's previous message in the run. 0 before it.
    previous: usize,
    text: String,
    others: Vec<String>,
}

impl Run {
    fn push(&mut self, message: &ChatMessage) {
        match message {
            ChatMessage::User(UserMessage { text, images, files }) => {
                self.push_text(text);
                let contents = images.iter().chain(files.iter().map(|file| &file.content));
                self.others.extend(contents.map(digest));
            }
            ChatMessage::Assistant(text) => self.push_text(text),
            ChatMessage::Call(call) => {
                self.others.push(format!("{}({})", call.name, canonical_json(&call.arguments)));
            }
            ChatMessage::System(_) | ChatMessage::Result(_) => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        self.text.push(' ');
        self.text.push_str(text);
    }

    /// Returns the run with each of its parts behind its length, so that two runs never have the same bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let role = match self.role {
            Some(Role::User) => "user",
            Some(Role::Model) | None => "model",
        };
        let text = single_spaced(&self.text);
        let parts = [role, text.as_str()].into_iter().chain(self.others.iter().map(String::as_str));
        parts
            .flat_map(|part| [(part.len() as u64).to_be_bytes().as_slice(), part.as_bytes()].concat())
            .collect()
    }
}

/// Returns a JSON text with sorted members and no white space. Another text counts as it is.
pub(crate) fn canonical_json(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => sorted(value).to_string(),
        Err(_) if text.trim().is_empty() => "{}".to_owned(),
        Err(_) => single_spaced(text),
    }
}

/// Sorts the members of objects, which `serde_json` leaves in their order if another crate enables that.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(members.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// Returns the digest of an image or a file. An uploaded one counts by its id, which is unique to the upload.
fn digest(content: &ChatContent) -> String {
    match content {
        ChatContent::Inline(data) => Fingerprint::hash_bytes(data.base64.as_bytes()).to_string(),
        ChatContent::Uploaded(id) => id.clone(),
    }
}

#[cfg(test)]
mod tests {
    use contracts::request::{ChatCall, ChatFile, ChatResult, InlineData};
    use runtime::id_key::IdKeys;

    use super::*;

    fn user(text: &str) -> ChatMessage {
        ChatMessage::User(UserMessage { text: text.to_owned(), ..UserMessage::default() })
    }

    fn assistant(text: &str) -> ChatMessage {
        ChatMessage::Assistant(text.to_owned())
    }

    fn call(id: &str, arguments: &str) -> ChatMessage {
        let (id, arguments) = (id.to_owned(), arguments.to_owned());
        ChatMessage::Call(ChatCall { id, name: "f".to_owned(), arguments })
    }

    fn result(output: &str) -> ChatMessage {
        let (call_id, output) = ("c".to_owned(), output.to_owned());
        ChatMessage::Result(ChatResult { call_id, output, is_error: false })
    }

    fn marks_of(subject: (&str, &str), keys: &str, messages: &[ChatMessage]) -> Vec<(usize, Mark)> {
        let chain = Chain::new(&IdKeys::from_keys(keys).unwrap().current, subject, messages);
        chain.requests.into_iter().map(|end| (end.messages, end.mark)).collect()
    }

    fn last(messages: &[ChatMessage]) -> Mark {
        marks_of(("acme", "ada"), "k", messages).pop().unwrap().1
    }

    #[test]
    fn marks_of_a_prefix_are_the_first_marks() {
        let all =
            [user("a"), call("1", "{}"), result("x"), assistant("b"), user("c"), assistant("d"), user("e")];
        let marks = marks_of(("acme", "ada"), "k", &all);
        assert_eq!(marks.iter().map(|(messages, _)| *messages).collect::<Vec<_>>(), [1, 5, 7]);
        for count in 1..all.len() {
            let prefix = marks_of(("acme", "ada"), "k", &all[..count]);
            assert_eq!(prefix, marks[..prefix.len()], "{count}");
        }
    }

    #[test]
    fn spelling_ids_and_results_do_not_count() {
        let chat =
            [user("a b"), assistant("x"), call("1", r#"{"n":1,"m":{"z":1,"y":2}}"#), result("r"), user("c")];
        let spelled = [
            ChatMessage::System("Be kind.".to_owned()),
            user(" a\n"),
            user("b"),
            call("other", r#"{ "m": {"y": 2, "z": 1}, "n": 1 }"#),
            assistant(""),
            result("shorter"),
            assistant("x "),
            user("c"),
            user(""),
        ];
        assert_eq!(last(&chat), last(&spelled));
    }

    #[test]
    fn content_order_and_sides_count() {
        let file = |base64: &str| {
            let data = InlineData { mime_type: "image/png".to_owned(), base64: base64.to_owned() };
            let content = ChatContent::Inline(data);
            let files = vec![ChatFile { name: "a".to_owned(), content }];
            ChatMessage::User(UserMessage { text: "a".to_owned(), files, ..UserMessage::default() })
        };
        let chats = [
            vec![user("a")],
            vec![user("A")],
            vec![user("ab")],
            vec![file("YQ==")],
            vec![file("Yg==")],
            vec![user("a"), assistant("b"), user("c")],
            vec![user("a"), user("b"), assistant("c"), user("c")],
            vec![user("a"), call("1", "{}"), user("c")],
            vec![user("a"), call("1", r#"{"n":1}"#), user("c")],
            vec![user("a"), call("1", "{}"), call("2", "{}"), user("c")],
            vec![user("a"), assistant("f({})"), user("c")],
        ];
        let mut marks: Vec<Mark> = chats.iter().map(|chat| last(chat)).collect();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), chats.len());
    }

    #[test]
    fn marks_depend_on_org_user_and_key() {
        let mut marks: Vec<_> =
            [("acme", "ada", "k"), ("acme", "bob", "k"), ("rival", "ada", "k"), ("acme", "ada", "l")]
                .into_iter()
                .map(|(org, user_id, key)| marks_of((org, user_id), key, &[user("a")]))
                .collect();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), 4);
    }
}
