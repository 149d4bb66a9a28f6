//! The session's earlier turns, read back where they have to be told again.

use contracts::request::UserTurn;
use futures::future::{join_all, try_join};

use super::{Executor, outcome};
use crate::ports::{Announcements, Payloads, Store, Unavailable, World};
use agent::{
    history,
    model::{Exchange, Model},
};
use protocol::{
    payload::{Kind, Payload},
    turn::{Turn, Verdict},
};

/// The most turns that are looked at.
const MOST_TURNS: usize = 100;

/// How many turns are read at once: each may be some megabytes.
const AT_ONCE: usize = 4;

/// What came before a turn.
#[derive(Debug)]
pub(super) struct Earlier {
    /// Completed turns, oldest first.
    pub(super) exchanges: Vec<Exchange>,
    /// Why these are not all there are.
    pub(super) left_out: LeftOut,
}

/// Why the telling of earlier turns stops short of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftOut {
    /// It does not.
    Nothing,
    /// The next one did not fit, or there are too many.
    NoRoom,
    /// The next one could not be read.
    Unreadable,
}

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// The newest completed turns before this one that together take at most `room` tokens. One that
    /// does not fit, or can't be read, ends the walk.
    pub(super) async fn earlier(&self, turn: &Turn, room: u32) -> Earlier {
        let (mut newest_first, mut left) = (Vec::new(), room);
        let mut before = turn.sequence;
        for _ in 0..MOST_TURNS / AT_ONCE {
            if before <= 1 {
                return told(newest_first, LeftOut::Nothing);
            }
            let page = match self.page(turn, before).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, source = %error.source, "the session's history can't be read");
                    return told(newest_first, LeftOut::Unreadable);
                }
            };
            for (sequence, exchange) in page {
                before = sequence;
                let Some(exchange) = exchange else { continue };
                let Some(rest) = left.checked_sub(exchange.tokens()) else {
                    return told(newest_first, LeftOut::NoRoom);
                };
                left = rest;
                newest_first.push(exchange);
            }
        }
        told(newest_first, if before <= 1 { LeftOut::Nothing } else { LeftOut::NoRoom })
    }

    /// A few turns before a sequence number, newest first.
    async fn page(&self, turn: &Turn, before: u64) -> Result<Vec<(u64, Option<Exchange>)>, Unavailable> {
        let heads = self.store.earlier(&turn.key.session, before, AT_ONCE).await?;
        if heads.is_empty() {
            let source = "turns are missing from the session".into();
            return Err(Unavailable { what: "the session's history", source });
        }
        let read = join_all(heads.iter().map(|head| self.exchange(head))).await;
        heads.iter().zip(read).map(|(head, exchange)| Ok((head.sequence, exchange?))).collect()
    }

    /// A turn as it is told; none when it has no answer.
    async fn exchange(&self, turn: &Turn) -> Result<Option<Exchange>, Unavailable> {
        let Some(Verdict::Completed { writer }) = turn.settlement().map(|settlement| &settlement.verdict)
        else {
            return Ok(None);
        };
        let written = outcome::written_by(&self.payloads, &turn.key, writer);
        let (request, outcome) = try_join(self.request_of(turn), written).await?;
        Ok(history::exchange(&request, &outcome))
    }

    /// The user's own request, as it was stored.
    pub(super) async fn request_of(&self, turn: &Turn) -> Result<UserTurn, Unavailable> {
        let kind = Kind::Instruction(turn.fingerprint);
        self.request_at(&Payload { turn: turn.key.clone(), kind }).await
    }

    /// A stored request.
    pub(super) async fn request_at(&self, payload: &Payload) -> Result<UserTurn, Unavailable> {
        let missing = |source| Unavailable { what: "a stored request", source };
        let stored = self.payloads.get(payload).await?.ok_or_else(|| missing("it is not there".into()))?;
        UserTurn::from_canonical(&stored).map_err(|_| missing("it can't be read".into()))
    }
}

fn told(mut newest_first: Vec<Exchange>, left_out: LeftOut) -> Earlier {
    newest_first.reverse();
    Earlier { exchanges: newest_first, left_out }
}
