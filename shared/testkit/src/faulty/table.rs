//! The table with faults, and with the bugs of planted ones.

use std::{collections::BTreeSet, time::Duration};

use agent::context::{ContextId, ContextKind};
use contracts::{
    Day, Fingerprint, Timestamp,
    id::{OrgId, UserId},
};
use futures::future::{try_join, try_join_all, try_join3};
use protocol::{
    approval::{Approval, ApprovalId},
    budget::{self, MeterChange, MeterKey, MeterReading},
    change::{Commit, TurnChange},
    detail::{Feedback, ModeChange, ModeChangePosition, Participant, RequestDetail},
    effect::{Intent, UnknownEffect},
    id::{AttemptId, SessionKey, TurnKey},
    purge::{Purge, PurgeEntry},
    session::Session,
    stream_position::StreamPosition,
    transition::import::Reservation,
    turn::{Phase, Turn},
    usage::{UsageAmounts, UsageKey},
};
use turns::checkpoint::{Checkpoint, LastCheckpoint};
use turns::ports::{
    ArchiveItem, Audience, DocumentChange, DocumentHead, DocumentId, Documents, FoundRecord, FoundTurn,
    ListError, Meter, MeterReads, Order, OrgModes, Page, Reads, Record, Store, StoredVersion, TimeRange,
    Unavailable, WriteError,
};

use super::{Faulty, reads, writes};
use crate::{
    fault::Effect,
    memory::Table,
    planted_bugs::{Bug, Planted},
};

impl Faulty<Table> {
    /// Returns the value as the bug of the port changes it.
    fn with_bug<T>(&self, value: T, change: impl FnOnce(&Planted, T) -> T) -> T {
        match &self.bug {
            Some(planted) => change(planted, value),
            None => value,
        }
    }

    fn assume_success(&self, result: Result<(), WriteError>) -> Result<(), WriteError> {
        match result {
            Err(WriteError::Unknown(_)) if self.has(Bug::LostReplyTakenForSuccess) => Ok(()),
            result => result,
        }
    }
}

impl Reads for Faulty<Table> {
    reads! {
        ReadSession: session(key: &SessionKey) -> Option<Session>;
        ReadTurn: turns(keys: &[TurnKey]) -> Vec<Turn>;
        ReadRequest: request_detail(key: &TurnKey) -> Option<RequestDetail>;
        ReadEarlier: turns_before(session: &SessionKey, before: u64, limit: usize) -> Vec<Turn>;
        ReadParticipant: is_participant(session: &SessionKey, user: &UserId) -> bool;
        ReadCheckpoints: checkpoints(turn: &TurnKey, after: Option<StreamPosition>) -> Vec<Checkpoint>;
        ReadCheckpoints: last_checkpoint(turn: &TurnKey) -> Option<LastCheckpoint>;
        ReadCheckpoints: segment(turn: &TurnKey, end: StreamPosition) -> Vec<Checkpoint>;
        ReadPurge: purge(key: &SessionKey) -> Option<Purge>;
        ReadUnknown: unknown_effects(session: &SessionKey, hashes: &BTreeSet<Fingerprint>)
            -> Vec<UnknownEffect>;
        ReadUnknown: unknown_effects_of_org(org: &OrgId, limit: usize, after: Option<String>)
            -> Page<UnknownEffect>;
        ReadApprovals: approvals(turn: &TurnKey) -> Vec<Approval>;
        ReadApprovals: approval(org: &OrgId, id: &ApprovalId) -> Option<Approval>;
        ReadApprovals: open_approvals(org: &OrgId, audience: &Audience, now: Timestamp, limit: usize, after: Option<String>)
            -> Page<(String, Approval)>;
        ReadRecords: record(key: &TurnKey) -> Option<Record>;
        ReadRecords: records(session: &SessionKey, after: Option<u64>, order: Order, limit: usize)
            -> Vec<Record>;
        ReadRecords: mode_history(session: &SessionKey, before: Option<ModeChangePosition>, limit: usize)
            -> Vec<ModeChange>;
        ReadRecords: feedback(turn: &TurnKey, after: Option<&UserId>, limit: usize) -> Vec<Feedback>;
        ReadRecords: participants(session: &SessionKey, limit: usize) -> Vec<Participant>;
    }

    async fn newest_intent(&self, turn: &TurnKey) -> Result<Option<Intent>, Unavailable> {
        let intent = self.read(Effect::ReadIntent, self.inner.newest_intent(turn)).await?;
        Ok(self.with_bug(intent, |planted, intent| planted.see_intent(intent)))
    }

    async fn turn(&self, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
        let turn = self.read(Effect::ReadTurn, self.inner.turn(key)).await?;
        Ok(self.with_bug(turn, |planted, turn| planted.see(key, turn)))
    }

    // Two reads, between which anything that can happen in the table may happen.
    async fn sessions_and_turns(&self, keys: &[TurnKey]) -> Result<Vec<FoundTurn>, Unavailable> {
        try_join_all(keys.iter().map(|key| try_join(self.session(&key.session), self.turn(key)))).await
    }

    async fn session_and_record(&self, key: &TurnKey) -> Result<FoundRecord, Unavailable> {
        try_join3(self.session(&key.session), self.turn(key), self.request_detail(key)).await
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &TimeRange,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        let read = async {
            match self.inner.sessions(org, user, active, limit, after).await {
                Err(ListError::Unavailable(error)) => Err(error),
                result => Ok(result),
            }
        };
        self.read(Effect::ReadRecords, read).await?
    }
}

impl Store for Faulty<Table> {
    writes! {
        WriteDocument: change_document(org: OrgId, id: DocumentId, change: DocumentChange) -> (), WriteError;
        PutFeedback: put_feedback(feedback: Feedback) -> Option<Feedback>, WriteError;
        PutCheckpoint: put_checkpoint(checkpoint: Checkpoint) -> (), Unavailable;
        WritePurge: write_purge(purge: Purge) -> (), WriteError;
        WriteApproval: put_approval(approval: Approval) -> (), WriteError;
        WriteUnknown: remove_unknown_effect(effect: UnknownEffect) -> (), WriteError;
        RemoveItems: remove_items(session: SessionKey, items: [PurgeEntry]) -> (), Unavailable;
    }

    reads! {
        ListItems: items(session: &SessionKey) -> Vec<PurgeEntry>;
        Due: due_purges(shard: u8, now: Timestamp, after: Option<String>) -> Page<SessionKey>;
    }

    async fn answer_approval(&self, approval: &Approval, waiting: &TurnChange) -> Result<(), WriteError> {
        let (inner, approval, waiting) = (self.inner.clone(), approval.clone(), waiting.clone());
        let answer = async move { inner.answer_approval(&approval, &waiting).await };
        self.write(Effect::WriteApproval, answer).await
    }

    async fn put_intent(&self, intent: &Intent) -> Result<(), WriteError> {
        let (inner, intent, bug) = (self.inner.clone(), intent.clone(), self.bug.as_ref().map(|one| one.bug));
        self.write(Effect::WriteIntent, async move {
            match bug {
                Some(Bug::IntentUnwritten) => Ok(()),
                // Without its round, the intent of an earlier attempt can't be kept either.
                Some(Bug::RoundUnstored) => {
                    inner.contents().intents.remove(&(intent.turn.clone(), intent.round));
                    inner.put_intent(&intent).await
                }
                _ => inner.put_intent(&intent).await,
            }
        })
        .await
    }

    async fn put_unknown_effects(
        &self,
        turn: &TurnKey,
        attempt: &AttemptId,
        effects: &[UnknownEffect],
    ) -> Result<(), WriteError> {
        let (inner, turn, attempt) = (self.inner.clone(), turn.clone(), attempt.clone());
        let effects = if self.has(Bug::UnknownForgotten) { Vec::new() } else { effects.to_vec() };
        self.write(
            Effect::WriteUnknown,
            async move { inner.put_unknown_effects(&turn, &attempt, &effects).await },
        )
        .await
    }

    async fn write_turn(&self, change: &TurnChange) -> Result<(), WriteError> {
        let (inner, change) = (self.inner.clone(), self.with_bug(change.clone(), Planted::weaken));
        if self.has(Bug::AcknowledgedEarly) && change.after.state.phase() == Phase::Settled {
            self.process.clock().apply_later(Duration::from_secs(2), async move {
                let _ = inner.write_turn(&change).await;
            });
            return Ok(());
        }
        let written = self.write(Effect::WriteTurn, async move { inner.write_turn(&change).await });
        self.assume_success(written.await)
    }

    async fn commit(&self, commit: &Commit) -> Result<(), WriteError> {
        let (inner, commit) = (self.inner.clone(), self.with_bug(commit.clone(), Planted::weaken_commit));
        let before = self.inner.contents().sessions.get(&commit.session.after.key).cloned();
        let finalizes = commit.turns.iter().any(|change| change.after.state.phase() == Phase::Finalized);
        let after = commit.session.after.clone();
        let written = self.write(Effect::Commit, async move { inner.commit(&commit).await });
        let result = self.assume_success(written.await);
        if result.is_ok() && finalizes && self.has(Bug::UsageAddedTwice) {
            self.inner.add_usage_again(&after, before.as_ref());
        }
        result
    }

    async fn put_archive_items(
        &self,
        reservation: &Reservation,
        items: &[ArchiveItem],
    ) -> Result<(), WriteError> {
        let (inner, reservation, items) = (self.inner.clone(), reservation.clone(), items.to_vec());
        let is_ignored = self.has(Bug::ReservationIgnored);
        let write = async move {
            if is_ignored {
                items.iter().for_each(|item| inner.restore(item));
                return Ok(());
            }
            inner.put_archive_items(&reservation, &items).await
        };
        self.write(Effect::PutArchive, write).await
    }

    async fn due(
        &self,
        shard: u8,
        now: Timestamp,
        after: Option<String>,
    ) -> Result<Page<TurnKey>, Unavailable> {
        let mut page = self.read(Effect::Due, self.inner.due(shard, now, after)).await?;
        if self.has(Bug::SettledLeavesIndex) {
            let contents = self.inner.contents();
            let settled =
                |key: &TurnKey| contents.heads.get(key).is_some_and(|turn| turn.settlement().is_some());
            page.items.retain(|key| !settled(key));
        }
        Ok(page)
    }
}

impl MeterReads for Faulty<Table> {
    reads! {
        ReadMeter: meter(meter: &MeterKey, turn: &TurnKey) -> budget::Meter;
        ReadMeter: meter_reading(meter: &MeterKey) -> MeterReading;
        ReadMeter: usage(org: &OrgId, day: Day, user: Option<&UserId>, after: Option<String>)
            -> Page<(UsageKey, UsageAmounts)>;
    }
}

impl Meter for Faulty<Table> {
    async fn write_meter(&self, change: &MeterChange) -> Result<budget::Meter, WriteError> {
        let (inner, mut change) = (self.inner.clone(), change.clone());
        if self.has(Bug::MeterEntryIgnored) {
            let stored = inner.meter(&change.meter, &change.turn).await;
            change.before = stored.map_err(|error| WriteError::Unknown(error.into()))?.entry;
        }
        self.write(Effect::WriteMeter, async move { inner.write_meter(&change).await }).await
    }
}

impl Documents for Faulty<Table> {
    reads! {
        ReadContext: document(org: &OrgId, id: &DocumentId) -> Option<DocumentHead>;
        ReadContext: contexts(org: &OrgId, kind: ContextKind, after: Option<&ContextId>, limit: usize)
            -> Vec<(ContextId, DocumentHead)>;
        ReadContext: modes(org: &OrgId) -> OrgModes;
        ReadContext: context_version(org: &OrgId, id: &ContextId, number: u32) -> Option<StoredVersion>;
        ReadContext: context_versions(org: &OrgId, id: &ContextId, before: Option<u32>, limit: usize)
            -> Vec<StoredVersion>;
    }

    async fn live_document(&self, org: &OrgId, id: &DocumentId) -> Result<Option<DocumentHead>, Unavailable> {
        let head = match id {
            DocumentId::Context(_) => {
                self.read(Effect::ReadContext, self.inner.live_document(org, id)).await?
            }
            // Their absence is cached too, so nearly always without a call.
            DocumentId::Budgets | DocumentId::OrgSettings => self.inner.live_document(org, id).await?,
        };
        Ok(head.map(|head| self.with_bug(head, Planted::roll_out)))
    }
}
