//! Agent and conversation contexts: read often, written rarely, so kept in memory for a minute.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use agent::context::Document;
use aws_sdk_dynamodb::types::AttributeValue;
use contracts::{error::Misread, id::OrgId};
use serde::de::DeserializeOwned;
use turns::ports::Unavailable;

use super::{Table, WHAT, read::unreadable};
use crate::{
    failure,
    item::{VERSION, known_version},
    key::{AGENT_PREFIX, CONVERSATION_PREFIX, Item, org_index},
};

/// How long a context may be out of date.
const LIFE: Duration = Duration::from_secs(60);
/// How many contexts are kept; past that all of them are read anew.
const MOST: usize = 1_000;

/// Contexts that were read lately, by their keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Recent(Arc<Mutex<Documents>>);

/// By partition and sort key: when it was read, and its text.
type Documents = HashMap<(String, String), (Instant, String)>;

impl Recent {
    fn get(&self, key: &(String, String)) -> Option<String> {
        let recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.get(key).filter(|(read, _)| read.elapsed() < LIFE).map(|(_, document)| document.clone())
    }

    fn put(&self, key: (String, String), document: String) {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= MOST {
            recent.clear();
        }
        recent.insert(key, (Instant::now(), document));
    }
}

impl Table {
    pub(super) async fn context<T: DeserializeOwned>(&self, key: Item<'_>) -> Result<Option<T>, Unavailable> {
        let keys = (key.pk(), key.sk());
        let document = match self.recent.get(&keys) {
            Some(document) => document,
            None => {
                let Some(item) = self.get(&key).await? else { return Ok(None) };
                known_version(&item).map_err(unreadable)?;
                let document =
                    item.get("Document").and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
                self.recent.put(keys, document.clone());
                document
            }
        };
        read(&document).map(Some)
    }

    /// Writes a context of an org. Functions see it within a minute.
    ///
    /// # Errors
    /// When the table can't be reached.
    pub async fn put_context(&self, org: &OrgId, document: &Document) -> Result<(), Unavailable> {
        let (key, json) = match document {
            Document::AgentContext(context) => {
                (Item::Agent(org, &context.id), serde_json::to_string(context))
            }
            Document::ConversationContext(context) => {
                (Item::Conversation(org, &context.id), serde_json::to_string(context))
            }
        };
        self.client
            .put_item()
            .table_name(&self.name)
            .item("PK", AttributeValue::S(key.pk()))
            .item("SK", AttributeValue::S(key.sk()))
            .item("V", AttributeValue::N(VERSION.to_string()))
            .item("Document", AttributeValue::S(json.map_err(|error| malformed(&error))?))
            .send()
            .await
            .map(|_| ())
            .map_err(|error| failure::unavailable(WHAT, error))
    }
}

impl Table {
    /// The contexts of an org, agents first, each by its id; at most `most` of each kind.
    ///
    /// # Errors
    /// When the table can't be reached, or what it holds can't be read.
    pub async fn contexts(&self, org: &OrgId, most: u16) -> Result<Vec<Document>, Unavailable> {
        let mut documents = Vec::new();
        for (prefix, is_agent) in [(AGENT_PREFIX, true), (CONVERSATION_PREFIX, false)] {
            let found = self
                .client
                .query()
                .table_name(&self.name)
                .key_condition_expression("PK = :org AND begins_with(SK, :kind)")
                .expression_attribute_values(":org", AttributeValue::S(org_index(org)))
                .expression_attribute_values(":kind", AttributeValue::S(prefix.to_owned()))
                .limit(most.into())
                .send()
                .await
                .map_err(|error| failure::unavailable(WHAT, error))?;
            for item in found.items.unwrap_or_default() {
                known_version(&item).map_err(unreadable)?;
                let document = item.get("Document").and_then(|value| value.as_s().ok());
                let document = document.map(String::as_str).unwrap_or_default();
                documents.push(match is_agent {
                    true => Document::AgentContext(read(document)?),
                    false => Document::ConversationContext(read(document)?),
                });
            }
        }
        Ok(documents)
    }
}

fn read<T: DeserializeOwned>(document: &str) -> Result<T, Unavailable> {
    serde_json::from_str(document).map_err(|error| malformed(&error))
}

/// A context's prompt is nobody's but its org's: where it went wrong is said, and not what stands there (I14).
fn malformed(error: &serde_json::Error) -> Unavailable {
    Unavailable { what: "a context", source: Misread::from(error).into() }
}

#[cfg(test)]
mod tests {
    use agent::context::ConversationContext;
    use contracts::error::causes;

    use super::*;

    #[test]
    fn a_context_that_cannot_be_read_shows_nothing_of_what_it_holds() {
        for document in
            [r#"{"Id":"c","Marker":"marker"}"#, r#"{"Id":{"marker":1}}"#, r#"{"Id":marker"#, "\"marker\""]
        {
            let error = read::<ConversationContext>(document).unwrap_err();
            let told = causes(&error).to_string();
            assert!(told.starts_with("a context is unavailable: ") && told.contains(" line 1"), "{told}");
            assert!(!format!("{told}{error:?}").to_lowercase().contains("marker"), "{error:?}");
        }
    }
}
