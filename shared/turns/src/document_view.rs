//! Documents as the API shows them, with their entity tags.

use agent::context::{ContextId, Document, Rollout};
use contracts::{
    Fingerprint,
    id::OrgId,
    read::{Context, ContextRollout, ContextVersion, EntityHeader},
    request::{Budgets, OrgSettings},
};
use serde::Serialize;
use serde_json::Value;

use crate::ports::{Authorship, DocumentHead, DocumentId, StoredVersion, Unavailable, single, unreadable};

/// Digits of the content's hash in a context's entity tag. Together with the version they identify a content.
const TAG_DIGITS: usize = 16;

/// A document of any kind.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum DocumentView {
    /// An agent, a conversation context or a mode.
    Context(Box<Context>),
    /// The budgets of an org.
    Budgets(Budgets),
    /// The settings of an org.
    OrgSettings(Box<OrgSettings>),
}

impl DocumentView {
    /// Returns the entity tag. `None` for what ships with the service.
    #[must_use]
    pub fn etag(&self) -> Option<&str> {
        match self {
            Self::Context(context) => context.etag.as_deref(),
            Self::Budgets(budgets) => budgets.etag.as_deref(),
            Self::OrgSettings(settings) => settings.etag.as_deref(),
        }
    }
}

/// Returns a document of an org, with its content.
pub(crate) fn view(
    org: &OrgId,
    id: &DocumentId,
    head: Option<&DocumentHead>,
) -> Result<DocumentView, Unavailable> {
    Ok(match id {
        DocumentId::Context(id) => {
            DocumentView::Context(Box::new(context(id, head.unwrap_or(&DocumentHead::default()), true)?))
        }
        DocumentId::Budgets => {
            let mut budgets: Budgets = single(id, head)?;
            budgets.etag = etag(id, head)?;
            DocumentView::Budgets(budgets)
        }
        DocumentId::OrgSettings => DocumentView::OrgSettings(Box::new(OrgSettings {
            org: Some(org.clone()),
            etag: etag(id, head)?,
            ..single(id, head)?
        })),
    })
}

/// Returns the content that is live, as it is compared and hashed. `None` for a context that doesn't exist or is deleted.
/// Budgets and settings always exist, and an earlier version may have stored them with other members.
pub(crate) fn content(id: &DocumentId, head: Option<&DocumentHead>) -> Result<Option<String>, Unavailable> {
    Ok(match id {
        DocumentId::Context(_) => head.and_then(|head| head.content.clone()),
        DocumentId::Budgets => Some(to_json(id, &single::<Budgets>(id, head)?)?),
        DocumentId::OrgSettings => Some(to_json(id, &single::<OrgSettings>(id, head)?)?),
    })
}

/// Returns a content as it is stored.
pub(crate) fn to_json(id: &DocumentId, content: &impl Serialize) -> Result<String, Unavailable> {
    serde_json::to_string(content).map_err(|error| unreadable(id, &error))
}

/// Returns the entity tag of a document: the hash of its content, and for a context its version, the beginning of the
/// hash, and its rollout. `None` for a context that doesn't exist or is deleted.
pub(crate) fn etag(id: &DocumentId, head: Option<&DocumentHead>) -> Result<Option<String>, Unavailable> {
    let Some(content) = content(id, head)? else { return Ok(None) };
    let mut tag = Fingerprint::hash_bytes(content.as_bytes()).to_string();
    if let (DocumentId::Context(_), Some(head)) = (id, head) {
        tag.truncate(TAG_DIGITS);
        tag = format!("{}-{tag}", head.version.unwrap_or(0));
        if let Some(Rollout { version, percent }) = head.rollout {
            tag += &format!("-{version}-{percent}");
        }
    }
    Ok(Some(tag))
}

/// Returns the live content of a context that isn't deleted.
pub(crate) fn parse(id: &ContextId, head: &DocumentHead) -> Result<Document, Unavailable> {
    read(id, head.content.as_deref().unwrap_or_default())
}

/// Returns a context of an org, with its content on request.
pub(crate) fn context(
    id: &ContextId,
    head: &DocumentHead,
    with_content: bool,
) -> Result<Context, Unavailable> {
    let document = parse(id, head)?;
    Ok(Context {
        version: head.version,
        etag: etag(&id.clone().into(), Some(head))?,
        last_updated_date: head.change.as_ref().map(|change| change.at),
        last_updated_by: head.change.as_ref().and_then(author),
        rollout: head.rollout.map(|Rollout { version, percent }| ContextRollout { version, percent }),
        is_built_in: false,
        ..built_in(&document, with_content)?
    })
}

/// Returns a context that ships with the service.
pub(crate) fn built_in(document: &Document, with_content: bool) -> Result<Context, Unavailable> {
    Ok(Context {
        id: document.id().to_owned(),
        name: document.name().to_owned(),
        deprecated: document.deprecated().map(str::to_owned),
        is_built_in: true,
        version: None,
        etag: None,
        last_updated_date: None,
        last_updated_by: None,
        rollout: None,
        content: with_content.then(|| to_value(document)).transpose()?,
    })
}

/// Returns a version of a context.
pub(crate) fn version(id: &ContextId, version: &StoredVersion) -> Result<ContextVersion, Unavailable> {
    let document = version.content.as_deref().map(|stored| read(id, stored)).transpose()?;
    Ok(ContextVersion {
        version: version.number,
        is_deletion: version.hash.is_none(),
        creation_date: version.change.at,
        created_by: author(&version.change),
        restored_version: version.restored,
        content_hash: version.hash,
        content: document.as_ref().map(to_value).transpose()?,
    })
}

fn author(change: &Authorship) -> Option<EntityHeader> {
    change.by.as_ref().map(EntityHeader::from)
}

fn read(id: &ContextId, stored: &str) -> Result<Document, Unavailable> {
    Document::from_stored(id.kind(), stored).map_err(|error| unreadable(&id.clone().into(), &error))
}

fn to_value(document: &Document) -> Result<Value, Unavailable> {
    serde_json::to_value(document).map_err(|error| unreadable(&document.context_id().into(), &error))
}
