//! Import: restores a session from an export.
//!
//! An import first reserves the session's key with a tombstone like the one a purge leaves: no turn can start there,
//! and reads show nothing. Everything else is written under the reservation's `Rev`, so a write that arrives after the
//! session was published, or is being purged, changes nothing (rule 13). Once everything is written, the session
//! replaces the tombstone under its `Rev`, which is greater than any that an earlier writer may hold. A tombstone whose
//! import never finishes is purged.

use std::time::Duration;

use contracts::{Fingerprint, Timestamp, id::UserId};

use crate::{
    change::{Commit, SessionChange},
    id::SessionKey,
    purge::{Purge, Stage},
    session::{Deletion, Session},
};

/// The maximum duration of an import. After that, its data is purged and the same import starts anew.
pub const IMPORT_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// A document to import.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// The session as it is imported.
    pub session: &'a Session,
    /// The hash of everything that the import writes.
    pub fingerprint: Fingerprint,
}

/// The reservation of a session's key by an import, as the condition of its writes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// The session.
    pub key: SessionKey,
    /// The `Rev` of its tombstone. Publishing and purging increment it.
    pub rev: u64,
}

impl Reservation {
    /// Returns the reservation that a tombstone is.
    #[must_use]
    pub fn of(tombstone: &Session) -> Self {
        Self { key: tombstone.key.clone(), rev: tombstone.rev }
    }

    /// True if the stored session is still this reservation. Storage evaluates the same rule remotely.
    #[must_use]
    pub fn holds(&self, stored: Option<&Session>) -> bool {
        stored.is_some_and(|stored| stored.rev == self.rev)
    }
}

/// The next step of a session's import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Reserve the session's key.
    Reserve(Box<Commit>),
    /// Write under the reservation that an import of the same document made.
    Continue(Reservation),
    /// Nothing to do: the session exists as exported.
    AlreadyImported,
    /// A different session exists under the key.
    Conflict,
    /// An earlier session under the key is being purged, or will be after an interrupted import. Wait for that.
    Wait,
    /// The session was read before a transaction that the record shows. Read again.
    ReadAgain,
}

/// Decides on the next step from the stored state, which is not a snapshot. `was_free` is true if this import saw the
/// key free or reserved for its document before.
#[must_use]
pub fn action(
    stored: Option<&Session>,
    purge: Option<&Purge>,
    document: Document<'_>,
    was_free: bool,
    by: &UserId,
    now: Timestamp,
) -> Action {
    if purge.is_some_and(|purge| !purge.is_as_old_as(stored.map_or(0, |stored| stored.rev))) {
        return Action::ReadAgain;
    }
    let reserve = || Action::Reserve(Box::new(reserve(stored, document, by, now)));
    let of_document = |purge: &Purge| purge.import == Some(document.fingerprint);
    match (stored, purge) {
        (Some(stored), purge) if !stored.is_purged() => {
            // The service itself finalizes what it imported.
            let is_restored =
                purge.is_some_and(of_document) && (was_free || is_unedited(stored, document.session));
            // An import takes no response chain along, and ratings may have come since.
            let is_same = Session {
                rev: stored.rev,
                chain: stored.chain.clone(),
                ratings: stored.ratings,
                ..document.session.clone()
            } == *stored;
            if is_restored || is_same { Action::AlreadyImported } else { Action::Conflict }
        }
        (Some(stored), Some(purge)) => match purge.stage {
            Stage::Done => reserve(),
            Stage::Waiting | Stage::Removing | Stage::Rechecking => {
                let over = purge.started_at.is_some() || purge.due.is_none_or(|due| due <= now);
                match purge.import {
                    _ if over => Action::Wait,
                    Some(_) if of_document(purge) => Action::Continue(Reservation::of(stored)),
                    // A reservation from before documents were recorded.
                    None if tombstone_of(document.session, stored) == *stored => reserve(),
                    Some(_) | None => Action::Wait,
                }
            }
        },
        (Some(_) | None, None) | (None, Some(_)) => reserve(),
    }
}

/// True if no user changed the session since it was imported.
fn is_unedited(stored: &Session, imported: &Session) -> bool {
    (stored.turn_count, stored.edited, &stored.deleted)
        == (imported.turn_count, imported.edited, &imported.deleted)
}

fn tombstone_of(imported: &Session, stored: &Session) -> Session {
    Session { rev: stored.rev, deleted: stored.deleted.clone(), ..imported.clone() }.tombstone()
}

fn reserve(stored: Option<&Session>, document: Document<'_>, by: &UserId, now: Timestamp) -> Commit {
    let deletion = Deletion { at: now, by: by.clone(), retained_until: now, purged: true };
    let rev = stored.map_or(0, |stored| stored.rev).max(document.session.rev).saturating_add(1);
    let after = Session { rev, deleted: Some(deletion), ..document.session.clone() }.tombstone();
    let purge = Purge {
        stage: Stage::Removing,
        due: Some(now.after(IMPORT_TTL)),
        import: Some(document.fingerprint),
        ..Purge::scheduled(&after, now)
    };
    Commit {
        purge: Some(purge),
        ..Commit::new(SessionChange { condition: stored.map(|stored| stored.rev), after })
    }
}

/// Replaces the tombstone with the session.
#[must_use]
pub fn publish(reservation: &Reservation, document: Document<'_>, now: Timestamp) -> Commit {
    let after = Session { rev: reservation.rev.saturating_add(1), ..document.session.clone() };
    let purge = match &after.deleted {
        Some(deletion) => Purge::scheduled(&after, deletion.retained_until),
        None => Purge { stage: Stage::Done, due: None, ..Purge::scheduled(&after, now) },
    };
    Commit {
        purge: Some(Purge { import: Some(document.fingerprint), ..purge }),
        ..Commit::new(SessionChange { condition: Some(reservation.rev), after })
    }
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

    fn fingerprint() -> Fingerprint {
        Fingerprint::hash_bytes(b"a document")
    }

    fn document(session: &Session) -> Document<'_> {
        Document { session, fingerprint: fingerprint() }
    }

    fn imported() -> Session {
        let (session, _) = running();
        Session { open_turn: None, ..session }
    }

    fn reserved(stored: Option<&Session>, purge: Option<&Purge>, now: Timestamp) -> Commit {
        match action(stored, purge, document(&imported()), false, &by(), now) {
            Action::Reserve(commit) => *commit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn imported_session_has_greater_revision_than_any_reader_saw() {
        let commit = reserved(None, None, at(9));
        let tombstone = &commit.session.after;
        assert!(commit.session.condition.is_none() && tombstone.is_purged() && tombstone.name.is_empty());
        let published = publish(&Reservation::of(tombstone), document(&imported()), at(10));
        assert_eq!(published.session.condition, Some(tombstone.rev));
        let back = &published.session.after;
        assert!(back.rev > tombstone.rev && tombstone.rev > imported().rev);
        assert_eq!(Session { rev: 0, ..back.clone() }, Session { rev: 0, ..imported() });
        assert_eq!(published.purge.unwrap().due, None, "no purge is due");
        // The revision of a later tombstone is exceeded, too.
        let later = Session { rev: 1_000, ..tombstone.clone() };
        assert_eq!(reserved(Some(&later), None, at(11)).session.after.rev, 1_001);
    }

    fn decided(stored: &Session, purge: Option<&Purge>, now: Timestamp) -> Action {
        action(Some(stored), purge, document(&imported()), false, &by(), now)
    }

    #[test]
    fn import_keeps_existing_session_and_waits_for_purge() {
        assert_eq!(decided(&Session { rev: 77, ..imported() }, None, at(9)), Action::AlreadyImported);
        let other = Session { name: "Other".to_owned(), ..imported() };
        assert_eq!(decided(&other, None, at(9)), Action::Conflict);

        let begun = reserved(None, None, at(9));
        let (tombstone, record) = (begun.session.after, begun.purge.unwrap());
        let broke_off = decided(&tombstone, Some(&record), at(60));
        assert_eq!(broke_off, Action::Continue(Reservation::of(&tombstone)), "the same import continues");
        let of_another = Document { fingerprint: Fingerprint::hash_bytes(b"another"), ..document(&other) };
        let of_another = action(Some(&tombstone), Some(&record), of_another, false, &by(), at(60));
        assert_eq!(of_another, Action::Wait, "data of another document is purged first");
        let unrecorded = Purge { import: None, ..record.clone() };
        assert!(matches!(decided(&tombstone, Some(&unrecorded), at(60)), Action::Reserve(_)));
        let late = at(9).after(IMPORT_TTL);
        assert_eq!(decided(&tombstone, Some(&record), late), Action::Wait, "it is about to be purged");
        for stage in [Stage::Removing, Stage::Rechecking] {
            let purge = Purge { stage, started_at: Some(at(1)), ..record.clone() };
            assert_eq!(decided(&tombstone, Some(&purge), at(9)), Action::Wait);
        }
        let done = Purge { stage: Stage::Done, started_at: Some(at(1)), due: None, ..record.clone() };
        assert!(matches!(decided(&tombstone, Some(&done), at(9)), Action::Reserve(_)));
    }

    #[test]
    fn purge_of_unfinished_import_breaks_its_reservation() {
        let begun = reserved(None, None, at(9));
        let (tombstone, record) = (begun.session.after, begun.purge.unwrap());
        let (timing, late) = (crate::timing::Timing::default(), at(9).after(IMPORT_TTL));
        assert_eq!(purging::action(Some(&tombstone), None, &record, at(60), &timing), purging::Action::Idle);
        let purging::Action::Reclaim(commit) =
            purging::action(Some(&tombstone), None, &record, late, &timing)
        else {
            panic!("it is due");
        };
        let reservation = Reservation::of(&tombstone);
        assert!(reservation.holds(Some(&tombstone)) && !reservation.holds(Some(&commit.session.after)));
        let (after, record) = (commit.session.after, commit.purge.unwrap());
        assert_eq!(decided(&after, Some(&record), late), Action::Wait);
        assert_eq!(purging::action(Some(&after), None, &record, late, &timing), purging::Action::Remove);
    }

    #[test]
    fn identical_import_is_done_once_another_published() {
        let begun = reserved(None, None, at(9));
        let reservation = Reservation::of(&begun.session.after);
        let published = publish(&reservation, document(&imported()), at(10));
        let (session, record) = (published.session.after, published.purge.unwrap());
        assert!(!reservation.holds(Some(&session)), "a late write changes nothing");
        let decided = |session: &Session, was_free| {
            action(Some(session), Some(&record), document(&imported()), was_free, &by(), at(60))
        };
        let finalized = Session { last_activity: at(30), rev: session.rev + 1, ..session.clone() };
        let went_on = Session { turn_count: session.turn_count + 1, ..finalized.clone() };
        for was_free in [true, false] {
            assert_eq!(decided(&session, was_free), Action::AlreadyImported);
            assert_eq!(decided(&finalized, was_free), Action::AlreadyImported);
        }
        assert_eq!(decided(&went_on, true), Action::AlreadyImported, "it was published meanwhile");
        assert_eq!(decided(&went_on, false), Action::Conflict);
        assert_eq!(decided(&begun.session.after, true), Action::ReadAgain, "it was read before the record");
        let unseen = action(None, Some(&record), document(&imported()), true, &by(), at(60));
        assert_eq!(unseen, Action::ReadAgain);
    }
}
