//! Paginated lists: sessions by last activity, and the turns of a session.
//!
//! The table filters by user and time. All other filters apply to each item after the read. To bound the reads, a
//! page examines at most a few times its size, so it may be short or empty and still have a next token.

use std::cmp::Reverse;

use contracts::{
    id::{SessionId, TurnId, UserId},
    read::{AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, ListResponse, TurnStatus},
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{Caller, id::SessionKey, session::Session};

use crate::{
    flow::{
        access,
        finish::evidence,
        read::{
            documents,
            session_reader::{MAX_CONCURRENT_READS, SessionReader, WithWarnings, parse_sequence},
        },
    },
    ports::{Order, PayloadReads, Reads, Record, TimeRange, Unavailable},
    refusal::Refusal,
    view,
};

/// The most reads to fill one page of a filtered list.
const MAX_PAGES: usize = 10;

/// The number of heads to read at a time in search of the last turn with a status.
const HEADS_PAGE_SIZE: usize = 100;

/// A filter for sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Owned by this user, or with this user as a participant.
    pub user: Option<UserId>,
    /// With a last turn of this status.
    pub status: Option<TurnStatus>,
    /// In this mode.
    pub mode: Option<String>,
    /// Of this category.
    pub category: Option<String>,
    /// Include deleted sessions.
    pub with_deleted: bool,
    /// Last activity in this range. With `user`, it is that user's own activity.
    pub active: TimeRange,
}

/// A filter and order for the turns of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFilter {
    /// The order.
    pub order: Order,
    /// Of this status.
    pub status: Option<TurnStatus>,
    /// Started in this mode.
    pub mode: Option<String>,
    /// Requested by this user.
    pub user: Option<UserId>,
    /// Created in this range.
    pub created: TimeRange,
}

impl SessionFilter {
    pub(crate) fn matches(&self, session: &Session) -> bool {
        let status = session.last_turn.as_ref().map(|last| last.status);
        (self.with_deleted || session.deleted.is_none())
            && self.status.is_none_or(|wanted| status == Some(wanted))
            && self.mode.as_ref().is_none_or(|wanted| session.mode == *wanted)
            && self.category.as_ref().is_none_or(|wanted| session.category.as_ref() == Some(wanted))
    }
}

impl TurnFilter {
    fn matches(&self, Record { turn, request, .. }: &Record) -> bool {
        self.status.is_none_or(|wanted| turn.status() == wanted)
            && self.mode.as_ref().is_none_or(|wanted| turn.mode == *wanted)
            && self.user.as_ref().is_none_or(|wanted| request.requested_by.id == *wanted)
            && self.created.contains(turn.created)
    }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Lists the sessions of the caller's org that the caller may see, newest activity first.
    ///
    /// # Errors
    /// If the token isn't from this list.
    pub async fn sessions(
        &self,
        caller: &Caller,
        filter: &SessionFilter,
        page_size: u32,
        mut token: Option<String>,
    ) -> Result<WithWarnings<ListResponse<AgentSessionSummary>>, Refusal> {
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        let mut found: Vec<Session> = Vec::new();
        for _ in 0..MAX_PAGES {
            let remaining = limit - found.len();
            let user = filter.user.as_ref();
            let page = self.store.sessions(&caller.org, user, &filter.active, remaining, token).await?;
            let sessions = self.project_all(page.items, filter.mode.is_some()).await?.into_iter();
            let matching = sessions.filter(|session| filter.matches(session));
            let visible = stream::iter(matching).map(|session| async move {
                let visible = access::can_see(&self.store, caller, &session).await?;
                Ok::<_, Unavailable>(visible.then_some(session))
            });
            let visible: Vec<Option<Session>> = visible.buffered(MAX_CONCURRENT_READS).try_collect().await?;
            found.extend(visible.into_iter().flatten());
            token = page.next;
            if token.is_none() || found.len() == limit {
                break;
            }
        }
        if filter.user.is_none() {
            // The table's index is ordered by finalized state, which may lag behind the projections.
            found.sort_by_key(|session| Reverse(session.last_activity));
        }
        let contexts = found.iter().map(|item| &item.contexts);
        let WithWarnings { result: names, warnings } =
            documents::load_names(&self.store, caller, contexts).await;
        let items = found.iter().map(|session| view::session_summary(session, &names)).collect();
        Ok(WithWarnings { result: ListResponse::new(items, page_size, token), warnings })
    }

    /// Lists summaries of a session's turns.
    ///
    /// # Errors
    /// If this caller has no such session, or the token isn't from this list.
    pub async fn turns(
        &self,
        caller: &Caller,
        session: SessionId,
        filter: &TurnFilter,
        page_size: u32,
        token: Option<&str>,
    ) -> Result<ListResponse<AgentSessionTurnSummary>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let mut after = parse_sequence(token)?;
        let session = self.store.session(&key).await?;
        let session = self.visible(caller, &key, session).await?.ok_or(Refusal::SessionNotFound)?;
        let limit = usize::try_from(page_size).unwrap_or(usize::MAX);
        let (mut found, mut is_last): (Vec<Record>, bool) = (Vec::new(), false);
        for _ in 0..MAX_PAGES {
            let records = self.store.records(&key, after, filter.order, limit - found.len()).await?;
            let last = records.last().map(|record| record.turn.sequence);
            is_last = last.is_none_or(|last| match filter.order {
                Order::OldestFirst => last >= session.turn_count,
                Order::NewestFirst => last <= 1,
            });
            after = last.or(after);
            found.extend(records.into_iter().filter(|record| filter.matches(record)));
            if is_last || found.len() == limit {
                break;
            }
        }
        let mut items = Vec::with_capacity(found.len());
        for record in &found {
            items.push(view::turn_summary(
                record,
                &evidence::load_report(&self.store, &self.payloads, record).await?,
            ));
        }
        let next = after.filter(|_| !is_last).map(|after| after.to_string());
        Ok(ListResponse::new(items, page_size, next))
    }

    /// Lists the ids of a session's turns, beginning with the turn `from` if it is given.
    ///
    /// # Errors
    /// If this caller has no such session, it is deleted, or it has no turn `from`.
    pub async fn turn_ids(
        &self,
        caller: &Caller,
        session: SessionId,
        order: Order,
        from: Option<TurnId>,
        limit: usize,
    ) -> Result<Vec<TurnId>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let found = self.store.session(&key).await?;
        let found = self.visible(caller, &key, found).await?.filter(|session| session.deleted.is_none());
        found.ok_or(Refusal::SessionNotFound)?;
        let before_it = match from {
            None => None,
            Some(turn) => {
                let turn = self.store.turn(&key.turn(turn)).await?.ok_or(Refusal::TurnNotFound)?;
                Some(match order {
                    Order::OldestFirst => turn.sequence.saturating_sub(1),
                    Order::NewestFirst => turn.sequence.saturating_add(1),
                })
            }
        };
        let records = self.store.records(&key, before_it, order, limit).await?;
        Ok(records.into_iter().map(|record| record.turn.key.turn).collect())
    }

    /// Returns the newest turn, or the newest turn of a status among the last thousand.
    ///
    /// # Errors
    /// If this caller has no such session, or the session has no such turn.
    pub async fn last_turn(
        &self,
        caller: &Caller,
        session: SessionId,
        status: Option<TurnStatus>,
    ) -> Result<AgentSessionTurn, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let found = self.store.session(&key).await?;
        let found = self.visible(caller, &key, found).await?.ok_or(Refusal::SessionNotFound)?;
        let last = found.last_turn.ok_or(Refusal::TurnNotFound)?;
        let Some(status) = status else {
            return self.visible_turn(caller, &key.turn(last.id)).await;
        };
        let mut before = found.turn_count.saturating_add(1);
        for _ in 0..MAX_PAGES {
            let heads = self.store.turns_before(&key, before, HEADS_PAGE_SIZE).await?;
            let Some(oldest) = heads.last().map(|head| head.sequence) else { break };
            before = oldest;
            if let Some(turn) = heads.into_iter().find(|head| head.status() == status) {
                return self.visible_turn(caller, &turn.key).await;
            }
        }
        Err(Refusal::TurnNotFound)
    }
}
