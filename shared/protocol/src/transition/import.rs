//! Import: restores a session from an export.
//!
//! An import first reserves the session's key with a tombstone like the one a purge leaves: no turn can start there,
//! and reads show nothing. Once everything else is written, the session replaces the tombstone under its `Rev`, which
//! is greater than any that an earlier writer may hold. A tombstone whose import never finishes is purged.

use std::time::Duration;

use contracts::{Timestamp, id::UserId};

use crate::{
    change::{Commit, SessionChange},
    purge::{Purge, Stage},
    session::{Deletion, Session},
};

/// The maximum duration of an import. After that, its data is purged and the same import starts anew.
pub const IMPORT_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The next step of a session's import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Reserve the session's key.
    Reserve(Box<Commit>),
    /// Nothing to do: the session exists exactly as exported.
    AlreadyImported,
    /// A different session exists under the key.
    Conflict,
    /// An earlier session under the key is being purged, or will be after an interrupted import. Wait for that.
    Wait,
}

/// Decides on the next step from the stored state.
#[must_use]
pub fn action(
    stored: Option<&Session>,
    purge: Option<&Purge>,
    imported: &Session,
    by: &UserId,
    now: Timestamp,
) -> Action {
    match stored {
        Some(stored) if !stored.is_purged() => {
            let is_same = Session { rev: stored.rev, ..imported.clone() } == *stored;
            if is_same { Action::AlreadyImported } else { Action::Conflict }
        }
        Some(stored) if purge.is_some_and(|purge| is_occupied(stored, purge, imported, now)) => Action::Wait,
        stored => Action::Reserve(Box::new(reserve(stored, imported, by, now))),
    }
}

/// True if data of another session may still exist under the key: it is being purged, or the import of another
/// document was interrupted. An import of this very document continues.
fn is_occupied(stored: &Session, purge: &Purge, imported: &Session, now: Timestamp) -> bool {
    let tombstone =
        Session { rev: stored.rev, deleted: stored.deleted.clone(), ..imported.clone() }.tombstone();
    match purge.stage {
        Stage::Done => false,
        Stage::Waiting | Stage::Removing | Stage::Rechecking => {
            purge.started_at.is_some() || purge.due.is_none_or(|due| due <= now) || tombstone != *stored
        }
    }
}

fn reserve(stored: Option<&Session>, imported: &Session, by: &UserId, now: Timestamp) -> Commit {
    let deletion = Deletion { at: now, by: by.clone(), retained_until: now, purged: true };
    let rev = stored.map_or(0, |stored| stored.rev).max(imported.rev).saturating_add(1);
    let after = Session { rev, deleted: Some(deletion), ..imported.clone() }.tombstone();
    let purge =
        Purge { stage: Stage::Removing, due: Some(now.after(IMPORT_TTL)), ..Purge::scheduled(&after, now) };
    Commit {
        purge: Some(purge),
        ..Commit::new(SessionChange { condition: stored.map(|stored| stored.rev), after })
    }
}

/// Replaces the tombstone with the session.
#[must_use]
pub fn publish(reserved: &Session, imported: &Session, now: Timestamp) -> Commit {
    let after = Session { rev: reserved.rev.saturating_add(1), ..imported.clone() };
    let purge = match &after.deleted {
        Some(deletion) => Purge::scheduled(&after, deletion.retained_until),
        None => Purge { stage: Stage::Done, due: None, ..Purge::scheduled(&after, now) },
    };
    Commit { purge: Some(purge), ..Commit::new(SessionChange { condition: Some(reserved.rev), after }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transition::{
        purging,
        tests::{at, running},
    };

    fn by() -> UserId {
        UserId::new("op").unwrap()
    }

    fn imported() -> Session {
        let (session, _) = running();
        Session { open_turn: None, ..session }
    }

    fn reserved(stored: Option<&Session>, purge: Option<&Purge>, now: Timestamp) -> Commit {
        match action(stored, purge, &imported(), &by(), now) {
            Action::Reserve(commit) => *commit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn imported_session_has_greater_revision_than_any_reader_saw() {
        let commit = reserved(None, None, at(9));
        let tombstone = &commit.session.after;
        assert!(commit.session.condition.is_none() && tombstone.is_purged() && tombstone.name.is_empty());
        let published = publish(tombstone, &imported(), at(10));
        assert_eq!(published.session.condition, Some(tombstone.rev));
        let back = &published.session.after;
        assert!(back.rev > tombstone.rev && tombstone.rev > imported().rev);
        assert_eq!(Session { rev: 0, ..back.clone() }, Session { rev: 0, ..imported() });
        assert_eq!(published.purge.unwrap().due, None, "no purge is due");
        // The revision of a later tombstone is exceeded, too.
        let later = Session { rev: 1_000, ..tombstone.clone() };
        assert_eq!(reserved(Some(&later), None, at(11)).session.after.rev, 1_001);
    }

    #[test]
    fn import_keeps_existing_session_and_waits_for_purge() {
        let decided = |stored: &Session, purge: Option<&Purge>, now| {
            action(Some(stored), purge, &imported(), &by(), now)
        };
        assert_eq!(decided(&Session { rev: 77, ..imported() }, None, at(9)), Action::AlreadyImported);
        let other = Session { name: "Other".to_owned(), ..imported() };
        assert_eq!(decided(&other, None, at(9)), Action::Conflict);

        let begun = reserved(None, None, at(9));
        let (tombstone, record) = (begun.session.after, begun.purge.unwrap());
        let broke_off = decided(&tombstone, Some(&record), at(60));
        assert!(matches!(broke_off, Action::Reserve(_)), "the same import continues");
        let longer = Session { turn_count: imported().turn_count + 1, ..imported() };
        let of_another = action(Some(&tombstone), Some(&record), &longer, &by(), at(60));
        assert_eq!(of_another, Action::Wait, "data of another document is purged first");
        let late = at(9).after(IMPORT_TTL);
        assert_eq!(decided(&tombstone, Some(&record), late), Action::Wait, "the purge has started by then");
        for stage in [Stage::Removing, Stage::Rechecking] {
            let purge = Purge { stage, started_at: Some(at(1)), ..record.clone() };
            assert_eq!(decided(&tombstone, Some(&purge), at(9)), Action::Wait);
        }
        let done = Purge { stage: Stage::Done, started_at: Some(at(1)), due: None, ..record.clone() };
        assert!(matches!(decided(&tombstone, Some(&done), at(9)), Action::Reserve(_)));
        let timing = crate::timing::Timing::default();
        assert_eq!(purging::action(Some(&tombstone), &record, at(60), &timing), purging::Action::Idle);
        assert_eq!(purging::action(Some(&tombstone), &record, late, &timing), purging::Action::Remove);
    }
}
