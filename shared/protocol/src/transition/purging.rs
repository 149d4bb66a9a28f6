//! Purge: everything of a session goes, but for what keeps it from coming back (rule 12).
//!
//! It begins with one transaction that empties the session and marks it: from then on no start, no finalize and no
//! restore passes its `Rev`. Then everything beside it is removed, twice: functions that were at work when it began may
//! still write, but no longer than a function runs.

use contracts::{Timestamp, id::UserId};

use super::settle;
use crate::{
    change::{Commit, SessionChange},
    purge::{Forgot, LeftUpstream, Purge, Stage},
    session::{Deletion, Session},
    timing::Timing,
    turn::{Reason, Turn},
};

/// What a purge needs next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing, or nothing yet.
    Rest,
    /// The session was restored, or deleted anew: the record says when to look again.
    Note(Box<Purge>),
    /// The retention is over: begin.
    Begin(Box<Commit>),
    /// Remove what there is.
    Remove,
}

/// Begins the purge of a session, deleted or not, and ends its open turn. None where it began before.
#[must_use]
pub fn begin(
    session: &Session,
    open: Option<&Turn>,
    by: &UserId,
    now: Timestamp,
    timing: &Timing,
) -> Option<Commit> {
    if session.is_purged() {
        return None;
    }
    let deletion = match &session.deleted {
        Some(deletion) => Deletion { purged: true, ..deletion.clone() },
        None => Deletion { at: now, by: by.clone(), kept_until: now, purged: true },
    };
    let emptied = Session { deleted: Some(deletion), ..session.clone() }.emptied();
    let after = Session { rev: session.rev.saturating_add(1), edited: Some(now), ..emptied };
    let ended = open.and_then(|open| settle::end(open, Reason::Cancelled, now, timing).ok());
    let purge =
        Purge { stage: Stage::Removing, began: Some(now), due: Some(now), ..Purge::waits(&after, now) };
    Some(Commit {
        turns: ended.map(|change| change.by(by)).into_iter().collect(),
        purge: Some(purge),
        ..Commit::on(SessionChange { condition: Some(session.rev), after })
    })
}

/// Decides by the session as read, not by the index that nominated it.
#[must_use]
pub fn action(session: Option<&Session>, purge: &Purge, now: Timestamp, timing: &Timing) -> Action {
    let deletion = session.and_then(|session| session.deleted.as_ref());
    match (purge.stage, session, deletion) {
        (Stage::Done, _, _) => Action::Rest,
        (Stage::Removing | Stage::Again, _, _) => {
            if purge.due.is_some_and(|due| now < due) {
                Action::Rest
            } else {
                Action::Remove
            }
        }
        (Stage::Waits, Some(session), Some(deletion)) if deletion.kept_until <= now => {
            begin(session, None, &deletion.by, now, timing)
                .map_or(Action::Rest, |commit| Action::Begin(Box::new(commit)))
        }
        (Stage::Waits, _, deletion) => {
            let due = deletion.map(|deletion| deletion.kept_until);
            if due == purge.due {
                Action::Rest
            } else {
                Action::Note(Box::new(Purge { due, ..purge.clone() }))
            }
        }
    }
}

/// The record once nothing was found any more: look again when nobody can be at work any longer, or be done. While the
/// index of sessions may have the session still, its stage goes on.
#[must_use]
pub fn nothing_left(purge: &Purge, forgot: Forgot, now: Timestamp, timing: &Timing) -> Purge {
    let (purge, again) = purge.asked_index(forgot);
    if again {
        return Purge { due: Some(now.after(timing.purge_again)), ..purge };
    }
    match purge.stage {
        Stage::Waits | Stage::Removing => {
            let again = purge.began.unwrap_or(now).after(timing.purge_again).max(now);
            // What was removed is not counted again, since it is not there.
            Purge { stage: Stage::Again, due: Some(again), items_to: None, objects_to: None, ..purge }
        }
        Stage::Again | Stage::Done => Purge { stage: Stage::Done, due: None, done: Some(now), ..purge },
    }
}

/// The record once providers were asked for some of the responses that they keep, and these are there still.
#[must_use]
pub fn asked_upstream(purge: &Purge, still: Vec<LeftUpstream>, now: Timestamp, timing: &Timing) -> Purge {
    purge.asked(still, now.after(timing.purge_again))
}
