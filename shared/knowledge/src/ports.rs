//! The ports: the table, the objects and the queue.

use std::future::Future;

use bytes::Bytes;
use contracts::{Timestamp, id::OrgId};
use serde::{Deserialize, Serialize};
use turns::ports::{Unavailable, WriteError};

use crate::{
    record::{DocumentId, Record},
    vector_store::{VectorStore, VectorStoreId},
};

/// A record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The record.
    pub record: Record,
    /// The number of its writes. Every write requires the one before it.
    pub revision: u32,
}

/// The records of documents.
pub trait Records: Send + Sync {
    /// Returns the record of a document. Reads consistently.
    fn record(
        &self,
        org: &OrgId,
        id: &DocumentId,
    ) -> impl Future<Output = Result<Option<Stored>, Unavailable>> + Send;
    /// Returns the records after this id, sorted by id, at most `limit`. Reads consistently.
    fn records(
        &self,
        org: &OrgId,
        after: Option<&DocumentId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(DocumentId, Record)>, Unavailable>> + Send;
    /// Writes a record if its revision is still `before`, or if there is none.
    fn put_record(
        &self,
        org: &OrgId,
        id: &DocumentId,
        record: &Record,
        before: Option<u32>,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Removes a record if its revision is still `before`.
    fn remove_record(
        &self,
        org: &OrgId,
        id: &DocumentId,
        before: u32,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
}

/// The vector stores of orgs.
pub trait VectorStores: Send + Sync {
    /// Returns a vector store. Reads consistently.
    fn vector_store(
        &self,
        org: &OrgId,
        id: &VectorStoreId,
    ) -> impl Future<Output = Result<Option<VectorStore>, Unavailable>> + Send;
    /// Returns the vector stores of an org, in no particular order, at most `limit`. Reads consistently.
    fn vector_stores(
        &self,
        org: &OrgId,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(VectorStoreId, VectorStore)>, Unavailable>> + Send;
    /// Creates a vector store.
    fn create_vector_store(
        &self,
        org: &OrgId,
        id: &VectorStoreId,
        store: &VectorStore,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Replaces a vector store. Fails with [`WriteError::ConditionFailed`] if there is none.
    fn replace_vector_store(
        &self,
        org: &OrgId,
        id: &VectorStoreId,
        store: &VectorStore,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Removes a vector store. Succeeds if there is none.
    fn remove_vector_store(
        &self,
        org: &OrgId,
        id: &VectorStoreId,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
}

/// The contents of documents: an object for each upload.
pub trait Contents: Send + Sync {
    /// Stores the content of an upload. Returns false if the org's id is too long for a key.
    fn put_content(
        &self,
        org: &OrgId,
        id: &DocumentId,
        upload: &str,
        content: Bytes,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;
    /// Reads the content of an upload.
    fn content(
        &self,
        org: &OrgId,
        id: &DocumentId,
        upload: &str,
    ) -> impl Future<Output = Result<Option<Bytes>, Unavailable>> + Send;
    /// Returns the uploads of a document that have a content, at most 1,000.
    fn uploads(
        &self,
        org: &OrgId,
        id: &DocumentId,
    ) -> impl Future<Output = Result<Vec<String>, Unavailable>> + Send;
    /// Removes the content of an upload. Succeeds if there is none.
    fn remove_content(
        &self,
        org: &OrgId,
        id: &DocumentId,
        upload: &str,
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// The queue that triggers the indexer.
pub trait Announcements: Send + Sync {
    /// Announces that a record needs work.
    fn announce(&self, message: &Message) -> impl Future<Output = Result<(), Unavailable>> + Send;
}

/// A message of the queue. It is a hint: the record says what is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Message {
    /// The tenant.
    pub org: OrgId,
    /// The document.
    pub document: DocumentId,
}
