//! The executor of turns: starts or resumes a turn, and works on it until it has a response.

use agent::outcome::Response;
use contracts::{
    ToolContinuation,
    id::{SessionId, TurnId},
    request::{RerunRequest, UserTurn},
};
use protocol::{
    Caller,
    id::{SessionKey, TurnKey},
    transition::begin::Submission,
    turn::State,
};

use crate::{
    flow::{
        invocation::Invocation,
        retrieval::Question,
        run::{
            agent_loop::AttemptStart,
            attempt,
            models::{CapabilityCache, Models},
        },
        start::{
            approvals::{self, Continued},
            rerun::{self, RerunSource},
            resumption::Resumption,
            takeover::take_over,
            turn_start::{Claim, StartConditions, TurnStart, load_catalog, submission},
        },
    },
    ports::{AgentDeps, Host, Reads, Timer},
    refusal::Refusal,
    stream::{self, Writer},
};

/// Runs user turns, and resumes turns that await tool results.
#[derive(Debug)]
pub struct Executor<D> {
    deps: D,
    /// The capabilities of model providers that this process has detected.
    capabilities: CapabilityCache,
}

/// A turn to start, and the conditions on it.
struct Start<'a> {
    submission: &'a Submission,
    request: &'a UserTurn,
    conditions: &'a StartConditions,
    rerun: Option<&'a RerunSource<'a>>,
}

impl<D: AgentDeps> Executor<D> {
    /// Creates an executor over these dependencies.
    #[must_use]
    pub fn new(deps: D) -> Self {
        Self { deps, capabilities: CapabilityCache::default() }
    }

    /// Responds to a user turn: runs it, or replays its outcome if the request was sent before.
    ///
    /// `stream` receives the answer's text as the model writes it. Streamed text is provisional; the returned
    /// response is authoritative.
    ///
    /// # Errors
    /// If the request is refused. Then no turn was started, or another call is working on it.
    pub async fn execute(
        &self,
        caller: &Caller,
        request: &UserTurn,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        self.execute_if(caller, request, &StartConditions::default(), invocation, stream).await
    }

    /// Responds to a user turn as [`Executor::execute`] does, if these conditions hold.
    ///
    /// # Errors
    /// As [`Executor::execute`], and if a condition doesn't hold.
    pub async fn execute_if(
        &self,
        caller: &Caller,
        request: &UserTurn,
        conditions: &StartConditions,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let submission = submission(caller, request, request.fingerprint(), self.deps.host().attempt_id());
        let submission = Submission { id_origin: conditions.id_origin, ..submission };
        let start = Start { submission: &submission, request, conditions, rerun: None };
        Box::pin(self.start(caller, start, invocation, stream)).await
    }

    /// Runs a turn again as a new turn of its session. The original stays as it is. The model sees neither it nor the
    /// turns after it.
    ///
    /// # Errors
    /// As [`Executor::execute`], and if there is no such turn, or it isn't finished.
    pub async fn rerun(
        &self,
        caller: &Caller,
        session: SessionId,
        turn: TurnId,
        changes: &RerunRequest,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let key = SessionKey { org: caller.org.clone(), session }.turn(turn);
        // Boxed: the work follows in the same call, and this future is large.
        let (source, request) = Box::pin(rerun::load(&self.deps, caller, &key, changes)).await?;
        let fingerprint = changes.fingerprint(&key.turn, &request);
        let submission = submission(caller, &request, fingerprint, self.deps.host().attempt_id());
        let conditions = &StartConditions::default();
        let start = Start { submission: &submission, request: &request, conditions, rerun: Some(&source) };
        Box::pin(self.start(caller, start, invocation, stream)).await
    }

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
        let (deps, scope) = (&self.deps, invocation.scope(self.deps.host()));
        let claim = Resumption { deps, caller, request, scope: &scope, stream }.claim().await?;
        self.respond(claim, None, stream).await
    }

    /// Works on a turn that no client waits for until it has ended or waits again, if its approvals are answered, or if the
    /// attempt that continued it has died. True if this call has worked on it.
    ///
    /// # Errors
    /// If a store can't be reached, or if the turn has an error that isn't its outcome.
    pub async fn continue_turn(&self, key: &TurnKey, invocation: &Invocation) -> Result<bool, Refusal> {
        let (deps, scope) = (&self.deps, invocation.scope(self.deps.host()));
        let Some(turn) = deps.store().turn(key).await? else { return Ok(false) };
        let is_waiting = matches!(turn.state, State::AwaitingTools { .. });
        if !is_waiting && !turn.is_unattended() {
            return Ok(false);
        }
        let catalog = load_catalog(deps, &key.session.org).await?;
        let claim = match is_waiting {
            true => match approvals::continue_answered(deps, &turn, &scope, &catalog).await? {
                Continued::Owned(owned, step) => Claim::Owned(owned, step),
                Continued::Waiting | Continued::Superseded => return Ok(false),
            },
            // What approvals resumed has a step.
            false => match take_over(deps, &turn, &scope, &catalog).await? {
                Some((owned, Some(step))) => Claim::owned(owned, step),
                Some((_, None)) | None => return Ok(false),
            },
        };
        // Those who follow the turn get its text from the checkpoints.
        let (writer, _feed) = stream::open(turn.streamed, None);
        // Boxed: the work is large.
        Box::pin(self.respond(claim, None, &writer)).await?;
        Ok(true)
    }

    /// Starts a user turn and works on it.
    async fn start(
        &self,
        caller: &Caller,
        Start { submission, request, conditions, rerun }: Start<'_>,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let (deps, scope) = (&self.deps, invocation.scope(self.deps.host()).of_asker(caller));
        let (models, question) = (self.models(), Question::new(deps, request));
        let scope = &scope;
        let start = TurnStart {
            deps,
            models,
            caller,
            submission,
            request,
            conditions,
            rerun,
            question,
            scope,
            stream,
        };
        let claim = start.claim().await?;
        self.respond(claim, Some(request), stream).await
    }

    /// Works on a claimed turn, or returns the response that it has already.
    async fn respond(
        &self,
        claim: Claim,
        request: Option<&UserTurn>,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        match claim {
            Claim::Owned(owned, recovery_point) => {
                let request = request.filter(|_| recovery_point.state.chain.response_id.is_none());
                let start = AttemptStart { request, recovery_point: *recovery_point };
                attempt::run(&self.deps, self.models(), &owned, start, stream).await
            }
            Claim::Replayed(response) => Ok(response),
        }
    }

    fn models(&self) -> Models<'_> {
        let now = self.deps.host().monotonic();
        Models { config: self.deps.config(), capabilities: &self.capabilities, now }
    }
}
