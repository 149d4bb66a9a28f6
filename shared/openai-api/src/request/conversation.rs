//! Bodies of conversations, and their items that no response has brought yet: names in the store of uploads, and form.
//!
//! A response of the conversation takes the items over: they precede its input, and are removed once its turn has started.

use contracts::id::SessionId;
use serde_json::{Map, Value, json};

use super::{check_metadata, json_body, members::Members};
use crate::{error::ApiError, id};

/// The most items that a conversation has besides those of its responses. A listing of the store has at most 1,000 names.
pub const MAX_ITEMS: usize = 900;
/// The most items of one request, as at OpenAI.
const MAX_ITEMS_OF_REQUEST: usize = 20;
/// The longest id of an item that is kept.
const MAX_ID_CHARS: usize = 128;
/// Separates the parts of a name. No id of a session contains it.
const SEPARATOR: char = '!';

/// The first part of the names of all conversations.
const CONVERSATION_PREFIX: &str = "conv!";

/// A body that creates or changes a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationBody {
    /// The items to add.
    pub items: Vec<Value>,
    /// The metadata, if it is given.
    pub metadata: Option<Value>,
}

impl ConversationBody {
    /// Parses a body with these members, which may be absent.
    ///
    /// # Errors
    /// Returns the first member that is invalid or unknown.
    pub fn parse(body: &[u8], known: &[&str]) -> Result<Self, ApiError> {
        if body.is_empty() {
            return Ok(Self { items: Vec::new(), metadata: None });
        }
        let value = json_body(body)?;
        let members = Members::read(&value, "", known)?;
        check_metadata(&members)?;
        let items = members.list("items")?;
        if items.len() > MAX_ITEMS_OF_REQUEST {
            return Err(members.rule("items", "must hold at most 20 items"));
        }
        for (n, item) in items.iter().enumerate() {
            let is_item = item.get("type").or_else(|| item.get("role")).is_some_and(Value::is_string);
            if !is_item {
                return Err(ApiError::value(&format!("items[{n}]"), "must be an item with a type or a role"));
            }
        }
        Ok(Self { items: items.to_vec(), metadata: members.get("metadata").cloned() })
    }
}

/// Returns a conversation as an object. `created` is in seconds.
#[must_use]
pub fn conversation_object(session: &SessionId, created: u64, metadata: &Value) -> Value {
    json!({
        "id": id::conversation(session), "object": "conversation", "created_at": created, "metadata": metadata,
    })
}

/// Returns an item with an id, and with its content as parts. `nonce` makes a new id unique.
#[must_use]
pub fn with_id(item: &Value, nonce: &str) -> (String, Value) {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
    let is_valid = |id: &&str| {
        let is_plain = id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        is_plain && (1..=MAX_ID_CHARS).contains(&id.len())
    };
    let prefix = match kind {
        "message" => "msg",
        "function_call" => "fc",
        "function_call_output" => "fco",
        "custom_tool_call" => "ctc",
        "custom_tool_call_output" => "ctco",
        "reasoning" => "rs",
        _ => "item",
    };
    let own = item.get("id").and_then(Value::as_str).filter(is_valid).map(str::to_owned);
    let id = own.unwrap_or_else(|| format!("{prefix}_{nonce}"));
    let mut members: Map<String, Value> = item.as_object().cloned().unwrap_or_default();
    members.insert("id".to_owned(), json!(id));
    members.insert("type".to_owned(), json!(kind));
    if kind == "message" {
        members.entry("status").or_insert(json!("completed"));
        let is_answer = members.get("role").is_some_and(|role| role == "assistant");
        if let Some(text) = members.get("content").and_then(Value::as_str).map(str::to_owned) {
            let part = match is_answer {
                true => json!({"type": "output_text", "text": text, "annotations": []}),
                false => json!({"type": "input_text", "text": text}),
            };
            members.insert("content".to_owned(), json!([part]));
        }
    }
    (id, Value::Object(members))
}

/// Returns stored items as the start of an input. They belong to no response any more, so they have no ids of one.
#[must_use]
pub fn as_input(items: Vec<Value>) -> Vec<Value> {
    let mut calls: Vec<Value> = Vec::new();
    let mut anonymous = |mut item: Value| {
        if let Value::Object(members) = &mut item {
            members.remove("id");
            if let Some(call) = members.get("call_id").cloned() {
                let known = calls.iter().position(|known| *known == call);
                let number = known.unwrap_or(calls.len());
                if known.is_none() {
                    calls.push(call);
                }
                members.insert("call_id".to_owned(), json!(format!("call_{number}")));
            }
        }
        item
    };
    items.into_iter().map(&mut anonymous).collect()
}

/// The names under which a conversation is stored, besides its session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredConversation {
    /// The name of the metadata, unless it has none.
    pub metadata: Option<String>,
    /// The names of earlier metadata, which a change left behind.
    pub stale: Vec<String>,
    /// The items, oldest first.
    pub items: Vec<StoredItem>,
}

/// The name of a stored item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// The name.
    pub name: String,
    /// The item's id.
    pub id: String,
}

impl StoredConversation {
    /// Returns the prefix of the names of a conversation.
    #[must_use]
    pub fn prefix(session: &SessionId) -> String {
        format!("{CONVERSATION_PREFIX}{}{SEPARATOR}", session.as_str())
    }

    /// Returns the name of an item. Items are listed by `order`, in microseconds.
    #[must_use]
    pub fn item(session: &SessionId, order: u64, id: &str) -> String {
        format!("{}i{SEPARATOR}{order:016x}{SEPARATOR}{id}", Self::prefix(session))
    }

    /// Returns the name of metadata that was written at this time, in microseconds.
    #[must_use]
    pub fn metadata(session: &SessionId, order: u64) -> String {
        format!("{}m{SEPARATOR}{order:016x}", Self::prefix(session))
    }

    /// Reads the names of a conversation.
    #[must_use]
    pub fn read(session: &SessionId, names: impl IntoIterator<Item = String>) -> Self {
        let prefix = Self::prefix(session);
        let mut names: Vec<String> = names.into_iter().filter(|name| name.starts_with(&prefix)).collect();
        names.sort_unstable();
        let mut found = Self::default();
        for name in names {
            let mut parts = name.get(prefix.len()..).unwrap_or_default().splitn(3, SEPARATOR);
            match (parts.next(), parts.next(), parts.next()) {
                (Some("i"), Some(_), Some(id)) => {
                    let id = id.to_owned();
                    found.items.push(StoredItem { name, id });
                }
                (Some("m"), Some(_), None) => found.stale.extend(found.metadata.replace(name)),
                _ => {}
            }
        }
        found
    }

    /// True if nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.metadata.is_none() && self.items.is_empty()
    }

    /// Returns every name.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.items.iter().map(|item| &item.name).chain(&self.stale).chain(&self.metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_list_items_in_order_and_the_newest_metadata() {
        let session = SessionId::new("s").unwrap();
        let other = StoredConversation::item(&SessionId::new("s.x").unwrap(), 1, "msg_x");
        let names = [
            StoredConversation::item(&session, 20, "msg_b"),
            StoredConversation::metadata(&session, 9),
            StoredConversation::item(&session, 3, "msg_a"),
            StoredConversation::metadata(&session, 10),
            other,
        ];
        let found = StoredConversation::read(&session, names);
        let ids: Vec<&str> = found.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["msg_a", "msg_b"]);
        assert_eq!(found.metadata, Some(StoredConversation::metadata(&session, 10)));
        assert_eq!((found.stale.len(), found.names().count()), (1, 4));
    }

    #[test]
    fn items_get_ids_and_parts_and_lose_them_as_input() {
        let (id, item) = with_id(&json!({"role": "user", "content": "Hi"}), "n1");
        assert_eq!((id.as_str(), &item["content"][0]["type"]), ("msg_n1", &json!("input_text")));
        assert_eq!(with_id(&item, "n2").0, "msg_n1", "an id stays");
        let call =
            json!({"type": "function_call", "id": "fc_1", "call_id": "fc_x", "name": "f", "arguments": "{}"});
        let output = json!({"type": "function_call_output", "call_id": "fc_x", "output": "1"});
        let input = as_input(vec![item, call, output]);
        assert_eq!((&input[0].get("id"), &input[1]["call_id"]), (&None, &json!("call_0")));
        assert_eq!(input[2]["call_id"], input[1]["call_id"]);
    }

    #[test]
    fn invalid_bodies_are_refused_by_name() {
        let parse =
            |body: Value| ConversationBody::parse(body.to_string().as_bytes(), &["items", "metadata"]);
        for (body, param) in [
            (json!({"items": 5}), "items"),
            (json!({"items": [5]}), "items[0]"),
            (json!({"metadata": {"a": 1}}), "metadata"),
            (json!({"banana": 1}), "banana"),
        ] {
            assert_eq!(parse(body).unwrap_err().param.as_deref(), Some(param));
        }
        assert_eq!(ConversationBody::parse(b"", &[]).unwrap().items, Vec::<Value>::new());
    }
}
