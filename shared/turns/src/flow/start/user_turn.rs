//! Runs a user turn, from the request to its response.

use agent::{attempt::RecoveryPoint, outcome::Response, text::excerpt};
use bytes::Bytes;
use contracts::{Fingerprint, error::causes, request::UserTurn, stream::Phase};
use futures::future::join;
use protocol::{
    Caller,
    change::Commit,
    id::{AttemptId, SessionKey},
    payload::{Kind, Payload},
    session::{Contexts, Hints, Session, SolutionChange, SolutionContext},
    transition::begin::{self, Closing, Decision, Setup, Snapshot, Submission},
    turn::Turn,
};

use crate::flow::{
    access,
    executor::Executor,
    finish::{
        evidence::TurnEvidence,
        finalize,
        replay::{self, WaitOutcome},
        salvage, turn_event,
    },
    invocation::{Invocation, RequestScope},
    owned_turn::{Lease, OwnedTurn},
    run::{
        agent_loop::AttemptStart,
        retrieve::{self, Question},
    },
    start::{
        rerun_parent::RerunSource,
        setup::{InitialInputs, ResolvedTurn},
        take_over::take_over,
    },
    write::{self, WriteOutcome},
};
use crate::{
    ports::{AgentDeps, Clock, Payloads, Random, Reads, Timer, Unavailable},
    refusal::Refusal,
    stream::Writer,
};

/// The most times a start decides again because the session changed meanwhile.
const MAX_TRIES: usize = 12;

impl<D: AgentDeps> Executor<D> {
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
        let submission = submission(caller, request, request.fingerprint(), self.attempt_id());
        Box::pin(self.run(caller, submission, request, None, invocation, stream)).await
    }

    pub(crate) fn attempt_id(&self) -> AttemptId {
        self.deps.host().attempt_id()
    }

    /// Runs a user turn, which was sent by the client or is a rerun of another one. It claims the turn first, with
    /// the request staged and the question embedded concurrently. Then it works on the claimed turn, or returns the
    /// replayed response.
    pub(crate) async fn run(
        &self,
        caller: &Caller,
        submission: Submission,
        request: &UserTurn,
        rerun: Option<&RerunSource<'_>>,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let scope = invocation.scope(self.deps.host());
        let question = self.question(request);
        // Boxed: `join` and `select` copy their futures, and this one is large.
        let claiming = Box::pin(async {
            let (snapshot, staged) =
                join(self.load_snapshot(caller, &submission), self.stage_request(&submission, request)).await;
            let mut staged = StagedRequest::Staged(staged);
            let start =
                StartRequest { caller, submission: &submission, request, rerun, question: question.as_ref() };
            let claim = match snapshot {
                Ok(snapshot) => self.claim(snapshot, start, &mut staged, &scope, stream).await,
                Err(refusal) => Err(refusal),
            };
            (claim, staged)
        });
        let (claim, mut staged) = retrieve::while_embedding(question.as_ref(), claiming).await;
        match claim {
            Ok(Claim::Owned(owned, step)) => {
                let request = Some(request).filter(|_| step.state.chain.response_id.is_none());
                self.run_attempt(&owned, AttemptStart { request, recovery_point: *step }, stream).await
            }
            Ok(Claim::Replayed(response)) => Ok(response),
            // If a store is unreachable, a turn that needs the request may have been started.
            Err(refusal @ Refusal::Unavailable(_)) => Err(refusal),
            Err(refusal) => {
                self.discard(&submission, &mut staged).await;
                Err(refusal)
            }
        }
    }

    /// Decides until this call owns the turn or has a response to replay. Each round decides on the latest snapshot:
    /// start the turn, take it over, wait for the attempt that owns it, replay its outcome, or refuse.
    async fn claim(
        &self,
        mut snapshot: Snapshot,
        start: StartRequest<'_, '_>,
        staged: &mut StagedRequest,
        scope: &RequestScope,
        stream: &Writer,
    ) -> Result<Claim, Refusal> {
        let StartRequest { caller, submission, request, rerun: _, question } = start;
        for _ in 0..MAX_TRIES {
            let turn = snapshot.turn_for(submission);
            if turn.is_some_and(|turn| turn.stored_request() == submission.stored_request()) {
                // This call started the turn, didn't learn of it, and lost it to a takeover since.
                *staged = StagedRequest::Released;
            }
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let claimed = match begin::decide(&snapshot, submission, now, timing) {
                Decision::Begin => {
                    // I10: the request is stored before the head that points at it.
                    staged.ensure_stored()?;
                    self.begin_turn(&snapshot, None, start, scope, stream).await?
                }
                Decision::BeginClosing(open) => {
                    staged.ensure_stored()?;
                    self.begin_turn(&snapshot, Some(open), start, scope, stream).await?
                }
                Decision::SalvageFirst(open) => {
                    salvage::salvage(&self.deps, &open).await?;
                    None
                }
                // Another submission started the turn and stored its request.
                Decision::Replay(turn) => {
                    let discarded = self.discard(submission, staged);
                    return join(replay::replay(&self.deps, &turn, stream), discarded)
                        .await
                        .0
                        .map(Claim::Replayed);
                }
                Decision::Wait(turn) => {
                    let discarded = self.discard(submission, staged);
                    match join(replay::wait(&self.deps, turn, stream), discarded).await.0? {
                        WaitOutcome::Ready(turn) => {
                            return replay::replay(&self.deps, &turn, stream).await.map(Claim::Replayed);
                        }
                        WaitOutcome::Running { retry_after } => {
                            return Err(Refusal::TurnInProgress { retry_after });
                        }
                        WaitOutcome::Dead => None,
                    }
                }
                Decision::TakeOver(turn) => {
                    let discarded = self.discard(submission, staged);
                    match join(take_over(&self.deps, &turn, scope), discarded).await.0? {
                        Some((owned, Some(step))) => Some((owned, step)),
                        Some((owned, None)) => {
                            let session = snapshot.session.as_ref();
                            let step =
                                self.resolve_after_takeover(&owned.turn, session, request, question).await?;
                            Some((owned, step))
                        }
                        None => None,
                    }
                }
                Decision::Conflict => return Err(Refusal::TurnIdConflict),
                Decision::Busy { turn, wait } => {
                    return Err(Refusal::SessionBusy { turn, retry_after: wait });
                }
                Decision::Deleted => return Err(Refusal::SessionDeleted),
                Decision::ContextMismatch => return Err(Refusal::ContextMismatch),
            };
            if let Some((owned, step)) = claimed {
                return Ok(Claim::Owned(Box::new(owned), Box::new(step)));
            }
            snapshot = self.load_snapshot(caller, submission).await?;
        }
        Err(Refusal::Contended)
    }

    /// Loads the session and the turn in one read, and then the session's open turn, if it has another one. A session
    /// that the caller may not see is refused before anything else, so that the refusal reveals nothing.
    async fn load_snapshot(&self, caller: &Caller, submission: &Submission) -> Result<Snapshot, Refusal> {
        let (store, key) = (self.deps.store(), &submission.key);
        let (session, turn) = store.session_and_turn(key).await?;
        if let Some(session) = &session
            && !access::can_see(store, caller, session).await?
        {
            return Err(Refusal::SessionNotFound);
        }
        let open = match session.as_ref().and_then(|session| session.open_turn.clone()) {
            Some(open) if open != key.turn || turn.is_none() => store.turn(&key.session.turn(open)).await?,
            _ => None,
        };
        Ok(Snapshot { session, turn, open })
    }

    async fn stage_request(&self, submission: &Submission, request: &UserTurn) -> Result<(), Unavailable> {
        let payload = request_payload(submission);
        self.deps.payloads().put(&payload, Bytes::from(request.canonical_json())).await
    }

    /// Removes the request that this submission staged, because no turn will refer to it. It is stored under the
    /// submission's own id, so nothing else refers to it either.
    async fn discard(&self, submission: &Submission, staged: &mut StagedRequest) {
        if let StagedRequest::Staged(Ok(())) = std::mem::replace(staged, StagedRequest::Released)
            && let Err(error) = self.deps.payloads().remove(&request_payload(submission)).await
        {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::REQUEST_NOT_DISCARDED);
        }
    }
}

/// A user turn to start.
#[derive(Clone, Copy)]
struct StartRequest<'a, 'q> {
    caller: &'a Caller,
    submission: &'a Submission,
    request: &'a UserTurn,
    rerun: Option<&'a RerunSource<'a>>,
    question: Option<&'a Question<'q>>,
}

/// The result of claiming a user turn.
enum Claim {
    /// This call owns the turn. Contains the step to continue from.
    Owned(Box<OwnedTurn>, Box<RecoveryPoint>),
    /// The turn has a response already.
    Replayed(Response),
}

/// The request that this submission stores while the first snapshot loads.
enum StagedRequest {
    /// The result of storing it.
    Staged(Result<(), Unavailable>),
    /// It was discarded, or a turn refers to it: nothing to remove.
    Released,
}

impl StagedRequest {
    /// Checks that the request is stored, as it must be before a turn starts.
    fn ensure_stored(&mut self) -> Result<(), Unavailable> {
        match std::mem::replace(self, Self::Staged(Ok(()))) {
            Self::Staged(stored) => stored,
            Self::Released => Err(Unavailable { what: "the request", source: "it was removed".into() }),
        }
    }
}

fn request_payload(submission: &Submission) -> Payload {
    Payload { turn: submission.key.clone(), kind: Kind::Instruction(submission.stored_request()) }
}

impl<D: AgentDeps> Executor<D> {
    /// Starts the turn and retrieves excerpts for it; none if another writer changed the session first.
    async fn begin_turn(
        &self,
        snapshot: &Snapshot,
        open: Option<Turn>,
        StartRequest { submission, request, rerun, question, .. }: StartRequest<'_, '_>,
        scope: &RequestScope,
        stream: &Writer,
    ) -> Result<Option<(OwnedTurn, RecoveryPoint)>, Refusal> {
        let before = snapshot.session.as_ref();
        let resolved = Box::pin(self.resolve(before, submission, request, rerun));
        let ResolvedTurn { effective, setup, sources } = resolved.await?;
        let retrieval = Box::pin(self.retrieve(question, &submission.key.session.org, sources.as_ref()));
        let committed = Box::pin(self.commit_begin(before, open, submission, &setup));
        // Nothing is streamed before the turn exists, so a refusal until then keeps its HTTP status.
        let on_search = |(commit, _): &(Commit, Lease)| {
            if let Some(change) = commit.turns.first() {
                stream.status(&change.after, 1, Phase::Retrieving);
            }
        };
        let Some(((commit, lease), retrieval)) =
            retrieve::join_search(committed, retrieval, on_search).await?
        else {
            return Ok(None);
        };
        let session = commit.session.after;
        Ok(commit.turns.into_iter().next().map(|change| {
            let turn = change.after;
            let chain = match &setup.rerun {
                Some(rerun) => rerun.parent.chain.as_ref(),
                None => session.chain.as_ref(),
            };
            let inputs = InitialInputs { start: turn.chain.clone(), chain, files: setup.files };
            let step = self.initial_step(&turn, inputs, &session, &effective, request);
            (OwnedTurn::new(turn, lease, scope), retrieval.apply_to(step, sources))
        }))
    }

    /// Commits the start of the turn; none if another writer changed the session first.
    async fn commit_begin(
        &self,
        before: Option<&Session>,
        open: Option<Turn>,
        submission: &Submission,
        setup: &Setup,
    ) -> Result<Option<(Commit, Lease)>, Refusal> {
        let (closing, closed) = match (before, open) {
            (Some(session), Some(open)) => match self.prepare_closing(session, &open).await? {
                Some((closing, evidence)) => {
                    let closed = (closing.finalized().clone(), evidence);
                    (Some(closing), Some(closed))
                }
                None => return Ok(None),
            },
            _ => (None, None),
        };
        let newcomer = self.is_newcomer(before, submission).await?;
        let (host, timing) = (self.deps.host(), self.deps.timing());
        let (requested, attempt) = (host.monotonic(), host.attempt_id());
        let commit = begin::begin(before, closing, submission, setup, attempt, newcomer, host.now(), timing);
        if let WriteOutcome::Superseded(_) = write::commit(&self.deps, &commit).await? {
            return Ok(None);
        }
        if let Some((finalized, evidence)) = &closed {
            turn_event::log_terminal(finalized, evidence.outcome());
        }
        Ok(Some((commit, Lease::starting_at(requested, timing))))
    }

    /// Prepares the closing of the session's open turn: writes everything that must exist before the commit, and
    /// returns the closing and its evidence. None if the turn changed meanwhile.
    async fn prepare_closing(
        &self,
        session: &Session,
        open: &Turn,
    ) -> Result<Option<(Closing, TurnEvidence)>, Refusal> {
        let evidence = TurnEvidence::load(self.deps.store(), self.deps.payloads(), open).await?;
        let closing = Closing::new(
            session,
            open,
            evidence.summary().as_ref(),
            self.deps.host().now(),
            self.deps.timing(),
        );
        let Ok(closing) = closing else { return Ok(None) };
        match closing.result_before_commit() {
            Some(result) => finalize::publish_details(&self.deps, open, &evidence, result).await?,
            None => finalize::touch_participant(&self.deps, open).await?,
        }
        Ok(Some((closing, evidence)))
    }

    async fn is_newcomer(&self, session: Option<&Session>, submission: &Submission) -> Result<bool, Refusal> {
        match session {
            None => Ok(true),
            Some(session) if session.owner.id == submission.requested_by.id => Ok(false),
            Some(session) => {
                Ok(!self.deps.store().is_participant(&session.key, &submission.requested_by.id).await?)
            }
        }
    }
}

/// Builds the submission: the parts of the request on which the turn's lifecycle depends.
pub(crate) fn submission(
    caller: &Caller,
    request: &UserTurn,
    fingerprint: Fingerprint,
    id: AttemptId,
) -> Submission {
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Submission {
        key: session.turn(request.turn_id.clone()),
        requested_by: caller.user.clone(),
        fingerprint,
        id: Some(id.clone()),
        contexts: Contexts {
            agent: request.agent_context_id.clone(),
            conversation: request.conversation_context_id.clone(),
        },
        hints: Hints {
            workspace: request.workspace_id.clone(),
            repo: request.repo.clone(),
            language: request.language.clone(),
        },
        session_name: excerpt::session_name(request.instruction.as_deref()),
        instruction_summary: excerpt::excerpt_of(request.instruction.as_deref().unwrap_or_default()),
        solution: solution_change(request, fingerprint, id),
        streamed: request.streaming,
    }
}

/// Returns the change of the session's solution context: a text replaces it, an empty text removes it, and no text
/// keeps it.
fn solution_change(request: &UserTurn, fingerprint: Fingerprint, id: AttemptId) -> SolutionChange {
    match request.solution_context_text.as_deref() {
        None => SolutionChange::Unchanged,
        Some(text) if text.trim().is_empty() => SolutionChange::Removed,
        Some(text) => SolutionChange::Replaced(SolutionContext {
            session: Some(request.session_id.clone()),
            turn: request.turn_id.clone(),
            request: fingerprint,
            submission_id: Some(id),
            text: Fingerprint::hash_bytes(text.as_bytes()),
        }),
    }
}
