//! Lists, page by page: sessions by their last activity, and the turns of one (DD-003).
//!
//! What a list is narrowed by is looked at item by item, but for users and instants, which are the index's own. So a page
//! looks at no more than a few times its size: it may be short, or empty, and says where to go on.

use std::cmp::Reverse;

use contracts::{
    id::{SessionId, UserId},
    read::{AgentSessionSummary, AgentSessionTurn, AgentSessionTurnSummary, ListResponse, TurnStatus},
};
use futures::{StreamExt, TryStreamExt, stream};
use protocol::{Caller, id::SessionKey, session::Session};

use super::{
    access,
    read::{AT_ONCE, SessionReader, Told, names_of, report_of, sequence},
};
use crate::{
    ports::{Between, Order, PayloadReads, Reads, Record, Unavailable},
    refusal::Refusal,
    view,
};

/// How often a page of a narrowed list asks the table for what it still lacks.
const MOST_LOOKS: usize = 10;

/// How many heads are looked at together for the last turn of a status.
const HEADS_PAGE: usize = 100;

/// Which sessions are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedSessions {
    /// Those that this user owns or takes part in.
    pub user: Option<UserId>,
    /// Those whose last turn stands so.
    pub status: Option<TurnStatus>,
    /// Those in this mode.
    pub mode: Option<String>,
    /// Those that were deleted too.
    pub with_deleted: bool,
    /// Those whose last activity, or with a user that user's own, lies there.
    pub active: Between,
}

/// Which turns of a session are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedTurns {
    /// In which order.
    pub order: Order,
    /// Those that stand so.
    pub status: Option<TurnStatus>,
    /// Those that began in this mode.
    pub mode: Option<String>,
    /// Those that this user asked.
    pub user: Option<UserId>,
    /// Those that were accepted then.
    pub created: Between,
}

impl WantedSessions {
    pub(super) fn holds(&self, session: &Session) -> bool {
        let status = session.last_turn.as_ref().map(|last| last.status);
        (self.with_deleted || session.deleted.is_none())
            && self.status.is_none_or(|wanted| status == Some(wanted))
            && self.mode.as_ref().is_none_or(|wanted| session.mode == *wanted)
    }
}

impl WantedTurns {
    fn holds(&self, Record { turn, request, .. }: &Record) -> bool {
        self.status.is_none_or(|wanted| turn.status() == wanted)
            && self.mode.as_ref().is_none_or(|wanted| turn.mode == *wanted)
            && self.user.as_ref().is_none_or(|wanted| request.by.id == *wanted)
            && self.created.holds(turn.created)
    }
}

impl<R: Reads, P: PayloadReads> SessionReader<R, P> {
    /// Sessions of the caller's org that the caller may see, newest activity first.
    ///
    /// # Errors
    /// When the place is not one that a page of this list ended with.
    pub async fn sessions(
        &self,
        caller: &Caller,
        wanted: &WantedSessions,
        page_size: u32,
        mut place: Option<String>,
    ) -> Result<Told<ListResponse<AgentSessionSummary>>, Refusal> {
        let most = usize::try_from(page_size).unwrap_or(usize::MAX);
        let mut found: Vec<Session> = Vec::new();
        for _ in 0..MOST_LOOKS {
            let lacking = most - found.len();
            let user = wanted.user.as_ref();
            let page = self.store.sessions(&caller.org, user, &wanted.active, lacking, place).await?;
            let sessions = self.current(page.items, wanted.mode.is_some()).await?.into_iter();
            let held = sessions.filter(|session| wanted.holds(session));
            let looked = stream::iter(held).map(|session| async move {
                let seen = access::sees(&self.store, caller, &session).await?;
                Ok::<_, Unavailable>(seen.then_some(session))
            });
            let seen: Vec<Option<Session>> = looked.buffered(AT_ONCE).try_collect().await?;
            found.extend(seen.into_iter().flatten());
            place = page.next;
            if place.is_none() || found.len() == most {
                break;
            }
        }
        if wanted.user.is_none() {
            // The index has them in the order of what is finalized.
            found.sort_by_key(|session| Reverse(session.last_activity));
        }
        let contexts = found.iter().map(|item| &item.contexts);
        let Told { result: names, warnings } = names_of(&self.store, caller, contexts).await;
        let items = found.iter().map(|session| view::session_summary(session, &names)).collect();
        Ok(Told { result: ListResponse::new(items, page_size, place), warnings })
    }

    /// The turns of a session, in a few lines each.
    ///
    /// # Errors
    /// When there is no such session for this caller, or the place is not one that a page of this list ended with.
    pub async fn turns(
        &self,
        caller: &Caller,
        session: SessionId,
        wanted: &WantedTurns,
        page_size: u32,
        place: Option<&str>,
    ) -> Result<ListResponse<AgentSessionTurnSummary>, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let mut after = sequence(place)?;
        let session = self.store.session(&key).await?;
        let session = self.seen(caller, session).await?.ok_or(Refusal::SessionNotFound)?;
        let most = usize::try_from(page_size).unwrap_or(usize::MAX);
        let (mut found, mut is_over): (Vec<Record>, bool) = (Vec::new(), false);
        for _ in 0..MOST_LOOKS {
            let records = self.store.records(&key, after, wanted.order, most - found.len()).await?;
            let last = records.last().map(|record| record.turn.sequence);
            is_over = last.is_none_or(|last| match wanted.order {
                Order::OldestFirst => last >= session.turn_count,
                Order::NewestFirst => last <= 1,
            });
            after = last.or(after);
            found.extend(records.into_iter().filter(|record| wanted.holds(record)));
            if is_over || found.len() == most {
                break;
            }
        }
        let mut items = Vec::with_capacity(found.len());
        for record in &found {
            items.push(view::turn_summary(record, &report_of(&self.store, &self.payloads, record).await?));
        }
        let next = after.filter(|_| !is_over).map(|after| after.to_string());
        Ok(ListResponse::new(items, page_size, next))
    }

    /// The newest turn, or the newest that stands so, of the newest thousand.
    ///
    /// # Errors
    /// When there is no such session for this caller, or no such turn in it.
    pub async fn last_turn(
        &self,
        caller: &Caller,
        session: SessionId,
        status: Option<TurnStatus>,
    ) -> Result<AgentSessionTurn, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session };
        let found = self.store.session(&key).await?;
        let found = self.seen(caller, found).await?.ok_or(Refusal::SessionNotFound)?;
        let last = found.last_turn.ok_or(Refusal::TurnNotFound)?;
        let Some(status) = status else {
            return self.turn_of_seen(caller, &key.turn(last.id)).await;
        };
        let mut before = found.turn_count.saturating_add(1);
        for _ in 0..MOST_LOOKS {
            let heads = self.store.earlier(&key, before, HEADS_PAGE).await?;
            let Some(oldest) = heads.last().map(|head| head.sequence) else { break };
            before = oldest;
            if let Some(turn) = heads.into_iter().find(|head| head.status() == status) {
                return self.turn_of_seen(caller, &turn.key).await;
            }
        }
        Err(Refusal::TurnNotFound)
    }
}
