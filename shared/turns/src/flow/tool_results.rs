//! The results of a suspended turn's client tools (AGN-034 §2.2, AGN-033 §3.3).

use agent::{matching, outcome::Response, progress::Step};
use bytes::Bytes;
use contracts::ToolContinuation;
use protocol::{
    Caller,
    id::SessionKey,
    payload::{Kind, Payload},
    transition::resume::resume,
    turn::{State, Turn, Verdict},
};

use super::{
    executor::{Executor, Invocation, Term},
    outcomes,
    owned_turn::{Lease, OwnedTurn},
    replay::{self, Waited},
    work::Work,
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, Payloads, Random, Reads, Timer},
    refusal::Refusal,
    stream::Writer,
};

/// How often a continuation decides anew because the turn moved on meanwhile.
const ROUNDS: usize = 8;

impl<D: AgentDeps> Executor<D> {
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
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let term = invocation.begin(self.deps.host());
        let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
        let key = session.turn(request.turn_id.clone());
        for _ in 0..ROUNDS {
            let turn = self.deps.store().turn(&key).await?.ok_or(Refusal::TurnNotFound)?;
            stream.stream_as(&turn);
            let is_again =
                turn.accepted.as_ref().is_some_and(|accepted| accepted.results == request.fingerprint());
            let (owned, step) = match &turn.state {
                State::Running { .. } if is_again => {
                    match replay::wait(&self.deps, turn.clone(), stream).await? {
                        Waited::Ready(turn) => return self.replay(&turn, stream).await,
                        Waited::Running { retry_after } => {
                            return Err(Refusal::TurnInProgress { retry_after });
                        }
                        Waited::Dead => match self.take_over(&turn, &term).await? {
                            Some((owned, Some(step))) => (owned, step),
                            _ => continue,
                        },
                    }
                }
                State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) if is_again => {
                    return self.replay(&turn, stream).await;
                }
                State::AwaitingTools { .. } => match self.accept(&turn, request, &term).await? {
                    Some(accepted) => accepted,
                    None => continue,
                },
                State::Settled(settlement) | State::Finalized(settlement) => match settlement.verdict {
                    Verdict::Ended(reason) => {
                        stream.of(&turn);
                        return Ok(Response::ended(reason));
                    }
                    Verdict::Completed { .. } | Verdict::Failed { .. } => {
                        return Err(Refusal::NotAwaitingTools);
                    }
                },
                State::Running { .. } => return Err(Refusal::NotAwaitingTools),
            };
            return self.attempt(&owned, Work { request: None, step }, stream).await;
        }
        Err(Refusal::Contended)
    }

    /// Stores matching results and takes the turn; none when somebody else moved it on first.
    async fn accept(
        &self,
        turn: &Turn,
        request: &ToolContinuation,
        term: &Term,
    ) -> Result<Option<(OwnedTurn, Step)>, Refusal> {
        let (payloads, host, timing) = (self.deps.payloads(), self.deps.host(), self.deps.timing());
        let suspended = outcomes::written_by(payloads, &turn.key, &turn.attempt).await?;
        let step = suspended.into_step().ok_or(Refusal::NotAwaitingTools)?;
        matching::check(step.progress.pending(), &request.tool_results)
            .map_err(Refusal::ToolResultsMismatch)?;
        let (requested, attempt) = (host.monotonic(), host.attempt_id());
        let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(attempt.clone()) };
        // I10: the head that points at the results is written after them.
        payloads.put(&payload, Bytes::from(request.canonical_json())).await?;
        let Ok(change) = resume(turn, attempt, request.fingerprint(), host.now(), timing) else {
            return Ok(None);
        };
        if let Written::Stands(_) = write::turn(&self.deps, &change).await? {
            return Ok(None);
        }
        let step = Step { progress: step.progress.answered(&request.tool_results), ..step };
        let lease = Lease::held_since(requested, timing);
        Ok(Some((OwnedTurn { turn: change.after, lease, term: term.clone() }, step)))
    }
}
