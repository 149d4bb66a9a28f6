//! Begin: a user turn meets what is stored.

use std::time::Duration;

use crate::caller::User;
use contracts::{
    Fingerprint, Timestamp, Usage,
    id::{SessionId, TurnId},
    read::{AgentSessionActiveFileRef, TurnStatus, Visibility},
};

use super::{
    finalize::{self, Finalized},
    settle, take, wait,
};
use crate::{
    chain::{self, Rebuild, Start, Target, Upstream},
    change::{Commit, Condition, SessionChange, TurnChange},
    detail::{Findings, Participant, RequestDetail, Summary},
    id::{AttemptId, TurnKey},
    line::{After, Repeats},
    payload::StoredRequest,
    session::{ChainHead, Contexts, Hints, LastTurn, Session, SolutionChange},
    timing::Timing,
    turn::{Reason, Stage, State, Turn},
};

/// A user turn as it was submitted, as far as its fate depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Which turn of which session.
    pub key: TurnKey,
    /// Who submitted it.
    pub by: User,
    /// The request, as a hash.
    pub fingerprint: Fingerprint,
    /// The id that it stored the request under.
    pub id: Option<AttemptId>,
    /// The contexts that the request names.
    pub contexts: Contexts,
    /// The hints that the request gives.
    pub hints: Hints,
    /// What the session is called if this turn creates it.
    pub session_name: String,
    /// The head of the instruction.
    pub instruction_summary: Summary,
    /// What it does to the session's solution context.
    pub solution: SolutionChange,
    /// Whether the client wants a stream.
    pub streamed: bool,
}

impl Submission {
    /// Where it stored the request.
    #[must_use]
    pub fn stored_request(&self) -> StoredRequest {
        StoredRequest { fingerprint: self.fingerprint, by: self.id.clone() }
    }
}

/// What a turn is begun with, found out from the contexts of its session: once, and the same for the chain
/// and for the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// The contexts of a session that this turn creates: those that the request names, and the agent's own
    /// conversation context where it names none.
    pub contexts: Contexts,
    /// Who of the org may see a session that this turn creates.
    pub visibility: Visibility,
    /// The mode that a new session starts in (AGN-011 §3.1).
    pub first_mode: String,
    /// Where the turn is to go.
    pub target: Target,
    /// The files that come with it, and which of them go to the model.
    pub files: Vec<AgentSessionActiveFileRef>,
    /// Of a rerun: what it repeats, and what it goes on from.
    pub rerun: Option<Rerun>,
    /// A session that its session's line leads into, where that was purged since the turn before.
    pub cut: Option<PurgedOrigin>,
}

/// A session that the line of another one leads into was purged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurgedOrigin {
    /// Which.
    pub session: SessionId,
    /// The sessions between, which are still there.
    pub reached: Vec<SessionId>,
}

/// A turn that runs another one again (DD-006).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerun {
    /// What it repeats.
    pub repeats: Repeats,
    /// What it goes on from in the place of what its session has come to.
    pub basis: Basis,
}

/// What a turn goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// The turn.
    pub after: After,
    /// What that left with its provider.
    pub chain: Option<ChainHead>,
    /// The mode that the turn begins in.
    pub mode: String,
}

impl Basis {
    /// What an ordinary turn goes on from: what its session has come to.
    #[must_use]
    pub fn of(session: &Session) -> Self {
        Self { after: session.next_after(), chain: session.chain.clone(), mode: session.mode.clone() }
    }
}

/// What is stored, read consistently.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The session.
    pub session: Option<Session>,
    /// The turn that the request names.
    pub turn: Option<Turn>,
    /// The turn that the session names as open.
    pub open: Option<Turn>,
}

impl Seen {
    /// The turn that a submission names, if it is there.
    #[must_use]
    pub fn turn_of(&self, submission: &Submission) -> Option<&Turn> {
        // The two reads are not one snapshot: the session may name the turn as open already while the
        // turn's own read came too early to see it.
        let open_is_this = self.open.as_ref().filter(|open| open.key == submission.key);
        self.turn.as_ref().or(open_is_this)
    }
}

/// What a user turn comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is in the way.
    Begin,
    /// The session's open turn is settled or awaits tool results: close it in the same transaction.
    BeginClosing(Turn),
    /// The session's open turn ran until its lease was over: salvage it first, then decide again.
    SalvageFirst(Turn),
    /// The same request came before and has something to answer with.
    Replay(Turn),
    /// The same request came before and runs.
    Wait(Turn),
    /// The same request came before and its attempt died.
    TakeOver(Turn),
    /// The turn id belongs to another request, or to another user's.
    Conflict,
    /// Another turn of the session runs.
    Busy {
        /// Which.
        turn: TurnId,
        /// How long it is likely to go on.
        wait: Duration,
    },
    /// The session was deleted.
    Deleted,
    /// The request names other contexts than the session has.
    OtherContexts,
}

/// Decides on values alone; the condition of the write makes it hold.
///
/// # Examples
/// The first turn of a session begins; the same one again, while its attempt lives, waits.
/// ```
/// use contracts::{Fingerprint, Timestamp, read::Visibility};
/// use protocol::{
///     caller::User,
///     chain::Target,
///     detail::Summary,
///     id::{AttemptId, SessionKey},
///     session::{Contexts, Hints, SolutionChange},
///     timing::Timing,
///     transition::begin::{Decision, Seen, Setup, Submission, begin, decide},
/// };
///
/// let session = SessionKey { org: "acme".parse()?, session: "s1".parse()? };
/// let submission = Submission {
///     key: session.turn("t1".parse()?),
///     by: User { id: "ada".parse()?, name: "Ada".to_owned() },
///     fingerprint: Fingerprint::of_bytes(b"the request"),
///     id: None,
///     contexts: Contexts::default(),
///     hints: Hints::default(),
///     session_name: "What is a lease?".to_owned(),
///     instruction_summary: Summary { text: "What is a lease?".to_owned(), is_cut: false },
///     solution: SolutionChange::Stays,
///     streamed: false,
/// };
/// let (now, timing) = (Timestamp::from_millis(0), Timing::default());
/// assert_eq!(decide(&Seen::default(), &submission, now, &timing), Decision::Begin);
///
/// let setup = Setup {
///     contexts: Contexts::default(),
///     visibility: Visibility::Org,
///     first_mode: "general".to_owned(),
///     target: Target::default(),
///     files: Vec::new(),
///     rerun: None,
///     cut: None,
/// };
/// let attempt = AttemptId::new("a fresh random id".to_owned());
/// let commit = begin(None, None, &submission, &setup, attempt, true, now, &timing);
/// let stored = commit.turns.into_iter().next().map(|change| change.after);
/// let seen = Seen { session: Some(commit.session.after), turn: stored, open: None };
/// assert!(matches!(decide(&seen, &submission, now, &timing), Decision::Wait(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn decide(seen: &Seen, submission: &Submission, now: Timestamp, timing: &Timing) -> Decision {
    if let Some(turn) = seen.turn_of(submission) {
        return again(turn, submission, now, timing);
    }
    let Some(session) = &seen.session else {
        return Decision::Begin;
    };
    if session.deleted.is_some() {
        return Decision::Deleted;
    }
    if !submission.contexts.agree_with(&session.contexts) {
        return Decision::OtherContexts;
    }
    let Some(open) = &seen.open else {
        return Decision::Begin;
    };
    match &open.state {
        State::Running { lease_ends, .. } => {
            if now < take::takeable_at(*lease_ends, timing) {
                Decision::Busy { turn: open.key.turn.clone(), wait: wait::likely(open, now, timing) }
            } else {
                Decision::SalvageFirst(open.clone())
            }
        }
        State::AwaitingTools { .. } | State::Settled(_) => Decision::BeginClosing(open.clone()),
        // The session was read before that turn was finalized: its `Rev` will refuse the write.
        State::Finalized(_) => Decision::Begin,
    }
}

/// The turn is there already (I9).
fn again(turn: &Turn, submission: &Submission, now: Timestamp, timing: &Timing) -> Decision {
    if turn.fingerprint != submission.fingerprint || turn.requested_by != submission.by.id {
        return Decision::Conflict;
    }
    match &turn.state {
        State::Running { lease_ends, .. } if now < take::takeable_at(*lease_ends, timing) => {
            Decision::Wait(turn.clone())
        }
        State::Running { .. } => Decision::TakeOver(turn.clone()),
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => {
            Decision::Replay(turn.clone())
        }
    }
}

/// How the session's open turn is closed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    finalized: Finalized,
    superseded: bool,
}

impl Closing {
    /// Closes a settled turn from its outcome, or supersedes one that awaits tool results
    /// (rule 11). `found` is what the object that [`Turn::outcome_writer`] names holds.
    ///
    /// # Errors
    /// When the turn runs or is terminal.
    pub fn of(
        session: &Session,
        open: &Turn,
        found: Option<&Findings>,
        now: Timestamp,
        timing: &Timing,
    ) -> Result<Self, super::Illegal> {
        match &open.state {
            State::AwaitingTools { .. } => {
                let ended = settle::end(open, Reason::Superseded, now, timing)?;
                let mut finalized = finalize::finalize(session, &ended.after, found)?;
                finalized.turn.condition = ended.condition;
                Ok(Self { finalized, superseded: true })
            }
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => {
                Ok(Self { finalized: finalize::finalize(session, open, found)?, superseded: false })
            }
        }
    }

    /// The turn as it is once the transaction is written.
    #[must_use]
    pub fn finalized(&self) -> &Finalized {
        &self.finalized
    }

    /// What must be written before the transaction: what came of a turn that was settled before. A
    /// superseded turn's part goes into the transaction, since until then it may still go another way.
    #[must_use]
    pub fn result_before(&self) -> Option<&crate::detail::ResultDetail> {
        (!self.superseded).then_some(&self.finalized.result)
    }
}

/// The one transaction that starts a turn: session, new head, what is kept of the request, a newcomer, and
/// the turn that is closed on the way.
#[must_use]
#[expect(clippy::too_many_arguments, reason = "each is a fact of its own, and there is one caller")]
pub fn begin(
    session: Option<&Session>,
    closing: Option<Closing>,
    submission: &Submission,
    setup: &Setup,
    attempt: AttemptId,
    newcomer: bool,
    now: Timestamp,
    timing: &Timing,
) -> Commit {
    let before = match &closing {
        Some(closing) => Some(&closing.finalized.session),
        None => session,
    };
    let before = before.cloned().unwrap_or_else(|| created(submission, setup, now));
    let before = match &setup.cut {
        Some(purged) => before.cut_at(&purged.session, &purged.reached),
        None => before,
    };
    let sequence = before.turn_count.saturating_add(1);
    let next = before.next_after();
    let basis = setup.rerun.as_ref().map_or_else(|| Basis::of(&before), |rerun| rerun.basis.clone());
    let after = Session {
        rev: session.map_or(0, |session| session.rev).saturating_add(1),
        turn_count: sequence,
        open_turn: Some(submission.key.turn.clone()),
        last_turn: Some(LastTurn { id: submission.key.turn.clone(), status: TurnStatus::Pending, at: now }),
        // Until a turn that goes on from elsewhere is completed, the next one goes on from what was there.
        tip: (basis.after != next).then_some(next),
        hints: submission.hints.clone().latched_over(&before.hints),
        solution: submission.solution.applied_to(before.solution.as_ref()),
        ..before
    };
    let lease_ends = now.after(timing.lease);
    let upstream = setup.target.of(&after);
    let turn = Turn {
        key: submission.key.clone(),
        sequence,
        fingerprint: submission.fingerprint,
        request_by: submission.id.clone(),
        requested_by: submission.by.id.clone(),
        created: now,
        mode: basis.mode,
        chain: match &setup.cut {
            Some(_) => Start::Rebuilds(Rebuild::Purged),
            None => chain::start(&basis.after, basis.chain.as_ref(), &upstream, now),
        },
        after: basis.after,
        offset: after.offset(),
        attempt: attempt.clone(),
        due: Some(take::abandoned_at(lease_ends, timing)),
        streamed: submission.streamed,
        takeovers: 0,
        suspended_by: None,
        accepted: None,
        ended_by: None,
        recorded: None,
        shown: None,
        state: State::Running { lease_ends, stage: Stage { round: 0, attempts: vec![attempt] } },
    };
    let mut commit = Commit::on(SessionChange { condition: session.map(|session| session.rev), after });
    commit.turns.push(TurnChange { condition: Condition::Absent, after: turn });
    commit.request = Some(request_detail(submission, setup, upstream));
    commit.participant = newcomer.then(|| Participant {
        session: submission.key.session.clone(),
        user: submission.by.id.clone(),
        name: Some(submission.by.name.clone()),
        last_activity: now,
    });
    if let Some(Closing { finalized, superseded }) = closing {
        commit.turns.push(finalized.turn);
        commit.result = superseded.then_some(finalized.result);
        commit.mode_changes = finalized.mode_changes;
    }
    commit
}

fn created(submission: &Submission, setup: &Setup, now: Timestamp) -> Session {
    Session {
        key: submission.key.session.clone(),
        rev: 0,
        name: submission.session_name.clone(),
        description: None,
        visibility: setup.visibility,
        edited: None,
        deleted: None,
        owner: submission.by.clone(),
        created: now,
        last_activity: now,
        turn_count: 0,
        open_turn: None,
        last_turn: None,
        tip: None,
        forked_from: None,
        cut: None,
        chain: None,
        keeps_no_chain: None,
        mode: setup.first_mode.clone(),
        usage: Usage::default(),
        costs: Vec::new(),
        contexts: setup.contexts.clone(),
        hints: Hints::default(),
        solution: None,
    }
}

fn request_detail(submission: &Submission, setup: &Setup, upstream: Upstream) -> RequestDetail {
    RequestDetail {
        key: submission.key.clone(),
        fingerprint: submission.fingerprint,
        by: submission.by.clone(),
        upstream,
        instruction_summary: submission.instruction_summary.text.clone(),
        instruction_is_cut: submission.instruction_summary.is_cut,
        active_file_refs: setup.files.clone(),
        repeats: setup.rerun.as_ref().map(|rerun| rerun.repeats.clone()),
    }
}
