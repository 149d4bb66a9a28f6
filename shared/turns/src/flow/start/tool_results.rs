//! Resumes a suspended turn with the results of its client tools.

use agent::{
    attempt::RecoveryPoint,
    outcome::Response,
    tool::result_validation::{self, Mismatch},
};
use bytes::Bytes;
use contracts::ToolContinuation;
use futures::future::join;
use protocol::{
    Caller,
    id::SessionKey,
    payload::{Kind, Payload},
    transition::{resume::resume, settle},
    turn::{EndReason, Settlement, State, Turn, Verdict},
};

use crate::flow::{
    access,
    executor::Executor,
    finish::{
        announcement::announce,
        outcomes,
        replay::{self, WaitOutcome},
    },
    invocation::{Invocation, RequestScope},
    owned_turn::{Lease, OwnedTurn},
    run::agent_loop::AttemptStart,
    start::take_over::take_over,
    write::{self, WriteOutcome},
};
use crate::{
    ports::{AgentDeps, Clock, Payloads, Random, Timer},
    refusal::Refusal,
    stream::Writer,
};

/// The most times a resume decides again because the turn changed meanwhile.
const MAX_TRIES: usize = 8;

impl<D: AgentDeps> Executor<D> {
    /// Resumes a turn that awaits these results. Any mismatch rejects the request: nothing is stored, the model isn't
    /// called, and the turn stays as it is (I6). Results that were accepted before, in any round, get the turn's
    /// current outcome.
    ///
    /// # Errors
    /// If the results don't match the turn's pending calls, or the turn doesn't await any.
    pub async fn resume(
        &self,
        caller: &Caller,
        request: &ToolContinuation,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let scope = invocation.scope(self.deps.host());
        let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
        let key = session.turn(request.turn_id.clone());
        for _ in 0..MAX_TRIES {
            let (session, turn) = access::load_turn(self.deps.store(), caller, &key).await?;
            if turn.requested_by != caller.user.id {
                return Err(Refusal::AnotherUsersTurn);
            }
            stream.inherit_streaming(&turn);
            if let Some(response) = self.end_overdue(&turn, stream, &scope).await? {
                return Ok(response);
            }
            let (owned, step) = match self.check_results(&turn, request).await? {
                ResultsCheck::Repeated => match replay::wait(&self.deps, turn.clone(), stream).await? {
                    WaitOutcome::Ready(turn) => return replay::replay(&self.deps, &turn, stream).await,
                    WaitOutcome::Running { retry_after } => {
                        return Err(Refusal::TurnInProgress { retry_after });
                    }
                    WaitOutcome::Dead => match take_over(&self.deps, &turn, &scope).await? {
                        Some((owned, Some(step))) => (owned, step),
                        _ => continue,
                    },
                },
                ResultsCheck::Matching(step) => match self.accept(&turn, request, *step, &scope).await? {
                    Some(accepted) => accepted,
                    None => continue,
                },
                // Results that were accepted before are answered above. A deleted session accepts no others.
                ResultsCheck::Ended(_) | ResultsCheck::Unexpected | ResultsCheck::Mismatch(_)
                    if session.deleted.is_some() =>
                {
                    return Err(Refusal::SessionDeleted);
                }
                ResultsCheck::Ended(reason) => {
                    stream.set_round(&turn);
                    return Ok(Response::from_end_reason(reason));
                }
                ResultsCheck::Unexpected => return Err(Refusal::NotAwaitingTools),
                ResultsCheck::Mismatch(mismatch) => return Err(Refusal::ToolResultsMismatch(mismatch)),
            };
            return self
                .run_attempt(&owned, AttemptStart { request: None, recovery_point: step }, stream)
                .await;
        }
        Err(Refusal::Contended)
    }

    /// Compares the results with the turn. The head remembers the latest accepted results, and the outcome object of
    /// the latest suspension remembers those before.
    async fn check_results(&self, turn: &Turn, request: &ToolContinuation) -> Result<ResultsCheck, Refusal> {
        let results = request.fingerprint();
        if let Some(Settlement { verdict: Verdict::Ended(reason), .. }) = turn.settlement() {
            return Ok(ResultsCheck::Ended(*reason));
        }
        if turn.accepted_results.as_ref().is_some_and(|accepted| accepted.results == results) {
            return Ok(ResultsCheck::Repeated);
        }
        let suspended_by = match &turn.state {
            State::AwaitingTools { .. } => Some(&turn.attempt),
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => turn.suspended_by.as_ref(),
        };
        let Some(suspended_by) = suspended_by else { return Ok(ResultsCheck::Unexpected) };
        let suspended = outcomes::load(self.deps.payloads(), &turn.key, suspended_by).await?;
        let step = suspended.into_recovery_point().ok_or(Refusal::NotAwaitingTools)?;
        if step.state.rounds.accepted_results.contains(&results) {
            return Ok(ResultsCheck::Repeated);
        }
        Ok(match &turn.state {
            State::AwaitingTools { .. } => {
                match result_validation::validate(step.state.rounds.pending_calls(), &request.tool_results) {
                    Ok(()) => ResultsCheck::Matching(Box::new(step)),
                    Err(mismatch) => ResultsCheck::Mismatch(mismatch),
                }
            }
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => ResultsCheck::Unexpected,
        })
    }

    /// Ends the turn if these results come too late, as a sweep would. None if they are in time, or if another writer
    /// was first.
    async fn end_overdue(
        &self,
        turn: &Turn,
        stream: &Writer,
        scope: &RequestScope,
    ) -> Result<Option<Response>, Refusal> {
        let Some(change) = settle::end_overdue(turn, self.deps.host().now(), self.deps.timing()) else {
            return Ok(None);
        };
        let announced = announce(&self.deps, turn, scope.correlation.as_ref());
        let (written, ()) = join(write::turn(&self.deps, &change), announced).await;
        match written? {
            WriteOutcome::Applied => replay::replay(&self.deps, &change.after, stream).await.map(Some),
            WriteOutcome::Superseded(_) => Ok(None),
        }
    }

    /// Stores matching results and takes the turn; none if another writer was first.
    async fn accept(
        &self,
        turn: &Turn,
        request: &ToolContinuation,
        step: RecoveryPoint,
        scope: &RequestScope,
    ) -> Result<Option<(OwnedTurn, RecoveryPoint)>, Refusal> {
        let (payloads, host, timing) = (self.deps.payloads(), self.deps.host(), self.deps.timing());
        let (requested, attempt) = (host.monotonic(), host.attempt_id());
        let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(attempt.clone()) };
        // I10: the head that points at the results is written after them.
        payloads.put(&payload, Bytes::from(request.canonical_json())).await?;
        let results = request.fingerprint();
        let Ok(change) = resume(turn, attempt, results, host.now(), timing) else {
            return Ok(None);
        };
        if let WriteOutcome::Superseded(_) = write::turn(&self.deps, &change).await? {
            return Ok(None);
        }
        let step =
            RecoveryPoint { state: step.state.with_tool_results(&request.tool_results, results), ..step };
        let lease = Lease::starting_at(requested, timing);
        Ok(Some((OwnedTurn::new(change.after, lease, scope), step)))
    }
}

/// The relation of tool results to the turn that they name.
enum ResultsCheck {
    /// They match its pending calls. Contains the step to continue from.
    Matching(Box<RecoveryPoint>),
    /// They were accepted before.
    Repeated,
    /// The turn was ended from outside.
    Ended(EndReason),
    /// The turn doesn't await any results.
    Unexpected,
    /// The turn awaits other results.
    Mismatch(Mismatch),
}
