//! Agent and conversation contexts. They are read often and written rarely, so they are cached for a minute.

use std::collections::HashMap;

use agent::context::Document;
use aws_sdk_dynamodb::types::AttributeValue;
use contracts::{
    error::JsonError,
    id::{AgentContextId, OrgId},
};
use serde::de::DeserializeOwned;
use turns::ports::Unavailable;

use super::{RESOURCE, Table, read::unreadable};
use crate::{
    failure,
    item::{VERSION, check_version},
    key::{AGENT_PREFIX, CONVERSATION_PREFIX, Item, decode_part, org_index},
};

impl Table {
    pub(super) async fn context<T: DeserializeOwned>(&self, key: Item<'_>) -> Result<Option<T>, Unavailable> {
        let keys = (key.pk(), key.sk());
        let document = match self.context_cache.get(&keys) {
            Some(document) => document,
            None => {
                let Some(item) = self.get(&key).await? else { return Ok(None) };
                check_version(&item).map_err(unreadable)?;
                let document =
                    item.get("Document").and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
                self.context_cache.put(keys, document.clone());
                document
            }
        };
        read(&document).map(Some)
    }

    pub(super) async fn read_agents(
        &self,
        org: &OrgId,
        limit: usize,
    ) -> Result<Vec<AgentContextId>, Unavailable> {
        let items = self.items_of_kind(org, AGENT_PREFIX, Some("SK"), limit).await?;
        let keys = items.iter().filter_map(|item| item.get("SK")?.as_s().ok()?.strip_prefix(AGENT_PREFIX));
        Ok(keys.filter_map(|key| AgentContextId::new(decode_part(key)?).ok()).collect())
    }

    /// Reads at most `limit` contexts of a kind, from as many pages of the table as that takes.
    async fn items_of_kind(
        &self,
        org: &OrgId,
        prefix: &str,
        projection: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HashMap<String, AttributeValue>>, Unavailable> {
        let query = self
            .client
            .query()
            .table_name(&self.name)
            .key_condition_expression("PK = :org AND begins_with(SK, :kind)")
            .expression_attribute_values(":org", AttributeValue::S(org_index(org)))
            .expression_attribute_values(":kind", AttributeValue::S(prefix.to_owned()))
            .set_projection_expression(projection.map(str::to_owned))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        let (mut pages, mut items) = (query.into_paginator().items().send(), Vec::new());
        while items.len() < limit {
            let Some(item) = pages.next().await else { break };
            items.push(item.map_err(|error| failure::unavailable(RESOURCE, error))?);
        }
        Ok(items)
    }

    /// Writes a context of an org. Functions see it within a minute.
    ///
    /// # Errors
    /// Fails if the table can't be reached.
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
            .map_err(|error| failure::unavailable(RESOURCE, error))
    }
}

impl Table {
    /// Returns the contexts of an org, agents first, sorted by id. At most `limit` of each kind.
    ///
    /// # Errors
    /// Fails if the table can't be reached or an item can't be read.
    pub async fn contexts(&self, org: &OrgId, limit: u16) -> Result<Vec<Document>, Unavailable> {
        let mut documents = Vec::new();
        for (prefix, is_agent) in [(AGENT_PREFIX, true), (CONVERSATION_PREFIX, false)] {
            for item in self.items_of_kind(org, prefix, None, limit.into()).await? {
                check_version(&item).map_err(unreadable)?;
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

/// A context's prompt is confidential to its org. The error gives the location but never the content (I14).
fn malformed(error: &serde_json::Error) -> Unavailable {
    Unavailable { what: "a context", source: JsonError::from(error).into() }
}

#[cfg(test)]
mod tests {
    use agent::context::ConversationContext;
    use contracts::error::causes;

    use super::*;

    #[test]
    fn unreadable_context_error_hides_its_content() {
        for document in
            [r#"{"Id":"c","Marker":"marker"}"#, r#"{"Id":{"marker":1}}"#, r#"{"Id":marker"#, "\"marker\""]
        {
            let error = read::<ConversationContext>(document).unwrap_err();
            let message = causes(&error).to_string();
            assert!(
                message.starts_with("a context is unavailable: ") && message.contains(" line 1"),
                "{message}"
            );
            assert!(!format!("{message}{error:?}").to_lowercase().contains("marker"), "{error:?}");
        }
    }
}
