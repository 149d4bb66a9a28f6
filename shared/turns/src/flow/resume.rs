//! Resume: the results of a suspended turn's client tools (AGN-034 §2.2, AGN-033 §3.3).

use std::time::Duration;

use bytes::Bytes;
use contracts::ToolContinuation;
use protocol::Caller;

use super::{
    Executor,
    attempt::Held,
    lease::Lease,
    outcome,
    replay::{self, Waited},
    think::Work,
    write::{self, Written},
};
use crate::refusal::Refusal;
use crate::{
    ports::{Announcements, Payloads, Store, World},
    stream::Live,
};
use agent::{matching, model::Model, outcome::Response, progress::Step};
use protocol::{
    id::SessionKey,
    payload::{Kind, Payload},
    transition::resume::resume,
    turn::{State, Turn, Verdict},
};

/// How often a continuation decides anew because the turn moved on meanwhile.
const ROUNDS: usize = 8;

impl<S: Store, P: Payloads, A: Announcements, M: Model, W: World> Executor<S, P, A, M, W> {
    /// Goes on with a turn that awaits these results. Any mismatch refuses the request: nothing is
    /// stored, the model is not called, the turn stays as it was (I6). The same results again get what
    /// the turn came to.
    ///
    /// # Errors
    /// When the results don't answer the turn's pending calls, or the turn does not wait for any.
    pub async fn resume(
        &self,
        caller: &Caller,
        request: &ToolContinuation,
        budget: Duration,
        live: &Live,
    ) -> Result<Response, Refusal> {
        let stop_at = self.world.monotonic().saturating_add(budget);
        let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
        let key = session.turn(request.turn_id.clone());
        for _ in 0..ROUNDS {
            let turn = self.store.turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            live.stream_as(&turn);
            let is_again =
                turn.answered.as_ref().is_some_and(|answered| answered.results == request.fingerprint());
            let (held, step) = match &turn.state {
                State::Running { .. } if is_again => {
                    match replay::wait(&self.store, &self.world, &self.timing, turn.clone(), live).await? {
                        Waited::Ready(turn) => return self.replay(&turn, live).await,
                        Waited::Running { retry_after } => {
                            return Err(Refusal::TurnInProgress { retry_after });
                        }
                        Waited::Dead => match self.take_over(&turn).await? {
                            Some((held, Some(step))) => (held, step),
                            _ => continue,
                        },
                    }
                }
                State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) if is_again => {
                    return self.replay(&turn, live).await;
                }
                State::AwaitingTools { .. } => match self.accept(&turn, request).await? {
                    Some(accepted) => accepted,
                    None => continue,
                },
                State::Settled(settlement) | State::Finalized(settlement) => match settlement.verdict {
                    Verdict::Ended(reason) => {
                        live.of(&turn);
                        return Ok(Response::ended(reason));
                    }
                    Verdict::Completed { .. } | Verdict::Failed { .. } => {
                        return Err(Refusal::NotAwaitingTools);
                    }
                },
                State::Running { .. } => return Err(Refusal::NotAwaitingTools),
            };
            let work = Work { request: None, step };
            return self.attempt(&held, work, stop_at, live).await;
        }
        Err(Refusal::Contended)
    }

    /// Stores matching results and takes the turn; none when somebody else moved it on first.
    async fn accept(&self, turn: &Turn, request: &ToolContinuation) -> Result<Option<(Held, Step)>, Refusal> {
        let suspended = outcome::written_by(&self.payloads, &turn.key, &turn.owner).await?;
        let Some(step) = suspended.step else {
            return Err(Refusal::NotAwaitingTools);
        };
        matching::check(step.progress.pending(), &request.tool_results)
            .map_err(Refusal::ToolResultsMismatch)?;
        let (asked, owner) = (self.world.monotonic(), self.world.nonce());
        let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(owner.clone()) };
        // I10: the head that points at the results is written after them.
        self.payloads.put(&payload, Bytes::from(request.canonical_json())).await?;
        let Ok(change) = resume(turn, owner, request.fingerprint(), self.world.now(), &self.timing) else {
            return Ok(None);
        };
        if let Written::Stands(_) = write::turn(&self.store, &self.world, &change).await? {
            return Ok(None);
        }
        let step = Step { progress: step.progress.answered(&request.tool_results), ..step };
        Ok(Some((Held { turn: change.after, lease: Lease::held_since(asked, &self.timing) }, step)))
    }
}
