//! The record of a document: its states, and their transitions.

use std::{fmt, str::FromStr, time::Duration};

use contracts::{
    Fingerprint, Timestamp,
    id::AgentContextId,
    knowledge::{KnowledgeDocument, KnowledgeStatus},
    read::EntityHeader,
    request::{KnowledgeAttribute, RelativePath},
};
use protocol::caller::User;
use serde::{Deserialize, Serialize};

/// The time after which a document that nobody works on counts as failed. Longer than all deliveries of its message take.
pub const STALE_AFTER: Duration = Duration::from_secs(3 * 60 * 60);

/// The reason of a document whose message was lost.
const STALE: &str = "It was not indexed in time. Upload it again.";

/// The number of hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

/// The id of a document in its org. It follows from the name, so an upload finds the document that it replaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DocumentId(String);

/// A text is no id of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must have {ID_DIGITS} hexadecimal digits")
    }
}

impl DocumentId {
    /// Returns the id of the document with this name.
    #[must_use]
    pub fn of_name(name: &RelativePath) -> Self {
        let mut hash = Fingerprint::hash_bytes(name.as_str().as_bytes()).to_string();
        hash.truncate(ID_DIGITS);
        Self(hash)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DocumentId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let is_id = text.len() == ID_DIGITS
            && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if is_id { Ok(Self(text.to_owned())) } else { Err(InvalidId) }
    }
}

impl TryFrom<String> for DocumentId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl From<DocumentId> for String {
    fn from(id: DocumentId) -> Self {
        id.0
    }
}

/// The record of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Record {
    /// What the user uploaded.
    pub document: Document,
    /// The id of the upload. It tells apart two uploads of one name.
    pub upload: String,
    /// The time of the upload.
    pub uploaded: Timestamp,
    /// The user who uploaded it.
    pub by: User,
    /// The state.
    pub state: State,
    /// The time of the last change of the state.
    pub changed: Timestamp,
    /// The lease of an indexer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lease: Option<Lease>,
}

/// A document without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Document {
    /// The name.
    pub name: RelativePath,
    /// The size in bytes.
    pub bytes: u64,
    /// The hash of the content.
    pub sha256: Fingerprint,
    /// The attributes.
    pub attributes: Vec<KnowledgeAttribute>,
    /// The agents whose turns may have the document. Empty: every agent of the org.
    pub agents: Vec<AgentContextId>,
}

/// The state of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// It is to be indexed.
    Pending {
        /// The failure of the last try.
        reason: Option<String>,
    },
    /// Its chunks are in the index.
    Ready {
        /// Their number.
        chunks: u32,
    },
    /// It can't be indexed.
    Failed {
        /// The reason, in words for the user.
        reason: String,
    },
    /// It is to be deleted.
    Deleting,
}

/// The lease of an indexer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Lease {
    /// The attempt that holds it.
    pub attempt: String,
    /// Its end.
    pub until: Timestamp,
}

/// The work that a record asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The document has the state that was asked for.
    Nothing,
    /// Another attempt works on it.
    Busy,
    /// The attempt may work on the record, which has its lease.
    Work(Box<Record>),
}

/// The result of an indexer's work on a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The chunks are in the index.
    Indexed {
        /// Their number.
        chunks: u32,
    },
    /// The document can't be indexed, for a reason in words.
    Failed(String),
    /// The index is out of reach for now, for a reason in words. The work is tried again.
    Retry(String),
    /// The chunks and the content are deleted.
    Deleted,
}

/// The end of an indexer's work on a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The record gets this state.
    Put(Box<Record>),
    /// The record is deleted.
    Remove,
    /// The document was uploaded or deleted meanwhile. The attempt holds the lease, and works again.
    Again,
    /// Another attempt has the lease.
    Lost,
}

impl Record {
    /// Creates the record of an upload. It follows the record that it replaces, whose lease stays.
    #[must_use]
    pub fn uploaded(
        document: Document,
        upload: String,
        by: User,
        now: Timestamp,
        before: Option<&Self>,
    ) -> Self {
        Self {
            document,
            upload,
            uploaded: now,
            by,
            state: State::Pending { reason: None },
            changed: now,
            lease: before.and_then(|before| before.lease.clone()),
        }
    }

    /// Returns the record of a document that is to be deleted.
    #[must_use]
    pub fn deleting(self, now: Timestamp) -> Self {
        Self { state: State::Deleting, changed: now, ..self }
    }

    /// True if the record waits for an indexer.
    #[must_use]
    pub fn needs_work(&self) -> bool {
        matches!(self.state, State::Pending { .. } | State::Deleting)
    }

    fn is_leased(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.until > now)
    }

    /// Gives the lease to an attempt, if there is work and no other attempt has it.
    #[must_use]
    pub fn claim(&self, attempt: &str, now: Timestamp, lease: Duration) -> Claim {
        match &self.lease {
            _ if !self.needs_work() => Claim::Nothing,
            Some(held) if held.attempt != attempt && held.until > now => Claim::Busy,
            _ => Claim::Work(Box::new(self.with_lease(attempt, now, lease))),
        }
    }

    /// Extends the lease of an attempt. `None` if it doesn't have it any more.
    #[must_use]
    pub fn renew(&self, attempt: &str, now: Timestamp, lease: Duration) -> Option<Self> {
        let is_held = self.lease.as_ref().is_some_and(|held| held.attempt == attempt);
        is_held.then(|| self.with_lease(attempt, now, lease))
    }

    fn with_lease(&self, attempt: &str, now: Timestamp, lease: Duration) -> Self {
        let lease = Lease { attempt: attempt.to_owned(), until: now.after(lease) };
        Self { lease: Some(lease), ..self.clone() }
    }

    /// Ends the work of an attempt on the record `begun`.
    #[must_use]
    pub fn end(&self, attempt: &str, begun: &Self, outcome: Outcome, now: Timestamp) -> End {
        if self.lease.as_ref().is_none_or(|held| held.attempt != attempt) {
            return End::Lost;
        }
        let is_same = self.upload == begun.upload
            && matches!(self.state, State::Deleting) == matches!(begun.state, State::Deleting);
        let state = match outcome {
            _ if !is_same => return End::Again,
            Outcome::Deleted => return End::Remove,
            Outcome::Indexed { chunks } => State::Ready { chunks },
            Outcome::Failed(reason) if self.state != State::Deleting => State::Failed { reason },
            Outcome::Retry(reason) if self.state != State::Deleting => {
                State::Pending { reason: Some(reason) }
            }
            Outcome::Failed(_) | Outcome::Retry(_) => State::Deleting,
        };
        End::Put(Box::new(Self { state, changed: now, lease: None, ..self.clone() }))
    }

    /// Returns the document as the API shows it.
    #[must_use]
    pub fn view(&self, id: &DocumentId, now: Timestamp) -> KnowledgeDocument {
        let Document { name, bytes, sha256, attributes, agents } = &self.document;
        let is_leased = self.is_leased(now);
        let is_stale = !is_leased && self.changed.after(STALE_AFTER) < now;
        let (status, reason, chunks) = match &self.state {
            State::Pending { .. } if is_stale => (KnowledgeStatus::Failed, Some(STALE), None),
            State::Pending { reason } if is_leased => (KnowledgeStatus::Indexing, reason.as_deref(), None),
            State::Pending { reason } => (KnowledgeStatus::Pending, reason.as_deref(), None),
            State::Ready { chunks } => (KnowledgeStatus::Ready, None, Some(*chunks)),
            State::Failed { reason } => (KnowledgeStatus::Failed, Some(reason.as_str()), None),
            State::Deleting => (KnowledgeStatus::Deleting, None, None),
        };
        KnowledgeDocument {
            id: id.as_str().to_owned(),
            name: name.as_str().to_owned(),
            bytes: *bytes,
            sha256: sha256.to_string(),
            status,
            status_reason: reason.map(str::to_owned),
            chunks,
            attributes: attributes.clone(),
            agent_context_ids: agents.clone(),
            creation_date: self.uploaded,
            last_updated_date: self.changed,
            uploaded_by: EntityHeader::from(&self.by),
        }
    }
}

#[cfg(test)]
mod tests {
    use contracts::id::UserId;

    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn document(content: &str) -> Document {
        Document {
            name: RelativePath::new("guides/a.md").unwrap(),
            bytes: 2,
            sha256: Fingerprint::hash_bytes(content.as_bytes()),
            attributes: Vec::new(),
            agents: Vec::new(),
        }
    }

    fn uploaded(upload: &str, before: Option<&Record>) -> Record {
        let by = User { id: UserId::new("ada").unwrap(), name: "Ada".to_owned() };
        Record::uploaded(document(upload), upload.to_owned(), by, at(0), before)
    }

    fn claimed(record: &Record, attempt: &str, now: i64) -> Record {
        match record.claim(attempt, at(now), LEASE) {
            Claim::Work(record) => *record,
            other => panic!("{other:?}"),
        }
    }

    fn put(end: End) -> Record {
        match end {
            End::Put(record) => *record,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn id_follows_from_the_name_and_only_such_texts_are_ids() {
        let id = DocumentId::of_name(&RelativePath::new("a/b.md").unwrap());
        assert_eq!(id, DocumentId::of_name(&RelativePath::new("a\\b.md").unwrap()));
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        for text in [
            "",
            "a/b",
            &id.as_str()[1..],
            &id.as_str().to_uppercase().replace(|c: char| c.is_ascii_digit(), "A"),
        ] {
            assert_eq!(text.parse::<DocumentId>(), Err(InvalidId), "{text}");
        }
    }

    #[test]
    fn record_round_trips() {
        let record = claimed(&uploaded("1", None), "a", 0);
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }

    #[test]
    fn repeated_message_finds_a_lease_and_then_nothing() {
        let first = claimed(&uploaded("1", None), "a", 0);
        assert_eq!(first.claim("b", at(29), LEASE), Claim::Busy);
        assert_eq!(
            first.view(&DocumentId::of_name(&first.document.name), at(1)).status,
            KnowledgeStatus::Indexing
        );
        let ready = put(first.end("a", &first, Outcome::Indexed { chunks: 3 }, at(5)));
        assert_eq!(ready.claim("b", at(6), LEASE), Claim::Nothing);
        let view = ready.view(&DocumentId::of_name(&ready.document.name), at(6));
        assert_eq!((view.status, view.chunks), (KnowledgeStatus::Ready, Some(3)));
    }

    #[test]
    fn attempt_that_died_is_taken_over_and_ends_nothing() {
        let first = claimed(&uploaded("1", None), "a", 0);
        let second = claimed(&first, "b", 31);
        assert_eq!(second.renew("a", at(32), LEASE), None);
        assert_eq!(second.end("a", &first, Outcome::Indexed { chunks: 1 }, at(32)), End::Lost);
        assert_eq!(second.renew("b", at(50), LEASE).unwrap().lease.unwrap().until, at(80));
    }

    #[test]
    fn upload_or_deletion_in_between_is_worked_on_again() {
        let begun = claimed(&uploaded("1", None), "a", 0);
        let replaced = uploaded("2", Some(&begun));
        assert_eq!(replaced.end("a", &begun, Outcome::Indexed { chunks: 1 }, at(1)), End::Again);
        let deleting = begun.clone().deleting(at(1));
        assert_eq!(deleting.end("a", &begun, Outcome::Indexed { chunks: 1 }, at(2)), End::Again);
        assert_eq!(deleting.end("a", &deleting, Outcome::Deleted, at(2)), End::Remove);
        let restored = uploaded("3", Some(&deleting));
        assert_eq!(restored.end("a", &deleting, Outcome::Deleted, at(3)), End::Again);
    }

    #[test]
    fn failed_deletion_stays_a_deletion() {
        let deleting = claimed(&uploaded("1", None).deleting(at(0)), "a", 0);
        for outcome in [Outcome::Retry("x".to_owned()), Outcome::Failed("x".to_owned())] {
            assert_eq!(put(deleting.end("a", &deleting, outcome, at(1))).state, State::Deleting);
        }
    }

    #[test]
    fn document_that_nobody_works_on_counts_as_failed() {
        let record = uploaded("1", None);
        let status =
            |seconds: i64| record.view(&DocumentId::of_name(&record.document.name), at(seconds)).status;
        assert_eq!(status(60), KnowledgeStatus::Pending);
        assert_eq!(status(4 * 60 * 60), KnowledgeStatus::Failed);
    }
}
