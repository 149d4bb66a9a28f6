//! A user turn, from the request to its answer.

use agent::{outcome::Response, progress::Step, summary};
use bytes::Bytes;
use contracts::{Fingerprint, error::causes, request::UserTurn, stream::Phase};
use futures::future::join;
use protocol::{
    Caller,
    change::Commit,
    id::{AttemptId, SessionKey},
    payload::{Kind, Payload},
    session::{Contexts, Hints, Session, SolutionChange, SolutionContext},
    transition::begin::{self, Closing, Decision, Seen, Setup, Submission},
    turn::Turn,
};

use super::{
    access,
    basis::Again,
    executor::{Executor, Invocation, Term},
    finalize,
    owned_turn::{Lease, OwnedTurn},
    replay::{self, Waited},
    retrieve::{self, Question},
    salvage,
    setup::{Begins, Resolved},
    steps::{self, Known},
    turn_event,
    work::Work,
    write::{self, Written},
};
use crate::{
    ports::{AgentDeps, Clock, Payloads, Random, Reads, Timer, Unavailable},
    refusal::Refusal,
    stream::Writer,
};

/// How often a start decides anew because somebody else changed the session.
const ROUNDS: usize = 12;

impl<D: AgentDeps> Executor<D> {
    /// Answers a user turn: by running it, or, when it came before, with what it came to.
    ///
    /// `stream` receives the answer's text as the model writes it; what it got is provisional, the
    /// returned response counts.
    ///
    /// # Errors
    /// When the request was refused: then no turn was started, or another call works on it.
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

    pub(super) fn attempt_id(&self) -> AttemptId {
        self.deps.host().attempt_id()
    }

    /// Runs a user turn: one that was sent, or one that another one is run again as.
    pub(super) async fn run(
        &self,
        caller: &Caller,
        submission: Submission,
        request: &UserTurn,
        again: Option<&Again<'_>>,
        invocation: &Invocation,
        stream: &Writer,
    ) -> Result<Response, Refusal> {
        let term = invocation.begin(self.deps.host());
        let question = self.question(request);
        // Boxed: a future that is polled beside another is copied where it is polled, and this one is large.
        let meeting = Box::pin(async {
            let (seen, stored) =
                join(self.look(caller, &submission), self.store_request(&submission, request)).await;
            let mut stored = Stored::Beside(stored);
            let asked =
                Asked { caller, submission: &submission, request, again, question: question.as_ref() };
            let met = match seen {
                Ok(seen) => self.meet(seen, asked, &mut stored, &term, stream).await,
                Err(refusal) => Err(refusal),
            };
            (met, stored)
        });
        let (met, mut stored) = retrieve::beside(question.as_ref(), meeting).await;
        match met {
            Ok(Met::Owned(owned, step)) => {
                let request = Some(request).filter(|_| step.progress.response_id.is_none());
                self.attempt(&owned, Work { request, step: *step }, stream).await
            }
            Ok(Met::Answered(response)) => Ok(response),
            // Where a store can't be reached, nobody knows whether a turn was started that needs it.
            Err(refusal @ Refusal::Unavailable(_)) => Err(refusal),
            Err(refusal) => {
                self.forget(&submission, &mut stored).await;
                Err(refusal)
            }
        }
    }

    /// Decides until the turn is this call's to work on, or has something to answer with.
    async fn meet(
        &self,
        mut seen: Seen,
        asked: Asked<'_, '_>,
        stored: &mut Stored,
        term: &Term,
        stream: &Writer,
    ) -> Result<Met, Refusal> {
        let Asked { caller, submission, request, again: _, question } = asked;
        for _ in 0..ROUNDS {
            let turn = seen.turn_of(submission);
            if turn.is_some_and(|turn| turn.stored_request() == submission.stored_request()) {
                // This very call began it, was not told so, and was taken over since.
                *stored = Stored::Released;
            }
            let (now, timing) = (self.deps.host().now(), self.deps.timing());
            let begun = match begin::decide(&seen, submission, now, timing) {
                Decision::Begin => {
                    // I10: the head that points at the request is written after it.
                    stored.check()?;
                    self.begin(&seen, None, asked, term, stream).await?
                }
                Decision::BeginClosing(open) => {
                    stored.check()?;
                    self.begin(&seen, Some(open), asked, term, stream).await?
                }
                Decision::SalvageFirst(open) => {
                    salvage::salvage(&self.deps, &open).await?;
                    None
                }
                // Another submission began the turn, and stored the request.
                Decision::Replay(turn) => {
                    let forgotten = self.forget(submission, stored);
                    return join(self.replay(&turn, stream), forgotten).await.0.map(Met::Answered);
                }
                Decision::Wait(turn) => {
                    let forgotten = self.forget(submission, stored);
                    match join(replay::wait(&self.deps, turn, stream), forgotten).await.0? {
                        Waited::Ready(turn) => return self.replay(&turn, stream).await.map(Met::Answered),
                        Waited::Running { retry_after } => {
                            return Err(Refusal::TurnInProgress { retry_after });
                        }
                        Waited::Dead => None,
                    }
                }
                Decision::TakeOver(turn) => {
                    let forgotten = self.forget(submission, stored);
                    match join(self.take_over(&turn, term), forgotten).await.0? {
                        Some((owned, Some(step))) => Some((owned, step)),
                        Some((owned, None)) => {
                            let session = seen.session.as_ref();
                            let step = self.set_up_again(&owned.turn, session, request, question).await?;
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
                Decision::OtherContexts => return Err(Refusal::OtherContexts),
            };
            if let Some((owned, step)) = begun {
                return Ok(Met::Owned(Box::new(owned), Box::new(step)));
            }
            seen = self.look(caller, submission).await?;
        }
        Err(Refusal::Contended)
    }

    /// Session and turn beside each other; the session's open turn only when there is one. A session that the
    /// caller may not see is refused before anything of it tells.
    async fn look(&self, caller: &Caller, submission: &Submission) -> Result<Seen, Refusal> {
        let (store, key) = (self.deps.store(), &submission.key);
        let (session, turn) = store.session_and_turn(key).await?;
        if let Some(session) = &session
            && !access::sees(store, caller, session).await?
        {
            return Err(Refusal::SessionNotFound);
        }
        let open = match session.as_ref().and_then(|session| session.open_turn.clone()) {
            Some(open) if open != key.turn || turn.is_none() => store.turn(&key.session.turn(open)).await?,
            _ => None,
        };
        Ok(Seen { session, turn, open })
    }

    async fn store_request(&self, submission: &Submission, request: &UserTurn) -> Result<(), Unavailable> {
        let payload = stored_request(submission);
        self.deps.payloads().put(&payload, Bytes::from(request.canonical_json())).await
    }

    /// Removes the request that this submission stored: no turn will refer to it. Nobody else does, since it
    /// lies under the submission's own id.
    async fn forget(&self, submission: &Submission, stored: &mut Stored) {
        if let Stored::Beside(Ok(())) = std::mem::replace(stored, Stored::Released)
            && let Err(error) = self.deps.payloads().remove(&stored_request(submission)).await
        {
            tracing::warn!(error = %causes(&error), "the request of a turn that was not begun stays stored");
        }
    }
}

/// A user turn as it was sent.
#[derive(Clone, Copy)]
struct Asked<'a, 'q> {
    caller: &'a Caller,
    submission: &'a Submission,
    request: &'a UserTurn,
    again: Option<&'a Again<'a>>,
    question: Option<&'a Question<'q>>,
}

/// What a user turn came to before anybody worked on it.
enum Met {
    /// The turn is this call's to work on.
    Owned(Box<OwnedTurn>, Box<Step>),
    /// It came to something before.
    Answered(Response),
}

/// The request as this submission stored it, beside its first look at the turn.
enum Stored {
    /// Whether it is there.
    Beside(Result<(), Unavailable>),
    /// It is removed, or a turn's own: nothing is left to remove.
    Released,
}

impl Stored {
    /// The request has to be there before a turn begins.
    fn check(&mut self) -> Result<(), Unavailable> {
        match std::mem::replace(self, Self::Beside(Ok(()))) {
            Self::Beside(stored) => stored,
            Self::Released => Err(Unavailable { what: "the request", source: "it was removed".into() }),
        }
    }
}

fn stored_request(submission: &Submission) -> Payload {
    Payload { turn: submission.key.clone(), kind: Kind::Instruction(submission.stored_request()) }
}

impl<D: AgentDeps> Executor<D> {
    /// Starts the turn; none when somebody else changed the session first.
    async fn begin(
        &self,
        seen: &Seen,
        open: Option<Turn>,
        Asked { submission, request, again, question, .. }: Asked<'_, '_>,
        term: &Term,
        stream: &Writer,
    ) -> Result<Option<(OwnedTurn, Step)>, Refusal> {
        let before = seen.session.as_ref();
        let resolved = Box::pin(self.resolve(before, submission, request, again));
        let Resolved { effective, setup, sources } = resolved.await?;
        let found = Box::pin(self.retrieve(question, &submission.key.session.org, sources.as_ref()));
        let begun = Box::pin(self.write_begin(before, open, submission, &setup));
        // Nothing is told before the turn is there: whatever is refused until then is refused with its status.
        let searching = |(commit, _): &(Commit, Lease)| {
            if let Some(change) = commit.turns.first() {
                stream.status(&change.after, 1, Phase::Retrieving);
            }
        };
        let Some(((commit, lease), found)) = retrieve::unless_in_vain(begun, found, searching).await? else {
            return Ok(None);
        };
        let session = commit.session.after;
        Ok(commit.turns.into_iter().next().map(|change| {
            let turn = change.after;
            let chain = match &setup.rerun {
                Some(rerun) => rerun.basis.chain.as_ref(),
                None => session.chain.as_ref(),
            };
            let begins = Begins { start: turn.chain.clone(), chain, files: setup.files };
            let step = self.step(&turn, begins, &session, &effective, request);
            (OwnedTurn::new(turn, lease, term), found.told_in(step, sources))
        }))
    }

    /// Writes the start; none when somebody else changed the session first.
    async fn write_begin(
        &self,
        before: Option<&Session>,
        open: Option<Turn>,
        submission: &Submission,
        setup: &Setup,
    ) -> Result<Option<(Commit, Lease)>, Refusal> {
        let (closing, closed) = match (before, open) {
            (Some(session), Some(open)) => match self.close(session, &open).await? {
                Some((closing, known)) => {
                    let closed = (closing.finalized().clone(), known);
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
        if let Written::Stands(_) = write::commit(&self.deps, &commit).await? {
            return Ok(None);
        }
        if let Some((finalized, known)) = &closed {
            turn_event::became_terminal(finalized, known.as_ref().and_then(Known::outcome));
        }
        Ok(Some((commit, Lease::held_since(requested, timing))))
    }

    /// How the open turn is closed on the way, and what is known of it, with everything written that has to be there
    /// before; none when it is no longer as it was seen.
    async fn close(
        &self,
        session: &Session,
        open: &Turn,
    ) -> Result<Option<(Closing, Option<Known>)>, Refusal> {
        let known = steps::known(self.deps.store(), self.deps.payloads(), open).await?;
        let found = known.as_ref().map(Known::findings);
        let closing = Closing::of(session, open, found.as_ref(), self.deps.host().now(), self.deps.timing());
        let Ok(closing) = closing else { return Ok(None) };
        match closing.result_before() {
            Some(result) => finalize::publish(&self.deps, open, known.as_ref(), result).await?,
            None => finalize::touch(&self.deps, open).await?,
        }
        Ok(Some((closing, known)))
    }

    async fn is_newcomer(&self, session: Option<&Session>, submission: &Submission) -> Result<bool, Refusal> {
        match session {
            None => Ok(true),
            Some(session) if session.owner.id == submission.by.id => Ok(false),
            Some(session) => Ok(!self.deps.store().takes_part(&session.key, &submission.by.id).await?),
        }
    }
}

/// The request, as far as its turn's fate depends on it.
pub(super) fn submission(
    caller: &Caller,
    request: &UserTurn,
    fingerprint: Fingerprint,
    id: AttemptId,
) -> Submission {
    let session = SessionKey { org: caller.org.clone(), session: request.session_id.clone() };
    Submission {
        key: session.turn(request.turn_id.clone()),
        by: caller.user.clone(),
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
        session_name: summary::name_of(request.instruction.as_deref()),
        instruction_summary: summary::summarize(request.instruction.as_deref().unwrap_or_default()),
        solution: solution(request, fingerprint, id),
        streamed: request.streaming,
    }
}

/// AGN-034 §4.5: a text replaces the session's, an empty one removes it, none leaves it.
fn solution(request: &UserTurn, fingerprint: Fingerprint, id: AttemptId) -> SolutionChange {
    match request.solution_context_text.as_deref() {
        None => SolutionChange::Stays,
        Some(text) if text.trim().is_empty() => SolutionChange::Removed,
        Some(text) => SolutionChange::Replaced(SolutionContext {
            session: Some(request.session_id.clone()),
            turn: request.turn_id.clone(),
            request: fingerprint,
            request_by: Some(id),
            text: Fingerprint::of_bytes(text.as_bytes()),
        }),
    }
}
