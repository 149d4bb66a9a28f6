//! Claims the turn of a request: starts it, takes it over, or replays its response. The request is stored with the claim of
//! its turn, or beside it (I10).

use contracts::{error::causes, request::UserTurn};
use futures::future::join;
use protocol::{
    payload::{Kind, Payload},
    session::{IdOrigin, Session},
    transition::begin::{self, Decision, Snapshot, Submission},
    turn::State,
};

use crate::{
    flow::{
        access,
        finish::{
            replay::{self, WaitOutcome},
            sweep,
        },
        retrieval::while_embedding,
        start::{
            approvals::{Continued, continue_answered},
            takeover::{resolve_after_takeover, take_over},
            turn_start::{Admission, Claim, OrgRules, ReadStart, StartConditions, TurnStart},
        },
        stored_request::RequestBody,
        write::{self, Tried},
    },
    ports::{AgentDeps, Host, Payloads, Reads, Unavailable},
    refusal::Refusal,
};

impl<D: AgentDeps> TurnStart<'_, D> {
    /// Claims the turn, with the request staged and the question embedded concurrently.
    ///
    /// # Errors
    /// If the request is refused. Then no turn was started, or another call is working on it.
    pub(crate) async fn claim(&self) -> Result<Claim, Refusal> {
        // Boxed: `join` and `select` copy their futures, and this one is large.
        let claiming = Box::pin(async {
            let staging = StagedRequest::stage(self.deps.payloads(), self.submission, self.request);
            // The table answers sooner than the bucket, so a reservation delays nothing.
            let mut admission = None;
            let (read, mut staged) = join(self.read_and_admit(&mut admission), staging).await;
            let claim = match read {
                Ok((first, org)) => self.decide(first, &org, &mut admission, &mut staged).await,
                Err(refusal) => Err(refusal),
            };
            (claim, admission, staged)
        });
        let (claim, admission, mut staged) = while_embedding(self.question.as_ref(), claiming).await;
        match claim {
            Ok(claim @ Claim::Owned(..)) => Ok(claim),
            Ok(replayed) => {
                self.release(admission).await;
                Ok(replayed)
            }
            // If a store is unreachable, a turn that needs the request may have been started.
            Err(refusal @ Refusal::Unavailable(_)) => Err(refusal),
            Err(refusal) => {
                self.release(admission).await;
                staged.discard().await;
                Err(refusal)
            }
        }
    }

    /// Loads the session and the turn in one read, and then the session's open turn, if it has another one. A session
    /// that the caller may not see is refused before anything else, so that the refusal reveals nothing. Under a derived
    /// id the decision refuses every session that isn't the caller's own.
    pub(super) async fn load_snapshot(&self) -> Result<Snapshot, Refusal> {
        let (store, key) = (self.deps.store(), &self.submission.key);
        let (session, turn) = store.session_and_turn(key).await?;
        if let Some(session) = &session
            && self.submission.id_origin == IdOrigin::Client
            && !access::can_see(store, self.caller, session).await?
        {
            return Err(Refusal::SessionNotFound);
        }
        let open = match session.as_ref().and_then(|session| session.open_turn.clone()) {
            Some(open) if open != key.turn || turn.is_none() => store.turn(&key.session.turn(open)).await?,
            _ => None,
        };
        Ok(Snapshot { session, turn, open })
    }

    /// Returns the read that the request brings if the turn begins on it, and else loads one. The start commits on
    /// revisions, so a read that is outdated by then is loaded again.
    pub(super) async fn first_snapshot(&self) -> Result<Snapshot, Refusal> {
        let read = self.conditions.read.as_deref().filter(|read| self.begins_on(read));
        match read {
            Some(read) => Ok(read.clone()),
            None => self.load_snapshot().await,
        }
    }

    /// True if the turn begins on a read: in the caller's own session, which has no open turn.
    fn begins_on(&self, read: &Snapshot) -> bool {
        let Self { deps, caller, submission, .. } = *self;
        let is_own = |session: &Session| {
            session.key == submission.key.session
                && session.owner.id == caller.user.id
                && session.open_turn.is_none()
        };
        let decision = begin::decide(read, submission, deps.host().now(), deps.timing());
        read.session.as_ref().is_some_and(is_own)
            && decision == Decision::Begin
            && self.check_conditions(read, &decision).is_ok()
    }

    /// Decides until this call owns the turn or has a response to replay. Each try decides on the latest snapshot: start
    /// the turn, take it over, wait for the attempt that owns it, replay its outcome, or refuse.
    async fn decide(
        &self,
        first: Snapshot,
        org: &OrgRules,
        admission: &mut Option<Admission>,
        staged: &mut StagedRequest<'_, D::Payloads>,
    ) -> Result<Claim, Refusal> {
        let state = (Some(first), admission, staged);
        write::decide_with(self.deps.host(), state, |(first, admission, staged)| async move {
            let tried = self.try_to_claim(first, org, admission, staged).await;
            ((None, admission, staged), tried)
        })
        .await
    }

    /// Tries once. `first` is the snapshot for which the turn was admitted, if it was.
    async fn try_to_claim(
        &self,
        first: Option<Snapshot>,
        org: &OrgRules,
        admission: &mut Option<Admission>,
        staged: &mut StagedRequest<'_, D::Payloads>,
    ) -> Result<Tried<Claim>, Refusal> {
        let Self { deps, submission, stream, .. } = *self;
        let is_first = first.is_some();
        let snapshot = match first {
            Some(first) => first,
            None => self.load_snapshot().await?,
        };
        let read = ReadStart { start: self, snapshot, org };
        let snapshot = &read.snapshot;
        let turn = snapshot.turn_for(submission);
        if turn.is_some_and(|turn| turn.stored_request() == submission.stored_request()) {
            // This call started the turn, didn't learn of it, and lost it to a takeover since.
            staged.release();
        }
        let decision = begin::decide(snapshot, submission, deps.host().now(), deps.timing());
        self.check_conditions(snapshot, &decision)?;
        let claimed = match decision {
            begins @ (Decision::Begin | Decision::BeginClosing(_)) => {
                let admission = match admission {
                    Some(admission) if is_first => admission,
                    // The session of a later snapshot may be another agent's.
                    slot => read.admit(slot).await?,
                };
                let open = match begins {
                    Decision::BeginClosing(open) => Some(open),
                    _ => None,
                };
                read.begin(admission, open, staged.commit()?).await?
            }
            Decision::SalvageFirst(open) => {
                sweep::salvage(deps, &open).await?;
                return Ok(Tried::Progress);
            }
            // Another submission started the turn and stored its request.
            Decision::Replay(turn) => {
                if matches!(turn.state, State::AwaitingTools { is_for_approval: true, .. }) {
                    // Boxed: few turns wait for approvals.
                    let continued = Box::pin(continue_answered(deps, &turn, self.scope, &org.catalog));
                    match staged.discard_during(continued).await? {
                        Continued::Owned(owned, step) => return Ok(Tried::Done(Claim::Owned(owned, step))),
                        Continued::Superseded => return Ok(Tried::Conflict),
                        Continued::Waiting => {}
                    }
                }
                let replayed = staged.discard_during(replay::replay(deps, &turn, stream)).await?;
                return Ok(Tried::Done(Claim::Replayed(replayed)));
            }
            Decision::Wait(turn) => match staged.discard_during(replay::wait(deps, turn, stream)).await? {
                WaitOutcome::Ready(turn) => {
                    let replayed = replay::replay(deps, &turn, stream).await?;
                    return Ok(Tried::Done(Claim::Replayed(replayed)));
                }
                WaitOutcome::Running { retry_after } => {
                    return Err(Refusal::TurnInProgress { retry_after });
                }
                // The next snapshot says so too, and the turn is taken over.
                WaitOutcome::Dead => return Ok(Tried::Progress),
            },
            Decision::TakeOver(turn) => {
                match staged.discard_during(take_over(deps, &turn, self.scope, &org.catalog)).await? {
                    Some((owned, Some(step))) => Some((owned, step)),
                    Some((owned, None)) => {
                        let step = resolve_after_takeover(&read, &owned.turn).await?;
                        Some((owned, step))
                    }
                    None => None,
                }
            }
            Decision::Conflict => return Err(Refusal::TurnIdConflict),
            Decision::SessionConflict => return Err(Refusal::SessionIdConflict),
            Decision::Busy { turn, wait } => {
                return Err(Refusal::SessionBusy { turn, retry_after: wait });
            }
            Decision::Closed(closed) => return Err(closed.into()),
            Decision::ContextMismatch => return Err(Refusal::context_mismatch()),
        };
        Ok(claimed.map_or(Tried::Conflict, |(owned, step)| Tried::Done(Claim::owned(owned, step))))
    }

    /// Refuses a decision that the request's conditions exclude. The start commits on the same snapshot.
    fn check_conditions(&self, snapshot: &Snapshot, decision: &Decision) -> Result<(), Refusal> {
        let StartConditions { is_new, follows, .. } = self.conditions;
        match decision {
            Decision::Begin | Decision::BeginClosing(_) => {
                let last = snapshot.session.as_ref().and_then(|session| session.last_turn.as_ref());
                let is_next = follows.as_ref().is_none_or(|turn| last.is_some_and(|last| last.id == *turn));
                is_next.then_some(()).ok_or(Refusal::NotLastTurn)
            }
            Decision::Replay(turn) | Decision::Wait(turn) | Decision::TakeOver(turn) => {
                let is_own = turn.stored_request() == self.submission.stored_request();
                (!is_new || is_own).then_some(()).ok_or(Refusal::TurnIdConflict)
            }
            _ => Ok(()),
        }
    }
}

/// A request that a start stores: a small one with the turn, a large one as an object while the first snapshot loads.
///
/// The object is stored under the submission's own id. So if no turn refers to it, nothing else does.
pub(super) struct StagedRequest<'a, P> {
    payloads: &'a P,
    payload: Payload,
    state: Staging,
}

enum Staging {
    /// It becomes part of the transaction that starts the turn, so nothing is to remove.
    Inline(String),
    /// The result of storing its object.
    Staged(Result<(), Unavailable>),
    /// It was discarded, or a turn refers to it: nothing to remove.
    Released,
}

impl<'a, P: Payloads> StagedRequest<'a, P> {
    /// Stores a large request. A failure appears when it is committed.
    pub(super) async fn stage(payloads: &'a P, submission: &Submission, request: &UserTurn) -> Self {
        let kind = Kind::Instruction(submission.stored_request());
        let payload = Payload { turn: submission.key.clone(), kind };
        let state = match RequestBody::new(request) {
            RequestBody::Inline(json) => Staging::Inline(json),
            RequestBody::Object(bytes) => Staging::Staged(payloads.put(&payload, bytes).await),
        };
        Self { payloads, payload, state }
    }

    /// Checks that a large request is stored, as it must be before the head that points at it is written. Returns a small
    /// one.
    ///
    /// # Errors
    /// If it couldn't be stored, or it was discarded.
    pub(super) fn commit(&mut self) -> Result<Option<String>, Unavailable> {
        if let Staging::Inline(json) = &self.state {
            return Ok(Some(json.clone()));
        }
        match std::mem::replace(&mut self.state, Staging::Staged(Ok(()))) {
            Staging::Staged(stored) => stored.map(|()| None),
            Staging::Inline(_) | Staging::Released => {
                Err(Unavailable { what: "the request", source: "it was removed".into() })
            }
        }
    }

    /// Releases the request to the turn that refers to it.
    pub(super) fn release(&mut self) {
        if let Staging::Staged(_) = self.state {
            self.state = Staging::Released;
        }
    }

    /// Removes the object, because no turn will refer to it.
    pub(super) async fn discard(&mut self) {
        let is_stored = matches!(self.state, Staging::Staged(Ok(())));
        self.release();
        if is_stored && let Err(error) = self.payloads.remove(&self.payload).await {
            tracing::warn!(error = %causes(&error), "{}", contracts::log::REQUEST_NOT_DISCARDED);
        }
    }

    /// Runs `work` on a turn that another submission started, and discards the request concurrently.
    pub(super) async fn discard_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        join(work, self.discard()).await.0
    }
}
