//! Session edits: edit, delete, restore, quarantine and release (rule 12). Each is one transaction under the session's `Rev`, so that no
//! start or finalize that read the session before it can succeed.

use std::time::Duration;

use contracts::{Timestamp, id::UserId, read::Visibility};

use super::settle;
use crate::{
    change::{Commit, SessionChange},
    purge::Purge,
    session::{Deletion, NameSource, Quarantine, Session, SessionClosed},
    timing::Timing,
    turn::Turn,
};

/// A user's changes to a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// The new name.
    pub name: Option<String>,
    /// The new description. An empty text removes it.
    pub description: Option<String>,
    /// The new category. An empty text removes it.
    pub category: Option<String>,
    /// The new visibility.
    pub visibility: Option<Visibility>,
    /// The version of the agent context to pin the session to. 0 removes the pin.
    pub agent_version: Option<u32>,
    /// The version of the conversation context to pin the session to. 0 removes the pin.
    pub conversation_version: Option<u32>,
}

/// Edits a session. Returns `None` if nothing would change.
///
/// # Errors
/// Returns an error if the session is deleted or quarantined.
pub fn edit(session: &Session, edit: &Edit, now: Timestamp) -> Result<Option<Commit>, SessionClosed> {
    session.ensure_open()?;
    let mut after = session.clone();
    if let Some(name) = &edit.name {
        after.name.clone_from(name);
        after.name_source = NameSource::User;
    }
    if let Some(description) = &edit.description {
        after.description = Some(description.clone()).filter(|text| !text.is_empty());
    }
    if let Some(category) = &edit.category {
        after.category = Some(category.clone()).filter(|text| !text.is_empty());
    }
    let pins = &mut after.contexts.pins;
    if let Some(version) = edit.agent_version {
        pins.agent = Some(version).filter(|version| *version > 0);
    }
    if let Some(version) = edit.conversation_version {
        pins.conversation = Some(version).filter(|version| *version > 0);
    }
    after.visibility = edit.visibility.unwrap_or(session.visibility);
    Ok((after != *session).then(|| commit(session, after, now)))
}

/// Deletes a session and ends its open turn in the same transaction, so that no attempt works on it and no results
/// are awaited. Returns `None` if it is already deleted. The retention is fixed here: later changes of a setting or
/// context apply to later deletions only.
///
/// # Errors
/// Returns an error if the session is quarantined.
pub fn delete(
    session: &Session,
    open: Option<&Turn>,
    by: &UserId,
    retention: Duration,
    now: Timestamp,
    timing: &Timing,
) -> Result<Option<Commit>, SessionClosed> {
    session.ensure_released()?;
    if session.deleted.is_some() {
        return Ok(None);
    }
    let deletion = Deletion { at: now, by: by.clone(), retained_until: now.after(retention), purged: false };
    let retained_until = deletion.retained_until;
    let after = Session { deleted: Some(deletion), ..session.clone() };
    let mut commit = commit(session, after, now);
    commit.turns = settle::cancel_open(open, by, now, timing);
    commit.purge = Some(Purge::scheduled(&commit.session.after, retained_until));
    Ok(Some(commit))
}

/// Quarantines a session and cancels its open turn in the same transaction, as a deletion does. Returns `None` if it is
/// quarantined already.
///
/// # Errors
/// Returns an error if the session is deleted: it accepts nothing either, and its purge must not wait.
pub fn quarantine(
    session: &Session,
    open: Option<&Turn>,
    by: &UserId,
    now: Timestamp,
    timing: &Timing,
) -> Result<Option<Commit>, SessionClosed> {
    match session.ensure_open() {
        Err(SessionClosed::Quarantined) => return Ok(None),
        Err(deleted) => return Err(deleted),
        Ok(()) => {}
    }
    let after = Session { quarantine: Some(Quarantine { at: now, by: by.clone() }), ..session.clone() };
    let mut commit = commit(session, after, now);
    commit.turns = settle::cancel_open(open, by, now, timing);
    Ok(Some(commit))
}

/// Releases a session from its quarantine. Returns `None` if it is not quarantined.
#[must_use]
pub fn release(session: &Session, now: Timestamp) -> Option<Commit> {
    session.quarantine.as_ref()?;
    Some(commit(session, Session { quarantine: None, ..session.clone() }, now))
}

/// Restores a deleted session. Returns `None` if it is not deleted, or if its purge has started.
#[must_use]
pub fn restore(session: &Session, now: Timestamp) -> Option<Commit> {
    session.deleted.as_ref().filter(|deletion| !deletion.purged)?;
    Some(commit(session, Session { deleted: None, ..session.clone() }, now))
}

fn commit(before: &Session, after: Session, now: Timestamp) -> Commit {
    let after = Session { rev: before.rev.saturating_add(1), edited: Some(now), ..after };
    Commit::new(SessionChange { condition: Some(before.rev), after })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        transition::tests::running,
        turn::{EndReason, Verdict},
    };

    const RETENTION: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(0).after(Duration::from_secs(seconds))
    }

    #[test]
    fn edit_changes_given_fields_and_increments_rev() {
        let (session, _) = running();
        let named = Edit { name: Some("Leases".to_owned()), ..Edit::default() };
        let commit = edit(&session, &named, at(9)).unwrap().unwrap();
        let after = commit.session.after;
        assert_eq!(commit.session.condition, Some(session.rev));
        assert_eq!((after.name.as_str(), after.rev, after.edited), ("Leases", session.rev + 1, Some(at(9))));
        assert_eq!((&after.description, after.visibility), (&session.description, session.visibility));
        assert_eq!(edit(&after, &named, at(10)), Ok(None), "it has that name already");

        let about = |text: &str| Edit { description: Some(text.to_owned()), ..Edit::default() };
        let described = edit(&after, &about("Why"), at(11)).unwrap().unwrap().session.after;
        assert_eq!(described.description.as_deref(), Some("Why"));
        let removed = edit(&described, &about(""), at(12)).unwrap().unwrap().session.after;
        assert_eq!(removed.description, None);

        let pinned = |version| Edit { agent_version: Some(version), ..Edit::default() };
        let commit = edit(&session, &pinned(3), at(9)).unwrap().unwrap();
        assert_eq!(commit.session.after.contexts.pins.agent, Some(3));
        let commit = edit(&commit.session.after, &pinned(0), at(9)).unwrap().unwrap();
        assert_eq!(commit.session.after.contexts, session.contexts);
        let category = |text: &str| Edit { category: Some(text.to_owned()), ..Edit::default() };
        let sorted = edit(&removed, &category("billing"), at(13)).unwrap().unwrap().session.after;
        assert_eq!(sorted.category.as_deref(), Some("billing"));
        assert_eq!(edit(&sorted, &category("billing"), at(14)), Ok(None));
        let removed = edit(&sorted, &category(""), at(15)).unwrap().unwrap().session.after;
        assert_eq!(removed.category, None);
    }

    #[test]
    fn delete_ends_open_turn_and_restore_undoes_it() {
        let (session, turn) = running();
        let (by, timing) = (UserId::new("bob").unwrap(), Timing::default());
        let commit = delete(&session, Some(&turn), &by, RETENTION, at(9), &timing).unwrap().unwrap();
        let deleted = commit.session.after;
        let expected =
            Deletion { at: at(9), by: by.clone(), retained_until: at(9).after(RETENTION), purged: false };
        assert_eq!((&deleted.deleted, deleted.rev), (&Some(expected), session.rev + 1));
        let [ended] = &commit.turns[..] else { panic!("exactly one turn was open") };
        let settlement = ended.after.settlement().unwrap();
        assert_eq!(settlement.verdict, Verdict::Ended(EndReason::Cancelled));
        assert_eq!(ended.after.ended_by.as_ref(), Some(&by));

        assert_eq!(
            delete(&deleted, Some(&ended.after), &by, RETENTION, at(10), &timing),
            Ok(None),
            "already deleted"
        );
        assert_eq!(edit(&deleted, &Edit::default(), at(10)), Err(SessionClosed::Deleted));
        let restored = restore(&deleted, at(11)).unwrap().session;
        assert_eq!((restored.condition, restored.after.deleted), (Some(deleted.rev), None));
        assert_eq!(restore(&session, at(12)), None, "not deleted");
    }

    #[test]
    fn settled_turn_keeps_outcome_when_session_is_deleted() {
        let (session, turn) = running();
        let (by, timing) = (UserId::new("bob").unwrap(), Timing::default());
        let settled = settle::end(&turn, EndReason::Abandoned, at(5), &timing).unwrap().after;
        let deleted = delete(&session, Some(&settled), &by, RETENTION, at(9), &timing).unwrap();
        assert!(deleted.unwrap().turns.is_empty());
        let quarantined = quarantine(&session, Some(&settled), &by, at(9), &timing).unwrap();
        assert!(quarantined.unwrap().turns.is_empty());
    }

    #[test]
    fn quarantine_ends_open_turn_and_release_undoes_it() {
        let (session, turn) = running();
        let (by, timing) = (UserId::new("op").unwrap(), Timing::default());
        let commit = quarantine(&session, Some(&turn), &by, at(9), &timing).unwrap().unwrap();
        let closed = commit.session.after;
        assert_eq!(
            (&closed.quarantine, closed.rev),
            (&Some(Quarantine { at: at(9), by: by.clone() }), session.rev + 1)
        );
        let [ended] = &commit.turns[..] else { panic!("exactly one turn was open") };
        assert_eq!(ended.after.settlement().unwrap().verdict, Verdict::Ended(EndReason::Cancelled));
        assert_eq!((&ended.after.ended_by, commit.purge), (&Some(by.clone()), None));

        assert_eq!(quarantine(&closed, None, &by, at(10), &timing), Ok(None));
        assert_eq!(edit(&closed, &Edit::default(), at(10)), Err(SessionClosed::Quarantined));
        assert_eq!(delete(&closed, None, &by, RETENTION, at(10), &timing), Err(SessionClosed::Quarantined));
        assert_eq!(restore(&closed, at(10)), None);
        let released = release(&closed, at(11)).unwrap().session;
        assert_eq!((released.condition, released.after.quarantine), (Some(closed.rev), None));
        assert_eq!(release(&session, at(12)), None);

        let deleted = delete(&session, None, &by, RETENTION, at(9), &timing).unwrap().unwrap().session.after;
        assert_eq!(quarantine(&deleted, None, &by, at(10), &timing), Err(SessionClosed::Deleted));
    }
}
