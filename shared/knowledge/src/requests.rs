//! The flows of requests: an upload, lists and reads, and a deletion.

use agent::retrieval::key;
use bytes::Bytes;
use contracts::{
    Error, ErrorCode, Fingerprint, Timestamp,
    id::AgentContextId,
    knowledge::KnowledgeDocument,
    read::ListResponse,
    request::{KnowledgeAttribute, RelativePath, limits::MAX_KNOWLEDGE_DOCUMENTS},
};
use protocol::Caller;
use turns::{flow::require_context_editor, refusal::Refusal};

use crate::{
    ports::{Announcements, Contents, Message, Records},
    record::{Document, DocumentId, Record, State},
    update::{Change, update},
};

/// The request's name of the workspace, which is no attribute either.
const WORKSPACE_ID: &str = "WorkspaceId";

/// A document to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The name.
    pub name: RelativePath,
    /// The content.
    pub content: Bytes,
    /// The attributes.
    pub attributes: Vec<KnowledgeAttribute>,
    /// The agents whose turns may have the document. Empty: every agent of the org.
    pub agents: Vec<AgentContextId>,
}

/// The stores that a change of a document needs.
#[derive(Debug)]
pub struct Stores<'a, R, C, A> {
    /// The table.
    pub records: &'a R,
    /// The objects.
    pub contents: &'a C,
    /// The queue. `None` if the deployment indexes no documents.
    pub announcements: Option<&'a A>,
}

// Derived implementations would ask the adapters for theirs.
impl<R, C, A> Clone for Stores<'_, R, C, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, C, A> Copy for Stores<'_, R, C, A> {}

/// Stores a document, and announces it to the indexer. The same document again changes nothing.
///
/// The record is written first. A content without a record would stay for ever, while a record without its content is
/// shown as pending and then as failed.
///
/// # Errors
/// If the caller may not edit contexts, an attribute's name is a documented key, or the org has too many documents.
pub async fn upload(
    stores: Stores<'_, impl Records, impl Contents, impl Announcements>,
    caller: &Caller,
    upload: Upload,
    now: Timestamp,
) -> Result<KnowledgeDocument, Refusal> {
    require_context_editor(caller)?;
    check_attributes(&upload.attributes)?;
    store(stores, caller, upload, now).await
}

/// Stores a document of a caller who may edit contexts, with attributes of any name.
pub(crate) async fn store(
    stores: Stores<'_, impl Records, impl Contents, impl Announcements>,
    caller: &Caller,
    upload: Upload,
    now: Timestamp,
) -> Result<KnowledgeDocument, Refusal> {
    let announcements = stores.announcements.ok_or_else(not_configured)?;
    let Upload { name, content, attributes, agents } = upload;
    let (org, id) = (&caller.org, DocumentId::of_name(&name));
    let bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let document = Document { name, bytes, sha256: Fingerprint::hash_bytes(&content), attributes, agents };
    if stores.records.record(org, &id).await?.is_none() {
        let others = stores.records.records(org, None, MAX_KNOWLEDGE_DOCUMENTS).await?;
        if others.len() >= MAX_KNOWLEDGE_DOCUMENTS {
            return Err(full());
        }
    }
    let upload = uuid::Uuid::new_v4().simple().to_string();
    let (record, is_new) = update(stores.records, org, &id, |before| {
        if let Some(before) = before
            && before.document == document
            && matches!(before.state, State::Ready { .. })
        {
            return Ok::<_, Refusal>(Change::Nothing((before.clone(), false)));
        }
        let by = caller.user.clone();
        let record = Record::uploaded(document.clone(), upload.clone(), by, now, before);
        Ok(Change::Put(Box::new(record.clone()), (record, true)))
    })
    .await?;
    if is_new {
        if !stores.contents.put_content(org, &id, &upload, content).await? {
            let message = "Name is too long together with the id of your org. Choose a shorter one.";
            return Err(Error::new(ErrorCode::MemberTooLarge, message).with_details("Name").into());
        }
        // Before the check, so that the indexer removes the content if the document was deleted or replaced meanwhile.
        announcements.announce(&Message { org: org.clone(), document: id.clone() }).await?;
        let stored = stores.records.record(org, &id).await?;
        if stored.is_none_or(|stored| stored.record.upload != upload) {
            return Err(replaced());
        }
        audit("knowledge_upload", caller, &id);
    }
    Ok(record.view(&id, now))
}

/// Starts the deletion of a document, and announces it to the indexer.
///
/// # Errors
/// If the caller may not edit contexts, or there is no such document.
pub async fn delete(
    stores: Stores<'_, impl Records, impl Contents, impl Announcements>,
    caller: &Caller,
    id: &str,
    now: Timestamp,
) -> Result<KnowledgeDocument, Refusal> {
    let id = document_id(caller, id)?;
    remove(stores, caller, &id, now).await
}

/// Starts the deletion of a document, for a caller who may edit contexts.
pub(crate) async fn remove(
    stores: Stores<'_, impl Records, impl Contents, impl Announcements>,
    caller: &Caller,
    id: &DocumentId,
    now: Timestamp,
) -> Result<KnowledgeDocument, Refusal> {
    let announcements = stores.announcements.ok_or_else(not_configured)?;
    let org = &caller.org;
    let record = update(stores.records, org, id, |before| {
        let record = before.cloned().ok_or_else(not_found)?.deleting(now);
        Ok::<_, Refusal>(Change::Put(Box::new(record.clone()), record))
    })
    .await?;
    announcements.announce(&Message { org: org.clone(), document: id.clone() }).await?;
    audit("knowledge_delete", caller, id);
    Ok(record.view(id, now))
}

/// Reads a document's status.
///
/// # Errors
/// If the caller may not edit contexts, or there is no such document.
pub async fn read(
    records: &impl Records,
    caller: &Caller,
    id: &str,
    now: Timestamp,
) -> Result<KnowledgeDocument, Refusal> {
    let id = document_id(caller, id)?;
    let stored = records.record(&caller.org, &id).await?.ok_or_else(not_found)?;
    Ok(stored.record.view(&id, now))
}

/// Lists the documents of the org, sorted by id.
///
/// # Errors
/// If the caller may not edit contexts, or the token isn't from this list.
pub async fn list(
    records: &impl Records,
    caller: &Caller,
    page_size: u32,
    token: Option<&str>,
    now: Timestamp,
) -> Result<ListResponse<KnowledgeDocument>, Refusal> {
    require_context_editor(caller)?;
    let after = token.map(str::parse).transpose().map_err(|_| Refusal::invalid_continuation_token())?;
    let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
    // One record more than the page shows if another page follows.
    let mut found = records.records(&caller.org, after.as_ref(), limit.saturating_add(1)).await?;
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more).map(|(id, _)| id.as_str().to_owned());
    let items = found.iter().map(|(id, record)| record.view(id, now)).collect();
    Ok(ListResponse::new(items, page_size, next))
}

/// Parses an id for a caller who may edit contexts. An invalid id is that of no document.
fn document_id(caller: &Caller, id: &str) -> Result<DocumentId, Refusal> {
    require_context_editor(caller)?;
    id.parse().map_err(|_| not_found())
}

/// Requires that no attribute has the name of a documented key, in any case: a condition on it would mean that key.
pub(crate) fn check_attributes(attributes: &[KnowledgeAttribute]) -> Result<(), Refusal> {
    let is_letter = |char: &char| char.is_ascii_alphanumeric();
    let is_documented = |name: &str| {
        let bare: String = name.chars().filter(is_letter).collect();
        let mut documented = key::ALL.iter().chain([&key::SPLITTER, &WORKSPACE_ID]);
        documented.any(|documented| documented.eq_ignore_ascii_case(&bare))
    };
    match attributes.iter().position(|attribute| is_documented(&attribute.key)) {
        None => Ok(()),
        Some(index) => {
            let at = format!("Attributes[{index}].Key");
            let message = format!("{at} must not be the name of a documented key. Choose another name.");
            Err(Error::new(ErrorCode::MemberInvalid, message).with_details(at).into())
        }
    }
}

fn not_found() -> Refusal {
    Error::from(ErrorCode::KnowledgeNotFound).into()
}

fn replaced() -> Refusal {
    let message = "The document was replaced or deleted by another request. Upload it again.";
    Error::new(ErrorCode::KnowledgeNotFound, message).into()
}

pub(crate) fn not_configured() -> Refusal {
    Error::from(ErrorCode::KnowledgeNotConfigured).into()
}

fn full() -> Refusal {
    let message = format!("Your org has {MAX_KNOWLEDGE_DOCUMENTS} documents. Delete one first.");
    Error::new(ErrorCode::KnowledgeFull, message).into()
}

/// Logs a change of a document, without its name, which may tell of its content.
fn audit(action: &'static str, caller: &Caller, id: &DocumentId) {
    tracing::info!(
        action,
        operator = caller.operator,
        agent_editor = caller.agent_editor,
        document = id.as_str(),
        "{}",
        contracts::log::AUDIT
    );
}
