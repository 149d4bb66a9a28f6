//! Resumes a suspended turn with the results of its client tools.

use agent::{
    attempt::{RecoveryPoint, Totals},
    mode::Catalog,
    outcome::Response,
    text::estimate_tokens,
    tool::result_validation::{self, Mismatch},
};
use bytes::Bytes;
use contracts::{ToolContinuation, response::ToolOutcome};
use futures::future::join;
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    payload::{Kind, Payload},
    spent::Spent,
    transition::{resume::resume, settle},
    turn::{EndReason, Settlement, State, Turn, Verdict},
};

use crate::{
    flow::{
        access,
        finish::{
            outcomes,
            replay::{self, WaitOutcome},
            settle::announce,
        },
        invocation::RequestScope,
        meter,
        owned_turn::{Lease, OwnedTurn},
        start::{
            takeover::take_over,
            turn_start::{Claim, load_catalog},
        },
        write::{self, Tried, WriteOutcome},
    },
    ports::{AgentDeps, Host, Payloads, Timer},
    refusal::Refusal,
    stream::Writer,
};

/// Tool results that resume a suspended turn.
pub(crate) struct Resumption<'a, D> {
    /// The dependencies.
    pub(crate) deps: &'a D,
    /// The caller.
    pub(crate) caller: &'a Caller,
    /// The results.
    pub(crate) request: &'a ToolContinuation,
    /// The scope of the request.
    pub(crate) scope: &'a RequestScope,
    /// The stream of the answer.
    pub(crate) stream: &'a Writer,
}

impl<D: AgentDeps> Resumption<'_, D> {
    /// Claims the turn that awaits these results, or replays its outcome if they were accepted before.
    ///
    /// # Errors
    /// If the results don't match the turn's pending calls, or the turn doesn't await any.
    pub(crate) async fn claim(&self) -> Result<Claim, Refusal> {
        let Self { deps, caller, request, .. } = *self;
        let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
        let key = session.turn(request.turn_id.clone());
        write::decide(deps.host(), || self.try_to_claim(&key)).await
    }

    async fn try_to_claim(&self, key: &TurnKey) -> Result<Tried<Claim>, Refusal> {
        let Self { deps, caller, scope, stream, .. } = *self;
        // A refusal waits for the catalog too. If it dropped the read, nothing would be cached, and whether the table saw the
        // read would depend on time.
        let (found, catalog) =
            join(access::load_turn(deps.store(), caller, key), load_catalog(deps, &caller.org)).await;
        let ((session, turn), catalog) = (found?, catalog?);
        if turn.requested_by != caller.user.id {
            return Err(Refusal::another_users_turn());
        }
        stream.inherit_streaming(&turn);
        if let Some(response) = self.end_overdue(&turn).await? {
            return Ok(Tried::Done(Claim::Replayed(response)));
        }
        let claimed = match self.check_results(&turn).await? {
            ResultsCheck::Repeated => match replay::wait(deps, turn.clone(), stream).await? {
                WaitOutcome::Ready(turn) => {
                    let response = replay::replay(deps, &turn, stream).await?;
                    return Ok(Tried::Done(Claim::Replayed(response)));
                }
                WaitOutcome::Running { retry_after } => {
                    return Err(Refusal::TurnInProgress { retry_after });
                }
                WaitOutcome::Dead => match take_over(deps, &turn, scope, &catalog).await? {
                    Some((owned, Some(step))) => Some((owned, step)),
                    _ => None,
                },
            },
            ResultsCheck::Matching(step) => self.accept(&turn, *step, &catalog).await?,
            // Results that were accepted before are answered above. A closed session accepts no others.
            ResultsCheck::Ended(reason) => {
                session.ensure_open()?;
                stream.set_round(&turn);
                return Ok(Tried::Done(Claim::Replayed(Response::from_end_reason(reason))));
            }
            ResultsCheck::Unexpected => {
                session.ensure_open()?;
                return Err(Refusal::not_awaiting_tools());
            }
            ResultsCheck::Mismatch(mismatch) => {
                session.ensure_open()?;
                return Err(Refusal::tool_results_mismatch(&mismatch));
            }
        };
        Ok(claimed.map_or(Tried::Conflict, |(owned, step)| Tried::Done(Claim::owned(owned, step))))
    }

    /// Compares the results with the turn. The head remembers the latest accepted results, and the outcome object of
    /// the latest suspension remembers those before.
    async fn check_results(&self, turn: &Turn) -> Result<ResultsCheck, Refusal> {
        let results = self.request.fingerprint();
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
        let step = suspended.into_recovery_point().ok_or_else(Refusal::not_awaiting_tools)?;
        if step.state.rounds.accepted_results.contains(&results) {
            return Ok(ResultsCheck::Repeated);
        }
        Ok(match &turn.state {
            State::AwaitingTools { .. } => {
                match result_validation::validate(
                    step.state.rounds.pending_calls(),
                    &self.request.tool_results,
                ) {
                    Ok(()) => ResultsCheck::Matching(Box::new(step)),
                    Err(mismatch) => ResultsCheck::Mismatch(mismatch),
                }
            }
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => ResultsCheck::Unexpected,
        })
    }

    /// Ends the turn if these results come too late, as a sweep would. None if they are in time, or if another writer
    /// was first.
    async fn end_overdue(&self, turn: &Turn) -> Result<Option<Response>, Refusal> {
        let Some(change) = settle::end_overdue(turn, self.deps.host().now(), self.deps.timing()) else {
            return Ok(None);
        };
        let announced = announce(self.deps, turn, self.scope.correlation.as_ref());
        let (written, ()) = join(write::turn(self.deps, &change), announced).await;
        match written? {
            WriteOutcome::Applied => replay::replay(self.deps, &change.after, self.stream).await.map(Some),
            WriteOutcome::Superseded(_) => Ok(None),
        }
    }

    /// Returns what the turn will have spent if its next model call is cut off: with the conversation so far, and these
    /// results.
    fn expected_call(&self, step: &RecoveryPoint) -> Spent {
        let results = self.request.tool_results.iter().map(|result| match &result.outcome {
            ToolOutcome::ResultJson(text) | ToolOutcome::ErrorMessage(text) => text.len(),
        });
        let bytes = u64::try_from(results.fold(0, usize::saturating_add)).unwrap_or(u64::MAX);
        let totals = &step.state.totals;
        let next_input_tokens = totals.context_tokens.saturating_add(estimate_tokens(bytes)).max(1);
        Totals { next_input_tokens, ..totals.clone() }.spent(&step.spec.route)
    }

    /// Stores matching results and takes the turn; none if another writer was first.
    async fn accept(
        &self,
        turn: &Turn,
        step: RecoveryPoint,
        catalog: &Catalog,
    ) -> Result<Option<(OwnedTurn, RecoveryPoint)>, Refusal> {
        let (payloads, host, timing) = (self.deps.payloads(), self.deps.host(), self.deps.timing());
        let (requested, attempt) = (host.monotonic(), host.attempt_id());
        let payload = Payload { turn: turn.key.clone(), kind: Kind::ToolResults(attempt.clone()) };
        // I10: the head that points at the results is written after them.
        payloads.put(&payload, Bytes::from(self.request.canonical_json())).await?;
        let results = self.request.fingerprint();
        let Ok(change) = resume(turn, attempt, results, host.now(), timing) else {
            return Ok(None);
        };
        let change = change.with_spent(Some(self.expected_call(&step)));
        // Boxed: few orgs limit concurrent turns.
        let rejoined = Box::pin(meter::rejoin(self.deps, turn));
        let (written, ()) = join(write::turn(self.deps, &change), rejoined).await;
        if let WriteOutcome::Superseded(_) = written? {
            return Ok(None);
        }
        let step = RecoveryPoint { state: step.state.with_tool_results(self.request, results), ..step };
        let lease = Lease::starting_at(requested, timing);
        Ok(Some((OwnedTurn::new(change.after, lease, self.scope, catalog), step)))
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
