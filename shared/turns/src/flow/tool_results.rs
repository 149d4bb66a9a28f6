//! The results of a suspended turn's client tools (AGN-034 §2.2, AGN-033 §3.3).

use agent::{
    matching::{self, Mismatch},
    outcome::Response,
    progress::Step,
};
use bytes::Bytes;
use contracts::ToolContinuation;
use futures::future::join;
use protocol::{
    Caller,
    id::SessionKey,
    payload::{Kind, Payload},
    transition::{resume::resume, settle},
    turn::{Reason, Settlement, State, Turn, Verdict},
};

use super::{
    access,
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
    /// stored, the model is not called, the turn stays as it was (I6). Results that were accepted before,
    /// of whichever round, get what the turn came to.
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
            let store = self.deps.store();
            let (session, turn) = store.session_and_turn(&key).await?;
            let (Some(session), Some(turn)) = (session, turn) else { return Err(Refusal::TurnNotFound) };
            if !access::sees(store, caller, &session).await? {
                return Err(Refusal::TurnNotFound);
            }
            if turn.requested_by != caller.user.id {
                return Err(Refusal::OfAnotherUser);
            }
            stream.stream_as(&turn);
            if let Some(response) = self.end_overdue(&turn, stream, &term).await? {
                return Ok(response);
            }
            let (owned, step) = match self.met(&turn, request).await? {
                Met::Again => match replay::wait(&self.deps, turn.clone(), stream).await? {
                    Waited::Ready(turn) => return self.replay(&turn, stream).await,
                    Waited::Running { retry_after } => return Err(Refusal::TurnInProgress { retry_after }),
                    Waited::Dead => match self.take_over(&turn, &term).await? {
                        Some((owned, Some(step))) => (owned, step),
                        _ => continue,
                    },
                },
                Met::Answered(step) => match self.accept(&turn, request, *step, &term).await? {
                    Some(accepted) => accepted,
                    None => continue,
                },
                // What was accepted before is answered above; nothing more is.
                Met::Ended(_) | Met::Unexpected | Met::Mismatch(_) if session.deleted.is_some() => {
                    return Err(Refusal::SessionDeleted);
                }
                Met::Ended(reason) => {
                    stream.of(&turn);
                    return Ok(Response::ended(reason));
                }
                Met::Unexpected => return Err(Refusal::NotAwaitingTools),
                Met::Mismatch(mismatch) => return Err(Refusal::ToolResultsMismatch(mismatch)),
            };
            return self.attempt(&owned, Work { request: None, step }, stream).await;
        }
        Err(Refusal::Contended)
    }

    /// What the results are to a turn. The head remembers the latest that were accepted, the outcome object
    /// of the latest suspension those before.
    async fn met(&self, turn: &Turn, request: &ToolContinuation) -> Result<Met, Refusal> {
        let results = request.fingerprint();
        if let Some(Settlement { verdict: Verdict::Ended(reason), .. }) = turn.settlement() {
            return Ok(Met::Ended(*reason));
        }
        if turn.accepted.as_ref().is_some_and(|accepted| accepted.results == results) {
            return Ok(Met::Again);
        }
        let suspended_by = match &turn.state {
            State::AwaitingTools { .. } => Some(&turn.attempt),
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => turn.suspended_by.as_ref(),
        };
        let Some(suspended_by) = suspended_by else { return Ok(Met::Unexpected) };
        let suspended = outcomes::written_by(self.deps.payloads(), &turn.key, suspended_by).await?;
        let step = suspended.into_step().ok_or(Refusal::NotAwaitingTools)?;
        if step.progress.accepted.contains(&results) {
            return Ok(Met::Again);
        }
        Ok(match &turn.state {
            State::AwaitingTools { .. } => {
                match matching::check(step.progress.pending(), &request.tool_results) {
                    Ok(()) => Met::Answered(Box::new(step)),
                    Err(mismatch) => Met::Mismatch(mismatch),
                }
            }
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => Met::Unexpected,
        })
    }

    /// Ends the turn if these results come too late, as the sweep would have; none when they don't, or when
    /// somebody else moved it on first.
    async fn end_overdue(
        &self,
        turn: &Turn,
        stream: &Writer,
        term: &Term,
    ) -> Result<Option<Response>, Refusal> {
        let Some(change) = settle::overdue(turn, self.deps.host().now(), self.deps.timing()) else {
            return Ok(None);
        };
        let announced = self.announce(turn, term.correlation.as_ref());
        let (written, ()) = join(write::turn(&self.deps, &change), announced).await;
        match written? {
            Written::Applied => self.replay(&change.after, stream).await.map(Some),
            Written::Stands(_) => Ok(None),
        }
    }

    /// Stores matching results and takes the turn; none when somebody else moved it on first.
    async fn accept(
        &self,
        turn: &Turn,
        request: &ToolContinuation,
        step: Step,
        term: &Term,
    ) -> Result<Option<(OwnedTurn, Step)>, Refusal> {
        let (payloads, host, timing) = (self.deps.payloads(), self.deps.host(), self.deps.timing());
        let (requested, attempt) = (host.monotonic(), host.attempt_id());
        let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(attempt.clone()) };
        // I10: the head that points at the results is written after them.
        payloads.put(&payload, Bytes::from(request.canonical_json())).await?;
        let results = request.fingerprint();
        let Ok(change) = resume(turn, attempt, results, host.now(), timing) else {
            return Ok(None);
        };
        if let Written::Stands(_) = write::turn(&self.deps, &change).await? {
            return Ok(None);
        }
        let step = Step { progress: step.progress.answered(&request.tool_results, results), ..step };
        let lease = Lease::held_since(requested, timing);
        Ok(Some((OwnedTurn::new(change.after, lease, term), step)))
    }
}

/// What results are to the turn that they name.
enum Met {
    /// They answer its pending calls: where the work goes on.
    Answered(Box<Step>),
    /// They were accepted before.
    Again,
    /// It was ended from outside.
    Ended(Reason),
    /// It does not wait for any.
    Unexpected,
    /// It waits for others.
    Mismatch(Mismatch),
}
