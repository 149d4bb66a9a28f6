//! The documents of an org: agents, conversation contexts, modes and connections with their versions, budgets, and settings.

use std::{future::Future, sync::Arc};

use agent::{
    connection::Connection,
    context::{AgentContext, ContextId, ContextKind, ConversationContext, Rollout},
    mode::Mode,
};
use contracts::{
    Fingerprint, Timestamp,
    error::JsonError,
    id::{AgentContextId, ConnectionId, ConversationContextId, OrgId},
    request::{Budgets, OrgSettings},
};
use protocol::caller::User;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::errors::Unavailable;

/// The id of a document in its org.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DocumentId {
    /// An agent, a conversation context or a mode. It has versions.
    Context(ContextId),
    /// The budgets. They have no versions.
    Budgets,
    /// The settings. They have no versions.
    OrgSettings,
}

impl DocumentId {
    /// Returns the name of such a document in errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Context(_) => "a context",
            Self::Budgets => "the org's budgets",
            Self::OrgSettings => "the org's settings",
        }
    }
}

impl From<ContextId> for DocumentId {
    fn from(id: ContextId) -> Self {
        Self::Context(id)
    }
}

/// A document as it is stored: what turns read, with its version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentHead {
    /// The content as JSON, without `Kind`. `None` once the document is deleted.
    pub content: Option<String>,
    /// The number of the version that is live. `None` if it was written without a version.
    pub version: Option<u32>,
    /// The last change. `None` if it was written without a version. Budgets and settings store none.
    pub change: Option<Authorship>,
    /// The rollout of another version. Every change of the content ends it.
    pub rollout: Option<Rollout>,
}

/// The author and the time of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorship {
    /// The time.
    pub at: Timestamp,
    /// The user. `None` for a change with AWS credentials.
    pub by: Option<User>,
}

/// A version of a context. Written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVersion {
    /// The number, from 1.
    pub number: u32,
    /// The author and the time.
    pub change: Authorship,
    /// The version that this one restored.
    pub restored: Option<u32>,
    /// The hash of the content. `None` for a deletion.
    pub hash: Option<Fingerprint>,
    /// The content as JSON, without `Kind`. `None` for a deletion, and in lists.
    pub content: Option<String>,
}

/// A change of a document: everything or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChange {
    /// The head that must still be stored. `None` if there must be none.
    pub before: Option<DocumentHead>,
    /// The new head.
    pub after: DocumentHead,
    /// The new versions of a context, which must not exist yet.
    pub versions: Vec<StoredVersion>,
}

/// The modes of an org, sorted by key.
pub type OrgModes = Arc<[Arc<Mode>]>;

/// Reads documents. [`Store`](super::Store) writes them.
pub trait Documents: Send + Sync {
    /// Returns the head of a document as it was a minute ago or later, or 10 seconds for budgets. The absence of a
    /// context is never cached, so that a new one works at once.
    fn live_document(
        &self,
        org: &OrgId,
        id: &DocumentId,
    ) -> impl Future<Output = Result<Option<DocumentHead>, Unavailable>> + Send;
    /// Returns the head of a document, deleted or not. Reads consistently.
    fn document(
        &self,
        org: &OrgId,
        id: &DocumentId,
    ) -> impl Future<Output = Result<Option<DocumentHead>, Unavailable>> + Send;
    /// Returns the contexts of a kind after this id that aren't deleted, sorted by id, at most `limit`. Reads
    /// consistently.
    fn contexts(
        &self,
        org: &OrgId,
        kind: ContextKind,
        after: Option<&ContextId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(ContextId, DocumentHead)>, Unavailable>> + Send;
    /// Returns the modes of an org as they were a minute ago or later, at most
    /// [`MAX_MODES`](agent::mode::MAX_MODES).
    fn modes(&self, org: &OrgId) -> impl Future<Output = Result<OrgModes, Unavailable>> + Send;
    /// Returns a version of a context with its content. A version never changes.
    fn context_version(
        &self,
        org: &OrgId,
        id: &ContextId,
        number: u32,
    ) -> impl Future<Output = Result<Option<StoredVersion>, Unavailable>> + Send;
    /// Returns the versions of a context before this number without their contents, newest first, at most `limit`.
    /// Reads consistently.
    fn context_versions(
        &self,
        org: &OrgId,
        id: &ContextId,
        before: Option<u32>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredVersion>, Unavailable>> + Send;
}

/// A context that is live.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveContext<T> {
    /// The content.
    pub content: T,
    /// The rollout of another version, if there is one.
    pub rollout: Option<Rollout>,
}

/// An agent context in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// Its id.
    pub id: AgentContextId,
    /// Its display name.
    pub name: String,
    /// Its purpose.
    pub description: Option<String>,
    /// True if it is deprecated.
    pub is_deprecated: bool,
    /// The conversation context of its sessions whose first turn names none.
    pub default_conversation: Option<ConversationContextId>,
    /// The rollout of another version, if there is one.
    pub rollout: Option<Rollout>,
}

/// Typed reads of documents, as turns need them. Every store of documents has them.
pub trait TypedDocuments: Documents {
    /// Returns an agent context of an org.
    fn agent_context(
        &self,
        org: &OrgId,
        id: &AgentContextId,
    ) -> impl Future<Output = Result<Option<LiveContext<AgentContext>>, Unavailable>> + Send {
        live(self, org, ContextId::Agent(id.clone()))
    }

    /// Returns a conversation context of an org.
    fn conversation_context(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
    ) -> impl Future<Output = Result<Option<LiveContext<ConversationContext>>, Unavailable>> + Send {
        live(self, org, ContextId::Conversation(id.clone()))
    }

    /// Returns a version of an agent context of an org.
    fn agent_version(
        &self,
        org: &OrgId,
        id: &AgentContextId,
        version: u32,
    ) -> impl Future<Output = Result<Option<AgentContext>, Unavailable>> + Send {
        content_of(self, org, ContextId::Agent(id.clone()), version)
    }

    /// Returns a version of a conversation context of an org.
    fn conversation_version(
        &self,
        org: &OrgId,
        id: &ConversationContextId,
        version: u32,
    ) -> impl Future<Output = Result<Option<ConversationContext>, Unavailable>> + Send {
        content_of(self, org, ContextId::Conversation(id.clone()), version)
    }

    /// Returns a connection of an org, with its version.
    fn connection(
        &self,
        org: &OrgId,
        id: &ConnectionId,
    ) -> impl Future<Output = Result<Option<(Connection, u32)>, Unavailable>> + Send {
        async move {
            let id = DocumentId::Context(ContextId::Connection(id.clone()));
            let Some(head) = self.live_document(org, &id).await? else { return Ok(None) };
            let Some(content) = &head.content else { return Ok(None) };
            Ok(Some((parse(&id, content)?, head.version.unwrap_or_default())))
        }
    }

    /// Returns an org's agent contexts after this id, sorted by id, at most `limit`.
    fn agents(
        &self,
        org: &OrgId,
        after: Option<&AgentContextId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<AgentEntry>, Unavailable>> + Send {
        async move {
            let after = after.cloned().map(ContextId::Agent);
            let heads = self.contexts(org, ContextKind::Agent, after.as_ref(), limit).await?;
            heads.into_iter().filter_map(|(id, head)| entry(id, &head).transpose()).collect()
        }
    }

    /// Returns the settings of an org. An org without any has the default.
    fn org_settings(
        &self,
        org: &OrgId,
    ) -> impl Future<Output = Result<Arc<OrgSettings>, Unavailable>> + Send {
        async move {
            let head = self.live_document(org, &DocumentId::OrgSettings).await?;
            single(&DocumentId::OrgSettings, head.as_ref()).map(Arc::new)
        }
    }

    /// Returns the budgets of an org. An org without any has an empty list.
    fn budgets(&self, org: &OrgId) -> impl Future<Output = Result<Budgets, Unavailable>> + Send {
        async move {
            let head = self.live_document(org, &DocumentId::Budgets).await?;
            single(&DocumentId::Budgets, head.as_ref())
        }
    }
}

impl<D: Documents + ?Sized> TypedDocuments for D {}

async fn live<T: DeserializeOwned>(
    store: &(impl Documents + ?Sized),
    org: &OrgId,
    id: ContextId,
) -> Result<Option<LiveContext<T>>, Unavailable> {
    let id = DocumentId::Context(id);
    let Some(head) = store.live_document(org, &id).await? else { return Ok(None) };
    let Some(content) = &head.content else { return Ok(None) };
    Ok(Some(LiveContext { content: parse(&id, content)?, rollout: head.rollout }))
}

async fn content_of<T: DeserializeOwned>(
    store: &(impl Documents + ?Sized),
    org: &OrgId,
    id: ContextId,
    version: u32,
) -> Result<Option<T>, Unavailable> {
    let found = store.context_version(org, &id, version).await?;
    found.and_then(|found| found.content).map(|content| parse(&id.into(), &content)).transpose()
}

/// Returns an agent as lists show it.
fn entry(id: ContextId, head: &DocumentHead) -> Result<Option<AgentEntry>, Unavailable> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Listed {
        name: String,
        description: Option<String>,
        deprecated: Option<IgnoredAny>,
        default_conversation_context_id: Option<ConversationContextId>,
    }
    let ContextId::Agent(agent) = &id else { return Ok(None) };
    let agent = agent.clone();
    let listed: Listed = parse(&id.into(), head.content.as_deref().unwrap_or_default())?;
    Ok(Some(AgentEntry {
        id: agent,
        name: listed.name,
        description: listed.description,
        is_deprecated: listed.deprecated.is_some(),
        default_conversation: listed.default_conversation_context_id,
        rollout: head.rollout,
    }))
}

/// Parses a document of which each org has one. Before the first change it is the default.
pub(crate) fn single<T: DeserializeOwned + Default>(
    id: &DocumentId,
    head: Option<&DocumentHead>,
) -> Result<T, Unavailable> {
    let content = head.and_then(|head| head.content.as_deref());
    content.map_or_else(|| Ok(T::default()), |content| parse(id, content))
}

fn parse<T: DeserializeOwned>(id: &DocumentId, content: &str) -> Result<T, Unavailable> {
    serde_json::from_str(content).map_err(|error| unreadable(id, &error))
}

/// A document is confidential to its org, so the error has the location but never the content (I14).
pub(crate) fn unreadable(id: &DocumentId, error: &serde_json::Error) -> Unavailable {
    Unavailable { what: id.name(), source: JsonError::from(error).into() }
}

#[cfg(test)]
mod tests {
    use contracts::error::causes;

    use super::*;

    #[test]
    fn unreadable_context_error_hides_its_content() {
        let id = ContextKind::Conversation.id("c").unwrap().into();
        for document in
            [r#"{"Id":"c","Marker":"marker"}"#, r#"{"Id":{"marker":1}}"#, r#"{"Id":marker"#, "\"marker\""]
        {
            let error = parse::<ConversationContext>(&id, document).unwrap_err();
            let message = causes(&error).to_string();
            assert!(
                message.starts_with("a context is unavailable: ") && message.contains(" line 1"),
                "{message}"
            );
            assert!(!format!("{message}{error:?}").to_lowercase().contains("marker"), "{error:?}");
        }
    }
}
