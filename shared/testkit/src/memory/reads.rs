//! The reading half of the table.

use std::collections::BTreeSet;

use contracts::{
    Fingerprint, Timestamp,
    id::{OrgId, UserId},
};
use futures::future::{try_join, try_join_all, try_join3};
use protocol::{
    approval::{Approval, ApprovalId},
    detail::{Feedback, ModeChange, ModeChangePosition, Participant, RequestDetail},
    effect::{Intent, UnknownEffect},
    id::{SessionKey, TurnKey},
    purge::Purge,
    session::Session,
    stream_position::StreamPosition,
    turn::Turn,
};
use turns::checkpoint::{Checkpoint, LastCheckpoint};
use turns::ports::{
    Audience, CHECKPOINT_PAGE_SIZE, FoundRecord, FoundTurn, ListError, Order, Page, Reads, Record, TimeRange,
    Unavailable,
};

use super::{Contents, Table};

impl Reads for Table {
    async fn session(&self, key: &SessionKey) -> Result<Option<Session>, Unavailable> {
        Ok(self.contents().sessions.get(key).cloned())
    }

    async fn turn(&self, key: &TurnKey) -> Result<Option<Turn>, Unavailable> {
        Ok(self.contents().heads.get(key).cloned())
    }

    async fn turns(&self, keys: &[TurnKey]) -> Result<Vec<Turn>, Unavailable> {
        let contents = self.contents();
        Ok(keys.iter().filter_map(|key| contents.heads.get(key).cloned()).collect())
    }

    // Two reads, between which anything that can happen in the table may happen.
    async fn sessions_and_turns(&self, keys: &[TurnKey]) -> Result<Vec<FoundTurn>, Unavailable> {
        try_join_all(keys.iter().map(|key| try_join(self.session(&key.session), self.turn(key)))).await
    }

    async fn session_and_record(&self, key: &TurnKey) -> Result<FoundRecord, Unavailable> {
        try_join3(self.session(&key.session), self.turn(key), self.request_detail(key)).await
    }

    async fn request_detail(&self, key: &TurnKey) -> Result<Option<RequestDetail>, Unavailable> {
        Ok(self.contents().requests.get(key).cloned())
    }

    async fn turns_before(
        &self,
        session: &SessionKey,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Turn>, Unavailable> {
        let contents = self.contents();
        let of_session = contents.heads.values().filter(|turn| turn.key.session == *session);
        let mut turns: Vec<Turn> = of_session.filter(|turn| turn.sequence < before).cloned().collect();
        turns.sort_by_key(|turn| std::cmp::Reverse(turn.sequence));
        turns.truncate(limit);
        Ok(turns)
    }

    async fn is_participant(&self, session: &SessionKey, user: &UserId) -> Result<bool, Unavailable> {
        Ok(self.contents().participants.contains_key(&(session.clone(), user.clone())))
    }

    async fn checkpoints(
        &self,
        turn: &TurnKey,
        after: Option<StreamPosition>,
    ) -> Result<Vec<Checkpoint>, Unavailable> {
        let contents = self.contents();
        let of_turn = contents.checkpoints.iter().filter(|((key, _), _)| key == turn);
        let later = of_turn.filter(|((_, end), _)| after.is_none_or(|after| *end > after));
        Ok(later.map(|(_, checkpoint)| checkpoint.clone()).take(CHECKPOINT_PAGE_SIZE).collect())
    }

    async fn last_checkpoint(&self, turn: &TurnKey) -> Result<Option<LastCheckpoint>, Unavailable> {
        let contents = self.contents();
        let of_turn = contents.checkpoints.iter().filter(|((key, _), _)| key == turn);
        Ok(of_turn.max_by_key(|((_, end), _)| *end).map(|(_, last)| last.clone().into()))
    }

    async fn segment(&self, turn: &TurnKey, end: StreamPosition) -> Result<Vec<Checkpoint>, Unavailable> {
        let contents = self.contents();
        let of_turn = contents.checkpoints.iter().filter(|((key, _), _)| key == turn);
        let within = of_turn.filter(|((_, at), _)| at.segment == end.segment && *at <= end);
        Ok(within.map(|(_, checkpoint)| checkpoint.clone()).collect())
    }

    async fn purge(&self, key: &SessionKey) -> Result<Option<Purge>, Unavailable> {
        Ok(self.contents().purges.get(key).cloned())
    }

    async fn records(
        &self,
        session: &SessionKey,
        after: Option<u64>,
        order: Order,
        limit: usize,
    ) -> Result<Vec<Record>, Unavailable> {
        let contents = self.contents();
        let mut records: Vec<Record> = contents
            .heads
            .keys()
            .filter(|key| key.session == *session)
            .filter_map(|key| contents.record(key))
            .filter(|record| {
                after.is_none_or(|after| match order {
                    Order::OldestFirst => record.turn.sequence > after,
                    Order::NewestFirst => record.turn.sequence < after,
                })
            })
            .collect();
        records.sort_by_key(|record| record.turn.sequence);
        if order == Order::NewestFirst {
            records.reverse();
        }
        records.truncate(limit);
        Ok(records)
    }

    async fn record(&self, key: &TurnKey) -> Result<Option<Record>, Unavailable> {
        Ok(self.contents().record(key))
    }

    async fn mode_history(
        &self,
        session: &SessionKey,
        before: Option<ModeChangePosition>,
        limit: usize,
    ) -> Result<Vec<ModeChange>, Unavailable> {
        let contents = self.contents();
        let earlier = |place: &ModeChangePosition| before.is_none_or(|before| *place < before);
        let of_session = contents.modes.iter().filter(|((of, place), _)| of == session && earlier(place));
        Ok(of_session.rev().take(limit).map(|(_, change)| change.clone()).collect())
    }

    async fn feedback(
        &self,
        turn: &TurnKey,
        after: Option<&UserId>,
        limit: usize,
    ) -> Result<Vec<Feedback>, Unavailable> {
        let contents = self.contents();
        let of_turn = contents.feedback.iter().filter(|((of, _), _)| of == turn);
        let later = of_turn.filter(|((_, user), _)| after.is_none_or(|after| user > after));
        Ok(later.map(|(_, feedback)| feedback.clone()).take(limit).collect())
    }

    async fn participants(
        &self,
        session: &SessionKey,
        limit: usize,
    ) -> Result<Vec<Participant>, Unavailable> {
        let contents = self.contents();
        let of_session = contents.participants.iter().filter(|((of, _), _)| of == session);
        Ok(of_session.map(|(_, participant)| participant.clone()).take(limit).collect())
    }

    async fn sessions(
        &self,
        org: &OrgId,
        user: Option<&UserId>,
        active: &TimeRange,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<Session>, ListError> {
        let contents = self.contents();
        // The token contains its list, so that tokens of other lists are rejected.
        let list = format!("{org}|{}|", user.map_or("", UserId::as_str));
        let before = match &after {
            Some(token) => Some(token.strip_prefix(&list).ok_or(ListError::InvalidToken)?),
            None => None,
        };
        let mut places: Vec<(String, &Session)> = contents
            .sessions
            .values()
            .filter(|session| session.key.org == *org && !session.is_purged())
            .filter_map(|session| Some((contents.activity(session, user)?, session)))
            .filter(|((at, _), _)| active.contains(*at))
            .map(|((_, place), session)| (place, session))
            .filter(|(place, _)| before.is_none_or(|before| place.as_str() < before))
            .collect();
        places.sort_by(|one, other| other.0.cmp(&one.0));
        let next =
            places.get(limit).and_then(|_| places.get(limit - 1)).map(|(place, _)| format!("{list}{place}"));
        Ok(Page { items: places.into_iter().take(limit).map(|(_, session)| session.clone()).collect(), next })
    }

    async fn newest_intent(&self, turn: &TurnKey) -> Result<Option<Intent>, Unavailable> {
        let contents = self.contents();
        let range = (turn.clone(), 0)..=(turn.clone(), u32::MAX);
        Ok(contents.intents.range(range).next_back().map(|(_, intent)| intent.clone()))
    }

    async fn unknown_effects(
        &self,
        session: &SessionKey,
        hashes: &BTreeSet<Fingerprint>,
    ) -> Result<Vec<UnknownEffect>, Unavailable> {
        let contents = self.contents();
        let find = |hash: &Fingerprint| contents.unknown_effects.get(&(session.clone(), *hash)).cloned();
        Ok(hashes.iter().filter_map(find).collect())
    }

    async fn approvals(&self, turn: &TurnKey) -> Result<Vec<Approval>, Unavailable> {
        let contents = self.contents();
        Ok(contents.approvals.values().filter(|approval| approval.turn == *turn).cloned().collect())
    }

    async fn approval(&self, org: &OrgId, id: &ApprovalId) -> Result<Option<Approval>, Unavailable> {
        let contents = self.contents();
        let is_it = |found: &&Approval| found.turn.session.org == *org && found.id == *id;
        Ok(contents.approvals.values().find(is_it).cloned())
    }

    async fn open_approvals(
        &self,
        org: &OrgId,
        audience: &Audience,
        now: Timestamp,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<(String, Approval)>, Unavailable> {
        let contents = self.contents();
        let is_open = |approval: &&Approval| {
            approval.turn.session.org == *org
                && approval.answer.is_none()
                && approval.expires > now
                && Audience::of(approval).contains(audience)
        };
        let mut places: Vec<(String, Approval)> = contents
            .approvals
            .values()
            .filter(is_open)
            .map(|approval| (format!("{}#{}", approval.expires, approval.id.as_str()), approval.clone()))
            .filter(|(place, _)| after.as_ref().is_none_or(|after| place > after))
            .collect();
        places.sort_by(|one, other| one.0.cmp(&other.0));
        let next = (places.len() > limit).then(|| places.get(limit.saturating_sub(1))).flatten();
        let next = next.map(|(place, _)| place.clone());
        places.truncate(limit);
        Ok(Page { items: places, next })
    }

    async fn unknown_effects_of_org(
        &self,
        org: &OrgId,
        limit: usize,
        after: Option<String>,
    ) -> Result<Page<UnknownEffect>, Unavailable> {
        let contents = self.contents();
        let of_org = contents.unknown_effects.iter().filter(|((session, _), _)| session.org == *org);
        let mut places: Vec<(String, &UnknownEffect)> = of_org
            .map(|((session, hash), effect)| (format!("{}#{}#{hash}", effect.at, session.session), effect))
            .filter(|(place, _)| after.as_ref().is_none_or(|after| place > after))
            .collect();
        places.sort_by(|one, other| one.0.cmp(&other.0));
        let next = (places.len() > limit).then(|| places.get(limit.saturating_sub(1))).flatten();
        let next = next.map(|(place, _)| place.clone());
        Ok(Page { items: places.into_iter().take(limit).map(|(_, effect)| effect.clone()).collect(), next })
    }
}

impl Contents {
    fn record(&self, key: &TurnKey) -> Option<Record> {
        Some(Record {
            turn: self.heads.get(key)?.clone(),
            request: self.requests.get(key)?.clone(),
            result: self.results.get(key).cloned(),
        })
    }

    /// Returns a session's place in the org's list, or in the list of a user who takes part in it.
    fn activity(&self, session: &Session, user: Option<&UserId>) -> Option<(Timestamp, String)> {
        let at = match user {
            None => session.last_activity,
            Some(user) => self.participants.get(&(session.key.clone(), user.clone()))?.last_activity,
        };
        Some((at, format!("{at}#{}", session.key.session)))
    }
}
