//! Begin: decides on a user turn from the stored state, and starts it.

use std::time::Duration;

use crate::caller::User;
use contracts::{
    Fingerprint, Timestamp, Usage,
    id::TurnId,
    read::{AgentSessionActiveFileRef, TurnStatus, Visibility},
};

use super::{
    finalize::{self, Finalization},
    settle, take_over, wait,
};
use crate::{
    ancestry::{LostAncestor, ParentRef, RerunOf},
    chain::{self, ChainStart, Target, Upstream},
    change::{Commit, Condition, SessionChange, TurnChange},
    detail::{Excerpt, OutcomeSummary, Participant, RequestDetail},
    effect::UnknownEffect,
    id::{AttemptId, TurnKey},
    payload::StoredRequest,
    ratings::Ratings,
    session::{
        ChainHead, Contexts, Hints, IdOrigin, LastTurn, NameSource, Session, SessionClosed, SolutionChange,
    },
    timing::Timing,
    turn::{EndReason, Stage, State, Turn},
    webhook::Delivery,
};

/// The part of a submitted user turn that the decision depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The turn's key.
    pub key: TurnKey,
    /// The origin of the session's id.
    pub id_origin: IdOrigin,
    /// The user who submitted it.
    pub requested_by: User,
    /// The fingerprint of the request.
    pub fingerprint: Fingerprint,
    /// The submission's id, under which the request is stored.
    pub id: Option<AttemptId>,
    /// The contexts that the request names.
    pub contexts: Contexts,
    /// The hints in the request.
    pub hints: Hints,
    /// The session's name if this turn creates it.
    pub session_name: String,
    /// An excerpt of the instruction.
    pub instruction_summary: Excerpt,
    /// The change of the session's solution context.
    pub solution: SolutionChange,
    /// True if the client asked for a stream.
    pub streamed: bool,
    /// True if the turn's content must not be stored.
    pub unstored: bool,
}

impl Submission {
    /// Returns the name of the stored request.
    #[must_use]
    pub fn stored_request(&self) -> StoredRequest {
        StoredRequest { fingerprint: self.fingerprint, submission_id: self.id.clone() }
    }
}

/// The setup of a turn, resolved once from the session's contexts, so that the chain and the work use the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// The contexts of a session that this turn creates: those in the request, with the agent's own conversation
    /// context as the default.
    pub contexts: Contexts,
    /// The visibility of a session that this turn creates.
    pub visibility: Visibility,
    /// The mode in which a new session starts.
    pub initial_mode: String,
    /// The model and provider to call.
    pub target: Target,
    /// The files of the request, and which of them go to the model.
    pub files: Vec<AgentSessionActiveFileRef>,
    /// The state that the turn continues from, if it isn't the session's latest.
    pub basis: Option<Basis>,
    /// An ancestor session that was purged or hidden since the last turn.
    pub lost_ancestor: Option<LostAncestor>,
}

/// The state that a turn continues from instead of the session's latest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basis {
    /// The repeated turn, if the turn is a rerun.
    pub rerun_of: Option<RerunOf>,
    /// The state.
    pub parent: ParentState,
}

impl Basis {
    /// Returns the basis of a turn that continues from none: its request brings all that the model gets.
    #[must_use]
    pub fn nothing(session: &Session) -> Self {
        let parent = ParentState { turn: ParentRef::in_session(0), chain: None, mode: session.mode.clone() };
        Self { rerun_of: None, parent }
    }
}

/// The state that a turn continues from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentState {
    /// The parent turn.
    pub turn: ParentRef,
    /// The response chain that the parent left at its provider.
    pub chain: Option<ChainHead>,
    /// The mode that the turn starts in.
    pub mode: String,
}

impl ParentState {
    /// Returns the session's latest state, from which an ordinary turn continues.
    #[must_use]
    pub fn from_session(session: &Session) -> Self {
        Self { turn: session.next_parent(), chain: session.chain.clone(), mode: session.mode.clone() }
    }
}

/// A consistent read of the session and its turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The session.
    pub session: Option<Session>,
    /// The turn that the request names.
    pub turn: Option<Turn>,
    /// The turn that the session names as open.
    pub open: Option<Turn>,
}

impl Snapshot {
    /// Returns the turn that a submission names, if it exists.
    #[must_use]
    pub fn turn_for(&self, submission: &Submission) -> Option<&Turn> {
        // The two reads are not atomic: the session may already name the turn as open, while the read of the turn
        // itself came too early to see it.
        let same_open = self.open.as_ref().filter(|open| open.key == submission.key);
        self.turn.as_ref().or(same_open)
    }
}

/// The decision on a user turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Start the turn.
    Begin,
    /// Start the turn and close the session's open turn, which is settled or awaits tool results, in the same
    /// transaction.
    BeginClosing(Turn),
    /// Salvage the session's open turn first, whose lease has expired, then decide again.
    SalvageFirst(Turn),
    /// Answer from the stored turn: the same request came before and has an outcome or open tool calls.
    Replay(Turn),
    /// Wait for the running turn: the same request came before.
    Wait(Turn),
    /// Take the turn over: the same request came before and its attempt died.
    TakeOver(Turn),
    /// Refuse: the turn id belongs to another request or another user.
    Conflict,
    /// Refuse: the service derived the session's id, and another session has it.
    SessionConflict,
    /// Refuse: another turn of the session runs.
    Busy {
        /// The running turn.
        turn: TurnId,
        /// An estimate of the time to wait.
        wait: Duration,
    },
    /// Refuse: the session was deleted or quarantined.
    Closed(SessionClosed),
    /// Refuse: the request names other contexts than the session has.
    ContextMismatch,
}

/// Decides on a user turn, on values alone. The condition of the write protects the decision from changes since the
/// read.
///
/// # Examples
/// The first turn of a session starts. The same request, while its attempt lives, waits.
/// ```
/// use contracts::{Fingerprint, Timestamp, read::Visibility};
/// use protocol::{
///     caller::User,
///     chain::Target,
///     detail::Excerpt,
///     id::{AttemptId, SessionKey},
///     session::{Contexts, Hints, IdOrigin, SolutionChange},
///     timing::Timing,
///     transition::begin::{Decision, Setup, Snapshot, Submission, begin, decide},
/// };
///
/// let session = SessionKey { org: "acme".parse()?, session: "s1".parse()? };
/// let submission = Submission {
///     key: session.turn("t1".parse()?),
///     id_origin: IdOrigin::Client,
///     requested_by: User { id: "ada".parse()?, name: "Ada".to_owned() },
///     fingerprint: Fingerprint::hash_bytes(b"the request"),
///     id: None,
///     contexts: Contexts::default(),
///     hints: Hints::default(),
///     session_name: "What is a lease?".to_owned(),
///     instruction_summary: Excerpt { text: "What is a lease?".to_owned(), is_truncated: false },
///     solution: SolutionChange::Unchanged,
///     streamed: false,
///     unstored: false,
/// };
/// let (now, timing) = (Timestamp::from_millis(0), Timing::default());
/// assert_eq!(decide(&Snapshot::default(), &submission, now, &timing), Decision::Begin);
///
/// let setup = Setup {
///     contexts: Contexts::default(),
///     visibility: Visibility::Org,
///     initial_mode: "general".to_owned(),
///     target: Target::default(),
///     files: Vec::new(),
///     basis: None,
///     lost_ancestor: None,
/// };
/// let attempt = AttemptId::new("a fresh random id".to_owned());
/// let commit = begin(None, None, &submission, &setup, attempt, true, now, &timing);
/// let stored = commit.turns.into_iter().next().map(|change| change.after);
/// let snapshot = Snapshot { session: Some(commit.session.after), turn: stored, open: None };
/// assert!(matches!(decide(&snapshot, &submission, now, &timing), Decision::Wait(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn decide(snapshot: &Snapshot, submission: &Submission, now: Timestamp, timing: &Timing) -> Decision {
    if !submission.id_origin.admits(snapshot.session.as_ref(), &submission.requested_by.id) {
        return Decision::SessionConflict;
    }
    if let Some(turn) = snapshot.turn_for(submission) {
        return decide_existing(turn, submission, now, timing);
    }
    let Some(session) = &snapshot.session else {
        return Decision::Begin;
    };
    if let Err(closed) = session.ensure_open() {
        return Decision::Closed(closed);
    }
    // A purge removes a whole session, so a turn that is not stored shares its session with no other.
    if submission.unstored && session.turn_count > 0 {
        return Decision::SessionConflict;
    }
    if snapshot.open.as_ref().is_some_and(|open| open.is_unstored) {
        return Decision::Closed(SessionClosed::Deleted);
    }
    if !submission.contexts.agree_with(&session.contexts) {
        return Decision::ContextMismatch;
    }
    let Some(open) = &snapshot.open else {
        return Decision::Begin;
    };
    match &open.state {
        State::Running { lease_ends, .. } => {
            if now < take_over::takeover_after(*lease_ends, timing) {
                Decision::Busy { turn: open.key.turn.clone(), wait: wait::estimate_wait(open, now, timing) }
            } else {
                Decision::SalvageFirst(open.clone())
            }
        }
        State::AwaitingTools { .. } | State::Settled(_) => Decision::BeginClosing(open.clone()),
        // The session was read before that turn was finalized, so its `Rev` will refuse the write.
        State::Finalized(_) => Decision::Begin,
    }
}

/// Decides on a request whose turn exists already (I9).
fn decide_existing(turn: &Turn, submission: &Submission, now: Timestamp, timing: &Timing) -> Decision {
    if turn.fingerprint != submission.fingerprint || turn.requested_by != submission.requested_by.id {
        return Decision::Conflict;
    }
    match &turn.state {
        State::Running { lease_ends, .. } if now < take_over::takeover_after(*lease_ends, timing) => {
            Decision::Wait(turn.clone())
        }
        State::Running { .. } => Decision::TakeOver(turn.clone()),
        State::AwaitingTools { .. } | State::Settled(_) | State::Finalized(_) => {
            Decision::Replay(turn.clone())
        }
    }
}

/// The closing of the session's open turn in the transaction that starts the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    finalized: Finalization,
}

impl Closing {
    /// Closes a settled turn from its outcome, or supersedes one that awaits tool results (rule 11). `outcome` is the
    /// content of the object that [`Turn::outcome_writer`] names.
    ///
    /// # Errors
    /// Returns an error if the turn runs or is terminal.
    pub fn new(
        session: &Session,
        open: &Turn,
        outcome: Option<&OutcomeSummary>,
        now: Timestamp,
        timing: &Timing,
    ) -> Result<Self, super::IllegalTransition> {
        match &open.state {
            State::AwaitingTools { .. } => {
                let ended = settle::end(open, EndReason::Superseded, now, timing)?;
                let mut finalized = finalize::finalize(session, &ended.after, outcome)?;
                finalized.turn.condition = ended.condition;
                Ok(Self { finalized })
            }
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => {
                Ok(Self { finalized: finalize::finalize(session, open, outcome)? })
            }
        }
    }

    /// Adds the closed turn's calls with an unknown outcome.
    #[must_use]
    pub fn with_unknown_effects(self, unknown_effects: Vec<UnknownEffect>) -> Self {
        Self { finalized: self.finalized.with_unknown_effects(unknown_effects) }
    }

    /// Adds the closed turn's events for webhooks.
    #[must_use]
    pub fn with_deliveries(self, deliveries: Vec<Delivery>) -> Self {
        Self { finalized: self.finalized.with_deliveries(deliveries) }
    }

    /// Returns the finalization that the transaction contains.
    #[must_use]
    pub fn finalized(&self) -> &Finalization {
        &self.finalized
    }
}

/// Returns the single transaction that starts a turn: the session, the new head, the request details, a new
/// participant, and the turn that is closed on the way.
#[must_use]
#[expect(clippy::too_many_arguments, reason = "each is a fact of its own, and there is one caller")]
pub fn begin(
    session: Option<&Session>,
    closing: Option<Closing>,
    submission: &Submission,
    setup: &Setup,
    attempt: AttemptId,
    is_new_participant: bool,
    now: Timestamp,
    timing: &Timing,
) -> Commit {
    let before = match &closing {
        Some(closing) => Some(&closing.finalized.session),
        None => session,
    };
    let before = before.cloned().unwrap_or_else(|| new_session(submission, setup, now));
    let before = match &setup.lost_ancestor {
        Some(lost) => before.with_cutoff(lost),
        None => before,
    };
    let sequence = before.turn_count.saturating_add(1);
    let next = before.next_parent();
    let parent =
        setup.basis.as_ref().map_or_else(|| ParentState::from_session(&before), |basis| basis.parent.clone());
    let after = Session {
        rev: session.map_or(0, |session| session.rev).saturating_add(1),
        turn_count: sequence,
        open_turn: Some(submission.key.turn.clone()),
        last_turn: Some(LastTurn { id: submission.key.turn.clone(), status: TurnStatus::Pending, at: now }),
        // Until a turn with another parent is completed, the next turn keeps the earlier parent.
        tip: (parent.turn != next).then_some(next),
        hints: submission.hints.clone().latched_over(&before.hints),
        solution: submission.solution.apply_to(before.solution.as_ref()),
        ..before
    };
    let lease_ends = now.after(timing.lease);
    let upstream = setup.target.upstream_for(&after);
    let turn = Turn {
        key: submission.key.clone(),
        sequence,
        fingerprint: submission.fingerprint,
        submission_id: submission.id.clone(),
        requested_by: submission.requested_by.id.clone(),
        created: now,
        mode: parent.mode,
        chain: match &setup.lost_ancestor {
            Some(lost) => ChainStart::Replay(lost.reason.into()),
            None => chain::start(&parent.turn, parent.chain.as_ref(), &upstream, now),
        },
        parent: parent.turn,
        base_depth: after.base_depth(),
        attempt: attempt.clone(),
        due: Some(take_over::abandoned_at(lease_ends, timing)),
        streamed: submission.streamed,
        takeovers: 0,
        suspended_by: None,
        accepted_results: None,
        ended_by: None,
        last_step: None,
        checkpoint: None,
        spent: None,
        meters: Vec::new(),
        is_imported: false,
        is_unstored: submission.unstored,
        answer: None,
        state: State::Running { lease_ends, stage: Stage { round: 0, attempts: vec![attempt] } },
    };
    let mut commit = Commit::new(SessionChange { condition: session.map(|session| session.rev), after });
    commit.turns.push(TurnChange { condition: Condition::Absent, after: turn });
    commit.request = Some(request_detail(submission, setup, upstream));
    commit.participant = is_new_participant.then(|| Participant {
        session: submission.key.session.clone(),
        user: submission.requested_by.id.clone(),
        name: Some(submission.requested_by.name.clone()),
        last_activity: now,
    });
    if let Some(Closing { finalized }) = closing {
        finalized.add_to(&mut commit);
    }
    commit
}

fn new_session(submission: &Submission, setup: &Setup, now: Timestamp) -> Session {
    Session {
        key: submission.key.session.clone(),
        rev: 0,
        name: submission.session_name.clone(),
        name_source: NameSource::Excerpt,
        description: None,
        category: None,
        visibility: setup.visibility,
        edited: None,
        deleted: None,
        quarantine: None,
        owner: submission.requested_by.clone(),
        created: now,
        last_activity: now,
        turn_count: 0,
        open_turn: None,
        last_turn: None,
        tip: None,
        forked_from: None,
        cutoff: None,
        chain: None,
        stateless_provider: None,
        mode: setup.initial_mode.clone(),
        usage: Usage::default(),
        costs: Vec::new(),
        ratings: Ratings::default(),
        contexts: setup.contexts.clone(),
        hints: Hints::default(),
        solution: None,
    }
}

fn request_detail(submission: &Submission, setup: &Setup, upstream: Upstream) -> RequestDetail {
    RequestDetail {
        key: submission.key.clone(),
        fingerprint: submission.fingerprint,
        requested_by: submission.requested_by.clone(),
        upstream,
        instruction_summary: submission.instruction_summary.text.clone(),
        instruction_summary_truncated: submission.instruction_summary.is_truncated,
        active_file_refs: setup.files.clone(),
        rerun_of: setup.basis.as_ref().and_then(|basis| basis.rerun_of.clone()),
        inline_json: None,
    }
}
