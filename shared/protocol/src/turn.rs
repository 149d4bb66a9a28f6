//! A turn's head: everything that decides its outcome, and nothing else.
//!
//! Request and result are details ([`crate::detail`]) and payloads. The head stays under a kilobyte, so that every
//! conditional write on it is cheap. Usage that is pending at a provider may add half of one.

use contracts::{Error, ErrorCode, Fingerprint, Timestamp, id::UserId, read::TurnStatus};

use crate::{
    ancestry::{ParentRef, ResolvedParent},
    approval,
    budget::MeterRef,
    chain,
    id::{AttemptId, SessionKey, TurnKey},
    payload::{Kind, Payload, StoredRequest},
    spent::Spent,
    stream_position::{Segment, StreamPosition},
};

/// The maximum number of takeovers of a turn from attempts that died, over all its stages. With the first attempt
/// that makes three attempts. Resuming with a client's tool results is not a takeover.
pub const MAX_TAKEOVERS: u32 = 2;

/// The head of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Turn {
    /// The turn's key.
    pub key: TurnKey,
    /// The sequence number in the session, from 1 (I3).
    pub sequence: u64,
    /// The fingerprint of the request (I9).
    pub fingerprint: Fingerprint,
    /// The submission that stored the request, see [`StoredRequest`].
    pub submission_id: Option<AttemptId>,
    /// The user who sent it.
    pub requested_by: UserId,
    /// The time at which it was accepted.
    pub created: Timestamp,
    /// The mode at its start, a catalog key.
    pub mode: String,
    /// The parent turn (docs/internals/lifecycle.md).
    pub parent: ParentRef,
    /// The depth that the session's first turn starts from. Greater than 0 only in a fork.
    pub base_depth: u64,
    /// The starting point of the first model call, fixed at the turn's start for takeovers to reuse.
    pub chain: chain::ChainStart,
    /// The attempt that owns it, which every condition compares (rule 3).
    pub attempt: AttemptId,
    /// The time at which the sweep should act on it, or `None` once it is terminal.
    pub due: Option<Timestamp>,
    /// True if the client asked for a stream. Its tool continuations are answered in the same way.
    pub streamed: bool,
    /// The number of takeovers from attempts that died, at most [`MAX_TAKEOVERS`].
    pub takeovers: u32,
    /// The attempt that last suspended it. If the turn is ended from outside, that attempt's outcome object has the
    /// usage.
    pub suspended_by: Option<AttemptId>,
    /// The latest accepted tool results, which identify a repeated submission.
    pub accepted_results: Option<AcceptedResults>,
    /// The user who ended it, by a cancel or by deleting its session.
    pub ended_by: Option<UserId>,
    /// The last step recorded since the start or the last tool results. Set only if the turn was ended from outside
    /// while it ran, to say how far it came.
    pub last_step: Option<StepRef>,
    /// The position up to which the stream was stored when a streamed turn was ended from outside while it ran. That
    /// text is the partial answer.
    pub checkpoint: Option<StreamPosition>,
    /// Spending of the turn, as of the last write that knew. Absent while an outcome object says it: after a
    /// suspension, and once an attempt decided the turn.
    pub spent: Option<Spent>,
    /// The meters in which the turn has entries, because a budget applied to it at its start.
    pub meters: Vec<MeterRef>,
    /// True if an import brought it. It used nothing here, so its finalization counts no usage.
    pub is_imported: bool,
    /// True if its content must not be stored. Its session has no other turn, and is purged once the turn is settled.
    pub is_unstored: bool,
    /// The [words](Fingerprint::hash_words) of its answer, once that is stored. A chat that holds the answer is recognized by
    /// them without a read of it.
    pub answer: Option<Fingerprint>,
    /// The state.
    pub state: State,
}

/// The state of a turn (docs/internals/lifecycle.md).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum State {
    /// An attempt works on the turn while its lease lasts.
    Running {
        /// The end of the owner's lease.
        lease_ends: Timestamp,
        /// The work since the start or the last tool results.
        stage: Stage,
    },
    /// The client runs tools, or people have to approve calls. The owner's outcome object holds the calls.
    AwaitingTools {
        /// The number of this suspension, from 1.
        round: u32,
        /// The time at which the turn fails without results.
        deadline: Timestamp,
        /// True if no client has calls to run: people have to approve calls of the service.
        is_for_approval: bool,
    },
    /// The outcome is decided irrevocably, but the session does not show it yet.
    Settled(Settlement),
    /// The turn is terminal and never changes again (I2).
    Finalized(Settlement),
}

/// The work between two suspensions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stage {
    /// The number of earlier suspensions.
    pub round: u32,
    /// The attempts of this stage, oldest first. Any of them may have stored an outcome object. At most one more than
    /// [`MAX_TAKEOVERS`].
    pub attempts: Vec<AttemptId>,
}

/// The single decision about a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settlement {
    /// The verdict.
    pub verdict: Verdict,
    /// The turn's `StatusTimeStamp`.
    pub at: Timestamp,
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The writer's outcome object holds the answer.
    Completed {
        /// The attempt that wrote the outcome object.
        writer: AttemptId,
    },
    /// The writer's outcome object holds the errors.
    Failed {
        /// The attempt that wrote the outcome object.
        writer: AttemptId,
    },
    /// The turn was ended from outside, without an outcome object.
    Ended(EndReason),
}

/// The reason for ending a turn from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The caller cancelled it.
    Cancelled,
    /// Its attempts died and the client did not retry, or an operator abandoned it.
    Abandoned,
    /// A new user turn came while it awaited tool results.
    Superseded,
    /// The tool results missed their deadline.
    ToolDeadline,
    /// The outcome could not be stored.
    StorageUnavailable,
}

/// Tool results that were accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AcceptedResults {
    /// The suspension that they answer.
    pub round: u32,
    /// Their fingerprint.
    pub results: Fingerprint,
    /// The attempt that suspended the turn. Its outcome object holds the calls.
    pub suspended_by: AttemptId,
    /// The attempt that resumed the turn. The results are stored under it.
    pub resumed_by: AttemptId,
}

/// A reference to a recorded step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StepRef {
    /// The attempt that recorded it.
    pub attempt: AttemptId,
    /// The number of the step.
    pub step: u32,
}

/// The object that is the evidence of a turn's outcome so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceSource<'a> {
    /// This attempt's outcome object.
    Outcome(&'a AttemptId),
    /// The outcome object of a suspension, together with the tool results that answered it.
    Results(&'a AcceptedResults),
    /// A recorded step.
    Step(&'a StepRef),
}

/// The phase of a state, which conditions compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// [`State::Running`].
    Running,
    /// [`State::AwaitingTools`].
    AwaitingTools,
    /// [`State::Settled`].
    Settled,
    /// [`State::Finalized`].
    Finalized,
}

impl State {
    /// Returns the phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self {
            Self::Running { .. } => Phase::Running,
            Self::AwaitingTools { .. } => Phase::AwaitingTools,
            Self::Settled(_) => Phase::Settled,
            Self::Finalized(_) => Phase::Finalized,
        }
    }
}

impl Verdict {
    /// Returns the public status.
    #[must_use]
    pub fn status(&self) -> TurnStatus {
        match self {
            Self::Completed { .. } => TurnStatus::Completed,
            Self::Failed { .. } | Self::Ended(_) => TurnStatus::Failed,
        }
    }

    /// Returns the attempt whose outcome object has the rest. `None` without an outcome object.
    #[must_use]
    pub fn writer(&self) -> Option<&AttemptId> {
        match self {
            Self::Completed { writer } | Self::Failed { writer } => Some(writer),
            Self::Ended(_) => None,
        }
    }
}

impl Turn {
    /// Returns the settlement, once there is one.
    #[must_use]
    pub fn settlement(&self) -> Option<&Settlement> {
        match &self.state {
            State::Settled(settlement) | State::Finalized(settlement) => Some(settlement),
            State::Running { .. } | State::AwaitingTools { .. } => None,
        }
    }

    /// Returns the number of suspensions before its current or last stage of work. If it was ended from outside while
    /// it awaited tool results, the end counts as after the continuation, not in its place.
    #[must_use]
    pub fn round(&self) -> u32 {
        match &self.state {
            State::Running { stage, .. } => stage.round,
            State::AwaitingTools { round, .. } => round.saturating_sub(1),
            State::Settled(_) | State::Finalized(_) => {
                let resumed = self.accepted_results.as_ref().map_or(0, |accepted| accepted.round);
                // A resume always sets a fresh attempt id.
                let awaited = self.suspended_by.as_ref() == Some(&self.attempt);
                resumed.saturating_add(u32::from(awaited))
            }
        }
    }

    /// True if no client waits for the work since its last suspension: approvals resumed it. The turn queue continues it
    /// after its attempt died.
    #[must_use]
    pub fn is_unattended(&self) -> bool {
        let is_approved =
            |accepted: &AcceptedResults| accepted.results == approval::resumption(accepted.round);
        matches!(self.state, State::Running { .. }) && self.accepted_results.as_ref().is_some_and(is_approved)
    }

    /// Returns the first stream segment of the attempt that works on it.
    #[must_use]
    pub fn first_segment(&self) -> Segment {
        let attempts = match &self.state {
            State::Running { stage, .. } => stage.attempts.len(),
            State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => 0,
        };
        Segment::first(self.round(), attempts.saturating_sub(1))
    }

    /// Returns the attempt whose outcome object describes the turn so far: the verdict's writer, else the attempt
    /// that last suspended it.
    #[must_use]
    pub fn outcome_writer(&self) -> Option<&AttemptId> {
        let writer = self.settlement().and_then(|settlement| settlement.verdict.writer());
        writer.or(self.suspended_by.as_ref())
    }

    /// Returns the evidence of the outcome so far: the verdict's own object if it has one. For a turn that was ended
    /// from outside, the last step in its head, else the point from which its work last continued.
    #[must_use]
    pub fn evidence_source(&self) -> Option<EvidenceSource<'_>> {
        if let Some(writer) = self.settlement().and_then(|settlement| settlement.verdict.writer()) {
            return Some(EvidenceSource::Outcome(writer));
        }
        let results = self
            .accepted_results
            .as_ref()
            .filter(|results| Some(&results.suspended_by) == self.suspended_by.as_ref());
        let step = self.last_step.as_ref().map(EvidenceSource::Step);
        step.or(results.map(EvidenceSource::Results))
            .or(self.suspended_by.as_ref().map(EvidenceSource::Outcome))
    }

    /// Returns the depth in the ancestry, which is greater than the depth of every ancestor in any session. In a
    /// session that is not a fork it is the sequence number.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.base_depth.saturating_add(self.sequence)
    }

    /// Returns the location of the parent turn.
    #[must_use]
    pub fn resolved_parent(&self) -> Option<ResolvedParent> {
        let ParentRef { session, sequence } = self.parent.clone();
        let own = &self.key.session;
        let (session, depth) = match session {
            None => (own.clone(), self.base_depth.saturating_add(sequence)),
            // A turn's parent in another session is always the turn that the session was forked from.
            Some(session) => (SessionKey { org: own.org.clone(), session }, self.base_depth),
        };
        (sequence > 0).then_some(ResolvedParent { session, sequence, depth })
    }

    /// Returns the object that holds the answer, if the turn has one.
    #[must_use]
    pub fn answer(&self) -> Option<Payload> {
        match &self.settlement()?.verdict {
            Verdict::Completed { writer } => {
                Some(Payload { turn: self.key.clone(), kind: Kind::Answer(writer.clone()) })
            }
            Verdict::Failed { .. } | Verdict::Ended(_) => None,
        }
    }

    /// Returns the name of the stored request.
    #[must_use]
    pub fn stored_request(&self) -> StoredRequest {
        StoredRequest { fingerprint: self.fingerprint, submission_id: self.submission_id.clone() }
    }

    /// True if the turn may have ended with intended calls that have no result: it was ended from outside while it ran.
    #[must_use]
    pub fn may_have_open_calls(&self) -> bool {
        match self.settlement().map(|settlement| &settlement.verdict) {
            // Its owner has dealt with every call before the outcome object was written.
            None | Some(Verdict::Completed { .. } | Verdict::Failed { .. }) => false,
            Some(Verdict::Ended(EndReason::Superseded | EndReason::ToolDeadline)) => false,
            Some(Verdict::Ended(
                EndReason::Cancelled | EndReason::Abandoned | EndReason::StorageUnavailable,
            )) => true,
        }
    }

    /// True if the head refers to the object, or work that continues may. An object that is not referenced and is
    /// older than any function can run is garbage.
    #[must_use]
    pub fn references(&self, object: &Kind) -> bool {
        match object {
            Kind::Instruction(request) => *request == self.stored_request(),
            // Answers, messages and streams that clients received link to it.
            Kind::File { .. } => true,
            // The evidence of what a target performed. An intent names its attempt, and the head doesn't.
            Kind::EffectResult(..) => true,
            Kind::Round(..) if self.may_have_open_calls() => true,
            // A copy of what other objects have.
            Kind::History(_) => false,
            Kind::Outcome(attempt)
            | Kind::Step(attempt, _)
            | Kind::Round(attempt, _)
            | Kind::ToolResults(attempt)
            | Kind::Answer(attempt)
            | Kind::PartialAnswer(attempt)
            | Kind::ModelRequest(attempt, _)
            | Kind::ModelResponse(attempt, _) => {
                !matches!(self.state, State::Finalized(_)) || self.mentions(attempt)
            }
        }
    }

    /// True if the head mentions this attempt anywhere.
    fn mentions(&self, attempt: &AttemptId) -> bool {
        let results =
            self.accepted_results.as_ref().map(|results| [&results.suspended_by, &results.resumed_by]);
        let step = self.last_step.as_ref().map(|step| &step.attempt);
        let ids = [Some(&self.attempt), self.suspended_by.as_ref(), self.outcome_writer(), step];
        ids.into_iter().flatten().chain(results.into_iter().flatten()).any(|id| id == attempt)
    }

    /// Returns the status that readers see. A settled turn shows its outcome, since nothing can change it.
    #[must_use]
    pub fn status(&self) -> TurnStatus {
        self.settlement().map_or(TurnStatus::Pending, |settlement| settlement.verdict.status())
    }
}

impl EndReason {
    /// Returns the error for the client.
    #[must_use]
    pub fn error(self) -> Error {
        let (code, message) = match self {
            Self::Cancelled => (ErrorCode::TurnCancelled, "The turn was cancelled."),
            Self::Abandoned => (
                ErrorCode::TurnAbandoned,
                "The turn was interrupted and did not recover. Send it again with a new TurnId.",
            ),
            Self::Superseded => (
                ErrorCode::TurnSuperseded,
                "A new turn of the session took over while this one awaited tool results. Follow the newer turn.",
            ),
            Self::ToolDeadline => (
                ErrorCode::ToolDeadlineExpired,
                "The tool results did not arrive in time. Send the instruction again with a new TurnId.",
            ),
            Self::StorageUnavailable => (
                ErrorCode::TurnNotStored,
                "The answer could not be stored. Send the instruction again with a new TurnId.",
            ),
        };
        Error::new(code, message)
    }
}
