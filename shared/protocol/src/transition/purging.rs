//! Purge: removes all of a session except for what prevents its return (rule 12).
//!
//! One transaction first empties the session, marks it, and ends its open turn: from then on its `Rev` stops every start
//! and restore. The open turn still counts, so the tombstone names it until it is finalized, and its data stays until
//! then. Then all other data is removed, twice: functions that were running at the start may still write, but no longer
//! than a function runs.

use contracts::{
    Fingerprint, Timestamp,
    id::{TurnId, UserId},
};

use super::settle;
use crate::{
    change::{Commit, SessionChange},
    purge::{DeleteOutcome, ProviderResponseRef, Purge, Stage},
    session::{Contexts, Deletion, Session, SessionClosed},
    timing::Timing,
    turn::{State, Turn},
};

/// The next step of a purge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing to do now.
    Idle,
    /// Store the record with a new due time: the session was restored or deleted again.
    Reschedule(Box<Purge>),
    /// Start the purge: the retention has ended.
    Begin(Box<Commit>),
    /// Start the purge of an import that never finished.
    Reclaim(Box<Commit>),
    /// Finalize the turn that was open when the purge started. The objects that tell its usage stay until then.
    Finalize(TurnId),
    /// Remove the remaining data.
    Remove,
}

/// Starts the purge of a session, deleted or not, and ends its open turn. Returns `None` if a purge has started
/// already.
///
/// # Errors
/// Returns an error if the session is quarantined.
pub fn begin(
    session: &Session,
    open: Option<&Turn>,
    by: &UserId,
    now: Timestamp,
    timing: &Timing,
) -> Result<Option<Commit>, SessionClosed> {
    if let Err(closed @ SessionClosed::Quarantined) = session.ensure_open() {
        return Err(closed);
    }
    if session.is_purged() {
        return Ok(None);
    }
    let deletion = match &session.deleted {
        Some(deletion) => Deletion { purged: true, ..deletion.clone() },
        None => Deletion { at: now, by: by.clone(), retained_until: now, purged: true },
    };
    let tombstone = Session { deleted: Some(deletion), ..session.clone() }.tombstone();
    // The usage of the open turn is counted for its agent. The finalization removes both.
    let agent = session.contexts.agent.clone().filter(|_| session.open_turn.is_some());
    let after = Session {
        rev: session.rev.saturating_add(1),
        edited: Some(now),
        open_turn: session.open_turn.clone(),
        contexts: Contexts { agent, ..Contexts::default() },
        ..tombstone
    };
    let purge = Purge {
        stage: Stage::Removing,
        started_at: Some(now),
        due: Some(now),
        ..Purge::scheduled(&after, now)
    };
    Ok(Some(Commit {
        turns: settle::cancel_open(open, by, now, timing),
        purge: Some(purge),
        ..Commit::new(SessionChange { condition: Some(session.rev), after })
    }))
}

/// Starts the purge of an import that never finished. From then on its reservation doesn't hold.
fn reclaim(tombstone: &Session, import: Option<Fingerprint>, now: Timestamp) -> Commit {
    let after = Session { rev: tombstone.rev.saturating_add(1), ..tombstone.clone() };
    let purge = Purge {
        stage: Stage::Removing,
        started_at: Some(now),
        due: Some(now),
        import,
        ..Purge::scheduled(&after, now)
    };
    Commit { purge: Some(purge), ..Commit::new(SessionChange { condition: Some(tombstone.rev), after }) }
}

/// True if the record is that of a purge. Otherwise an import reserves the session's id.
pub(super) fn has_started(record: &Purge) -> bool {
    record.started_at.is_some() && record.import.is_none()
}

/// Returns the tombstone with its open turn named, for a purge from before tombstones named it. `None` if no purge has
/// started: an import reserves the session's id, and will publish the turn.
#[must_use]
pub fn naming(tombstone: &Session, open: &TurnId, record: Option<&Purge>) -> Option<Session> {
    record.filter(|record| has_started(record))?;
    Some(Session { open_turn: Some(open.clone()), ..tombstone.clone() })
}

/// Decides by the session and its open turn as read, not by the index entry that nominated it.
#[must_use]
pub fn action(
    session: Option<&Session>,
    open: Option<&Turn>,
    purge: &Purge,
    now: Timestamp,
    timing: &Timing,
) -> Action {
    let deletion = session.and_then(|session| session.deleted.as_ref());
    match (purge.stage, session, deletion) {
        (Stage::Done, _, _) => Action::Idle,
        (Stage::Removing | Stage::Rechecking, _, _) => match session {
            _ if purge.due.is_some_and(|due| now < due) => Action::Idle,
            Some(tombstone) if purge.started_at.is_none() && tombstone.is_purged() => {
                Action::Reclaim(Box::new(reclaim(tombstone, purge.import, now)))
            }
            _ => match open.filter(|open| matches!(open.state, State::Settled(_))) {
                Some(open) => Action::Finalize(open.key.turn.clone()),
                None => Action::Remove,
            },
        },
        (Stage::Waiting, Some(session), Some(deletion)) if deletion.retained_until <= now => {
            let commit = begin(session, open, &deletion.by, now, timing).ok().flatten();
            commit.map_or(Action::Idle, |commit| Action::Begin(Box::new(commit)))
        }
        (Stage::Waiting, _, deletion) => {
            let due = deletion.map(|deletion| deletion.retained_until);
            if due == purge.due {
                Action::Idle
            } else {
                Action::Reschedule(Box::new(Purge { due, ..purge.clone() }))
            }
        }
    }
}

/// Returns the record after a pass that found no data: it rechecks once no earlier function can be running, then it
/// is done. While the session may still be in the session index, the stage stays.
#[must_use]
pub fn after_empty_pass(purge: &Purge, outcome: DeleteOutcome, now: Timestamp, timing: &Timing) -> Purge {
    let (purge, retry_index) = purge.with_index_outcome(outcome);
    if retry_index {
        return Purge { due: Some(now.after(timing.purge_recheck)), ..purge };
    }
    match purge.stage {
        Stage::Waiting | Stage::Removing => {
            let recheck_at = purge.started_at.unwrap_or(now).after(timing.purge_recheck).max(now);
            // Removed data can't be counted again, since it no longer exists.
            Purge {
                stage: Stage::Rechecking,
                due: Some(recheck_at),
                item_cursor: None,
                object_cursor: None,
                ..purge
            }
        }
        Stage::Rechecking | Stage::Done => {
            Purge { stage: Stage::Done, due: None, finished_at: Some(now), ..purge }
        }
    }
}

/// Returns the record after a step that left `remaining` of its batch of provider responses.
#[must_use]
pub fn after_provider_batch(
    purge: &Purge,
    remaining: Vec<ProviderResponseRef>,
    now: Timestamp,
    timing: &Timing,
) -> Purge {
    purge.with_batch_result(remaining, now.after(timing.purge_recheck))
}
