//! Contexts, modes and their versions as the API shows them.

use agent::context::{ContextId, ContextKind, Document, Rollout};
use contracts::{
    Fingerprint,
    error::JsonError,
    read::{Context, ContextRollout, ContextVersion, EntityHeader},
};
use serde_json::Value;

use crate::ports::{Authorship, ContextHead, StoredVersion, Unavailable};

/// Digits of the content's hash in an entity tag. Together with the version they identify a content.
const TAG_DIGITS: usize = 16;

/// Returns the entity tag of a context: its version, the beginning of its content's hash, and its rollout. `None` once
/// it is deleted.
pub(crate) fn etag(head: &ContextHead) -> Option<String> {
    let hash = Fingerprint::hash_bytes(head.content.as_ref()?.as_bytes()).to_string();
    let tag = format!("{}-{}", head.version.unwrap_or(0), hash.get(..TAG_DIGITS)?);
    Some(match head.rollout {
        Some(Rollout { version, percent }) => format!("{tag}-{version}-{percent}"),
        None => tag,
    })
}

/// Returns the live content of a context that isn't deleted.
pub(crate) fn document(kind: ContextKind, head: &ContextHead) -> Result<Document, Unavailable> {
    read(kind, head.content.as_deref().unwrap_or_default())
}

/// Returns a context of an org, with its content on request.
pub(crate) fn context(
    id: &ContextId,
    head: &ContextHead,
    with_content: bool,
) -> Result<Context, Unavailable> {
    let document = document(id.kind(), head)?;
    Ok(Context {
        version: head.version,
        etag: etag(head),
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
        content: with_content.then(|| content(document)).transpose()?,
    })
}

/// Returns a version of a context.
pub(crate) fn version(kind: ContextKind, version: &StoredVersion) -> Result<ContextVersion, Unavailable> {
    let document = version.content.as_deref().map(|stored| read(kind, stored)).transpose()?;
    Ok(ContextVersion {
        version: version.number,
        is_deletion: version.hash.is_none(),
        creation_date: version.change.at,
        created_by: author(&version.change),
        restored_version: version.restored,
        content_hash: version.hash,
        content: document.as_ref().map(content).transpose()?,
    })
}

fn author(change: &Authorship) -> Option<EntityHeader> {
    change.by.as_ref().map(EntityHeader::from)
}

fn read(kind: ContextKind, stored: &str) -> Result<Document, Unavailable> {
    Document::from_stored(kind, stored).map_err(|error| unreadable(&error))
}

fn content(document: &Document) -> Result<Value, Unavailable> {
    serde_json::to_value(document).map_err(|error| unreadable(&error))
}

/// A context's prompt is confidential to its org, so the error has the location but never the content (I14).
fn unreadable(error: &serde_json::Error) -> Unavailable {
    Unavailable { what: "a context", source: JsonError::from(error).into() }
}
