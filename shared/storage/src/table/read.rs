//! Single reads, and the implementation of the ports.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use contracts::{
    Fingerprint, Timestamp,
    id::{OrgId, UserId},
};
use protocol::{
    approval::{Approval, ApprovalId},
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
use turns::checkpoint::{Checkpoint, LastCheckpoint};
use turns::ports::{
    ArchiveItem, Audience, DocumentChange, DocumentId, FoundRecord, FoundTurn, ListError, Order, Page, Reads,
    Record, Store, TimeRange, Unavailable, WriteError,
};

use super::{RESOURCE, Table};
use crate::{
    failure,
    item::{Attributes, Unreadable, decode, detail::RequestItem, session::SessionItem, turn::TurnItem},
    key::{self, Item},
};

/// The page size of the sweep.
const DUE_PAGE: i32 = 50;

impl Table {
    pub(super) async fn get(&self, key: &Item<'_>) -> Result<Option<Attributes>, Unavailable> {
        let got = self
            .client
            .get_item()
            .table_name(&self.name)
            .set_key(Some(primary(key)))
            // A client that got a response must find its effects in the next read.
            .consistent_read(true)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        Ok(got.item)
    }
}

/// An item's primary key.
pub(super) fn primary(key: &Item<'_>) -> Attributes {
    Attributes::from([
        ("PK".to_owned(), AttributeValue::S(key.pk())),
        ("SK".to_owned(), AttributeValue::S(key.sk())),
    ])
}

pub(super) fn session_of(item: Attributes, key: SessionKey) -> Result<Session, Unavailable> {
    decode::<SessionItem>(item).map(|item| item.into_session(key)).map_err(unreadable)
}

pub(super) fn turn_of(item: Attributes, key: TurnKey) -> Result<Turn, Unavailable> {
    decode::<TurnItem>(item).and_then(|item| item.into_turn(key)).map_err(unreadable)
}

pub(super) fn request_of(item: Attributes, key: TurnKey) -> Result<RequestDetail, Unavailable> {
    decode::<RequestItem>(item).map(|item| item.into_request(key)).map_err(unreadable)
}

pub(super) fn unreadable(error: Unreadable) -> Unavailable {
    Unavailable::unreadable(RESOURCE, error)
}

impl Reads for Table {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, Unavailable> {
        let item = self.get(&Item::Session(key)).await?;
        item.map(|item| session_of(item, key.clone())).transpose()
    }

    async fn turn(&self, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
        let item = self.get(&Item::Turn(key)).await?;
        item.map(|item| turn_of(item, key.clone())).transpose()
    }

    async fn turns(&self, keys: &[TurnKey]) -> Result<Vec<Turn>, Unavailable> {
        self.heads(keys).await
    }

    async fn sessions_and_turns(&self, keys: &[TurnKey]) -> Result<Vec<FoundTurn>, Unavailable> {
        self.read_sessions_and_turns(keys).await
    }

    async fn session_and_record(&self, key: &TurnKey) -> Result<FoundRecord, Unavailable> {
        self.read_session_and_record(key).await
    }

    async fn request_detail(&self, key: &TurnKey) -> Result<Option<RequestDetail>, Unavailable> {
        let item = self.get(&Item::Request(key)).await?;
        item.map(|item| request_of(item, key.clone())).transpose()
    }

    async fn turns_before(
        &self,
        session: &SessionKey,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Turn>, Unavailable> {
        self.heads_before(session, before, limit).await
    }

    async fn is_participant(&self, session: &SessionKey, user: &UserId) -> Result<bool, Unavailable> {
        self.get(&Item::Participant(session, user)).await.map(|item| item.is_some())
    }

    async fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<StreamPosition>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        self.read_checkpoints(turn, after).await
    }

    async fn last_checkpoint(&self, turn: &TurnKey) -> Result<Option<LastCheckpoint>, Unavailable> {
        self.read_last_checkpoint(turn).await
    }

    async fn segment(&self, turn: &TurnKey, end: StreamPosition) -> Result<Vec<Checkpoint>, Unavailable> {
        self.read_segment(turn, end).await
    }

    async fn purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        self.read_purge(key).await
    }

    async fn record(&self, key: &TurnKey) -> Result<Option<Record>, Unavailable> {
        self.read_record(key).await
    }

    async fn records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>, Unavailable> {
        self.read_records(session, after, order, limit).await
    }

    async fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        limit: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        self.read_feedback(turn, after, limit).await
    }

    async fn participants(
        &self,
        session: &SessionKey,
        limit: usize,
    ) -> Result<Vec<Participant>, Unavailable> {
        self.read_participants(session, limit).await
    }

    async fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModeChangePosition>,
        limit: usize,
    ) -> Result<Vec<ModeChange>, Unavailable> {
        self.read_mode_changes(session, before, limit).await
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &TimeRange,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        self.list_sessions(org, user, active, limit, after).await
    }

    async fn newest_intent(&self, turn: &TurnKey) -> Result<Option<Intent>, Unavailable> {
        self.read_newest_intent(turn).await
    }

    async fn unknown_effects(
        &self,
        session: &SessionKey,
        hashes: &BTreeSet<Fingerprint>,
    ) -> Result<Vec<UnknownEffect>, Unavailable> {
        self.read_unknown(session, hashes).await
    }

    async fn unknown_effects_of_org(
        &self,
        org: &OrgId,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<UnknownEffect>, Unavailable> {
        self.list_unknown(org, limit, after).await
    }

    async fn approvals(&self, turn: &TurnKey) -> Result<Vec<Approval>, Unavailable> {
        self.read_approvals(turn).await
    }

    async fn approval(&self, org: &OrgId, id: &ApprovalId) -> Result<Option<Approval>, Unavailable> {
        self.find_approval(org, id).await
    }

    async fn open_approvals(
        &self,
        org: &OrgId,
        audience: &Audience,
        now: Timestamp,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<(String, Approval)>, Unavailable> {
        self.list_approvals(org, audience, now, limit, after).await
    }
}

impl Store for Table {
    async fn write_turn(&self, change: &TurnChange) -> Result<(), WriteError> {
        self.write_head(change).await
    }

    async fn commit(&self, commit: &Commit) -> Result<(), WriteError> {
        self.write_transaction(commit).await
    }

    async fn put_intent(&self, intent: &Intent) -> Result<(), WriteError> {
        self.write_intent(intent).await
    }

    async fn put_unknown_effects(
        &self,
        turn: &TurnKey,
        attempt: &AttemptId,
        effects: &[UnknownEffect],
    ) -> Result<(), WriteError> {
        self.write_unknown(turn, attempt, effects).await
    }

    async fn remove_unknown_effect(&self, effect: &UnknownEffect) -> Result<(), WriteError> {
        self.resolve_unknown(effect).await
    }

    async fn put_approval(&self, approval: &Approval) -> Result<(), WriteError> {
        self.write_approval(approval).await
    }

    async fn answer_approval(&self, approval: &Approval, waiting: &TurnChange) -> Result<(), WriteError> {
        self.write_answer(approval, waiting).await
    }

    async fn change_document(
        &self,
        org: &OrgId,
        id: &DocumentId,
        change: &DocumentChange,
    ) -> Result<(), WriteError> {
        self.change(org, id, change).await
    }

    async fn put_feedback(&self, feedback: &Feedback) -> Result<Option<Feedback>, WriteError> {
        self.write_feedback(feedback).await
    }

    async fn put_checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Unavailable> {
        self.write_checkpoint(checkpoint).await
    }

    async fn due(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<TurnKey>, Unavailable> {
        let turn = |item: &Attributes| key::parse_turn(text(item, "PK")?, text(item, "SK")?);
        self.due_in(key::open_index(shard), now, after, turn).await
    }

    async fn put_archive_items(
        &self,
        reservation: &Reservation,
        items: &[ArchiveItem],
    ) -> Result<(), WriteError> {
        self.write_archive_items(reservation, items).await
    }

    async fn write_purge(&self, purge: &Purge) -> Result<(), WriteError> {
        self.replace_purge(purge).await
    }

    async fn items(&self, session: &SessionKey) -> Result<Vec<PurgeEntry>, Unavailable> {
        self.purgeable_items(session).await
    }

    async fn remove_items(&self, session: &SessionKey, items: &[PurgeEntry]) -> Result<(), Unavailable> {
        self.delete_items(session, items).await
    }

    async fn due_purges(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<SessionKey>, Unavailable> {
        let session = |item: &Attributes| key::parse_session(text(item, "PK")?);
        self.due_in(key::purge_index(shard), now, after, session).await
    }
}

impl Table {
    /// Returns one page of what is due in one shard of an index, longest due first.
    pub(super) async fn due_in<T>(
        &self,
        shard: String,
        now: Timestamp,
        after: Option<String>,
        parse: impl Fn(&Attributes) -> Option<T>,
    ) -> Result<Page<T>, Unavailable> {
        // Timestamps begin with a digit.
        let from = after.unwrap_or_else(|| "0".to_owned());
        let page = self
            .client
            .query()
            .table_name(&self.name)
            .index_name("GSI1")
            .key_condition_expression("GSI1PK = :shard AND GSI1SK BETWEEN :from AND :now")
            .expression_attribute_values(":shard", AttributeValue::S(shard))
            // The appended NUL makes the lower bound exclusive.
            .expression_attribute_values(":from", AttributeValue::S(from))
            .expression_attribute_values(":now", AttributeValue::S(now.to_string()))
            .limit(DUE_PAGE)
            .send()
            .await
            .map_err(|error| failure::unavailable(RESOURCE, error))?;
        let next = match (&page.last_evaluated_key, page.items().last()) {
            (Some(_), Some(last)) => text(last, "GSI1SK").map(|last| format!("{last}\u{0}")),
            _ => None,
        };
        Ok(Page { items: page.items().iter().filter_map(parse).collect(), next })
    }
}

/// Returns a string attribute.
pub(super) fn text<'a>(item: &'a Attributes, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}
