//! Compose: reads what the next model request has to tell, then has it composed.

use agent::{
    compose::{Composed, compose},
    conversation::{Conversation, Earlier, LeftOut, Missing},
    history,
    model::Exchange,
    progress::{Plan, Progress},
};
use contracts::{error::causes, request::UserTurn};
use futures::future::{join_all, try_join};
use protocol::{
    payload::{Kind, Payload},
    turn::{Turn, Verdict},
};

use super::{executor::Executor, outcomes};
use crate::ports::{AgentDeps, PayloadReads, Reads, Unavailable};

/// The most earlier turns that are looked at.
const MOST_TURNS: usize = 100;

/// How many turns are read at once: each may be some megabytes.
const AT_ONCE: usize = 4;

impl<D: AgentDeps> Executor<D> {
    /// The next request. Earlier turns that can't be read are left out of it, which its user is told; without
    /// the turn's own question or the solution context there is none.
    pub(super) async fn compose(
        &self,
        turn: &Turn,
        plan: &Plan,
        progress: &mut Progress,
        conversation: &mut Conversation,
    ) -> Result<Composed, Unavailable> {
        let Missing { request, earlier, solution } = conversation.missing(plan, progress);
        if request {
            conversation.request = Some(self.request_of(turn).await?);
        }
        if let Some(room) = earlier {
            conversation.earlier = Some(self.earlier(turn, room).await);
        }
        if let Some(latched) = solution {
            let brought_by = turn.key.session.turn(latched.turn);
            let payload = Payload { turn: brought_by, kind: Kind::Instruction(latched.request) };
            let text = self.request_at(&payload).await?.solution_context_text;
            let missing = || Unavailable { what: "the solution context", source: "it is not there".into() };
            conversation.solution = Some(text.ok_or_else(missing)?);
        }
        Ok(compose(turn, plan, progress, conversation, &self.deps.config().catalog))
    }

    /// The newest completed turns before this one that together take at most `room` tokens. One that
    /// does not fit, or can't be read, ends the walk.
    async fn earlier(&self, turn: &Turn, room: u32) -> Earlier {
        let (mut newest_first, mut left) = (Vec::new(), room);
        let mut before = turn.sequence;
        for _ in 0..MOST_TURNS / AT_ONCE {
            if before <= 1 {
                return oldest_first(newest_first, LeftOut::Nothing);
            }
            let page = self.page(turn, before).await;
            let Some(page) = logged(page, "the session's history can't be read") else {
                return oldest_first(newest_first, LeftOut::Unreadable);
            };
            for (sequence, exchange) in page {
                before = sequence;
                let Some(exchange) = exchange else { continue };
                let Some(rest) = left.checked_sub(exchange.tokens()) else {
                    return oldest_first(newest_first, LeftOut::NoRoom);
                };
                left = rest;
                newest_first.push(exchange);
            }
        }
        oldest_first(newest_first, if before <= 1 { LeftOut::Nothing } else { LeftOut::NoRoom })
    }

    /// A few turns before a sequence number, newest first.
    async fn page(&self, turn: &Turn, before: u64) -> Result<Vec<(u64, Option<Exchange>)>, Unavailable> {
        let heads = self.deps.store().earlier(&turn.key.session, before, AT_ONCE).await?;
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
        let written = outcomes::written_by(self.deps.payloads(), &turn.key, writer);
        let (request, outcome) = try_join(self.request_of(turn), written).await?;
        Ok(history::exchange(&request, &outcome))
    }

    /// The request that a turn was started with, as it was stored.
    async fn request_of(&self, turn: &Turn) -> Result<UserTurn, Unavailable> {
        let kind = Kind::Instruction(turn.fingerprint);
        self.request_at(&Payload { turn: turn.key.clone(), kind }).await
    }

    async fn request_at(&self, payload: &Payload) -> Result<UserTurn, Unavailable> {
        let missing = |source| Unavailable { what: "a stored request", source };
        let stored =
            self.deps.payloads().get(payload).await?.ok_or_else(|| missing("it is not there".into()))?;
        UserTurn::from_canonical(&stored).map_err(|_| missing("it can't be read".into()))
    }
}

fn oldest_first(mut newest_first: Vec<Exchange>, left_out: LeftOut) -> Earlier {
    newest_first.reverse();
    Earlier { exchanges: newest_first, left_out }
}

fn logged<T>(read: Result<T, Unavailable>, what: &str) -> Option<T> {
    read.inspect_err(|error| tracing::warn!(error = %causes(error), "{what}")).ok()
}
