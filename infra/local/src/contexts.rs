//! Manages agent contexts, conversation contexts and modes in the table of a local cloud or of a deployment: lists, reads, validates and
//! writes them.

use std::{path::Path, sync::Arc};

use agent::{
    context::{self, ContextKind, Rules},
    mode::{Catalog, Mode},
    model::providers::DeclaredProvider,
    tool,
};
use contracts::id::{BUILT_IN_CONTEXT, OrgId};
use turns::{
    flow::{import_context, remove_context},
    ports::{Documents, Unavailable},
    refusal::Refusal,
    system::System,
};

use crate::{json_file, stores::Stores};

/// Contexts of one kind listed, at most.
const MAX_LISTED: usize = 500;

/// A failure to read or write contexts. Each message says how to fix it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file can't be read.
    #[error(transparent)]
    File(#[from] json_file::Error),
    /// The org's name is invalid.
    #[error("--org {0}")]
    Org(contracts::id::InvalidId),
    /// No context of the org has this id.
    #[error("{org} has no context {id:?}. List them with `aptix contexts list`.")]
    Unknown {
        /// The org.
        org: String,
        /// The id.
        id: String,
    },
    /// The file's contexts, or the built-in modes or tools, are invalid. Holds every error.
    #[error("Nothing was written. Fix these errors:\n{0}")]
    Faults(String),
    /// The table does not respond.
    #[error("Can't reach {place}")]
    Table {
        /// The deployment.
        place: String,
        /// The cause.
        #[source]
        source: Unavailable,
    },
    /// A context can't be written.
    #[error("Can't write to {place}")]
    Write {
        /// The deployment.
        place: String,
        /// The cause.
        #[source]
        source: Refusal,
    },
}

/// Validates the contexts of a file and writes them for an org. Returns a summary of what was written.
///
/// # Errors
/// Fails if the file is invalid, in which case nothing is written, or if the table does not respond.
pub async fn put(stores: &Stores, org: &str, file: &Path) -> Result<String, Error> {
    let text = json_file::read_text(file)?;
    let org = OrgId::new(org).map_err(Error::Org)?;
    let unavailable = |source: Unavailable| Error::Table { place: stores.place.clone(), source };
    let modes = stores.table.modes(&org).await.map_err(unavailable)?;
    let providers = stores.providers().await.map_err(unavailable)?;
    let documents = parse(&text, &providers, &modes)?;
    let mut written = Vec::with_capacity(documents.len());
    for document in &documents {
        let unavailable = |source| Error::Write { place: stores.place.clone(), source };
        import_context(&stores.table, &System::new(), &org, document).await.map_err(unavailable)?;
        written.push(format!("{} {}", document.kind(), document.id()));
    }
    Ok(format!("Saved for {}: {}", org.as_str(), written.join(", ")))
}

/// Returns a context without `Kind` as it is stored, with the defaults of what it leaves out. `None` if it isn't valid.
#[must_use]
pub fn with_defaults(kind: &str, content: &serde_json::Value) -> Option<serde_json::Value> {
    let kind = match kind {
        "agent" => ContextKind::Agent,
        "conversation" => ContextKind::Conversation,
        "connection" => ContextKind::Connection,
        _ => ContextKind::Mode,
    };
    let document = context::Document::from_stored(kind, &content.to_string()).ok()?;
    serde_json::from_str(&document.to_stored().ok()?).ok()
}

/// Deletes the contexts of an org with this id. Returns a summary of what was deleted.
///
/// # Errors
/// Fails if the org has no context with this id, or if the table does not respond.
pub async fn delete(stores: &Stores, org: &str, id: &str) -> Result<String, Error> {
    let mut found = all(stores, org).await?;
    found.retain(|document| document.id() == id);
    if found.is_empty() {
        return Err(Error::Unknown { org: org.to_owned(), id: id.to_owned() });
    }
    let org = OrgId::new(org).map_err(Error::Org)?;
    let mut deleted = Vec::with_capacity(found.len());
    for document in &found {
        let unavailable = |source| Error::Write { place: stores.place.clone(), source };
        remove_context(&stores.table, &System::new(), &org, document.context_id())
            .await
            .map_err(unavailable)?;
        deleted.push(format!("{} {}", document.kind(), document.id()));
    }
    Ok(format!("Deleted for {}: {}", org.as_str(), deleted.join(", ")))
}

/// Returns the JSON Schema of the input of `put`.
#[must_use]
pub fn schema() -> String {
    format!("{:#}", context::schema())
}

/// Lists the contexts of an org, one line each with kind, id and name.
///
/// # Errors
/// Fails if the table does not respond.
pub async fn list(stores: &Stores, org: &str) -> Result<String, Error> {
    let lines = all(stores, org).await?.into_iter().map(|document| {
        let (kind, id, name) = (document.kind(), document.id(), document.name());
        format!("{kind:<12}  {id:<24}  {name}\n")
    });
    Ok(lines.collect())
}

/// Returns the contexts of an org with this id as JSON, in the format of `put`. There is at most one of each kind. Every
/// org has the built-in contexts: `default`, and the built-in agents that it has not replaced.
///
/// # Errors
/// Fails if no context has this id, or if the table does not respond.
pub async fn get(stores: &Stores, org: &str, id: &str) -> Result<String, Error> {
    let mut found = all(stores, org).await?;
    found.retain(|document| document.id() == id);
    let built_in = context::defaults().map_err(|faults| Error::Faults(faults.to_string()))?;
    if id == BUILT_IN_CONTEXT {
        found = vec![
            context::Document::AgentContext(built_in.agent),
            context::Document::ConversationContext(built_in.conversation),
        ];
    } else if !found.iter().any(|document| matches!(document, context::Document::AgentContext(_))) {
        let mut named = built_in.named_agents.into_iter();
        found.extend(named.find(|agent| agent.id.as_str() == id).map(context::Document::AgentContext));
    }
    if found.is_empty() {
        return Err(Error::Unknown { org: org.to_owned(), id: id.to_owned() });
    }
    serde_json::to_string_pretty(&found).map_err(|error| Error::Faults(error.to_string()))
}

pub(crate) async fn all(stores: &Stores, org: &str) -> Result<Vec<context::Document>, Error> {
    let org = OrgId::new(org).map_err(Error::Org)?;
    let unavailable = |source| Error::Table { place: stores.place.clone(), source };
    let mut documents = Vec::new();
    for kind in ContextKind::ALL {
        let found = stores.table.contexts(&org, kind, None, MAX_LISTED).await.map_err(unavailable)?;
        for (id, head) in found {
            let document = context::Document::from_stored(id.kind(), &head.content.unwrap_or_default());
            documents.push(document.map_err(|error| {
                unavailable(Unavailable {
                    what: "a context",
                    source: contracts::error::JsonError::from(&error).into(),
                })
            })?);
        }
    }
    Ok(documents)
}

fn parse(
    text: &str,
    providers: &[DeclaredProvider],
    modes: &[Arc<Mode>],
) -> Result<Vec<context::Document>, Error> {
    let faults = |faults: &dyn std::fmt::Display| Error::Faults(faults.to_string());
    let tools = tool::Registry::new(tool::built_in()).map_err(|found| faults(&found))?;
    let names: Vec<&str> = tools.names().collect();
    let catalog = Catalog::seed(&names).map_err(|found| faults(&found))?.with_modes(modes);
    let rules = Rules { catalog: &catalog, server_tools: names, providers: providers.to_vec() };
    rules.parse_file(text).map_err(|found| faults(&found))
}
