//! A turn's head: everything that decides its fate, and nothing else.
//!
//! What was asked and what came of it are details ([`crate::detail`]) and payloads; the head stays
//! under a kilobyte so that every conditional write on it is cheap.

use contracts::{Error, ErrorCode, Fingerprint, Timestamp, id::UserId, read::TurnStatus};

use crate::{
    chain,
    id::{AttemptId, SessionKey, TurnKey},
    line::{After, Predecessor},
    payload::{Kind, Payload, StoredRequest},
    place::{Place, Segment},
};

/// How often the work of a turn may be taken over from an attempt that died, over all its stages: with its
/// first attempt it has three. Going on with a client's results takes over nothing.
pub const MAX_TAKEOVERS: u32 = 2;

/// The head of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Turn {
    /// Which turn.
    pub key: TurnKey,
    /// Its place in the session, from 1 (I3).
    pub sequence: u64,
    /// The request, as a hash (I9).
    pub fingerprint: Fingerprint,
    /// The submission that stored the request, see [`StoredRequest`].
    pub request_by: Option<AttemptId>,
    /// Who sent it.
    pub requested_by: UserId,
    /// When it was accepted.
    pub created: Timestamp,
    /// The mode at its start, a catalog key.
    pub mode: String,
    /// The turn that it goes on from (docs/lifecycle.md, lines).
    pub after: After,
    /// How many places its line has before its session's first turn: none but in a fork.
    pub offset: u64,
    /// What its first model call goes on from, frozen at its start; takeovers use it.
    pub chain: chain::Start,
    /// The attempt that owns it: every condition compares it (rule 3).
    pub attempt: AttemptId,
    /// When the sweep should look at it; none once it is terminal.
    pub due: Option<Timestamp>,
    /// Whether its client asked for a stream: its tool continuations are answered in the same way.
    pub streamed: bool,
    /// How often its work was taken over from an attempt that died; at most [`MAX_TAKEOVERS`].
    pub takeovers: u32,
    /// Who suspended it last: should it be ended from outside, that outcome object tells what it had used.
    pub suspended_by: Option<AttemptId>,
    /// The latest accepted tool results, to recognise them when they come again.
    pub accepted: Option<AcceptedResults>,
    /// The user who ended it: by a cancel, or by deleting its session while it was open.
    pub ended_by: Option<UserId>,
    /// Of a turn that was ended from outside while it ran: the last step that was recorded since its start or
    /// its last tool results. It tells what the turn had come to.
    pub recorded: Option<Recorded>,
    /// Of a streamed turn that was ended from outside while it ran: up to where its stream was kept by then. That text
    /// is what there was of an answer.
    pub shown: Option<Place>,
    /// Where it stands.
    pub state: State,
}

/// Where a turn stands (docs/lifecycle.md).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum State {
    /// An attempt works on it while its lease lasts.
    Running {
        /// When the owner's lease ends.
        lease_ends: Timestamp,
        /// The work since the start or since the last tool results.
        stage: Stage,
    },
    /// The client runs tools; the owner's outcome object holds the calls.
    AwaitingTools {
        /// Which suspension of the turn this is, from 1.
        round: u32,
        /// When the turn fails for want of results.
        deadline: Timestamp,
    },
    /// The outcome is decided, irrevocably; the session does not show it yet.
    Settled(Settlement),
    /// Terminal: nothing changes any more (I2).
    Finalized(Settlement),
}

/// The work between two suspensions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stage {
    /// How many suspensions came before.
    pub round: u32,
    /// The attempts of this stage, oldest first: any of them may have stored an outcome object.
    /// At most one more than [`MAX_TAKEOVERS`].
    pub attempts: Vec<AttemptId>,
}

/// The one decision about a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settlement {
    /// What was decided.
    pub verdict: Verdict,
    /// The turn's `StatusTimeStamp` (DD-002B, DD-002C).
    pub at: Timestamp,
}

/// What became of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The writer's outcome object holds the answer.
    Completed {
        /// Whose outcome object.
        writer: AttemptId,
    },
    /// The writer's outcome object holds the errors.
    Failed {
        /// Whose outcome object.
        writer: AttemptId,
    },
    /// It was ended from outside, without an outcome object.
    Ended(Reason),
}

/// Why a turn was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The caller cancelled it.
    Cancelled,
    /// Its attempts died and nobody asked again.
    Abandoned,
    /// A new user turn came while it awaited tool results.
    Superseded,
    /// The tool results did not come in time.
    ToolDeadline,
    /// The outcome could not be stored.
    StorageUnavailable,
}

/// Tool results that were accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AcceptedResults {
    /// The suspension they answered.
    pub round: u32,
    /// Their fingerprint.
    pub results: Fingerprint,
    /// Who suspended: its outcome object holds the calls.
    pub suspended_by: AttemptId,
    /// Who resumed: the results are stored under it.
    pub resumed_by: AttemptId,
}

/// Names a recorded step.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Recorded {
    /// The attempt that recorded it.
    pub by: AttemptId,
    /// Which of the work's steps it is.
    pub step: u32,
}

/// Which of a turn's objects tell what came of it so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownBy<'a> {
    /// This attempt's outcome object.
    Outcome(&'a AttemptId),
    /// The outcome object of a suspension, and the results that it got.
    Results(&'a AcceptedResults),
    /// A recorded step.
    Step(&'a Recorded),
}

/// The state's name, as conditions compare it.
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
    /// The state's name.
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
    /// The public status it leads to (DD-002B).
    #[must_use]
    pub fn status(&self) -> TurnStatus {
        match self {
            Self::Completed { .. } => TurnStatus::Completed,
            Self::Failed { .. } | Self::Ended(_) => TurnStatus::Failed,
        }
    }

    /// Whose outcome object tells the rest, where there is one.
    #[must_use]
    pub fn writer(&self) -> Option<&AttemptId> {
        match self {
            Self::Completed { writer } | Self::Failed { writer } => Some(writer),
            Self::Ended(_) => None,
        }
    }
}

impl Turn {
    /// The decision, once it is made.
    #[must_use]
    pub fn settlement(&self) -> Option<&Settlement> {
        match &self.state {
            State::Settled(settlement) | State::Finalized(settlement) => Some(settlement),
            State::Running { .. } | State::AwaitingTools { .. } => None,
        }
    }

    /// How often it was suspended before what it is at: its latest stage of work, or its end from outside
    /// while it awaited tool results, which comes after the continuation and not in its place.
    #[must_use]
    pub fn round(&self) -> u32 {
        match &self.state {
            State::Running { stage, .. } => stage.round,
            State::AwaitingTools { round, .. } => round.saturating_sub(1),
            State::Settled(_) | State::Finalized(_) => {
                let resumed = self.accepted.as_ref().map_or(0, |accepted| accepted.round);
                // Whoever resumes a turn brings a fresh attempt id.
                let awaited = self.suspended_by.as_ref() == Some(&self.attempt);
                resumed.saturating_add(u32::from(awaited))
            }
        }
    }

    /// The first segment of the attempt that works on it.
    #[must_use]
    pub fn first_segment(&self) -> Segment {
        let attempts = match &self.state {
            State::Running { stage, .. } => stage.attempts.len(),
            State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => 0,
        };
        Segment::first(self.round(), attempts.saturating_sub(1))
    }

    /// Whose outcome object tells what came of it so far: the verdict's writer, else who suspended it last.
    #[must_use]
    pub fn outcome_writer(&self) -> Option<&AttemptId> {
        let writer = self.settlement().and_then(|settlement| settlement.verdict.writer());
        writer.or(self.suspended_by.as_ref())
    }

    /// What tells of what came of it so far: once it is decided, the verdict's own object; of a turn that was
    /// ended from outside the last step that its head names, or what its work last went on from.
    #[must_use]
    pub fn known_by(&self) -> Option<KnownBy<'_>> {
        if let Some(writer) = self.settlement().and_then(|settlement| settlement.verdict.writer()) {
            return Some(KnownBy::Outcome(writer));
        }
        let results =
            self.accepted.as_ref().filter(|of| Some(&of.suspended_by) == self.suspended_by.as_ref());
        let step = self.recorded.as_ref().map(KnownBy::Step);
        step.or(results.map(KnownBy::Results)).or(self.suspended_by.as_ref().map(KnownBy::Outcome))
    }

    /// Its place in its line: greater than those of all turns that it goes on from, in whichever session they are. In
    /// a session that is no fork it is the sequence number.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.offset.saturating_add(self.sequence)
    }

    /// Where the turn is found that it goes on from.
    #[must_use]
    pub fn predecessor(&self) -> Option<Predecessor> {
        let After { session, sequence } = self.after.clone();
        let own = &self.key.session;
        let (session, place) = match session {
            None => (own.clone(), self.offset.saturating_add(sequence)),
            // No turn of another session is gone on from but the one that the session was forked from.
            Some(session) => (SessionKey { org: own.org.clone(), session }, self.offset),
        };
        (sequence > 0).then_some(Predecessor { session, sequence, place })
    }

    /// The answer's own object; none of a turn that has no answer.
    #[must_use]
    pub fn answer(&self) -> Option<Payload> {
        match &self.settlement()?.verdict {
            Verdict::Completed { writer } => {
                Some(Payload { turn: self.key.clone(), kind: Kind::Answer(writer.clone()) })
            }
            Verdict::Failed { .. } | Verdict::Ended(_) => None,
        }
    }

    /// Where its request is stored.
    #[must_use]
    pub fn stored_request(&self) -> StoredRequest {
        StoredRequest { fingerprint: self.fingerprint, by: self.request_by.clone() }
    }

    /// Whether the head refers to one of its turn's objects, or work that goes on may: an object for which
    /// that is not so, and which is older than any function can run, is of no use to anybody.
    #[must_use]
    pub fn needs(&self, object: &Kind) -> bool {
        match object {
            Kind::Instruction(request) => *request == self.stored_request(),
            // Answers, messages and streams that were shown link to it.
            Kind::File { .. } => true,
            Kind::Outcome(attempt)
            | Kind::Step(attempt, _)
            | Kind::ToolResults(attempt)
            | Kind::Answer(attempt)
            | Kind::PartialAnswer(attempt)
            | Kind::ModelRequest(attempt, _)
            | Kind::ModelResponse(attempt, _) => {
                !matches!(self.state, State::Finalized(_)) || self.names(attempt)
            }
        }
    }

    /// Whether the head names this attempt, whatever for.
    fn names(&self, attempt: &AttemptId) -> bool {
        let accepted = self.accepted.as_ref().map(|of| [&of.suspended_by, &of.resumed_by]);
        let recorded = self.recorded.as_ref().map(|step| &step.by);
        let named = [Some(&self.attempt), self.suspended_by.as_ref(), self.outcome_writer(), recorded];
        named.into_iter().flatten().chain(accepted.into_iter().flatten()).any(|named| named == attempt)
    }

    /// The status that readers see: a settled turn shows its outcome, since nothing can change it.
    #[must_use]
    pub fn status(&self) -> TurnStatus {
        self.settlement().map_or(TurnStatus::Pending, |settlement| settlement.verdict.status())
    }
}

impl Reason {
    /// The error that tells the client.
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
