//! Begin: a user turn meets what is stored.

use crate::caller::User;
use contracts::{
    Fingerprint, Timestamp, Usage,
    id::TurnId,
    read::{AgentSessionActiveFileRef, TurnStatus},
};

use super::{
    finalize::{self, Finalized},
    settle, take,
};
use crate::{
    chain::{self, Upstream},
    change::{Commit, Given, SessionChange, TurnChange},
    detail::{Asked, Findings, Participant},
    id::{Owner, TurnKey},
    session::{Contexts, Hints, LastTurn, Session, SolutionChange},
    timing::Timing,
    turn::{Reason, Stage, State, Turn},
};

/// What a user turn asks, as far as its fate depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Which turn of which session.
    pub key: TurnKey,
    /// Who asks.
    pub by: User,
    /// What is asked, as a hash.
    pub fingerprint: Fingerprint,
    /// The contexts that the request names.
    pub contexts: Contexts,
    /// The contexts of a session that this turn creates: those, and the agent's own conversation context
    /// where the request names none.
    pub first_contexts: Contexts,
    /// The hints that the request gives.
    pub hints: Hints,
    /// What the session is called if this turn creates it.
    pub session_name: String,
    /// The head of the instruction.
    pub instruction_summary: String,
    /// Files that come with it.
    pub active_file_refs: Vec<AgentSessionActiveFileRef>,
    /// The mode a new session starts in (AGN-011 §3.1).
    pub first_mode: String,
    /// Who the turn will be sent to.
    pub upstream: Upstream,
    /// What it does to the session's solution context.
    pub solution: SolutionChange,
    /// Whether the client asks for a stream.
    pub streamed: bool,
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
        /// When it may be over at the latest, unless it is renewed.
        until: Timestamp,
    },
    /// The request names other contexts than the session has.
    OtherContexts,
}

/// Decides on values alone; the condition of the write makes it hold.
#[must_use]
pub fn decide(seen: &Seen, ask: &Ask, now: Timestamp, timing: &Timing) -> Decision {
    // The two reads are not one snapshot: the session may name the turn as open already while the
    // turn's own read came too early to see it.
    let open_is_this = seen.open.as_ref().filter(|open| open.key == ask.key);
    if let Some(turn) = seen.turn.as_ref().or(open_is_this) {
        return again(turn, ask, now, timing);
    }
    let Some(session) = &seen.session else {
        return Decision::Begin;
    };
    if !ask.contexts.agree_with(&session.contexts) {
        return Decision::OtherContexts;
    }
    let Some(open) = &seen.open else {
        return Decision::Begin;
    };
    match &open.state {
        State::Running { lease_ends, .. } => {
            let until = take::takeable_at(*lease_ends, timing);
            if now < until {
                Decision::Busy { turn: open.key.turn.clone(), until }
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
fn again(turn: &Turn, ask: &Ask, now: Timestamp, timing: &Timing) -> Decision {
    if turn.fingerprint != ask.fingerprint || turn.asked_by != ask.by.id {
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
    /// (rule 11). `found` is what the object that [`Turn::told_by`] names holds.
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
                finalized.turn.given = ended.given;
                Ok(Self { finalized, superseded: true })
            }
            State::Running { .. } | State::Settled(_) | State::Finalized(_) => {
                Ok(Self { finalized: finalize::finalize(session, open, found)?, superseded: false })
            }
        }
    }

    /// What must be written before the transaction: what came of a turn that was settled before. A
    /// superseded turn's part goes into the transaction, since until then it may still go another way.
    #[must_use]
    pub fn ended_before(&self) -> Option<&crate::detail::Ended> {
        (!self.superseded).then_some(&self.finalized.ended)
    }
}

/// The one transaction that starts a turn: session, new head, what was asked, a newcomer, and the turn
/// that is closed on the way.
#[must_use]
pub fn begin(
    session: Option<&Session>,
    closing: Option<Closing>,
    ask: &Ask,
    owner: Owner,
    newcomer: bool,
    now: Timestamp,
    timing: &Timing,
) -> Commit {
    let before = match &closing {
        Some(closing) => Some(&closing.finalized.session),
        None => session,
    };
    let sequence = before.map_or(0, |session| session.turn_count).saturating_add(1);
    let after = Session {
        rev: session.map_or(0, |session| session.rev).saturating_add(1),
        turn_count: sequence,
        open_turn: Some(ask.key.turn.clone()),
        last_turn: LastTurn { id: ask.key.turn.clone(), status: TurnStatus::Pending, at: now },
        hints: ask
            .hints
            .clone()
            .latched_over(&before.map(|session| session.hints.clone()).unwrap_or_default()),
        solution: ask.solution.applied_to(before.and_then(|session| session.solution.as_ref())),
        ..before.cloned().unwrap_or_else(|| created(ask, now))
    };
    let lease_ends = now.after(timing.lease);
    let chain = chain::start(&after, sequence, &ask.upstream, now);
    let turn = Turn {
        key: ask.key.clone(),
        sequence,
        fingerprint: ask.fingerprint,
        asked_by: ask.by.id.clone(),
        created: now,
        mode: after.mode.clone(),
        previous_response_id: chain.previous_response_id(),
        rebuild: chain.rebuild(),
        owner: owner.clone(),
        due: Some(take::abandoned_at(lease_ends, timing)),
        streamed: ask.streamed,
        suspended_by: None,
        answered: None,
        state: State::Running { lease_ends, stage: Stage { round: 0, writers: vec![owner] } },
    };
    let mut commit = Commit::on(SessionChange { given: session.map(|session| session.rev), after });
    commit.turns.push(TurnChange { given: Given::Absent, after: turn });
    commit.asked = Some(asked(ask));
    commit.participant = newcomer.then(|| Participant {
        session: ask.key.session.clone(),
        user: ask.by.id.clone(),
        last_activity: now,
    });
    if let Some(Closing { finalized, superseded }) = closing {
        commit.turns.push(finalized.turn);
        commit.ended = superseded.then_some(finalized.ended);
        commit.mode_change = finalized.mode_change;
    }
    commit
}

fn created(ask: &Ask, now: Timestamp) -> Session {
    Session {
        key: ask.key.session.clone(),
        rev: 0,
        name: ask.session_name.clone(),
        owner: ask.by.clone(),
        created: now,
        last_activity: now,
        turn_count: 0,
        open_turn: None,
        last_turn: LastTurn { id: ask.key.turn.clone(), status: TurnStatus::Pending, at: now },
        chain: None,
        mode: ask.first_mode.clone(),
        usage: Usage::default(),
        costs: Vec::new(),
        contexts: ask.first_contexts.clone(),
        hints: Hints::default(),
        solution: None,
    }
}

fn asked(ask: &Ask) -> Asked {
    Asked {
        key: ask.key.clone(),
        fingerprint: ask.fingerprint,
        by: ask.by.clone(),
        model: ask.upstream.model.clone(),
        instruction_summary: ask.instruction_summary.clone(),
        chunk_refs: Vec::new(),
        active_file_refs: ask.active_file_refs.clone(),
    }
}
