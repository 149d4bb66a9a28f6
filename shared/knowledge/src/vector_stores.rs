//! The flows of requests about vector stores and their files. They need what those of documents need: a caller who may
//! edit contexts.

use std::collections::BTreeMap;

use contracts::{Timestamp, knowledge::KnowledgeDocument, request::limits::MAX_KNOWLEDGE_DOCUMENTS};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::Caller;
use turns::{
    flow::require_context_editor,
    ports::{Unavailable, WriteError},
    refusal::Refusal,
};

use crate::{
    ports::{Announcements, Contents, Records, VectorStores},
    record::{DocumentId, Record, State},
    requests::{self, Stores, Upload},
    vector_store::{MAX_STORE_FILES, MAX_VECTOR_STORES, VectorStore, VectorStoreId},
};

/// Documents whose deletion is started concurrently.
const CONCURRENT_DELETIONS: usize = 8;

/// The reason for refusing a request.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such vector store.
    #[error("there is no such vector store")]
    NoSuchStore,
    /// The vector store has no such file.
    #[error("the vector store has no such file")]
    NoSuchFile,
    /// The org has as many vector stores as it may have.
    #[error("the org has {MAX_VECTOR_STORES} vector stores")]
    TooManyStores,
    /// The vector store has as many files as it may have.
    #[error("the vector store has {MAX_STORE_FILES} files")]
    TooManyFiles,
    /// The rules of documents, or of the service, refuse it.
    #[error("{}", .0.error())]
    Refused(#[from] Refusal),
}

impl From<Unavailable> for Error {
    fn from(error: Unavailable) -> Self {
        Self::Refused(error.into())
    }
}

/// A vector store with the documents in it.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The id.
    pub id: VectorStoreId,
    /// The store.
    pub store: VectorStore,
    /// Its documents, oldest first. Those that are being deleted aren't in it any more.
    pub documents: Vec<KnowledgeDocument>,
}

/// Creates a vector store.
///
/// # Errors
/// If the caller may not edit contexts, the deployment indexes no documents, or the org has too many stores.
pub async fn create<T: Records + VectorStores>(
    stores: Stores<'_, T, impl Contents, impl Announcements>,
    caller: &Caller,
    (name, metadata): (String, BTreeMap<String, String>),
    now: Timestamp,
) -> Result<Listed, Error> {
    require_context_editor(caller)?;
    if stores.announcements.is_none() {
        return Err(requests::not_configured().into());
    }
    let others = stores.records.vector_stores(&caller.org, MAX_VECTOR_STORES).await?;
    if others.len() >= MAX_VECTOR_STORES {
        return Err(Error::TooManyStores);
    }
    let id = VectorStoreId::random();
    let store = VectorStore { name, metadata, created: now, by: caller.user.clone() };
    stores.records.create_vector_store(&caller.org, &id, &store).await.map_err(not_written)?;
    audit("vector_store_create", caller, &id);
    Ok(Listed { id, store, documents: Vec::new() })
}

/// Lists the vector stores of the org, oldest first.
///
/// # Errors
/// If the caller may not edit contexts.
pub async fn list(
    records: &(impl Records + VectorStores),
    caller: &Caller,
    now: Timestamp,
) -> Result<Vec<Listed>, Error> {
    require_context_editor(caller)?;
    let stores = records.vector_stores(&caller.org, MAX_VECTOR_STORES).await?;
    let all = records.records(&caller.org, None, MAX_KNOWLEDGE_DOCUMENTS).await?;
    let listed = |(id, store): (VectorStoreId, VectorStore)| {
        let documents = documents_of(&id, &all, now);
        Listed { id, store, documents }
    };
    let mut listed: Vec<Listed> = stores.into_iter().map(listed).collect();
    listed.sort_by_key(|listed| (listed.store.created, listed.id.clone()));
    Ok(listed)
}

/// Reads a vector store with its documents.
///
/// # Errors
/// If the caller may not edit contexts, or there is no such store.
pub async fn read(
    records: &(impl Records + VectorStores),
    caller: &Caller,
    id: &str,
    now: Timestamp,
) -> Result<Listed, Error> {
    require_context_editor(caller)?;
    let (id, store) = existing(records, caller, id).await?;
    let all = records.records(&caller.org, None, MAX_KNOWLEDGE_DOCUMENTS).await?;
    let documents = documents_of(&id, &all, now);
    Ok(Listed { id, store, documents })
}

/// Changes the name or the metadata of a vector store. The last of two concurrent changes wins.
///
/// # Errors
/// If the caller may not edit contexts, or there is no such store.
pub async fn update(
    records: &(impl Records + VectorStores),
    caller: &Caller,
    id: &str,
    (name, metadata): (Option<String>, Option<BTreeMap<String, String>>),
    now: Timestamp,
) -> Result<Listed, Error> {
    let Listed { id, store, documents } = read(records, caller, id, now).await?;
    let store = VectorStore {
        name: name.unwrap_or(store.name),
        metadata: metadata.unwrap_or(store.metadata),
        ..store
    };
    match records.replace_vector_store(&caller.org, &id, &store).await {
        Err(WriteError::ConditionFailed) => return Err(Error::NoSuchStore),
        written => written.map_err(not_written)?,
    }
    audit("vector_store_change", caller, &id);
    Ok(Listed { id, store, documents })
}

/// Deletes a vector store, and starts the deletion of its documents.
///
/// The record goes before the second look at the documents: a file that is added meanwhile finds no store after it was
/// stored, and is deleted by whoever added it.
///
/// # Errors
/// If the caller may not edit contexts, or there is no such store.
pub async fn delete<T: Records + VectorStores>(
    stores: Stores<'_, T, impl Contents, impl Announcements>,
    caller: &Caller,
    id: &str,
    now: Timestamp,
) -> Result<VectorStoreId, Error> {
    require_context_editor(caller)?;
    let (id, _) = existing(stores.records, caller, id).await?;
    delete_documents(stores, caller, &id, now).await?;
    stores.records.remove_vector_store(&caller.org, &id, now).await.map_err(not_written)?;
    delete_documents(stores, caller, &id, now).await?;
    audit("vector_store_delete", caller, &id);
    Ok(id)
}

/// Adds a document to a vector store, or replaces the one of its name.
///
/// # Errors
/// If the caller may not edit contexts, there is no such store, it is full, or the rules of documents refuse the upload.
pub async fn add<T: Records + VectorStores>(
    stores: Stores<'_, T, impl Contents, impl Announcements>,
    caller: &Caller,
    id: &VectorStoreId,
    upload: Upload,
    now: Timestamp,
) -> Result<KnowledgeDocument, Error> {
    require_context_editor(caller)?;
    requests::check_attributes(&upload.attributes)?;
    let Listed { documents, .. } = read(stores.records, caller, id.as_str(), now).await?;
    let is_new = documents.iter().all(|document| document.name != upload.name.as_str());
    if is_new && documents.len() >= MAX_STORE_FILES {
        return Err(Error::TooManyFiles);
    }
    let name = upload.name.clone();
    let mut upload = upload;
    upload.attributes.push(id.attribute());
    let document = requests::store(stores, caller, upload, now).await?;
    if stores.records.vector_store(&caller.org, id).await?.is_none() {
        requests::remove(stores, caller, &DocumentId::of_name(&name), now).await?;
        return Err(Error::NoSuchStore);
    }
    Ok(document)
}

/// Starts the deletion of a document of a vector store. `is_it` tells by its name.
///
/// # Errors
/// If the caller may not edit contexts, there is no such store, or it has no such document.
pub async fn remove<T: Records + VectorStores>(
    stores: Stores<'_, T, impl Contents, impl Announcements>,
    caller: &Caller,
    id: &str,
    is_it: impl Fn(&str) -> bool,
    now: Timestamp,
) -> Result<(), Error> {
    let Listed { documents, .. } = read(stores.records, caller, id, now).await?;
    let found = documents.iter().find(|document| is_it(&document.name)).ok_or(Error::NoSuchFile)?;
    let document = found.id.parse().map_err(|_| Error::NoSuchFile)?;
    requests::remove(stores, caller, &document, now).await?;
    Ok(())
}

/// Returns the vector stores with these ids, which any caller may search.
///
/// # Errors
/// Returns the position of the first id that isn't one's.
pub async fn searchable(
    records: &impl VectorStores,
    caller: &Caller,
    ids: &[String],
) -> Result<Result<Vec<VectorStoreId>, usize>, Unavailable> {
    let mut found = Vec::new();
    for (n, id) in ids.iter().enumerate() {
        let Ok(id) = id.parse() else { return Ok(Err(n)) };
        match records.vector_store(&caller.org, &id).await? {
            Some(_) => found.push(id),
            None => return Ok(Err(n)),
        }
    }
    Ok(Ok(found))
}

async fn existing(
    records: &impl VectorStores,
    caller: &Caller,
    id: &str,
) -> Result<(VectorStoreId, VectorStore), Error> {
    let id = id.parse().map_err(|_| Error::NoSuchStore)?;
    let store = records.vector_store(&caller.org, &id).await?.ok_or(Error::NoSuchStore)?;
    Ok((id, store))
}

/// Returns the documents of a store that aren't being deleted, oldest first.
fn documents_of(id: &VectorStoreId, all: &[(DocumentId, Record)], now: Timestamp) -> Vec<KnowledgeDocument> {
    let is_of_store = |record: &Record| id.has(&record.document) && !matches!(record.state, State::Deleting);
    let found = all.iter().filter(|(_, record)| is_of_store(record));
    let mut documents: Vec<KnowledgeDocument> = found.map(|(id, record)| record.view(id, now)).collect();
    documents.sort_by(|a, b| (a.creation_date, &a.id).cmp(&(b.creation_date, &b.id)));
    documents
}

async fn delete_documents(
    stores: Stores<'_, impl Records, impl Contents, impl Announcements>,
    caller: &Caller,
    id: &VectorStoreId,
    now: Timestamp,
) -> Result<(), Error> {
    let all = stores.records.records(&caller.org, None, MAX_KNOWLEDGE_DOCUMENTS).await?;
    let documents = all.into_iter().filter(|(_, record)| id.has(&record.document)).map(|(id, _)| id);
    let deletions = stream::iter(documents)
        .map(|document| async move { requests::remove(stores, caller, &document, now).await.map(drop) });
    deletions.buffer_unordered(CONCURRENT_DELETIONS).try_collect::<()>().await?;
    Ok(())
}

fn not_written(error: WriteError) -> Error {
    Unavailable { what: "the table", source: error.into() }.into()
}

/// Logs a change of a vector store, without its name, which may tell of its content.
fn audit(action: &'static str, caller: &Caller, id: &VectorStoreId) {
    tracing::info!(
        action,
        operator = caller.operator,
        agent_editor = caller.agent_editor,
        vector_store = id.as_str(),
        "{}",
        contracts::log::AUDIT
    );
}
