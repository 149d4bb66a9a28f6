//! The table of sessions, turns and their details.

use std::{collections::BTreeSet, future::Future, slice::from_ref};

use contracts::{
    Fingerprint, Timestamp,
    id::{OrgId, UserId},
};
use protocol::{
    approval::{Approval, ApprovalId, ApproverRole},
    change::{Commit, TurnChange},
    detail::{Feedback, ModeChange, ModeChangePosition, Participant, RequestDetail},
    effect::{Intent, UnknownEffect},
    id::{AttemptId, SessionKey, TurnKey},
    purge::{Purge, PurgeEntry},
    session::Session,
    stream_position::StreamPosition,
    transition::import::Reservation,
    turn::Turn,
};

use super::{
    archive::ArchiveItem,
    documents::{DocumentChange, DocumentId, Documents},
    errors::{ListError, Unavailable, WriteError},
    meter::Meter,
    records::{FoundRecord, FoundTurn, Order, Page, Record, TimeRange},
};
use crate::checkpoint::{Checkpoint, LastCheckpoint};

/// The most checkpoints that [`Reads::checkpoints`] returns.
pub const CHECKPOINT_PAGE_SIZE: usize = 16;

/// The most items that [`Store::items`] returns.
pub const PURGE_ITEM_PAGE_SIZE: usize = 25;

/// The number of shards of [`Store::due`].
pub const DUE_SHARDS: u8 = 16;

/// The people in whose list of approvals one is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Audience {
    /// Operators who look at all of the org.
    All,
    /// Operators who may answer.
    Operators,
    /// Agent editors who may answer.
    AgentEditors,
    /// One user.
    User(UserId),
}

impl Audience {
    /// Returns those in whose lists an approval is.
    #[must_use]
    pub fn of(approval: &Approval) -> BTreeSet<Self> {
        let rules = &approval.rules;
        let roles = rules.roles.iter().filter_map(|role| match role {
            ApproverRole::Asker if rules.four_eyes => None,
            ApproverRole::Asker => Some(Self::User(approval.asker.clone())),
            ApproverRole::Operator => Some(Self::Operators),
            ApproverRole::AgentEditor => Some(Self::AgentEditors),
        });
        let users = rules.users.iter().filter(|user| !(rules.four_eyes && **user == approval.asker));
        roles.chain(users.cloned().map(Self::User)).chain([Self::All]).collect()
    }
}

/// Reads the table.
pub trait Reads: Documents {
    /// Returns a session. Reads consistently.
    fn session(&self, key: &SessionKey) -> impl Future<Output = Result<Option<Session>, Unavailable>> + Send;
    /// Returns a turn's head. Reads consistently.
    fn turn(&self, key: &TurnKey) -> impl Future<Output = Result<Option<Turn>, Unavailable>> + Send;
    /// Returns the existing heads of these turns in any order. Reads consistently.
    fn turns(&self, keys: &[TurnKey]) -> impl Future<Output = Result<Vec<Turn>, Unavailable>> + Send;
    /// Returns each of these turns with its session, in the order of the keys, in one call per 100 items. The reads are
    /// consistent, but they aren't a snapshot: each item may be newer than the others.
    fn sessions_and_turns(
        &self,
        keys: &[TurnKey],
    ) -> impl Future<Output = Result<Vec<FoundTurn>, Unavailable>> + Send;
    /// Returns a session and one of its turns in one call.
    fn session_and_turn(&self, key: &TurnKey) -> impl Future<Output = Result<FoundTurn, Unavailable>> + Send {
        async { Ok(self.sessions_and_turns(from_ref(key)).await?.pop().unwrap_or_default()) }
    }
    /// Returns a session, one of its turns and the details of that turn's request in one call. The reads are consistent,
    /// but they aren't a snapshot.
    fn session_and_record(
        &self,
        key: &TurnKey,
    ) -> impl Future<Output = Result<FoundRecord, Unavailable>> + Send;
    /// Returns the details of a turn's request, which are written once, when the turn starts. Reads consistently.
    fn request_detail(
        &self,
        key: &TurnKey,
    ) -> impl Future<Output = Result<Option<RequestDetail>, Unavailable>> + Send;
    /// Returns the heads of a session's turns before this sequence number, newest first. Reads consistently.
    fn turns_before(
        &self,
        session: &SessionKey,
        before: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Turn>, Unavailable>> + Send;
    /// Returns true if the user takes part in the session.
    fn is_participant(
        &self,
        session: &SessionKey,
        user: &UserId,
    ) -> impl Future<Output = Result<bool, Unavailable>> + Send;
    /// Returns the record of a session's purge. Reads consistently.
    fn purge(&self, key: &SessionKey) -> impl Future<Output = Result<Option<Purge>, Unavailable>> + Send;
    /// Returns a turn's checkpoints that end after a position, in order, at most [`CHECKPOINT_PAGE_SIZE`].
    fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<StreamPosition>,
    ) -> impl Future<Output = Result<Vec<Checkpoint>, Unavailable>> + Send;
    /// Returns a turn's last checkpoint without its text. Reads consistently.
    fn last_checkpoint(
        &self,
        turn: &TurnKey,
    ) -> impl Future<Output = Result<Option<LastCheckpoint>, Unavailable>> + Send;
    /// Returns the checkpoints of a position's segment up to that position, in order. Reads consistently.
    fn segment(
        &self,
        turn: &TurnKey,
        end: StreamPosition,
    ) -> impl Future<Output = Result<Vec<Checkpoint>, Unavailable>> + Send;
    /// Returns a turn with its details.
    fn record(&self, key: &TurnKey) -> impl Future<Output = Result<Option<Record>, Unavailable>> + Send;
    /// Returns turns of a session with their details, starting after the sequence number `after`.
    fn records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Record>, Unavailable>> + Send;
    /// Returns at most `limit` mode changes of a session before a position, newest first.
    fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModeChangePosition>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<ModeChange>, Unavailable>> + Send;
    /// Returns the feedback on a turn by users after `after`, at most `limit` entries, in a stable order.
    fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Feedback>, Unavailable>> + Send;
    /// Returns at most `limit` participants of a session, ordered by their ids.
    fn participants(
        &self,
        session: &SessionKey,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Participant>, Unavailable>> + Send;
    /// Returns the intent of a turn's last round with effects. Reads consistently.
    fn newest_intent(
        &self,
        turn: &TurnKey,
    ) -> impl Future<Output = Result<Option<Intent>, Unavailable>> + Send;
    /// Returns the calls of a session with these hashes whose outcome is unknown. Reads consistently.
    fn unknown_effects(
        &self,
        session: &SessionKey,
        hashes: &BTreeSet<Fingerprint>,
    ) -> impl Future<Output = Result<Vec<UnknownEffect>, Unavailable>> + Send;
    /// Returns an org's calls whose outcome is unknown, oldest first, at most `limit`. The list may be slightly stale.
    fn unknown_effects_of_org(
        &self,
        org: &OrgId,
        limit: usize,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<UnknownEffect>, Unavailable>> + Send;
    /// Returns the approvals of a turn's calls. Reads consistently.
    fn approvals(&self, turn: &TurnKey) -> impl Future<Output = Result<Vec<Approval>, Unavailable>> + Send;
    /// Returns an approval of an org. It may be a moment until a new one is found.
    fn approval(
        &self,
        org: &OrgId,
        id: &ApprovalId,
    ) -> impl Future<Output = Result<Option<Approval>, Unavailable>> + Send;
    /// Returns approvals without an answer that expire after `now`, for one audience, those that expire first at the start:
    /// at most `limit`, after a place. The list may be slightly stale, and includes those of turns that don't wait any more.
    fn open_approvals(
        &self,
        org: &OrgId,
        audience: &Audience,
        now: Timestamp,
        limit: usize,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<(String, Approval)>, Unavailable>> + Send;
    /// Returns sessions of an org, or those in which a user takes part, with activity in a time range. Newest
    /// activity comes first.
    fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &TimeRange,
        limit: usize,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<Session>, ListError>> + Send;
}

/// Writes the table.
pub trait Store: Reads + Meter {
    /// Writes one head under its condition.
    fn write_turn(&self, change: &TurnChange) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Commits a transaction: everything or nothing. The session keeps its stored ratings, which may be newer than the
    /// commit's. Without stored ones it gets the commit's, and once purged it has none.
    fn commit(&self, commit: &Commit) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Writes an intent if its attempt runs the turn, the round has none, and no equal call of the session has an unknown
    /// outcome (E1, E4).
    fn put_intent(&self, intent: &Intent) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Stores calls whose outcome is unknown if the attempt runs the turn. Equal calls replace each other.
    fn put_unknown_effects(
        &self,
        turn: &TurnKey,
        attempt: &AttemptId,
        effects: &[UnknownEffect],
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Removes a call whose outcome is unknown, if the stored one is of the same turn and round.
    fn remove_unknown_effect(
        &self,
        effect: &UnknownEffect,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Stores an approval without an answer, unless it is stored already.
    fn put_approval(&self, approval: &Approval) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Stores the answer of an approval that has none, with the change of its turn, which requires that the turn still waits
    /// with the same attempt's calls.
    fn answer_approval(
        &self,
        approval: &Approval,
        waiting: &TurnChange,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Changes a document under its conditions. Turns see the change as late as [`Documents::live_document`] says.
    fn change_document(
        &self,
        org: &OrgId,
        id: &DocumentId,
        change: &DocumentChange,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Stores a user's feedback on a turn in place of that user's earlier feedback, and counts its rating once in the
    /// session's ratings. Returns the stored feedback, which keeps its first creation time. `None` if the session was
    /// purged.
    fn put_feedback(
        &self,
        feedback: &Feedback,
    ) -> impl Future<Output = Result<Option<Feedback>, WriteError>> + Send;
    /// Stores a checkpoint of a running turn's stream, for other connections.
    fn put_checkpoint(&self, checkpoint: &Checkpoint)
    -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Returns turns that were due before `now`, from one shard of the sparse index. They are candidates: the index
    /// may be stale.
    fn due(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<TurnKey>, Unavailable>> + Send;
    /// Writes items in their order, in transactions of at most [`ARCHIVE_BATCH_SIZE`](super::ARCHIVE_BATCH_SIZE) items. Each applies only while the
    /// session is this reservation (rule 13): after that, a write that was held changes nothing. Repeating it is safe.
    fn put_archive_items(
        &self,
        reservation: &Reservation,
        items: &[ArchiveItem],
    ) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Writes a record if the stored one has the same revision, and increments the revision.
    fn write_purge(&self, purge: &Purge) -> impl Future<Output = Result<(), WriteError>> + Send;
    /// Returns the first items of a session in key order, without the session itself and its purge record. Reads
    /// consistently.
    fn items(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<Vec<PurgeEntry>, Unavailable>> + Send;
    /// Removes these items. Succeeds if they don't exist.
    fn remove_items(
        &self,
        session: &SessionKey,
        items: &[PurgeEntry],
    ) -> impl Future<Output = Result<(), Unavailable>> + Send;
    /// Returns sessions whose purge was due before `now`, from one shard of the sparse index. They are candidates:
    /// the index may be stale.
    fn due_purges(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> impl Future<Output = Result<Page<SessionKey>, Unavailable>> + Send;
}
